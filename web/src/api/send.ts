import { startWaiting } from './connection.ts';
import { isErrorBody } from './problem.ts';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;

/** Sends a request once. @throws the abort reason of the signal, or TypeError if no answer comes. */
export type Transport = (request: Request) => Promise<Response>;

/**
 * Sends a request. If no answer comes or the service is busy, sends a repeatable request again, until it is answered or aborted.
 * @returns the answer. If its status is an error, its body is an error body of the API.
 * @throws the abort reason of the signal, or TypeError if a request that is not repeatable gets no answer.
 */
export async function send(
  request: Request,
  isRepeatable = isIdempotent(request),
  transport: Transport = fetch,
): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const response = await transport(request.clone()).catch((error: unknown) => {
      if (request.signal.aborted || !isRepeatable) throw error;
      return undefined;
    });
    if (response && !(isRepeatable && asksToRepeat(response)))
      return response.ok ? response : withJsonBody(response);
    const endWait = startWaiting(response ? 'busy' : 'lost');
    try {
      await pause(Math.max(backoffMs(tries), retryAfterMs(response)), request.signal);
    } finally {
      endWait();
    }
  }
}

function isIdempotent({ method, headers }: Request): boolean {
  return method !== 'POST' || headers.has('idempotency-key');
}

function asksToRepeat({ status, headers }: Response): boolean {
  // 409 with Retry-After: the first request with this Idempotency-Key is still running.
  return [429, 502, 503, 504].includes(status) || (status === 409 && headers.has('retry-after'));
}

/** Replaces the HTML page or the empty body of a proxy by an error body. openapi-fetch reports no error for an empty body. */
async function withJsonBody(response: Response): Promise<Response> {
  const text = await response.text();
  const { status } = response;
  try {
    if (isErrorBody(JSON.parse(text))) return new Response(text, { status });
  } catch {
    // Not JSON.
  }
  const message = `The service answered with status ${status}.`;
  return Response.json({ success: false, error: { code: 'INTERNAL_ERROR', message } }, { status });
}

function retryAfterMs(response: Response | undefined): number {
  const seconds = Number(response?.headers.get('retry-after'));
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}

function backoffMs(tries: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** tries) * (0.75 + Math.random() / 2);
}

/** Waits. Ends early when the network is back. @throws the abort reason of the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
