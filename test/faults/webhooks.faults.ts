import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTurn, openAccount, registerAdmin } from '../acceptance/client.ts';
import { cleanUpAfterwards, NO_RATE_LIMITS, report, startService } from '../acceptance/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { percentile } from './clients.ts';
import { createPostgres, type FragilePostgres } from './postgres.ts';

cleanUpAfterwards();

let postgres: FragilePostgres;
beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
});
afterAll(() => postgres.stop('fast'));

const PAYMENTS_PER_SECOND = 200;
const SECONDS = 30;
const TICK_MS = 50;
const MOST_P95_MS = 1_000;

test('at 200 payments a second, events arrive within a second although other endpoints are down', async () => {
  const service = await startService({
    ...NO_RATE_LIMITS,
    DATABASE_URL: await postgres.newDatabase(),
    WEBHOOKS_OUT_ALLOW: '127.0.0.1',
  });
  const token = await registerAdmin(service);
  const accounts = await Promise.all(Array.from({ length: 50 }, () => openAccount(service, token)));
  const [healthy, inOrder, refusing, silent] = (await Promise.all([1, 2, 3, 4].map(startReceiver))) as [
    Receiver,
    Receiver,
    Receiver,
    Receiver,
  ];
  refusing.answer = (_received, response) => response.writeHead(500).end();
  silent.answer = () => {};
  for (const receiver of [healthy, inOrder, refusing, silent]) {
    const body = { url: receiver.url, types: ['payment.received'], inOrder: receiver === inOrder };
    const { status, text } = await service.call('POST', '/webhook-endpoints', body, { token });
    expect(status, text).toBe(201);
  }
  await sleep(3_000); // Until the service has the leases of all endpoints, and delivers to them.

  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const calls: Promise<number>[] = [];
  const began = performance.now();
  for (let tick = 1; tick <= (SECONDS * 1_000) / TICK_MS; tick++) {
    for (let n = 0; n < (PAYMENTS_PER_SECOND * TICK_MS) / 1_000; n++) {
      const accountId = inTurn(accounts, calls.length).id;
      const body = { accountId, amount: 1, paymentMethodId: 2, transactionRef: `LOAD-${calls.length}` };
      const sent = fetch(`${service.origin}/api/payments`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      calls.push(
        sent.then(async (answer) => {
          await answer.text();
          return answer.status;
        }),
      );
    }
    await sleep(Math.max(0, began + tick * TICK_MS - performance.now()));
  }
  const statuses = await Promise.all(calls);
  const refused = statuses.filter((status) => status !== 201).length;
  const posted = statuses.length - refused;
  const perSecond = statuses.length / ((performance.now() - began) / 1_000);

  for (const [name, receiver] of Object.entries({ healthy, inOrder })) {
    await expect.poll(() => new Set(receiver.ids()).size, { timeout: 30_000 }).toBe(posted);
    // An event has the time at which its transaction began.
    const delays = receiver.received.map(({ at, event }) => at - Date.parse(event.createdAt));
    report(
      `webhooks, ${name}: ${posted} events at ${perSecond.toFixed(0)} payments/s (${refused} refused), ` +
        `p50 ${percentile(delays, 0.5)} ms, p95 ${percentile(delays, 0.95)} ms, p99 ${percentile(delays, 0.99)} ms, ` +
        `${receiver.received.length - posted} repeated`,
    );
    expect(percentile(delays, 0.95)).toBeLessThan(MOST_P95_MS);
  }
  expect(refusing.received.length).toBeLessThan(200);
  for (const { id } of accounts) {
    const ofAccount = inOrder.received.filter(({ event }) => event.accountId === id);
    const order = ofAccount.map(({ event }) => event.accountVersion);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }
  await Promise.all([healthy, inOrder, refusing, silent].map((receiver) => receiver.close()));
  expect((await service.stop()).status).toBe(0);
});
