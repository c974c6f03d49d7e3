import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToHold } from '../acceptance/books.ts';
import { inParallel, inTurn, openAccount, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { type Outcome, percentile, send, startPaying, strangeOf } from './clients.ts';
import { createPostgres, type FragilePostgres } from './postgres.ts';

cleanUpAfterwards();

let postgres: FragilePostgres;
let url: string;
let service: RunningService;
let token: string;

beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
  url = await postgres.newDatabase();
  service = await start();
  token = await registerAdmin(service);
});

afterAll(async () => {
  await service.stop();
  await postgres.stop('fast');
});

function start(environment: Record<string, string> = {}): Promise<RunningService> {
  return startService({ ...NO_RATE_LIMITS, DATABASE_URL: url, LOG_LEVEL: 'error', ...environment });
}

test('one instance under 300 clients answers accepted calls soon, and refuses the others at once', async () => {
  const accounts = await inParallel(5, Array.from({ length: 50 }), () => openAccount(service, token));
  const clients = Array.from({ length: 300 }, (_, client) => client);
  const call = (client: number) => {
    const { id } = inTurn(accounts, client);
    return client % 3
      ? send(service.origin, 'GET', `/api/accounts/${id}`, { token })
      : send(service.origin, 'POST', '/api/payments', {
          token,
          body: { accountId: id, amount: 1, paymentMethodId: 2 },
        });
  };
  // The instance and the clients have warmed up, so neither compiles code during the measurement.
  for (let round = 0; round < 5; round++) await inParallel(100, clients, call);
  const outcomes: Outcome[] = [];
  const until = performance.now() + 15_000;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < until) {
        const outcome = await call(client);
        outcomes.push(outcome);
        if (outcome.status === 503) await sleep(Number(outcome.retryAfter) * 1_000);
      }
    }),
  );
  expect(strangeOf(outcomes)).toEqual([]);
  const msOf = (wanted: boolean) =>
    outcomes.filter(({ status }) => (status === 503) === wanted).map(({ ms }) => ms);
  const [accepted, refused] = [msOf(false), msOf(true)];
  report(
    `300 clients: ${accepted.length} accepted, p50 ${percentile(accepted, 0.5)} ms, p99 ${percentile(accepted, 0.99)} ms; ` +
      `${refused.length} refused, p99 ${percentile(refused, 0.99)} ms, slowest ${percentile(refused, 1)} ms`,
  );
  expect(percentile(accepted, 0.99)).toBeLessThan(2_000);
  expect(percentile(refused, 0.99)).toBeLessThan(200);
});

test('SIGTERM under load first ends readiness, finishes calls in flight, and exits with 0 within 10 s', async () => {
  const leaving = await start({
    NODE_ENV: 'production',
    JWT_SECRET: 'a secret for this test alone, long enough',
    WEBHOOK_SECRET: 'a webhook secret of the test',
    REGISTRATION: 'closed',
  });
  const outcomes: Outcome[] = [];
  let stopping = false;
  const clients = Promise.all(
    Array.from({ length: 20 }, async () => {
      while (!stopping) {
        outcomes.push(await send(leaving.origin, 'GET', '/api/products', {}));
        await sleep(5);
      }
    }),
  );
  await sleep(500);
  const began = performance.now();
  const ended = leaving.stop();
  await expect
    .poll(async () => (await send(leaving.origin, 'GET', '/readyz')).status, { timeout: 1_000, interval: 20 })
    .toBe(503);
  // It still answers during the readiness drain.
  expect((await send(leaving.origin, 'GET', '/api/products', {})).status).toBe(401);
  stopping = true;
  await clients;
  expect((await ended).status).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(outcomes.filter(({ status }) => status !== 401)).toEqual([]);
  report(`SIGTERM under load: ended after ${Math.round(performance.now() - began)} ms, no call broken`);
});

test('a rolling restart of three instances loses and doubles nothing', async () => {
  const instances = await Promise.all([start(), start(), start()]);
  const origins = instances.map(({ origin }) => origin);
  const paying = await startPaying(origins, service, token, { clients: 20 });
  for (const [index, instance] of instances.entries()) {
    await sleep(500);
    expect((await instance.stop()).status).toBe(0);
    instances[index] = await start({ PORT: String(instance.port) });
  }
  await paying.stop();
  expect(strangeOf(paying.outcomes)).toEqual([]);
  report(`a rolling restart: ${await paying.compare(service)}`);
  await Promise.all(instances.map((instance) => instance.stop()));
  await expectBooksToHold(url);
});

