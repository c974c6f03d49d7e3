import { type Authentication, createCredentials, type Tokens } from './credentials.ts';
import { ApiError, ClientError } from './errors.ts';
import { type Api, OPERATIONS } from './generated/operations.ts';
import type { Operation } from './operation.ts';
import { writeQuery } from './query.ts';
import { jsonOf, type Received, type RequestBody, type Retry, send, textOf } from './requests.ts';
import type { RepeatableCallOptions, ServiceFile } from './types.ts';

export interface ClientOptions {
  /** The address of the service, such as https://ams.example.com. */
  baseUrl: string;
  auth?: Authentication;
  /** The time limit of each try of a call. Default: 30,000. */
  timeoutMs?: number;
  /**
   * The maximum number of retries of a call. Default: 3. Every call is retried after 429. A call with GET, PUT, DELETE or an
   * idempotency key is also retried after 502, 503, 504, 409 with Retry-After, a time-out or a broken connection.
   */
  maxRetries?: number;
  /** The longest pause before a retry. If the service asks for a longer pause, the call fails at once. Default: 60,000. */
  maxRetryDelayMs?: number;
  /** Called before the pause of each retry. */
  onRetry?: (retry: Retry) => void;
  /** Replaces the global fetch, for proxies and tests. */
  fetch?: typeof fetch;
}

/** Every call of the API, in groups: `client.payments.record({ … })`. */
export type Client = Api;

type Invocation = {
  /** Group and method, such as payments.record. */
  name: string;
  path: string;
  query: Record<string, unknown>;
  body: unknown;
  options: RepeatableCallOptions;
};

