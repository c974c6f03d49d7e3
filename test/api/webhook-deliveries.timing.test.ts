import { expect, it, onTestFinished } from 'vitest';
import { startDispatcher } from '../../src/changes/webhook-endpoints/start-dispatcher.ts';
import { dataOf, newAccount, pay, useService } from '../support/harness.ts';
import { measurePace } from '../support/pace.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/waiting.ts';

const service = useService({ WEBHOOKS_OUT_ALLOW: '127.0.0.0/8' });

async function open() {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const endpoint = { url: receiver.url, types: ['payment.received'] };
  await dataOf(service.call('POST', '/webhook-endpoints', endpoint), 201);
  return receiver;
}

it('an event arrives within a second of its commit, beside an endpoint that never answers', async () => {
  const [healthy, dead] = [await open(), await open()];
  dead.answer = () => {};
  const { id } = await newAccount(service);
  const { context, parts } = service;
  const dispatcher = startDispatcher(context, parts.horizon, parts.log);
  onTestFinished(async () => {
    await dead.close(); // Ends the requests, for which the stop would wait.
    await dispatcher.stop();
  });
  await pay(service, id, 1);
  await eventually(() => healthy.received.length).toBe(1); // The dispatcher has its leases.
  const pace = measurePace(service);
  const committedAt = new Map<number, number>();
  for (let n = 0; n < 50; n += 1) {
    const payment = await pay(service, id, 1);
    committedAt.set(payment.id, Date.now());
  }
  await eventually(() => healthy.received.length).toBe(51);
  const delays = healthy.received
    .slice(1)
    .map(({ at, event }) => at - (committedAt.get(event.resourceId) ?? Number.NaN));
  expect(Math.max(...delays)).toBeLessThan(1_000 + 10 * (await pace.stop()));
});
