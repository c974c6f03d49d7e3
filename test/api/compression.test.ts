import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { compressJson } from '../../src/core/http/compression.ts';
import { busy } from '../../src/core/http/errors.ts';
import { createHttpServer } from '../../src/core/http/server.ts';
import { newCustomer, PASSWORD, useService } from '../support/harness.ts';

const service = useService();
const LIST = '/api/customers?limit=20';

interface RawAnswer {
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

/** Sends a request without a decoder: `fetch` would decompress the answer. */
function send(method: string, path: string, headers: Record<string, string>, body = ''): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    request(`${service.origin}${path}`, { method, headers }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part);
      resolve({ headers: response.headers, bytes: Buffer.concat(parts) });
    })
      .on('error', reject)
      .end(body);
  });
}

const read = (path: string, headers: Record<string, string> = {}) =>
  send('GET', path, { authorization: `Bearer ${service.adminToken}`, ...headers });

beforeAll(async () => {
  for (let i = 0; i < 20; i += 1) await newCustomer(service, { firstName: `Customer ${i}` });
});

describe('a JSON answer above 1 kB', () => {
  it.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
  ])('is sent as %s to a client that accepts it', async (encoding, accepted, decompress) => {
    const plain = await read(LIST);
    const { headers, bytes } = await read(LIST, { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers.vary).toBe('accept-encoding');
    expect(decompress(bytes)).toEqual(plain.bytes);
    expect(bytes.length * 4).toBeLessThan(plain.bytes.length);
  });

  it.each([
    ['that names no encoding', {}],
    ['that refuses both', { 'accept-encoding': 'br;q=0, gzip;q=0' }],
    ['that knows other encodings only', { 'accept-encoding': 'deflate, zstd' }],
  ])('is sent as it is to a client %s', async (_which, headers) => {
    const answer = await read(LIST, headers);
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers.vary).toBe('accept-encoding');
    expect(JSON.parse(answer.bytes.toString()).data).toHaveLength(20);
  });
});

describe('never compressed is', () => {
  const all = { 'accept-encoding': 'gzip, br' };

  it('the refusal of a larger answer, which has no headers of that answer', async () => {
    const app = createHttpServer(service.context, service.parts.log);
    compressJson(app, { mayContainTokens: () => false });
    app.addHook('onSend', async (_request, reply) => {
      if (reply.statusCode === 200) throw busy('The service is busy.', 1);
    });
    app.get('/large', (_request, reply) =>
      reply
        .header('etag', '"1"')
        .header('cache-control', 'no-cache')
        .send({ text: 'x'.repeat(2_000) }),
    );
    const { headers, payload, statusCode } = await app.inject({ url: '/large', headers: all });
    expect(statusCode).toBe(503);
    expect(JSON.parse(payload).error.message).toContain('The service is busy.');
    expect(headers).toMatchObject({ 'cache-control': 'no-store' });
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers).not.toHaveProperty('etag');
  });

  it('a smaller answer', async () => {
    const { headers, bytes } = await read('/api/customers/1', all);
    expect(bytes.length).toBeLessThan(1_000);
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers.vary).toBeUndefined();
  });

  it.each(['/api/auth/session', '/api/v1/auth/session'])('an answer with a token, as of %s', async (path) => {
    const body = JSON.stringify({ email: 'admin@example.com', password: PASSWORD });
    const { headers, bytes } = await send('POST', path, { ...all, 'content-type': 'application/json' }, body);
    expect(bytes.length).toBeGreaterThan(1_000);
    expect(JSON.parse(bytes.toString()).data.accessToken).toBeTypeOf('string');
    expect(headers['content-encoding']).toBeUndefined();
  });

  it('a CSV file', async () => {
    const { headers, bytes } = await read('/api/reports/payments?format=csv', all);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(headers['content-encoding']).toBeUndefined();
    expect(bytes.toString()).toContain(',');
  });
});
