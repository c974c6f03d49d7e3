import { randomUUID } from 'node:crypto';
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import cors from '@fastify/cors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import helmet from 'helmet';
import type { Actor } from '../context.ts';
import { asUnavailable, sqlState } from '../database/postgres-errors.ts';
import { parseQueryString } from '../lists/query.ts';
import type { Log } from '../log.ts';
import type { TimeLimits } from '../time-limits.ts';
import { createNetworks, readAddress } from './addresses.ts';
import { answersOn, createConnectionServer } from './connections.ts';
import { ErrorBody } from './envelope.ts';
import {
  AppError,
  bodyTooLarge,
  type ErrorCode,
  type FieldProblem,
  internalError,
  invalid,
  invalidField,
  unavailable,
} from './errors.ts';
import { createPathLogger } from './path.ts';
import { buildSerializer } from './serialization.ts';
import { type BusinessSettings, type Checked, createValidatorCompiler, FORMAT_NAMES } from './validation.ts';

const BODY_LIMIT_BYTES = 1024 * 1024;
/** How often Node checks for late headers and requests. */
const CONNECTIONS_CHECK_MS = 1_000;
/** Longer than 60 s, the time that load balancers usually keep an idle connection open. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const MAX_PARAM_LENGTH = 200;
/** Limits the depth of recursive functions, such as `hasAtMostLevels`. Every schema needs less than half of these levels. */
const MAX_BODY_LEVELS = 32;
const SERVER_OPTIONS = {
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
  requireHostHeader: false, // `problemOfHost` checks the header instead: Node's own error answer has no envelope.
};
/** Slashes at the end of a path of the API. Otherwise `/customers/` would be `/customers/:id` with an empty id. */
const TRAILING_SLASHES = /^(\/api\/[^?]*[^/?])\/+(?=\?|$)/;
/** Some clients send another value, such as `utf-8`, with a plain body. */
const COMPRESSED = /\b(?:gzip|deflate|compress|br|zstd)\b/i;
/** No route has this path. */
const NOWHERE = '/-';

export type HttpServer = ReturnType<typeof createHttpServer>;

/** Creates the server with what all routes share: request ids, one log line per request, validation, error answers, headers. */
export function createHttpServer(business: BusinessSettings, log: Log) {
  const { config } = business;
  const { limits } = config;
  const serverOptions = {
    ...SERVER_OPTIONS,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.uploadMs, // For a whole request. The `bodyTimeoutMs` of a route must not be longer.
  };
  const proxies = createNetworks(config.trustedProxies ?? []);
  /** Errors of requests that cannot be routed. Such a request goes to NOWHERE: hooks count and log it, and it gets the error. */
  const unroutable = new WeakMap<IncomingMessage, Error>();
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: (request) => safeRequestId(request.headers['x-request-id']) ?? randomUUID(),
    trustProxy: config.trustedProxies ? (address) => proxies.has(address) : false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (answer) => createConnectionServer(serverOptions, answer, log),
    return503OnClosing: false, // Fastify's 503 has no envelope; load-shedding.ts answers instead.
    routerOptions: { querystringParser: parseQueryString, maxParamLength: MAX_PARAM_LENGTH },
    rewriteUrl: (request) => {
      const problem = unroutable.get(request) ?? problemOfHost(request);
      if (problem) unroutable.set(request, problem);
      return problem ? NOWHERE : (request.url ?? NOWHERE).replace(TRAILING_SLASHES, '$1');
    },
    // The router cannot read the URL, and no hook has run. Route the request again, to NOWHERE.
    frameworkErrors: ({ statusCode }, { raw }, reply) => {
      unroutable.set(raw, unreadableAddress(statusCode));
      app.routing(raw, reply.raw);
    },
    clientErrorHandler: answerUnreadable,
    schemaController: { compilersFactory: { buildSerializer } },
    // The serializer does not validate. It only needs the names of the formats.
    serializerOpts: {
      ajv: { formats: Object.fromEntries(FORMAT_NAMES.map((name) => [name, true])) },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(createValidatorCompiler(business));
  app.addSchema(ErrorBody);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => parseJson(bytes),
  );
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    sendError(withOtherParts(withLimit(error, request), request), request, reply),
  );
  endConnectionsOnClose(app, limits);
  cutSlowBodies(app, limits);
  answerInTime(app, limits);
  logLateFailures(app);
  // Ignore an unknown Expect header, because Node's own answer would have no envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  const pathToLog = createPathLogger(app);
  app.addHook('onRequest', async (request, reply) => addHeaders(request, reply));
  // This hook runs after the request was counted (onRequest) and before its body is read.
  app.addHook('preParsing', ({ raw, method, headers }, _reply, _body, done) => {
    const isCompressed = method !== 'GET' && COMPRESSED.test(headers['content-encoding'] ?? '');
    done(unroutable.get(raw) ?? (isCompressed ? compressedBody() : null));
  });
  // End a stream that starts after the connection was closed: there is no second 'close' event to end it.
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (payload instanceof Readable && request.raw.socket.destroyed) payload.destroy();
    done();
  });
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        path: pathToLog(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        client: readAddress(request.ip),
        ...(request.actor && callerIds(request.actor)),
      },
      'request',
    );
  });

  app.register(cors, {
    origin: config.corsOrigins.length > 0 ? [...config.corsOrigins] : false,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    // Otherwise an OPTIONS request that is no preflight gets 400 in plain text, without an envelope.
    strictPreflight: false,
    exposedHeaders: [
      'x-request-id',
      'retry-after',
      'ratelimit',
      'ratelimit-policy',
      'idempotent-replayed',
      'etag',
      'content-disposition',
      'snapshot-age',
      'unprintable-characters',
      'www-authenticate',
    ],
  });
  return app;
}

