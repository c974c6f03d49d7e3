import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { findRunningEmbeddedPostgres } from '../../src/platform/embedded-postgres/supervisor.ts';
import { NoAnswer, notification } from '../support/http.ts';
import { until } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import { cents, openAccount, type PaymentSeen, read, readPayments, registerAdmin, sumOf } from './client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newFolder,
  type RunningService,
  report,
  startService,
  untilNoProcessIn,
} from './process.ts';

cleanUpAfterwards();

/** `npm run test:all` kills more often. Each round also restarts the service, which takes most of the time. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 2);
const WRITERS = 40;
const MOST_PAYMENTS_IN_A_ROUND = 80;

/** The cents of the payments that were sent and of those that were acknowledged, by reference. */
const sent = new Map<string, number>();
const acknowledged = new Map<string, number>();
let resent = 0;

let dataDir: string;
let service: RunningService;
let token: string;
let account: Awaited<ReturnType<typeof openAccount>>;

beforeAll(async () => {
  dataDir = await newFolder();
  service = await start();
  token = await registerAdmin(service);
  account = await openAccount(service, token);
});

test('every acknowledged payment exists once after each kill -9, also of PostgreSQL, and the books are right', async () => {
  for (let round = 1; round <= ROUNDS; round++) {
    const before = acknowledged.size;
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(`${round}-${writer}`, writer));
    const wanted = 1 + Math.floor(Math.random() * MOST_PAYMENTS_IN_A_ROUND);
    await until(`${wanted} acknowledged payments`, () => acknowledged.size >= before + wanted);
    // Every second kill also kills PostgreSQL, as a power failure does.
    const withPostgres = round % 2 === 0;
    if (withPostgres) process.kill(await postmasterPid(), 'SIGKILL');
    await service.kill();
    await Promise.all(writers);

    service = await start();
    const figures = await expectNothingLostOrDoubled();
    const victims = withPostgres ? 'the service and PostgreSQL' : 'the service';
    report(`kill -9 of ${victims}: ${figures}; ready again after ${service.readyMs} ms`);

    // A client without an answer repeats the request, whether or not the payment was stored.
    for (const [reference, amount] of sent) {
      if (acknowledged.has(reference)) continue;
      const status = await send(reference, amount);
      expect([200, 201, 409]).toContain(status);
      acknowledged.set(reference, amount);
      resent += 1;
    }
    await expectNothingLostOrDoubled();
  }

  const payments = await readPayments(service, token, account.id);
  expect(payments.map((payment) => payment.transactionRef).sort()).toEqual([...sent.keys()].sort());
  const running = await findRunningEmbeddedPostgres(dataDir);
  expect(running).toBeDefined();
  if (running) await expectBooksToHold(running);
  expect((await service.stop()).status).toBe(0);
  await untilNoProcessIn(dataDir);
  report(`kill -9: ${sent.size} payments sent, ${resent} of them twice because the first got no answer`);
});

function start(): Promise<RunningService> {
  return startService({ ...NO_RATE_LIMITS, DATA_DIR: dataDir, LOG_LEVEL: 'warn' });
}

/** Sends payments until the service is killed, and records which of them it acknowledged. */
async function write(name: string, writer: number): Promise<void> {
  for (let n = 1; ; n++) {
    // Even numbers send as the provider, odd numbers as staff.
    const reference = `${writer % 2 === 0 ? 'MM' : 'HAND'}-${name}-${n}`;
    const amount = 1 + ((writer * 7 + n * 13) % 499);
    sent.set(reference, amount);
    const status = await send(reference, amount).catch((error: unknown) => {
      if (error instanceof NoAnswer) return undefined;
      throw error;
    });
    // PostgreSQL may end shortly before the service.
    if (status === undefined || status === 503) return;
    expect([200, 201]).toContain(status);
    acknowledged.set(reference, amount);
  }
}

async function send(reference: string, amount: number): Promise<number> {
  if (reference.startsWith('MM')) {
    const { status } = await service.call(
      'POST',
      '/webhooks/payments/mobilemoney',
      notification({
        TransID: reference,
        TransAmount: (amount / 100).toFixed(2),
        BillRefNumber: account.accountNumber,
      }),
    );
    return status;
  }
  const body = { accountId: account.id, amount: amount / 100, paymentMethodId: 1, transactionRef: reference };
  const { status } = await service.call('POST', '/payments', body, { token });
  return status;
}

/** Compares the journal with the payments of the service. @returns the figures as text. */
async function expectNothingLostOrDoubled(): Promise<string> {
  const payments = await readPayments(service, token, account.id);
  const seen = new Map(payments.map((payment) => [payment.transactionRef, payment]));
  const lost = [...acknowledged].filter(([reference, amount]) => !holds(seen.get(reference), amount));
  const strange = payments.filter((payment) => !holds(payment, sent.get(payment.transactionRef)));
  const { paid, balance } = await read(service, token, `/accounts/${account.id}`);
  const sum = sumOf(payments.map((payment) => cents(payment.amount)));
  expect(lost).toEqual([]);
  expect(strange).toEqual([]);
  expect(payments).toHaveLength(seen.size);
  expect(cents(paid)).toBe(sum);
  expect(cents(balance)).toBe(Math.max(0, cents(account.total) - sum));
  return (
    `${acknowledged.size} acknowledged, ${payments.length} there, ${lost.length} lost, ` +
    `${payments.length - seen.size} doubled`
  );
}

function holds(payment: PaymentSeen | undefined, amount: number | undefined): boolean {
  return payment?.status === 'matched' && cents(payment.amount) === amount;
}

async function postmasterPid(): Promise<number> {
  const [pid] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}
