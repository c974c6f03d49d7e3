import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToHold } from '../acceptance/books.ts';
import { inParallel, inTurn, openAccount, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  freePort,
  launch,
  NO_RATE_LIMITS,
  newFolder,
  ROOT,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { runStatement } from '../support/statements.ts';
import { send, startPaying } from './clients.ts';
import { expectGaplessVersions, startReading } from './event-reader.ts';
import { createPostgres, type FragilePostgres } from './postgres.ts';

cleanUpAfterwards();

const BULK_PAYMENTS = 50_000;
const ITEMS_PER_CALL = 500;
/** An instance accepts two bulk calls of a caller at a time. */
const BULK_WRITERS = 2;
const KILLS_OF_EACH = 4;
/** The longest time from the acknowledgement of a bulk call to a kill, so that kills happen during other calls. */
const MAX_KILL_DELAY_MS = 1_000;
const RETRY_PAUSE_MS = 100;
const CALL_GIVE_UP_MS = 60_000;
const DELIVERED_WITHIN_MS = 180_000;
/** Two busy cores need four minutes. */
const TIMEOUT_MS = 600_000;

let postgres: FragilePostgres;
beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
});
afterAll(() => postgres.stop('fast'));

test('no event is lost while the service, PostgreSQL and the receiver are killed in turn', {
  timeout: TIMEOUT_MS,
}, async () => {
  const began = performance.now();
  const url = await postgres.newDatabase();
  const port = await freePort();
  const start = () =>
    startService({
      ...NO_RATE_LIMITS,
      DATABASE_URL: url,
      PORT: String(port),
      LOG_LEVEL: 'warn',
      WEBHOOKS_OUT_ALLOW: '127.0.0.1',
    });
  let service = await start();
  const token = await registerAdmin(service);
  const receiver = await createReceiver(service, token);
  const { rows: cursors } = await runStatement(url, 'select cursor from webhook_endpoints');
  const firstId = Number(cursors[0].cursor) + 1;
  const reader = startReading([service.origin], token);
  const accounts = await inParallel(5, Array.from({ length: 50 }), () => openAccount(service, token));

  const paying = await startPaying([service.origin], service, token, { clients: 2 });
  const calls = Array.from({ length: BULK_PAYMENTS / ITEMS_PER_CALL }, (_, call) => call);
  const accountIds = accounts.map(({ id }) => id);
  let written = 0;
  const writing = inParallel(BULK_WRITERS, calls, async (call) => {
    const ids = await payInBulk(service.origin, token, call, accountIds);
    written += 1;
    return ids;
  });
  writing.catch(() => {}); // Awaited below.

  const restarts = [
    async () => {
      await service.kill();
      service = await start();
    },
    async () => {
      await postgres.kill();
      await postgres.start();
    },
    async () => {
      await receiver.kill();
      await receiver.start();
    },
  ];
  const kills = KILLS_OF_EACH * restarts.length;
  for (let kill = 0; kill < kills; kill++) {
    const due = ((kill + 1) * calls.length) / (kills + 1);
    await expect.poll(() => written, { timeout: 120_000, interval: 20 }).toBeGreaterThanOrEqual(due);
    await sleep(Math.random() * MAX_KILL_DELAY_MS);
    await restarts[kill % restarts.length]?.();
  }
  const acknowledged = (await writing).flat();
  await paying.stop();
  const wroteMs = performance.now() - began;
  const single = await paying.compare(service);
  expect(new Set(acknowledged).size).toBe(BULK_PAYMENTS);

  const lastId = await lastEventId(url);
  await expect.poll(() => reader.after(), { timeout: 30_000, interval: 100 }).toBeGreaterThanOrEqual(lastId);
  const events = await reader.stop();
  const { rows } = await runStatement(url, 'select id::int from events order by id');
  expect(events.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  expectGaplessVersions(events);
  const received = new Set(
    events.filter(({ type }) => type === 'payment.received').map(({ resourceId }) => resourceId),
  );
  expect(acknowledged.filter((id) => !received.has(id))).toEqual([]);

  const wanted = events.map(({ id }) => id).filter((id) => id >= firstId);
  expect(wanted.length).toBeGreaterThan(50_000);
  const missing = async () => {
    const ids = new Set(await receiver.ids());
    return wanted.filter((id) => !ids.has(id)).length;
  };
  await expect.poll(missing, { timeout: DELIVERED_WITHIN_MS, interval: 1_000 }).toBe(0);
  const deliveries = await receiver.ids();
  await expectBooksToHold(url);
  const seconds = (ms: number) => Math.round(ms / 1_000);
  report(
    `${wanted.length} events: read once each and delivered, ${deliveries.length - wanted.length} repeated; ` +
      `service, PostgreSQL and receiver killed ${KILLS_OF_EACH} times each; ` +
      `written within ${seconds(wroteMs)} s, all delivered after ${seconds(performance.now() - began)} s; ${single}`,
  );
  await receiver.kill();
  expect((await service.stop()).status).toBe(0);
});

/** A process that verifies deliveries and stores their ids. */
async function createReceiver(service: RunningService, token: string) {
  const file = join(await newFolder(), 'received');
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const body = { url: `${origin}/`, types: ['*'] };
  const created = await service.call('POST', '/webhook-endpoints', body, { token });
  expect(created.status, created.text).toBe(201);
  const { secret } = created.body.data;
  const program = join(import.meta.dirname, 'receiver.mjs');
  let running: ReturnType<typeof launch>;

  async function start(): Promise<void> {
    running = launch([process.execPath, program, String(port), file, secret], ROOT, {});
    const isUp = () => send(origin, 'GET', '/').then(({ status }) => status);
    await expect.poll(isUp, { timeout: 10_000, interval: 20 }).toBe(204);
  }

  await start();
  return {
    start,
    async kill() {
      running.child.kill('SIGKILL');
      await running.ended;
    },
    /** The ids of all verified deliveries, with repeats. */
    async ids(): Promise<number[]> {
      const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
      expect(lines.filter((line) => line.startsWith('refused'))).toEqual([]);
      return lines.map((line) => Number(line.split(' ', 1)[0]));
    },
  };
}

/** Repeats one bulk call with its key until it is acknowledged. @returns the ids of its payments. */
async function payInBulk(
  origin: string,
  token: string,
  call: number,
  accountIds: readonly number[],
): Promise<number[]> {
  const items = Array.from({ length: ITEMS_PER_CALL }, (_, item) => ({
    ...{ accountId: inTurn(accountIds, call + item), amount: 1, paymentMethodId: 2 },
    transactionRef: `BULK-${call}-${item}`,
  }));
  const headers = { 'idempotency-key': `bulk ${call}` };
  const began = performance.now();
  for (;;) {
    const answer = await send(origin, 'POST', '/api/payments/bulk', { token, headers, body: { items } });
    if (answer.status === 200) {
      const { data } = JSON.parse(answer.body) as {
        data: { failed: number; items: { data?: { id: number }; error?: unknown }[] };
      };
      expect(data.items.flatMap(({ error }) => error ?? [])).toEqual([]);
      return data.items.map((item) => item.data?.id ?? 0);
    }
    if (performance.now() - began > CALL_GIVE_UP_MS)
      throw new Error(`Bulk call ${call} is not acknowledged: ${answer.status} ${answer.body}`);
    await sleep(RETRY_PAUSE_MS);
  }
}

async function lastEventId(url: string): Promise<number> {
  const { rows } = await runStatement(url, 'select max(id)::int as id from events');
  return rows[0].id;
}
