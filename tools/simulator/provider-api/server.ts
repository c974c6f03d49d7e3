import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, type Call, type Credentials, errorAnswer, type Operation } from './operation.ts';
import { createTokens, type Tokens } from './tokens.ts';

/** Simulates the HTTP API of a mobile-money provider: access tokens, and the operations that other files add. */

/** The failures that the API simulates. A test may change them at any time. */
export interface Failures {
  /** Connections are closed without an answer. */
  isDown: boolean;
  /** If not null, every request gets this status, also the request for a token. */
  errorStatus: number | null;
  /** The number of calls to refuse with 429. Each refusal reduces this number by one. */
  refusedAsBusy: number;
  /** The Retry-After of these refusals, in seconds. Null: the header is missing. */
  retryAfterSeconds: number | null;
  /** Each token expires after one call. */
  singleUseTokens: boolean;
}

export interface ProviderApi {
  /** Has no slash at its end. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly failures: Failures;
  readonly tokens: Tokens;
  /** The calls in order, without token requests, and without calls refused because of their body, their token or `failures`. */
  readonly calls: readonly Call[];
  close(): Promise<void>;
}

export interface ProviderApiOptions {
  /** By method and path, such as `POST /pulltransactions/v1/query`. */
  operations: Readonly<Record<string, Operation>>;
  /** 0: any free port. */
  port?: number;
}

const CREDENTIALS: Credentials = {
  consumerKey: 'simulated-consumer-key',
  consumerSecret: 'simulated-consumer-secret',
};

export async function startProviderApi({ operations, port = 0 }: ProviderApiOptions): Promise<ProviderApi> {
  const tokens = createTokens(CREDENTIALS);
  const calls: Call[] = [];
  const failures: Failures = {
    isDown: false,
    errorStatus: null,
    refusedAsBusy: 0,
    retryAfterSeconds: null,
    singleUseTokens: false,
  };

  async function answer(request: http.IncomingMessage): Promise<Answer> {
    const call = await readCall(request).catch(() => undefined);
    if (!call) return errorAnswer(400, 'Bad Request - Invalid JSON');
    const authorization = request.headers.authorization ?? '';
    if (failures.errorStatus !== null) return errorAnswer(failures.errorStatus, 'Service unavailable');
    if (call.path === '/oauth/v1/generate') return tokens.issue(authorization);
    if (!tokens.isValid(authorization)) return errorAnswer(404, 'Invalid Access Token', '404.001.03');
    if (failures.refusedAsBusy > 0) {
      failures.refusedAsBusy -= 1;
      const { retryAfterSeconds: seconds } = failures;
      const headers: Record<string, string> = seconds === null ? {} : { 'retry-after': String(seconds) };
      return { ...errorAnswer(429, 'Spike arrest violation'), headers };
    }
    calls.push(call);
    if (failures.singleUseTokens) tokens.expireAll();
    const operation = operations[`${call.method} ${call.path}`];
    if (operation) return operation(call);
    const isKnownPath = Object.keys(operations).some((name) => name.endsWith(` ${call.path}`));
    return isKnownPath ? errorAnswer(405, 'Method Not Allowed') : errorAnswer(404, 'Resource not found');
  }

  const server = http.createServer(async (request, response) => {
    if (failures.isDown) return request.socket.destroy();
    const { status = 200, headers, body, isCutOff } = await answer(request);
    if (failures.isDown) return request.socket.destroy();
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const length = { 'content-length': String(Buffer.byteLength(text)) };
    response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers });
    if (!isCutOff) return response.end(text);
    return response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ credentials: CREDENTIALS, failures, tokens, calls },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readCall(request: http.IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://provider');
  const fields = body === '' ? Object.fromEntries(query) : JSON.parse(body);
  return { method: request.method ?? 'GET', path, query, fields };
}
