import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { useService } from '../support/harness.ts';

const service = useService();

let phones = 0;
const customer = (fields: object = {}) => {
  phones += 1;
  return { firstName: 'Bulk', lastName: 'Customer', phone: `+2547${20_000_000 + phones}`, ...fields };
};

describe('a body with very many mistakes', () => {
  const many = (count: number, nameOf: (i: number) => string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [nameOf(i), 1]));
  const listed = (item: object) => ({ items: Array.from({ length: 1_000 }, () => item) });

  it.each([
    ['malformed metadata keys', 'bulk', listed(customer({ metadata: many(300, (i) => `k ${i}`) }))],
    ['unknown fields', 'bulk', listed(many(400, (i) => `k${i}`))],
    [
      'as many mistakes as are named',
      'bulk',
      listed({ ...many(20, (i) => `unknown${i}`), metadata: many(20, (i) => `k ${i}`), phone: 1, email: 1 }),
    ],
    ['60,000 malformed metadata keys', '', customer({ metadata: many(60_000, (i) => `k ${i}`) })],
    ['60,000 unknown fields', '', many(60_000, (i) => `k${i}`)],
  ])('does not hold up other requests: %s', async (_what, path, given) => {
    const body = JSON.stringify(given);
    const headers = {
      authorization: `Bearer ${service.adminToken}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const delay = monitorEventLoopDelay({ resolution: 5 });
    const url = `${service.origin}/api/customers/${path}`.replace(/\/$/, '');
    delay.enable();
    // The answer is not parsed, because parsing it would hold up this process as well.
    const answer = await fetch(url, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    delay.disable();
    expect(answer.status).toBe(path === 'bulk' ? 200 : 400);
    const start = performance.now();
    JSON.parse(body);
    const parsingMs = performance.now() - start;
    expect(delay.max / 1e6).toBeLessThan(500 + 10 * parsingMs);
  });
});
