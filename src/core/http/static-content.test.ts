import fastify from 'fastify';
import { expect, it } from 'vitest';
import { staticContent } from './static-content.ts';

it('reads compressed content again after a failure, and sends the error without the headers of the content', async () => {
  const reads = [
    () => Promise.reject(new Error('too many open files')),
    async () => Buffer.from('compressed'),
  ];
  const app = fastify();
  const readCompressed = () => reads.shift()?.() ?? expect.fail('It was read again.');
  app.get(
    '/',
    staticContent('text/plain', () => 'x'.repeat(2_000), { readCompressed }),
  );
  const read = () => app.inject({ url: '/', headers: { 'accept-encoding': 'br' } });

  const failed = await read();
  expect(failed.statusCode).toBe(500);
  expect(failed.headers).not.toHaveProperty('content-encoding');
  expect(failed.headers).not.toHaveProperty('etag');
  for (let i = 0; i < 2; i += 1) {
    const answer = await read();
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-encoding']).toBe('br');
    expect(answer.payload).toBe('compressed');
  }
});
