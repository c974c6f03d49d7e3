/**
 * Whether the limits are exact over several instances: many more calls at once than a window allows go through nginx
 * to all of them, from addresses of the loopback that stand for callers, and as many pass as the limit says, not one
 * more or less. Then again in the same window, and in the next. Fails if any count is not exact.
 *
 *   npm run build && BENCH_REDIS_URL=redis://localhost:6379 node bench/studies/limits.mjs [--instances=4]
 *
 * Result (four instances): of 400 calls at once 100 passed, then none, then 100 in the next window; 10 of 60 bulk calls; 5 of
 * 40 sign-ins from each address, also with forged X-Forwarded-For.
 *
 * Takes about two minutes, mostly waiting for the next window.
 * Needs nginx and PostgreSQL as bench/studies/instances.mjs does, and Redis, in whose database that BENCH_REDIS_URL names the
 * counts of this service are deleted first.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createDatabase } from '../lib/load.mjs';
import { startNginx } from '../lib/nginx.mjs';
import { openPrograms, signIn } from '../lib/programs.mjs';
import { conditions, log, table } from '../lib/report.mjs';

const { values: options } = parseArgs({
  options: { instances: { type: 'string' } },
});
const instances = Number(options.instances ?? 4);
if (!process.env.BENCH_REDIS_URL)
  throw new Error('BENCH_REDIS_URL is needed: without Redis limits are not shared.');

const LIMITS = { RATE_LIMIT_GENERAL: 100, RATE_LIMIT_BULK: 10, RATE_LIMIT_AUTH: 5 };
const [CALLER, NEIGHBOUR, FORGER] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
const guess = {
  ...{ method: 'POST', path: '/auth/login' },
  // Guesses at one e-mail are limited, too.
  body: '{"email":"nobody{n}@example.com","password":"not the password"}',
};
let calls = 0;
/** What is called how often at once, and how many of these may be answered in a window. */
const volleys = [
  {
    ...{ name: 'general: GET /accounts, one user from three addresses', limit: LIMITS.RATE_LIMIT_GENERAL },
    ...{ calls: 400, from: [CALLER, NEIGHBOUR, FORGER], method: 'GET', path: '/accounts', signedIn: true },
  },
  {
    ...{ name: 'bulk: POST /payments/reconcile, one user', limit: LIMITS.RATE_LIMIT_BULK, calls: 60 },
    ...{
      from: [CALLER],
      method: 'POST',
      path: '/payments/reconcile',
      body: '{"paymentIds":[1]}',
      signedIn: true,
    },
  },
  {
    ...{ name: 'auth: POST /auth/login from one address', limit: LIMITS.RATE_LIMIT_AUTH, calls: 40 },
    ...{ from: [CALLER], ...guess },
  },
  {
    ...{ name: 'auth: the same from the address beside it', limit: LIMITS.RATE_LIMIT_AUTH, calls: 40 },
    ...{ from: [NEIGHBOUR], ...guess },
  },
  {
    ...{ name: 'auth: each call with another X-Forwarded-For of its own', limit: LIMITS.RATE_LIMIT_AUTH },
    ...{ calls: 40, from: [FORGER], forged: true, ...guess },
  },
];

const scratch = mkdtempSync(join(tmpdir(), 'ams-bench-'));
const programs = openPrograms(scratch);
const redis = new Redis(process.env.BENCH_REDIS_URL);
const { url, drop } = await createDatabase('limits');
const database = new pg.Client({ connectionString: url });

try {
  await database.connect();
  await forgetCounts();
  const services = await Promise.all(
    Array.from({ length: instances }, () =>
      programs.startService(url, { ...LIMITS, TRUST_PROXY: '127.0.0.1' }),
    ),
  );
  const nginx = await startNginx({ programs, scratch, groups: [services.map(({ port }) => port)] });
  const token = await signIn(services[0].base);
  const windows = [];
  for (const window of ['a window', 'again in it', 'the next window']) {
    if (window === 'the next window') {
      log('waiting for the next window');
      await delay(61_000); // since the last of the first volleys, the windows began before
    }
    windows.push({ window, counts: await fireAll(nginx.bases[0], token) });
  }
  const report = await reportOf(windows);
  console.log(`\n${report}`);
  const wrong = windows.flatMap(({ window, counts }) =>
    volleys
      .filter((volley, i) => counts[i].passed !== expected(volley, window))
      .map(({ name }) => `${name}, ${window}`),
  );
  if (wrong.length > 0) throw new Error(`Not exact: ${wrong.join('; ')}`);
} finally {
  await programs.stopAll();
  await database.end();
  redis.disconnect();
  await drop();
  rmSync(scratch, { recursive: true });
}

async function fireAll(base, token) {
  const counts = [];
  for (const volley of volleys) {
    const calls = Array.from({ length: volley.calls }, (_, n) =>
      call(base, {
        ...volley,
        localAddress: volley.from[n % volley.from.length],
        headers: {
          ...(volley.body && { 'content-type': 'application/json' }),
          ...(volley.signedIn && { authorization: `Bearer ${token}` }),
          ...(volley.forged && { 'x-forwarded-for': `10.0.${n >> 8}.${n & 255}` }),
        },
      }),
    );
    const statuses = await Promise.all(calls);
    const refused = statuses.filter((status) => status === 429).length;
    const busy = statuses.filter((status) => status >= 500).length;
    counts.push({ passed: statuses.length - refused - busy, refused, busy });
    log(`${volley.name}: ${JSON.stringify(counts.at(-1))}`);
  }
  return counts;
}

/** Each call on a connection of its own. @returns its status. */
function call(base, { method, path, body, headers, localAddress }) {
  return new Promise((resolve, reject) => {
    const sent = request(`${base}/api${path}`, { method, headers, localAddress, agent: false }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body?.replace('{n}', () => String(calls++)));
  });
}

function expected({ limit }, window) {
  return window === 'again in it' ? 0 : limit;
}

/** What an earlier run has counted for users and addresses that have the same names. */
async function forgetCounts() {
  for await (const keys of redis.scanStream({ match: 'ams:limit:*', count: 1_000 })) {
    if (keys.length > 0) await redis.del(keys);
  }
}

async function reportOf(windows) {
  const heads = windows.map(({ window }) => `pass in ${window}`);
  return [
    '# Limits over several instances',
    `${await conditions(database)}; Redis; ${instances} instances behind nginx, TRUST_PROXY=127.0.0.1; callers are ` +
      'addresses of the loopback. By `node bench/studies/limits.mjs`. Each line is one volley of calls at once; those that do ' +
      'not pass are refused with 429.',
    table(
      ['what', 'calls at once', 'limit', ...heads, 'refused as busy (503)'],
      volleys.map(({ name, calls, limit }, i) => [
        ...[name, calls, limit],
        ...windows.map(({ counts }) => counts[i].passed),
        windows.reduce((sum, { counts }) => sum + counts[i].busy, 0),
      ]),
    ),
  ].join('\n\n');
}