function callerIds({ userId, apiKey }: Actor): object {
  return apiKey ? { apiKeyId: apiKey.id } : { userId };
}

/**
 * When the server closes, Node waits for every open connection. This function immediately closes connections on which no request
 * has arrived, closes others after their answer, and closes all after a time limit.
 */
function endConnectionsOnClose(app: FastifyInstance, { drainMs }: TimeLimits): void {
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let isClosing = false;
  // Without this header, the connection of a request that was in progress would stay open until its keep-alive time-out.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    if (!app.server.listening) return;
    const timer = setTimeout(() => app.server.closeAllConnections(), drainMs).unref();
    app.server.once('close', () => clearTimeout(timer)); // The timer would keep a closed app in memory.
  });
}

/** Gives each route its own time limit for the body, because uploads need longer. Node has one time-out for all requests. */
function cutSlowBodies(app: FastifyInstance, { bodyMs }: TimeLimits): void {
  app.addHook('onRequest', async ({ raw, routeOptions }) => {
    const hasBody =
      raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length']) > 0;
    if (!hasBody) return;
    const { bodyTimeoutMs = bodyMs } = routeOptions.config;
    const timer = setTimeout(() => {
      if (raw.complete === false)
        answerUnreadable(new SlowBody('The body did not arrive in time.'), raw.socket);
    }, bodyTimeoutMs);
    raw.once('close', () => clearTimeout(timer));
  });
}

/**
 * Answers 503 if a request takes too long. The work continues until it is done or a database time-out ends it. Fastify's
 * `handlerTimeout` is not used, because it stops counting after the body was read.
 */
function answerInTime(app: FastifyInstance, { answerMs }: TimeLimits): void {
  app.addHook('onRequest', async ({ raw, routeOptions, query }, reply) => {
    const { totalsTimeoutMs = answerMs } = routeOptions.config;
    const hasTotals = (query as { totals?: unknown }).totals === 'true';
    const { answerTimeoutMs = hasTotals ? totalsTimeoutMs : answerMs } = routeOptions.config;
    let timer = setTimeout(giveUp, answerTimeoutMs);
    function giveUp(): void {
      if (raw.complete === false) {
        timer = setTimeout(giveUp, answerTimeoutMs); // The body is still arriving.
      } else if (!reply.sent && !reply.raw.headersSent) {
        // Ignore an answer that the handler may still send.
        reply.raw.once('finish', () => Object.assign(reply, { send: () => reply }));
        reply.send(unavailable(new Error(`no answer within ${answerTimeoutMs} ms`)));
      }
    }
    reply.raw.once('close', () => clearTimeout(timer));
  });
}

