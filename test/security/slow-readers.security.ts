import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount, PASSWORD, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  memoryMbOf,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { spawn } from '../support/processes.ts';
import { runStatement } from '../support/statements.ts';
import { type Reply, send } from './wire.ts';

/**
 * Clients that request large answers and read them slowly, or not at all. test/api/connections.test.ts tests a single connection.
 */
cleanUpAfterwards();

const MB = 1024 * 1024;
/** The time after which an unread answer is aborted, with a margin for a busy machine. */
const GIVEN_UP_MS = 35_000;

const PAGE = '/api/products/1/configurations?limit=100';
const EXPORT = '/api/reports/payments?format=csv&startDate=2026-01-01&endDate=2026-12-31';
const EXPORTED_ROWS = 30_000;

const hasCurl = spawnSync('curl', ['--version']).error === undefined;

let service: RunningService;
let admin: string;
let pdf: string;
const users: string[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  const url = await newDatabase();
  service = await startService({ ...NO_RATE_LIMITS, DATABASE_URL: url, LOG_LEVEL: 'error' });
  admin = await registerAdmin(service);
  for (const n of [1, 2, 3, 4]) users.push(await newUser(`reader${n}@example.com`));
  await seed(url);
}, 120_000);

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service.stop();
});

async function newUser(email: string): Promise<string> {
  const body = { email, password: PASSWORD, firstName: 'Slow', lastName: 'Reader' };
  return (await service.call('POST', '/auth/register', body)).body.data.accessToken;
}

/** A page of 1.6 MB, an invoice whose PDF has some hundred kB, and an export of 25 MB. */
async function seed(url: string): Promise<void> {
  const attributes = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`key${n}`, '😀'.repeat(500)]));
  for (let n = 0; n < 100; n++) {
    const body = { name: `Configuration ${n}`, attributes };
    const { status } = await service.call('POST', '/products/1/configurations', body, { token: admin });
    expect(status).toBe(201);
  }
  const { id: accountId } = await openAccount(service, admin);
  const items = Array.from({ length: 200 }, (_, n) => ({
    description: `${n} ${'abcdefghij '.repeat(45)}`.trim(),
    quantity: 1,
    unitPrice: 1,
  }));
  const invoice = await service.call('POST', '/invoices', { accountId, items }, { token: admin });
  expect(invoice.status, invoice.text).toBe(201);
  pdf = `/api/invoices/${invoice.body.data.id}/pdf`;
  await runStatement(
    url,
    `insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date,
      status, source)
    select $1, 100 + n, 1, ref, ref, date '2026-01-01' + n % 300, 'matched', 'manual'
    from generate_series(1, $2::int) n, lpad(n::text, 800, 'X') ref`,
    [accountId, EXPORTED_ROWS],
  );
}

interface Asked {
  path: string;
  token?: string;
  times?: number;
}

