import { newWait } from './connection.ts';
import { isErrorBody } from './problem.ts';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;
/** After this time without an answer, the page says so, and a dialog can be closed. */
const SILENT_MS = 6_000;
/** A write is then sent again, because its connection may be dead. The service recognizes its Idempotency-Key. */
const DEAD_MS = 30_000;

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
  const wait = newWait();
  // An upload reports its progress, and takes as long as it takes.
  const silence = transport === fetch ? setTimeout(() => wait.set('silent'), SILENT_MS) : undefined;
  try {
    for (let tries = 0; ; tries++) {
      const deadAfterMs = isRepeatable && request.headers.has('idempotency-key') ? DEAD_MS : undefined;
      const response = await once(request.clone(), transport, deadAfterMs).catch((error: unknown) => {
        if (request.signal.aborted || !isRepeatable) throw error;
        return undefined;
      });
      clearTimeout(silence);
      if (response && !(isRepeatable && asksToRepeat(response)))
        return response.ok ? response : withJsonBody(response);
      wait.set(!response ? 'lost' : response.status === 429 ? 'limited' : 'busy');
      await pause(Math.max(backoffMs(tries), retryAfterMs(response)), request.signal);
    }
  } finally {
    clearTimeout(silence);
    wait.end();
  }
}

/** Loads a part of the console, again until it succeeds. */
export async function untilLoaded<Result>(load: () => Promise<Result>): Promise<Result> {
  const wait = newWait();
  try {
    for (let tries = 0; ; tries++) {
      try {
        if (tries > 0) await reloadStyles();
        return await load();
      } catch (error) {
        reportError(error); // Shows the error in the console of the browser.
        wait.set('lost');
      }
      await pause(backoffMs(tries), new AbortController().signal);
    }
  } finally {
    wait.end();
  }
}

/** Requests the stylesheets again that could not be loaded. Neither the browser nor Vite does so. */
async function reloadStyles(): Promise<void> {
  const links = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')];
  const reloads = links
    .filter(({ sheet }) => sheet === null)
    .map((link) => {
      const next = link.cloneNode() as HTMLLinkElement;
      link.replaceWith(next);
      return new Promise((resolve, reject) => {
        next.onload = resolve;
        next.onerror = () => reject(new Error(`${next.href} could not be loaded.`));
      });
    });
  await Promise.all(reloads);
}

/** Aborts the request if no answer comes within `deadAfterMs`. */
async function once(
  request: Request,
  transport: Transport,
  deadAfterMs: number | undefined,
): Promise<Response> {
  if (deadAfterMs === undefined) return transport(request);
  const controller = new AbortController();
  const abort = () => controller.abort(request.signal.reason);
  request.signal.addEventListener('abort', abort);
  if (request.signal.aborted) abort();
  const timer = setTimeout(() => controller.abort(), deadAfterMs);
  try {
    return await transport(new Request(request, { signal: controller.signal }));
  } finally {
    clearTimeout(timer);
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