/**
 * If a handler fails after the answer was sent, Fastify logs an error. This function logs known errors with level info instead.
 * It does not cover hooks: Fastify ignores a hook that fails after the answer, and our hooks only identify and count callers.
 */
function logLateFailures(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const result: unknown = handler.call(this, request, reply);
      if (!(result instanceof Promise)) return result;
      return result.catch((error) => {
        if (!reply.sent) throw error;
        request.log[knownError(error) ? 'info' : 'error'](
          { err: error },
          'a request failed after its answer was sent',
        );
      });
    };
  });
}

/** RFC 9112, section 3.2, requires exactly one Host header. It is optional in HTTP/1.0. */
function problemOfHost({ rawHeaders, httpVersion }: IncomingMessage): AppError | undefined {
  const hosts = rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host',
  ).length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
    ? undefined
    : invalidField('Host', 'must be sent exactly once, as a header');
}

/** Replaces Fastify's message, which repeats the whole URL with secrets that the query may contain. */
function unreadableAddress(status = 400): AppError {
  const message =
    status === 414
      ? `A part of the path has more than ${MAX_PARAM_LENGTH} characters.`
      : 'The path cannot be decoded: each % must be followed by two hexadecimal digits, and the decoded bytes must be UTF-8.';
  return new AppError('VALIDATION_ERROR', message, { status });
}

/** An error with the same code as Node's own error for a slow request. */
class SlowBody extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';
}

/** Computed once, because helmet returns the same headers for every request. */
const SECURITY_HEADERS = securityHeaders();

function securityHeaders(): OutgoingHttpHeaders {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const addAll = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
  });
  addAll(response.req, response, (error) => {
    if (error) throw error;
  });
  return { ...response.getHeaders(), 'cache-control': 'no-store' };
}

function addHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
}

