import {
  AnswerError,
  ApiError,
  type ClientError,
  ConnectionError,
  type ErrorCode,
  UnexpectedAnswerError,
} from './errors.ts';

export type RequestBody = string | Uint8Array<ArrayBuffer>;

/** One call: a request and its retries. */
export interface Call {
  /** Group and method, such as payments.record. */
  operation: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: RequestBody | undefined;
  /**
   * Whether the service does the work only once, however often the request is sent. If false, the request is sent again only
   * after the status 429, with which the service refuses a request before it does any work.
   */
  repeatable: boolean;
  timeoutMs: number;
  maxRetries: number;
  signal: AbortSignal | undefined;
  onResponse: ((response: AnswerHead) => void) | undefined;
}

/** The status and the headers of an answer. */
export type AnswerHead = Pick<Response, 'status' | 'headers'>;

/** A call that is about to be sent again. */
export interface Retry {
  /** Group and method, such as payments.record. */
  operation: string;
  /** 1 for the first retry. */
  attempt: number;
  delayMs: number;
  /** Why the previous try failed. */
  reason: ClientError;
}

/** An answer whose body was read. */
export interface Received extends AnswerHead {
  /** The address of the request. */
  url: string;
  bytes: Uint8Array;
}

export interface SendOptions {
  /** The longest pause before a retry. If the service asks for a longer one, the call fails. */
  maxRetryDelayMs: number;
  fetch: typeof fetch;
  onRetry: ((retry: Retry) => void) | undefined;
}

const FIRST_DELAY_MS = 250;
const LONGEST_BACKOFF_MS = 8_000;

/** @throws ApiError, UnexpectedAnswerError or ConnectionError; the abort reason of `call.signal` if it ended the call. */
export async function send(call: Call, options: SendOptions): Promise<Received> {
  for (let retries = 0; ; retries++) {
    try {
      return await sendOnce(call, options.fetch);
    } catch (error) {
      call.signal?.throwIfAborted();
      const askedMs = error instanceof AnswerError ? 1000 * (error.retryAfterSeconds ?? 0) : 0;
      const mayRetry = retries < call.maxRetries && isRetryable(error, call.repeatable);
      if (!mayRetry || askedMs > options.maxRetryDelayMs) throw error;
      const delayMs = Math.round(Math.min(options.maxRetryDelayMs, Math.max(askedMs, backoffMs(retries))));
      options.onRetry?.({
        operation: call.operation,
        attempt: retries + 1,
        delayMs,
        reason: error as ClientError,
      });
      await pause(delayMs, call.signal);
    }
  }
}

async function sendOnce(
  { method, url, headers, body, timeoutMs, signal, onResponse }: Call,
  fetch: SendOptions['fetch'],
) {
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let bytes: Uint8Array;
  try {
    response = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    const reason = timeout.aborted
      ? `No answer within ${timeoutMs} ms`
      : `The connection failed (${reasonOf(cause)})`;
    throw new ConnectionError(`${reason}: ${method} ${url}`, { cause });
  }
  onResponse?.(response);
  const received = { url, status: response.status, headers: response.headers, bytes };
  if (!response.ok) throw errorOf(received);
  return received;
}

/** The error of Node.js says only "fetch failed". The reason, such as ECONNREFUSED, is in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? error.message : reasonOf(cause);
}

function errorOf(received: Received): ClientError {
  const problem = readProblem(textOf(received));
  if (!problem) return unexpected(received);
  return new ApiError(problem.code, problem.message, problem.details, factsOf(received));
}

/** @throws UnexpectedAnswerError if the answer is not JSON, for example if it is the sign-in page of a proxy. */
export function jsonOf(received: Received): unknown {
  try {
    return JSON.parse(textOf(received));
  } catch {
    throw unexpected(received);
  }
}

export function textOf({ bytes }: Received): string {
  return new TextDecoder().decode(bytes);
}

function unexpected(received: Received): UnexpectedAnswerError {
  return new UnexpectedAnswerError(received.url, textOf(received), factsOf(received));
}

function factsOf({ status, headers }: Received) {
  const requestId = headers.get('x-request-id') ?? undefined;
  return { status, requestId, retryAfterSeconds: secondsOf(headers.get('retry-after')) };
}

function readProblem(text: string) {
  try {
    const { error } = JSON.parse(text) as {
      error?: { code?: unknown; message?: unknown; details?: unknown };
    };
    if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined;
    return { code: error.code as ErrorCode, message: error.message, details: error.details ?? {} };
  } catch {
    return undefined; // Not JSON.
  }
}

/** Retry-After is a number of seconds or a date. */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

function isRetryable(error: unknown, repeatable: boolean): boolean {
  if (error instanceof ConnectionError) return repeatable;
  if (!(error instanceof AnswerError)) return false;
  const { status, retryAfterSeconds } = error;
  if (status === 429) return true;
  // 409 with Retry-After: the first request with this Idempotency-Key is still running.
  return (
    repeatable && ([502, 503, 504].includes(status) || (status === 409 && retryAfterSeconds !== undefined))
  );
}

/** The delay doubles with each retry. A random factor keeps clients from retrying at the same time. */
function backoffMs(retries: number): number {
  return Math.min(LONGEST_BACKOFF_MS, FIRST_DELAY_MS * 2 ** retries) * (0.5 + Math.random());
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
