/**
 * Measures how long payments take while a job defers many accounts: 50 payments per second, a fifth of them on the accounts that are
 * being deferred. Prints the times before and during the deferral and its undo.
 *
 *   npm run build && node bench/studies/bulk-deferral.mjs [--accounts=10000] [--rate=50]
 *
 * BENCH_DATABASE_URL: as for bench/lib/load.mjs.
 *
 * Results on 2026-12-01 with 10,000 accounts: PostgreSQL 15 on the same two quiet cores. The preview took 2 s, the deferral 29 s, and its undo
 * 20 s. No payment failed. Payments took 4.5 ms (p99 12.5, max 97) before it, 4.8 ms (p99 13.8, max 40) during it, and p99 16 ms on the
 * accounts being deferred. While other programs also used the cores (load 7 to 10), they took 37 ms (p99 271) before it, and 61 ms (p99
 * 343) during it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readConfig } from '../../dist/config/config.js';
import { startService } from '../../dist/service.js';
import { FIRST_OPEN_ACCOUNT, openBooks } from '../lib/load.mjs';
import { loadBefore, table } from '../lib/report.mjs';

const { values: options } = parseArgs({
  options: { accounts: { type: 'string' }, rate: { type: 'string' } },
});
const DEFERRED = Number(options.accounts ?? 10_000);
const RATE = Number(options.rate ?? 50);
const BEFORE_MS = 30_000;
/** A third of the accounts has each pay plan. */
const PLANS = 3;

const load = loadBefore();
const books = await openBooks('bulk_deferral', {
  accounts: DEFERRED * PLANS + FIRST_OPEN_ACCOUNT,
  payments: DEFERRED * PLANS * 3,
});
let service;
try {
  const settings = { DATABASE_URL: books.url, PORT: '0', LOG_LEVEL: 'warn', JWT_SECRET: 'x'.repeat(40) };
  const limits = { RATE_LIMIT_GENERAL: '0', RATE_LIMIT_AUTH: '0' };
  service = await startService(readConfig({ NODE_ENV: 'test', ...settings, ...limits }));
  const user = { email: 'b@example.com', password: 'a long enough password', firstName: 'B', lastName: 'M' };
  const { accessToken } = (await call('POST', '/auth/register', user)).data;
  const post = async (path, body) => (await call('POST', path, body, accessToken)).data;
  const get = async (path) => (await call('GET', path, undefined, accessToken)).data;
  const path = '/plan-changes/bulk-deferrals';

  const payments = startPayments(post);
  await sleep(BEFORE_MS);
  const takes = { 'before it': payments.take() };
  const lines = [];
  const untilIs = async (id, status) => {
    const startedAt = Date.now();
    for (;;) {
      const row = await get(`${path}/${id}`);
      if (row.status === status) return { row, seconds: (Date.now() - startedAt) / 1000 };
      await sleep(500);
    }
  };
  const from = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
  const filter = { payplanId: { eq: 1 }, status: { in: ['active', 'suspended'] } };
  const startedAt = Date.now();
  const { id } = await post(path, { filter, from, days: 30, reason: 'bench' });
  lines.push(['request of the preview', ((Date.now() - startedAt) / 1000).toFixed(1)]);
  const preview = await untilIs(id, 'draft');
  takes['during the preview'] = payments.take();
  await post(`${path}/${id}/confirm`);
  const deferral = await untilIs(id, 'done');
  takes['during the deferral'] = payments.take();
  await post(`${path}/${id}/undo`, { reason: 'bench' });
  const undo = await untilIs(id, 'undone');
  takes['during the undo'] = payments.take();
  await payments.stop();
  lines.push(['preview', preview.seconds.toFixed(1)], ['deferral', deferral.seconds.toFixed(1)]);
  lines.push(['undo', undo.seconds.toFixed(1)]);
  const { deferred, refused, skipped, undone, notUndone } = undo.row.counts;
  console.log(`Accounts: ${JSON.stringify({ deferred, refused, skipped, undone, notUndone })}`);
  console.log(`Load before: ${load}\n`);
  console.log(table(['work', 'seconds'], lines));
  console.log(
    `\n${table(
      ['payments', 'count', 'failed', 'p50 ms', 'p99 ms', 'max ms', 'p99 ms on deferred accounts'],
      Object.entries(takes).map(([name, take]) => [name, ...figuresOf(take)]),
    )}`,
  );
} finally {
  await service?.stop();
  await books.drop();
}

/** Sends payments at a constant rate, without waiting for answers. `take` returns those that were answered since the last call. */
function startPayments(post) {
  let answered = [];
  let sent = 0;
  const open = new Set();
  const timer = setInterval(() => {
    sent += 1;
    const isDeferred = sent % 5 === 0;
    const nth = (sent * 7919) % DEFERRED;
    // Account n has the plan 1 + n % 3.
    const accountId =
      FIRST_OPEN_ACCOUNT +
      nth * PLANS +
      (((isDeferred ? 0 : 1) - (FIRST_OPEN_ACCOUNT % PLANS) + PLANS) % PLANS);
    const startedAt = performance.now();
    const request = post('/payments', { accountId, amount: 10, paymentMethodId: 2 }).then(
      () => true,
      () => false,
    );
    open.add(request);
    request.then((isDone) => {
      open.delete(request);
      answered.push({ ms: performance.now() - startedAt, isDone, isDeferred });
    });
  }, 1000 / RATE);
  return {
    take() {
      const taken = answered;
      answered = [];
      return taken;
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
}

function figuresOf(take) {
  const sorted = (rows) => rows.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (times, share) =>
    (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1);
  const all = sorted(take);
  const failed = take.filter(({ isDone }) => !isDone).length;
  const deferred = sorted(take.filter(({ isDeferred }) => isDeferred));
  return [all.length, failed, at(all, 0.5), at(all, 0.99), at(all, 1), at(deferred, 0.99)];
}

async function call(method, path, body, token) {
  const response = await fetch(`${service.address}/api${path}`, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer).slice(0, 300)}`);
  return answer;
}
