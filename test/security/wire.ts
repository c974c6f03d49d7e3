import http from 'node:http';
import { connect } from 'node:net';
import { expect } from 'vitest';

/** A request. It is sent unchanged: no client library normalizes its path, headers or bytes. */
export interface Sent {
  method?: string;
  path: string;
  headers?: http.OutgoingHttpHeaders;
  body?: string | Buffer;
  token?: string | null;
}

export interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  ms: number;
}

const agent = new http.Agent({ keepAlive: true });

export function send(origin: string, { method = 'GET', path, headers, body, token }: Sent): Promise<Reply> {
  const began = performance.now();
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        hostname,
        port,
        agent,
        method,
        path,
        headers: {
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
          ...(token && { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
            ms: performance.now() - began,
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends bytes unchanged. @returns everything that the service sends until it closes the connection or is silent. */
export function sendBytes(
  origin: string,
  parts: Iterable<string | Buffer>,
  silenceMs = 2_000,
): Promise<{ text: string; ms: number; closed: boolean }> {
  const began = performance.now();
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    let text = '';
    let closed = false;
    let ms = 0;
    const done = () => {
      clearTimeout(silence);
      socket.destroy();
      resolve({ text, ms: ms || performance.now() - began, closed });
    };
    const silence = setTimeout(done, silenceMs);
    socket.on('data', (chunk) => {
      ms ||= performance.now() - began;
      text += chunk.toString('latin1');
      silence.refresh();
    });
    socket.on('error', () => {}); // A service that refuses the request may close the connection while we still write.
    socket.on('close', () => {
      closed = true;
      done();
    });
    const pending = parts[Symbol.iterator]();
    const write = (): void => {
      for (;;) {
        const next = pending.next();
        if (next.done || socket.destroyed) return;
        if (!socket.write(next.value)) {
          socket.once('drain', write);
          return;
        }
      }
    };
    socket.once('connect', write);
  });
}

const CODES = [
  'AUTH_FAILED',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'VALIDATION_ERROR',
  'DUPLICATE_ENTRY',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
];

export interface Refusal {
  code: string;
  message: string;
  details: { fields?: { path: string; message: string }[] } & Record<string, unknown>;
}

/** The error of an answer. Fails if the answer is not exactly the envelope. */
export function refusalOf(reply: Pick<Reply, 'status' | 'text'>): Refusal {
  const body = JSON.parse(reply.text) as { success: unknown; error: Refusal };
  expect(Object.keys(body).sort(), reply.text).toEqual(['error', 'success']);
  expect(Object.keys(body.error).sort(), reply.text).toEqual(['code', 'details', 'message']);
  expect(body.success).toBe(false);
  expect(CODES).toContain(body.error.code);
  expect(body.error.message).toMatch(/\S/);
  expect(body.error.details).toBeTypeOf('object');
  return body.error;
}

/** Internal details: statements, stacks, paths, programs. */
const INSIDE = [
  /\bat .+\((?:file|node|\/).*:\d+:\d+\)/,
  /node_modules|\/src\/|\/dist\/|file:\/\//,
  /\b(?:relation|column) "\w+"|violates|syntax error|insert into |returning "|select "|pg_\w+|plpgsql/i,
  /\b(?:postgres|kysely|fastify|ioredis|ECONN\w+|ENOENT|FST_\w+|ERR_\w+)\b/i,
];

/** @param given - the content of the request, which the answer may repeat. */
export function expectNoInternals(text: string, given = ''): void {
  for (const pattern of INSIDE) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined && !given.includes(found)) {
      throw new Error(`An answer reveals internal details (${found}): ${text.slice(0, 1_000)}`);
    }
  }
}