/** Sends requests, and reads nothing until the socket is resumed. */
async function ask({ path, token, times = 1 }: Asked): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1').pause();
  sockets.push(socket);
  socket.on('error', () => {}); // `close` follows.
  await once(socket, 'connect');
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`.repeat(times));
  return socket;
}

interface Taken {
  bytes: number;
  /** Whether the connection ended within the time. Before version 24, Node sometimes reports a reset as a normal end. */
  end: 'broken' | 'none';
}

/** Reads a number of bytes a second, or as fast as possible, until it has enough, the connection ends or the time is over. */
async function take(
  socket: Socket,
  { bytesPerSecond = 1e9, forMs = 5_000, wanted = Number.POSITIVE_INFINITY } = {},
): Promise<Taken> {
  const taken: Taken = { bytes: 0, end: 'none' };
  const stepMs = 100;
  const step = Math.ceil((bytesPerSecond * stepMs) / 1_000);
  socket.on('readable', () => {});
  for (const event of ['error', 'end', 'close']) {
    socket.once(event, () => {
      taken.end = 'broken';
    });
  }
  const until = performance.now() + forMs;
  while (performance.now() < until && taken.end === 'none' && taken.bytes < wanted) {
    for (let left = step; left > 0; ) {
      const chunk = (socket.read(Math.min(left, socket.readableLength || 1)) ?? null) as Buffer | null;
      if (chunk === null) break;
      taken.bytes += chunk.length;
      left -= chunk.length;
    }
    await sleep(stepMs);
  }
  return taken;
}

describe('hundreds of pipelined requests whose answers are not read', () => {
  it.each(['/livez', '/readyz', '/health', '/api-docs'])(
    'do not fill the memory or delay other callers: %s',
    async (path) => {
      await sleep(500);
      const peaks: number[] = [];
      const times: number[] = [];
      for (let round = 0; round < 6; round++) {
        const hostile = await Promise.all(
          Array.from({ length: 30 }, () => ask({ path, token: users[0] ?? '', times: 500 })),
        );
        for (let n = 0; n < 5; n++) {
          const reply = await send(service.origin, { path: '/api/products?limit=1', token: users[1] ?? '' });
          expect(reply.status).toBe(200);
          times.push(reply.ms);
          await sleep(50);
        }
        peaks.push(memoryMbOf(service));
        for (const socket of hostile) socket.destroy();
        await sleep(100);
      }
      report(
        `30 connections, 500 requests each at ${path}: ${peaks.map(Math.round).join(', ')} MB, ` +
          `slowest other ${Math.round(Math.max(...times))} ms`,
      );
      expect(Math.max(...times)).toBeLessThan(3_000);
      // Garbage collection has no fixed times. So the test only checks that the heap stops growing.
      expect(Math.min(...peaks.slice(3)) - Math.min(...peaks.slice(0, 3))).toBeLessThan(100);
    },
  );

  it('do not fill the memory if each answer is large: the API description', async () => {
    const before = memoryMbOf(service);
    await Promise.all(Array.from({ length: 5 }, () => ask({ path: '/api-docs/openapi.json', times: 500 })));
    const reply = await send(service.origin, { path: '/api/products', token: users[1] ?? '' });
    expect(reply.status).toBe(200);
    expect(memoryMbOf(service) - before).toBeLessThan(300);
  });
});

describe('pages that are not read', () => {
  it('use up the slots of one reader only', async () => {
    const before = memoryMbOf(service);
    const hostile = await Promise.all(
      Array.from({ length: 25 }, () => ask({ path: PAGE, token: users[0] ?? '', times: 10 })),
    );
    await expect
      .poll(async () => (await send(service.origin, { path: PAGE, token: users[0] ?? '' })).status, {
        timeout: 10_000,
      })
      .toBe(429);
    for (let n = 0; n < 10; n++) {
      const page = await send(service.origin, { path: PAGE, token: users[1] ?? '' });
      expect([page.status, Buffer.byteLength(page.text) > MB]).toEqual([200, true]);
      // This client still gets small answers.
      expect((await send(service.origin, { path: '/api/products/1', token: users[0] ?? '' })).status).toBe(
        200,
      );
    }
    const grown = memoryMbOf(service) - before;
    report(`250 pages of 1.6 MB that nobody reads: ${Math.round(grown)} MB more memory`);
    expect(grown).toBeLessThan(200);
    await expect
      .poll(async () => (await send(service.origin, { path: PAGE, token: users[0] ?? '' })).status, {
        timeout: GIVEN_UP_MS,
        interval: 500,
      })
      .toBe(200);
    for (const socket of hostile) socket.destroy();
  });
});

/** Every kind of large answer. `times` is so high that the answers do not fit into the socket buffers. */
const LARGE: [what: string, asked: () => Asked][] = [
  ['a list', () => ({ path: PAGE, times: 9 })],
  ['an export', () => ({ path: EXPORT })],
  ['a PDF', () => ({ path: pdf, times: 19 })],
  ['the API description', () => ({ path: '/api-docs/openapi.json', times: 15 })],
];

function sizeOf({ headers, text }: Reply): number {
  return Number(headers['content-length'] ?? Buffer.byteLength(text));
}

describe('an answer that is not read', () => {
  it('is ended incomplete after half a minute', async () => {
    const asked = [];
    for (const [n, [what, make]] of LARGE.entries()) {
      const token = users[n] ?? '';
      const { path, times = 1 } = make();
      const one = await send(service.origin, { path, token });
      expect(one.status, what).toBe(200);
      asked.push({ what, bytes: times * sizeOf(one), token, path, times });
    }
    const unread = await Promise.all(asked.map(async (one) => ({ ...one, socket: await ask(one) })));
    await sleep(GIVEN_UP_MS);
    for (const { what, bytes, socket } of unread) {
      const taken = await take(socket);
      report(`${what} that was not read: ${(taken.bytes / MB).toFixed(1)} of ${(bytes / MB).toFixed(1)} MB`);
      expect(taken.end, what).toBe('broken');
      expect(taken.bytes, what).toBeLessThan(bytes / 2);
    }
  });

  it('frees its export slot', async () => {
    const [first, second, third] = users.slice(1);
    const unread = [
      await ask({ path: EXPORT, token: first ?? '' }),
      await ask({ path: EXPORT, token: second ?? '' }),
    ];
    await sleep(1_000);
    const export3 = () => send(service.origin, { path: EXPORT, token: third ?? '' });
    expect((await export3()).status).toBe(503);
    await expect
      .poll(async () => (await export3()).status, { timeout: GIVEN_UP_MS, interval: 500 })
      .toBe(200);
    for (const socket of unread) socket.destroy();
  });

  it.skipIf(!hasCurl)(
    'fails in curl, even over HTTP/1.0, where a body ends when its connection ends (skipped without curl)',
    async () => {
      const curl = spawn(
        'curl',
        [
          ...['--silent', '--show-error', '--http1.0', '--output', '/dev/null'],
          ...['--header', `Authorization: Bearer ${users[3]}`, `${service.origin}${EXPORT}`],
        ],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      );
      const errors = curl.stderr.setEncoding('utf8').toArray();
      await sleep(150); // It has begun to read.
      curl.kill('SIGSTOP');
      await sleep(GIVEN_UP_MS);
      curl.kill('SIGCONT');
      const [status] = await once(curl, 'exit');
      expect([status, (await errors).join('')]).toEqual([56, expect.stringMatching(/reset/i)]);
    },
  );
});

describe('an answer that is read slowly but steadily', () => {
  it('is sent completely, for every kind of answer', async () => {
    const results = await Promise.all(
      LARGE.map(async ([what, make], n) => {
        const token = users[n] ?? '';
        const { path, times = 1 } = make();
        const whole = await send(service.origin, { path, token });
        await sleep(2_000); // The export releases its slot.
        const socket = await ask({ token, path, times });
        const wanted = times * sizeOf(whole);
        const taken = await take(socket, { bytesPerSecond: 300_000, forMs: 150_000, wanted });
        return { what, wanted, taken };
      }),
    );
    for (const { what, wanted, taken } of results) {
      report(`${what}, read at 300 kB/s: ${(taken.bytes / MB).toFixed(1)} MB`);
      expect(taken.bytes, what).toBeGreaterThanOrEqual(wanted);
    }
  });

  it('is not cut off at 20 kB a second', async () => {
    const socket = await ask({ path: EXPORT, token: users[0] ?? '' });
    // Reading fast at first makes the socket buffers large, so that the service sees slow reading only at long intervals.
    await take(socket, { bytesPerSecond: 4 * MB, forMs: 1_000 });
    const taken = await take(socket, { bytesPerSecond: 20_000, forMs: 60_000 });
    expect(taken.end).toBe('none');
    expect(taken.bytes).toBeGreaterThan(500_000);
    const rest = await take(socket, { forMs: 20_000 });
    report(`read at 20 kB/s for a minute, then on: ${((taken.bytes + rest.bytes) / MB).toFixed(1)} MB`);
    expect(taken.bytes + rest.bytes).toBeGreaterThan(20 * MB);
    socket.destroy();
  });
});

describe('the print queue', () => {
  it('leaves slots for others while one user requests a hundred documents', async () => {
    const hostile = Array.from({ length: 100 }, () =>
      send(service.origin, { path: pdf, token: users[0] ?? '' }),
    );
    await sleep(100);
    const others = await Promise.all(
      users.slice(1).map((token) => send(service.origin, { path: pdf, token })),
    );
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
    const statuses = (await Promise.all(hostile)).map(({ status }) => status);
    const slowest = Math.max(...others.map(({ ms }) => ms));
    report(`beside 100 documents of one user: slowest other ${Math.round(slowest)} ms`);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1);
    expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
    expect(statuses).toContain(429);
  });
});
