import { lookup as lookUpInDns } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import type { AllowedDestinations } from '../../core/http/addresses.ts';
import { mayConnect, NOT_PUBLIC, problemOfDestination } from './destinations.ts';

/**
 * Posts to addresses that users entered. A connection is made only to a checked address. The connection itself makes the DNS
 * look-up, and the check is a part of this look-up: a second look-up could give another, unchecked address. Redirects are not
 * followed, and proxy settings of the environment are ignored.
 */
interface Sender {
  /** Sends a request. Never rejects. @param signal aborts the request. */
  post(request: OutboundRequest, signal?: AbortSignal): Promise<OutboundResult>;
  /** Closes all connections. */
  close(): void;
}

interface OutboundRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface OutboundResult {
  /** The HTTP status. Null if there was no answer. */
  status: number | null;
  /** The beginning of the answer's body. Null if there was no answer. */
  answer: string | null;
  /** The reason if there was no answer. */
  error: string | null;
  /** The header Retry-After in seconds from now. Null if it is missing or not valid. */
  retryAfterSeconds: number | null;
  durationMs: number;
}

export interface SenderOptions {
  destinations: AllowedDestinations;
  /** The maximum number of open connections to one host and port. */
  maxConnections: number;
  /** The time limit for the connection and the answer together. */
  timeoutMs: number;
  /** Replaces DNS in tests. */
  lookup?: typeof lookUpInDns;
}

const MAX_ANSWER_BYTES = 4096;
const MAX_ERROR_LENGTH = 500;

export function createSender({
  destinations,
  maxConnections,
  timeoutMs,
  lookup = lookUpInDns,
}: SenderOptions): Sender {
  const settings = {
    keepAlive: true,
    maxSockets: maxConnections,
    lookup: checkedLookup(lookup, destinations),
  };
  const insecure = new http.Agent(settings);
  const secure = new https.Agent({ ...settings, rejectUnauthorized: true });

  async function post(request: OutboundRequest, signal?: AbortSignal): Promise<OutboundResult> {
    const start = performance.now();
    const problem = problemOfDestination(request.url, destinations);
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const stopped = () => deadline.abort(new Error('the service stopped'));
    if (signal?.aborted) stopped();
    signal?.addEventListener('abort', stopped);
    try {
      if (problem !== undefined) throw new Error(`The address ${problem}.`);
      const answer = await exchange(request, deadline.signal);
      return { ...answer, error: null, durationMs: since(start) };
    } catch (error) {
      return {
        ...{ status: null, answer: null, retryAfterSeconds: null },
        error: messageOf(error),
        durationMs: since(start),
      };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stopped);
    }
  }

  /** A server may close an idle connection while we reuse it. The request is then sent again on another connection. */
  async function exchange(request: OutboundRequest, deadline: AbortSignal): Promise<Answer> {
    for (;;) {
      const sent = send(request, request.url.startsWith('https:') ? secure : insecure, deadline);
      try {
        return await sent.answer;
      } catch (error) {
        if (!sent.isOnReusedConnection() || deadline.aborted) throw error;
      }
    }
  }

  return {
    post,
    close() {
      insecure.destroy();
      secure.destroy();
    },
  };
}

interface Answer {
  status: number;
  answer: string;
  retryAfterSeconds: number | null;
}

function send({ url, headers, body }: OutboundRequest, agent: http.Agent, deadline: AbortSignal) {
  const protocol = agent instanceof https.Agent ? https : http;
  const bytes = Buffer.from(body);
  const request = protocol.request(url, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': bytes.length },
  });
  const answer = new Promise<Answer>((resolve, reject) => {
    const giveUp = () => request.destroy(deadline.reason);
    if (deadline.aborted) giveUp();
    deadline.addEventListener('abort', giveUp);
    let hasAnswer = false;
    request.on('error', (error) => {
      if (!hasAnswer) reject(error);
    });
    request.on('close', () => {
      deadline.removeEventListener('abort', giveUp);
      if (!hasAnswer) reject(new Error('the connection was closed without an answer'));
    });
    request.on('response', (response) => {
      hasAnswer = true;
      const status = response.statusCode ?? 0;
      const retryAfterSeconds = readRetryAfter(response.headers['retry-after']);
      readStart(response, (answer) => resolve({ status, answer, retryAfterSeconds }));
    });
    request.end(bytes);
  });
  return { answer, isOnReusedConnection: () => request.reusedSocket };
}

/** Retry-After is a number of seconds or a date. */
function readRetryAfter(header: string | undefined): number | null {
  if (header === undefined) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

/** Passes on the first bytes of a body. If the rest is too long, too slow or broken, closes the connection. */
function readStart(response: http.IncomingMessage, done: (text: string) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) response.destroy();
  });
  response.on('error', () => {}); // Followed by 'close'.
  response.on('close', () => {
    const start = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString('utf8');
    done(start.replace(/[^\P{Cc}\t\r\n]/gu, '\u{fffd}')); // PostgreSQL cannot store a zero byte.
  });
}

/**
 * A DNS look-up that fails if any address of the host must not be called. All addresses are checked, because the connection may
 * use any of them.
 */
function checkedLookup(lookup: typeof lookUpInDns, destinations: AllowedDestinations): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      if (
        addresses.length === 0 ||
        !addresses.every(({ address }) => mayConnect(hostname, address, destinations))
      )
        return callback(new Error(`The host ${NOT_PUBLIC}.`), []);
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? '', first?.family);
    });
  };
}

function messageOf(error: unknown): string {
  // A connection to a host with several addresses fails once for each address.
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  const text = errors.map((one) => (one instanceof Error ? one.message : String(one))).join('; ');
  return text.slice(0, MAX_ERROR_LENGTH);
}

function since(start: number): number {
  return Math.round(performance.now() - start);
}
