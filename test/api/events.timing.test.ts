import { expect, it, vi } from 'vitest';
import { dataOf, newAccount, pay, useService } from '../support/harness.ts';
import { measurePace } from '../support/pace.ts';
import { until } from '../support/waiting.ts';

const service = useService();

it('a request that waits for events is answered within half a second of the event', async () => {
  const { id } = await newAccount(service);
  const { after } = await dataOf(service.call('GET', '/events?from=latest'));
  const looks = vi.spyOn(service.parts.horizon, 'read');
  const waiting = service.call('GET', `/events?after=${after}&wait=30&types=payment.*`);
  // By now, the pauses between looks have their longest length.
  await until('the request to wait', () => looks.mock.calls.length > 8);
  const pace = measurePace(service);
  await pay(service, id, 500);
  const paidAt = performance.now();
  expect((await waiting).body.data.events).toHaveLength(1);
  const ms = performance.now() - paidAt;
  expect(ms).toBeLessThan(500 + 10 * (await pace.stop()));
  looks.mockRestore();
});