/**
 * Answers a request that arrives too slowly, or bytes that are not an HTTP request. For such bytes, Fastify creates no request
 * and no reply. Sends nothing while an earlier request of the connection is being answered: the caller would treat this error as
 * the answer to the earlier request, whose payment may have been posted.
 */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const earlier = answersOn(socket).findLast(({ req }) => req.complete);
  if (earlier) {
    earlier.shouldKeepAlive = false; // Adds `Connection: close` if the headers were not sent yet.
    earlier.off('close', endConnection).once('close', endConnection); // More unreadable bytes must not add a second listener.
    return;
  }
  const [status, text] = UNREADABLE[error.code ?? ''] ?? [400, 'Bad Request'];
  const message = `The request cannot be read: ${text}.`;
  const body = JSON.stringify({
    success: false,
    error: { code: 'VALIDATION_ERROR' satisfies ErrorCode, message, details: {} },
  });
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${status} ${text}\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${randomUUID()}\r\n` +
        `${SECURITY_LINES}Connection: close\r\n\r\n${body}`,
    );
  }
  socket.destroy(error);
}

function endConnection(this: ServerResponse): void {
  this.req.socket.destroySoon();
}

const SECURITY_LINES = Object.entries(SECURITY_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

const UNREADABLE: Record<string, [status: number, text: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/** Names the limit in the error for a body that is too large. */
function withLimit(error: FastifyError, { routeOptions }: FastifyRequest): Error {
  if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return error;
  return bodyTooLarge(routeOptions.bodyLimit ?? BODY_LIMIT_BYTES);
}

/** Fastify validates these parts in order and stops at the first invalid part. */
const PARTS = ['params', 'body', 'querystring'] as const;
type Part = (typeof PARTS)[number];

/** Adds the problems of the other parts of a request, so that the answer names all problems at once. */
function withOtherParts(error: unknown, request: FastifyRequest): unknown {
  if (!(error instanceof AppError)) return error;
  const { validationContext } = error as AppError & Pick<FastifyError, 'validationContext'>;
  const wrong = PARTS.indexOf(validationContext as Part); // -1: not a validation error
  if (wrong < 0) return error;
  const given = { params: request.params, body: request.body, querystring: request.query };
  const errors = PARTS.slice(wrong + 1).map((part) => partError(request, part, given[part]));
  const others = errors.flatMap((one) => (one?.details.fields ?? []) as FieldProblem[]);
  return others.length === 0 ? error : invalid([...(error.details.fields as FieldProblem[]), ...others]);
}

function partError(request: FastifyRequest, part: Part, given: unknown): AppError | undefined {
  const check = request.getValidationFunction(part) as
    | ((given: unknown) => Checked | true)
    | object
    | undefined;
  // For a file, `check` is an object with a function for each content type. Files are validated when they are read.
  if (check !== undefined && typeof check !== 'function') return undefined;
  const checked = check?.(given ?? null);
  return typeof checked === 'object' && 'error' in checked ? checked.error : undefined;
}

/** Answers any error in the envelope. Internal details go only to the log. */
function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = knownError(error);
  if (!known || known.status >= 500) {
    request.log[known ? 'warn' : 'error']({ err: known?.cause ?? error }, 'request failed');
  }
  const answer = known ?? internalError();
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', answer.retryAfterSeconds);
  if (answer.status === 401) reply.header('www-authenticate', challengeOf(answer, request));
  // The handler or a hook may have set these headers for the answer that is not sent.
  for (const name of ['etag', 'content-disposition', 'content-encoding']) reply.removeHeader(name);
  reply
    .status(answer.status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send({ success: false, error: { code: answer.code, message: answer.message, details: answer.details } });
}

/** The scheme to sign in with (RFC 6750, section 3). Some HTTP clients fail at a 401 without it. */
function challengeOf({ code }: AppError, { headers }: FastifyRequest): string {
  const isRefusedToken = code === 'UNAUTHORIZED' && headers.authorization !== undefined;
  return `Bearer realm="api"${isRefusedToken ? ', error="invalid_token"' : ''}`;
}

function compressedBody(): AppError {
  return new AppError('VALIDATION_ERROR', 'Content-Encoding is not supported: send the body uncompressed.', {
    status: 415,
  });
}

/** The answer to an error that the request, the database or the load has caused. Undefined if the error is a defect. */
export function knownError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  const { statusCode: status } = error instanceof Error ? (error as FastifyError) : {};
  if (status !== undefined && status >= 400 && status < 500) {
    const message =
      status === 415 ? 'Send the body with Content-Type: application/json.' : (error as Error).message;
    return new AppError('VALIDATION_ERROR', message, { status });
  }
  if (UNSTORABLE_TEXT.has(sqlState(error) ?? '')) {
    return new AppError('VALIDATION_ERROR', 'The request contains characters that cannot be stored.');
  }
  return asUnavailable(error);
}

/** PostgreSQL's codes for NUL and for invalid UTF-8. The schemas should have refused both. */
const UNSTORABLE_TEXT = new Set(['22021', '22P05']);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * An empty body counts as a missing body, so that the answer names the required fields. A `__proto__` key becomes an own property,
 * and the schemas refuse it like any other unknown field.
 * @throws AppError VALIDATION_ERROR for bytes that are not UTF-8, text that is not JSON, or values that are nested too deep.
 */
function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const body = readJson(bytes);
  if (!hasAtMostLevels(body, MAX_BODY_LEVELS)) {
    throw invalidField('body', `must be nested at most ${MAX_BODY_LEVELS} levels deep`);
  }
  return body;
}

function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw new AppError('VALIDATION_ERROR', 'The body is not valid JSON in UTF-8.', { cause });
  }
}

/** Whether a value has at most this many levels of lists and objects. */
function hasAtMostLevels(value: unknown, most: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return most > 0 && Object.values(value).every((member) => hasAtMostLevels(member, most - 1));
}

function safeRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : undefined;
}
