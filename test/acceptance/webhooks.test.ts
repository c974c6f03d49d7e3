import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/waiting.ts';
import { openAccount, registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  report,
  startService,
  USUAL_LIMITS,
} from './process.ts';

cleanUpAfterwards();

test('when an instance is killed, another one delivers within seconds, and every event arrives', async () => {
  const environment = {
    ...NO_RATE_LIMITS,
    ...USUAL_LIMITS,
    DATABASE_URL: await newDatabase(),
    WEBHOOKS_OUT_ALLOW: '127.0.0.1',
  };
  const receiver = await startReceiver();
  receiver.answer = async (_received, response) => {
    await sleep(50); // So that requests are in flight when the instance dies.
    response.writeHead(204).end();
  };
  const first = await startService(environment);
  const token = await registerAdmin(first);
  const account = await openAccount(first, token);
  const endpoint = await first.call(
    'POST',
    '/webhook-endpoints',
    { url: receiver.url, types: ['payment.received'] },
    { token },
  );
  expect(endpoint.status, endpoint.text).toBe(201);
  const paid: number[] = [];
  const pay = async (service: typeof first) => {
    const body = {
      accountId: account.id,
      amount: 1,
      paymentMethodId: 2,
      transactionRef: `KILL-${paid.length}`,
    };
    const answer = await service.call('POST', '/payments', body, { token });
    expect(answer.status, answer.text).toBe(201);
    paid.push(answer.body.data.id);
  };
  const missing = () => {
    const arrived = new Set(receiver.received.map(({ event }) => event.resourceId));
    return paid.filter((id) => !arrived.has(id));
  };

  await pay(first);
  await eventually(missing).toEqual([]); // The first instance has the lease.
  const second = await startService(environment);
  for (let n = 0; n < 100; n++) {
    await pay(second);
    if (n === 50) await first.kill();
  }
  const killed = Date.now();
  await eventually(missing).toEqual([]);
  const repeats = receiver.received.length - new Set(receiver.ids()).size;
  report(`webhooks: all 101 events ${Date.now() - killed} ms after the last payment, ${repeats} repeated`);
  expect(repeats).toBeLessThan(60);
  for (const { headers, event } of receiver.received)
    expect(headers['webhook-id']).toBe(`msg_${endpoint.body.data.id}_${event.id}`);
  expect((await second.stop()).status).toBe(0);
  await receiver.close();
});