export function createClient(options: ClientOptions): Client {
  const { auth, timeoutMs = 30_000, maxRetries = 3, maxRetryDelayMs = 60_000, onRetry } = options;
  const baseUrl = readBaseUrl(options.baseUrl);
  const sendOptions = { maxRetryDelayMs, fetch: options.fetch ?? fetch, onRetry };
  const anonymous = (name: 'signIn' | 'refreshTokens') => (body: unknown) => {
    const operation = OPERATIONS.auth[name];
    const given = { name: `auth.${name}`, path: operation.path, query: {}, body, options: {} };
    return sendAs(operation, given, undefined).then((received) => dataOf(received) as Tokens);
  };
  const credentials = createCredentials(auth, {
    signIn: anonymous('signIn'),
    refresh: anonymous('refreshTokens'),
  });

  function sendAs(
    operation: Operation,
    { name, path, query, body, options }: Invocation,
    token: string | undefined,
  ) {
    const { idempotencyKey } = options;
    // If the query has `wait`, the service can hold back its answer for this time.
    const waitMs = typeof query.wait === 'number' ? 1_000 * query.wait : 0;
    return send(
      {
        operation: name,
        method: operation.method,
        url: `${baseUrl}${path}${writeQuery(query)}`,
        headers: {
          ...(body !== undefined && { 'content-type': operation.bodyType ?? 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...options.headers,
        },
        body:
          body === undefined || operation.bodyType ? (body as RequestBody | undefined) : JSON.stringify(body),
        repeatable: operation.method !== 'POST' || idempotencyKey !== undefined,
        timeoutMs: (options.timeoutMs ?? timeoutMs) + waitMs,
        maxRetries: options.maxRetries ?? maxRetries,
        signal: options.signal,
        onResponse: options.onResponse,
      },
      sendOptions,
    );
  }

  /** Sends a call. If the service refuses the token, renews the token and sends the call once more. */
  async function call(operation: Operation, given: Invocation): Promise<Received> {
    if (!operation.secured) return sendAs(operation, given, undefined);
    const token = await credentials.token();
    try {
      return await sendAs(operation, given, token);
    } catch (error) {
      const isRefused = error instanceof ApiError && error.is('UNAUTHORIZED') && token !== undefined;
      const renewed = isRefused ? await credentials.renew(token) : undefined;
      if (renewed === undefined) throw error;
      return sendAs(operation, given, renewed);
    }
  }

  async function* iterate(operation: Operation, given: Invocation): AsyncGenerator<unknown, void, undefined> {
    for (let after: string | null = ''; after !== null; ) {
      const query = { limit: MAX_PAGE_LIMIT, ...given.query, after };
      const page = pageOf(await call(operation, { ...given, query }));
      yield* page.data;
      after = page.pagination.nextCursor ?? null;
    }
  }

  async function* followPages(operation: Operation, given: Invocation) {
    let { after } = given.query;
    for (let hasMore = true; hasMore; ) {
      const query = { limit: MAX_EVENTS, ...given.query, after };
      const page = dataOf(await call(operation, { ...given, query })) as FeedPage;
      yield page;
      after = page.after;
      hasMore = page.hasMore || given.query.wait !== undefined;
    }
  }

  async function* follow(operation: Operation, given: Invocation) {
    for await (const page of followPages(operation, given)) yield* page.events;
  }

  function method(name: string, operation: Operation) {
    return (...args: unknown[]) => {
      const given = { name, ...readArguments(operation, args) };
      if (operation.answers === 'rows') return iterate(operation, given);
      if (operation.answers === 'feed') return follow(operation, given);
      if (operation.answers === 'feedPages') return followPages(operation, given);
      return call(operation, given).then(READERS[operation.answers]);
    };
  }

  const groups = Object.entries<Record<string, Operation>>(OPERATIONS).map(([group, operations]) => [
    group,
    Object.fromEntries(
      Object.entries(operations).map(([name, operation]) => [name, method(`${group}.${name}`, operation)]),
    ),
  ]);
  // The cast is safe: the generator writes OPERATIONS and Api from the same API description.
  return Object.fromEntries(groups) as Client;
}

const MAX_PAGE_LIMIT = 100;
const MAX_EVENTS = 1_000;

/** @throws ClientError if the address does not begin with http:// or https://, or if it ends with /api. */
function readBaseUrl(text: string): string {
  const baseUrl = text.replace(/\/+$/, '');
  if (!/^https?:\/\/./.test(baseUrl))
    throw new ClientError(
      `baseUrl must begin with https:// or http://, such as https://ams.example.com: ${text}`,
    );
  if (baseUrl.endsWith('/api')) throw new ClientError(`baseUrl must not include /api: ${text}`);
  return baseUrl;
}

/** The arguments of a method have this order: parameters of the path, body, query, options. */
function readArguments(
  { path, hasBody, hasQuery, takesKey }: Operation,
  args: unknown[],
): Omit<Invocation, 'name'> {
  const rest = [...args];
  const written = path.replace(/\{\w+\}/g, () => encodeURIComponent(String(rest.shift())));
  const body = hasBody ? rest.shift() : undefined;
  const query = ((hasQuery ? rest.shift() : undefined) ?? {}) as Record<string, unknown>;
  const options = (rest.shift() ?? {}) as RepeatableCallOptions;
  // One key for all tries of the call.
  const keyed = takesKey ? { idempotencyKey: randomKey(), ...options } : options;
  return { path: written, body, query, options: keyed };
}

interface ListPage {
  data: unknown[];
  pagination: { nextCursor?: string | null };
}

interface FeedPage {
  events: unknown[];
  after: number;
  hasMore: boolean;
}

function pageOf(received: Received): ListPage {
  const { data, pagination } = jsonOf(received) as ListPage;
  return { data, pagination };
}

function dataOf(received: Received): unknown {
  const body = jsonOf(received) as { data: unknown };
  return body.data;
}

const READERS: Record<
  Exclude<Operation['answers'], 'rows' | 'feed' | 'feedPages'>,
  (received: Received) => unknown
> = {
  page: pageOf,
  data: dataOf,
  body: jsonOf,
  text: textOf,
  file: fileOf,
};

function fileOf({ headers, bytes }: Received): ServiceFile {
  const name = /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1];
  return { bytes, contentType: headers.get('content-type') ?? '', name };
}

/** Does not use randomUUID, which browsers have only in secure contexts. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
