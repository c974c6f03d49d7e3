import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { committedDescription } from './api-description.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they assert.
  body: any;
  text: string;
}

export interface CallOptions {
  token?: string | null;
  headers?: Record<string, string>;
}

export type Caller = (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Answer>;

/**
 * An HTTP client for one address. Every answer is checked against the API description, but those of earlier versions, which lack the newest
 * fields.
 */
export function createCaller(base: string, { isEarlier = false } = {}): Caller {
  return async (method, path, body, { token, headers } = {}) => {
    const answer = await send(`${base}${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    if (!isEarlier) expectDescribed(method, new URL(`${base}${path}`).pathname, answer);
    return answer;
  };
}

/** Connections are used again, as by most clients. */
const agent = new http.Agent({ keepAlive: true });

/** The connection ended before the whole answer arrived. */
export class NoAnswer extends Error {}

/** Takes less processor time than `fetch`, for thousands of calls. @throws NoAnswer */
function send(url: string, { method, headers, body }: GivenRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body !== undefined && { 'content-length': Buffer.byteLength(body) };
    const giveUp = (cause: unknown) => reject(new NoAnswer(`${method} ${url} got no answer`, { cause }));
    const given = { 'accept-encoding': 'gzip', ...length, ...headers };
    const request = http.request(url, { agent, method, headers: given }, (response) => {
      buffer(response)
        .catch(giveUp)
        .then((bytes) => bytes && resolve(readAnswer(response, bytes)))
        .catch(reject);
    });
    request.once('error', giveUp);
    request.end(body);
  });
}

interface GivenRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
}

const DECOMPRESS: Record<string, (bytes: Buffer) => Buffer> = { br: brotliDecompressSync, gzip: gunzipSync };

function readAnswer({ statusCode = 0, headersDistinct }: http.IncomingMessage, bytes: Buffer): Answer {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  const decompress = bytes.length > 0 && DECOMPRESS[headers.get('content-encoding') ?? ''];
  const text = new TextDecoder().decode(decompress ? decompress(bytes) : bytes); // without a byte order mark
  const isJson = text !== '' && headers.get('content-type')?.includes('json');
  return { status: statusCode, headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Expects that openapi.json allows the answer. */
function expectDescribed(method: string, path: string, { status, headers, body, text }: Answer): void {
  const contentType = headers.get('content-type');
  const problem = committedDescription().problemOfAnswer({ method, path, status, contentType, body });
  if (problem) throw new Error(`${problem}\n${method} ${path} answered ${status}: ${text.slice(0, 2_000)}`);
}

/** A notification as the provider posts it, with a new transaction id. */
export function notification(fields: Record<string, unknown> = {}) {
  return {
    TransactionType: 'Pay Bill',
    TransID: randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase(),
    TransTime: '20261101101530',
    TransAmount: '400.00',
    BusinessShortCode: '600638',
    BillRefNumber: '',
    MSISDN: '254700000000',
    ...fields,
  };
}