test('slow headers and slow bodies are ended within 15 s', async () => {
  const head = 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\n';
  const body = `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
  const [headers, bodies] = await Promise.all([
    Promise.all(Array.from({ length: 20 }, () => drip(head, 'X-Slow: 1\r\n'))),
    Promise.all(Array.from({ length: 20 }, () => drip(body, ' '))),
  ]);
  expect(Math.max(...headers, ...bodies)).toBeLessThan(15_000);
  report(
    `slow senders are cut: headers after ${Math.max(...headers)} ms, bodies after ${Math.max(...bodies)} ms`,
  );
});

/** Sends `beginning`, and then `bit` every 200 ms, until the service closes the connection. @returns the time in ms. */
async function drip(beginning: string, bit: string): Promise<number> {
  const began = performance.now();
  const socket = await open();
  socket.write(beginning);
  const timer = setInterval(() => socket.write(bit), 200);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(timer);
  return Math.round(performance.now() - began);
}

test('2,000 idle sockets do not slow down other clients', async () => {
  const idle = await inParallel(100, Array.from({ length: 2_000 }), () => open());
  try {
    const times: number[] = [];
    await inParallel(10, Array.from({ length: 500 }), async () => {
      const { status, ms } = await send(service.origin, 'GET', '/api/products', { token });
      expect(status).toBe(200);
      times.push(ms);
    });
    report(`2,000 idle sockets: p99 of others ${percentile(times, 0.99)} ms`);
    expect(percentile(times, 0.99)).toBeLessThan(1_000);
  } finally {
    for (const socket of idle) socket.destroy();
  }
});

async function open(): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => {}); // `close` follows, and that is what counts.
  socket.resume();
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });
  return socket;
}

test('provoked deadlocks reach no client', async () => {
  const accounts = await inParallel(5, Array.from({ length: 6 }), () => openAccount(service, token));
  const post = (path: string, body: unknown) => send(service.origin, 'POST', `/api${path}`, { token, body });
  const paid = await inParallel(10, Array.from({ length: 300 }), async (_, n) => {
    const accountId = inTurn(accounts, n).id;
    const { body } = await post('/payments', { accountId, amount: 1, paymentMethodId: 2 });
    return (JSON.parse(body) as { data: { id: number } }).data.id;
  });
  const unmatched = await inParallel(10, Array.from({ length: 40 }), async (_, n) => {
    const body = { TransID: `LOST${n}`, TransAmount: '2.00', BillRefNumber: 'nobody' };
    const answer = await post('/webhooks/payments/mobilemoney', body);
    return (JSON.parse(answer.body) as { data: { paymentId: number } }).data.paymentId;
  });

  const half = paid.slice(0, 150);
  const calls = [
    // The same ids in opposite orders, while payments are recorded and reversed.
    ...Array.from(
      { length: 6 },
      (_, n) => () => post('/payments/reconcile', { paymentIds: n % 2 ? half : [...half].reverse() }),
    ),
    ...paid.slice(150).map((id) => () => post(`/payments/${id}/reverse`, { reason: 'a test of locks' })),
    ...unmatched.flatMap((id, n) =>
      [0, 1].map(
        (other) => () => post(`/payments/${id}/assign`, { accountId: inTurn(accounts, n + other).id }),
      ),
    ),
    ...Array.from(
      { length: 60 },
      (_, n) => () => post('/payments', { accountId: inTurn(accounts, n).id, amount: 3, paymentMethodId: 2 }),
    ),
  ];
  const outcomes = await inParallel(100, calls, (call) => call());
  // If two users assign one payment to different accounts, the second gets 400.
  const strange = outcomes.filter(({ status }) => ![200, 201, 400, 503].includes(status ?? 0));
  expect(strange).toEqual([]);
  const refused = outcomes.filter(({ status }) => status === 400).length;
  expect(refused).toBe(unmatched.length);
  expect(outcomes.filter(({ status, retryAfter }) => status === 503 && retryAfter !== '1')).toEqual([]);
  await expectBooksToHold(url);
});
