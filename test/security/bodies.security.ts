import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  memoryMbOf,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { expectNoInternals, sendBytes } from './wire.ts';

/** Requests that would overload a careless parser. test/faults/overload.faults.ts tests slow requests. */
cleanUpAfterwards();

const MB = 1024 * 1024;
const REFUSED_WITHIN_MS = 1_000;
const MEMORY_MB = 50;

let service: RunningService;
let token: string;

beforeAll(async () => {
  service = await startService({
    ...NO_RATE_LIMITS,
    DATABASE_URL: await newDatabase(),
    WEBHOOK_SECRET: 'sesame for the bodies',
    LOG_LEVEL: 'error',
  });
  token = await registerAdmin(service);
});

afterAll(async () => {
  await service.stop();
});

function head(lines: string[], path = '/api/customers'): string {
  return [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');
}

function whole(body: Buffer | string, lines: string[] = [], path?: string): (string | Buffer)[] {
  return [head([`Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', ...lines], path), body];
}

function* chunked(megabytes: number): Generator<string | Buffer> {
  yield head(['Transfer-Encoding: chunked']);
  const chunk = Buffer.alloc(MB, 'x');
  for (let n = 0; n < megabytes; n++) {
    yield `${MB.toString(16)}\r\n`;
    yield chunk;
    yield '\r\n';
  }
  yield '0\r\n\r\n';
}

function* long(megabytes: number): Generator<string | Buffer> {
  yield head([`Content-Length: ${megabytes * MB}`]);
  const chunk = Buffer.alloc(MB, 'x');
  for (let n = 0; n < megabytes; n++) yield chunk;
}

/** 200 KB that decompress to 200 MB. */
const BOMB = gzipSync(Buffer.alloc(200 * MB));
const deep = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
const manyKeys = () =>
  JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`k${n.toString(36)}`, 1])));
const body = (name: string, value: string) =>
  `{"firstName":"A","lastName":"B","phone":"+254711000001","${name}":${value}}`;

/** The attacks, and the allowed statuses of their answers. */
const ATTACKS: [what: string, make: () => Iterable<string | Buffer>, statuses: number[]][] = [
  ['a body of 100 MB', () => long(100), [413]],
  ['a body of 100 MB in chunks, of no known length', () => chunked(100), [413]],
  ['a length of 10^18', () => [head(['Content-Length: 1000000000000000000'])], [413]],
  ['JSON 100,000 lists deep', () => whole(deep('[', ']', 100_000)), [400]],
  ['JSON 100,000 objects deep', () => whole(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), [400]],
  ['a field 100,000 lists deep', () => whole(body('nationalId', deep('[', ']', 100_000))), [400]],
  ['JSON 400,000 lists deep that never end', () => whole('['.repeat(400_000)), [400]],
  ['90,000 keys, which is all that fit', () => whole(manyKeys()), [400]],
  ['one key of 1 MB', () => whole(`{"${'x'.repeat(MB - 100)}":1}`), [400]],
  ['the same key 100,000 times', () => whole(`{${'"a":1,'.repeat(100_000)}"a":1}`), [400]],
  ['a number of 1,000,000 digits', () => whole(body('nationalId', '9'.repeat(1_000_000))), [400]],
  ['a text of 1 MB', () => whole(body('nationalId', `"${'x'.repeat(MB - 200)}"`)), [400]],
  [
    'a list of 200,000 ids',
    () => whole(`{"paymentIds":[${'1,'.repeat(200_000)}1]}`, [], '/api/payments/reconcile'),
    [400],
  ],
  [
    '10,000 invoice lines that are wrong',
    () => whole(`{"accountId":1,"items":[${'{},'.repeat(10_000)}{}]}`, [], '/api/invoices'),
    [400],
  ],
  ['a bomb of gzip', () => whole(BOMB, ['Content-Encoding: gzip']), [400, 413, 415]],
  ['an unknown encoding', () => whole('{}', ['Content-Encoding: br, gzip, zstd']), [400, 415]],
  ['headers of 64 KB', () => [head([`X-Long: ${'x'.repeat(65_536)}`])], [431]],
  ['2,000 headers', () => [head(Array.from({ length: 2_000 }, (_, n) => `X-${n}: 1`))], [400, 431]],
  ['an address of 64 KB', () => [`GET /api/${'x'.repeat(65_536)} HTTP/1.1\r\nHost: a\r\n\r\n`], [414, 431]],
  [
    'a length and chunks',
    () => [head(['Content-Length: 5', 'Transfer-Encoding: chunked']), '0\r\n\r\n'],
    [400],
  ],
  ['two lengths', () => [head(['Content-Length: 5', 'Content-Length: 6']), '{"a":1}'], [400]],
  ['a length that is none', () => [head(['Content-Length: -1'])], [400]],
  ['a length in hexadecimal', () => [head(['Content-Length: 0x10'])], [400]],
  ['an encoding that hides chunks', () => [head(['Transfer-Encoding: xchunked']), '0\r\n\r\n'], [400]],
  [
    'chunked that is not the last encoding',
    () => [head(['Transfer-Encoding: chunked, gzip']), '0\r\n\r\n'],
    [400],
  ],
  [
    'a chunk of a length that overflows',
    () => [head(['Transfer-Encoding: chunked']), `${'f'.repeat(17)}\r\n`],
    [400],
  ],
  ['a line that is folded', () => [head(['X-Folded: a', '\tb: c', 'X: \u0000'])], [400]],
  ['a header without a name', () => [head([': x'])], [400]],
  ['a space before the colon', () => [head(['Content-Length : 5']), '{"a":1}'], [400]],
  ['a carriage return alone', () => ['GET / HTTP/1.1\rHost: a\r\r'], [400]],
  ['another protocol', () => ['SSH-2.0-OpenSSH_9.2\r\n'], [400]],
  ['TLS', () => [Buffer.from('16030100c8010000c40303', 'hex'), Buffer.alloc(200)], [400]],
  ['HTTP/2 without asking', () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], [400]],
  [
    'bytes by chance',
    () => [Buffer.from(Array.from({ length: 4_096 }, (_, n) => (n * 7919 + 13) % 256))],
    [400],
  ],
  ['a version that is none', () => ['GET / HTTP/9.9\r\nHost: a\r\n\r\n'], [400, 505]],
];

describe('refused within a second, in the envelope, with the memory as it was', () => {
  it('is each of these bodies, and most of them twenty times concurrently', async () => {
    await sleep(500);
    const start = memoryMbOf(service);
    const rounds: string[] = [];
    let slowest = { what: '', ms: 0 };
    for (const [what, make, statuses] of ATTACKS) {
      const before = memoryMbOf(service);
      const { text, ms } = await sendBytes(service.origin, make());
      const [top = '', answer = ''] = text.split('\r\n\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(top)?.[1]);
      expect(statuses, `${what}: ${text.slice(0, 500)}`).toContain(status);
      expect(JSON.parse(answer), what).toMatchObject({ success: false, error: { code: 'VALIDATION_ERROR' } });
      expectNoInternals(text);
      for (const header of ['nosniff', 'no-store', 'strict-transport-security', 'x-frame-options'])
        expect(top.toLowerCase(), what).toContain(header);
      expect(ms, what).toBeLessThan(REFUSED_WITHIN_MS);
      if (ms > slowest.ms) slowest = { what, ms };
      const grown = memoryMbOf(service) - before;
      if (grown > 10) rounds.push(`${what} +${Math.round(grown)} MB`);
      expect(grown, `${what}: memory`).toBeLessThan(MEMORY_MB);
    }
    report(
      `${ATTACKS.length} hostile bodies: slowest ${slowest.what}, ${Math.round(slowest.ms)} ms; more memory: ${rounds.join(', ') || 'none above 10 MB'}`,
    );

    const twentyOfEach = async () => {
      for (const [, make] of ATTACKS.slice(3)) {
        await Promise.all(Array.from({ length: 20 }, () => sendBytes(service.origin, make(), 3_000)));
      }
      return memoryMbOf(service);
    };
    const first = await twentyOfEach();
    const second = await twentyOfEach();
    const third = await twentyOfEach();
    const fourth = await twentyOfEach();
    report(
      `each twenty times at once: ${Math.round(start)} MB at first, ${Math.round(first)} MB after, ` +
        `${[second, third, fourth].map(Math.round).join(', ')} MB after three more rounds, ${Math.round(memoryMbOf(service, 'VmHWM'))} MB at most`,
    );
    // The heap does not shrink at once, and garbage collection has no fixed times. So the test only checks that the heap stops
    // growing.
    expect(Math.min(third, fourth) - Math.min(first, second)).toBeLessThan(MEMORY_MB);
  });

  it('and the process still answers other requests at once', async () => {
    const began = performance.now();
    const answer = await service.call('GET', '/auth/me', undefined, { token });
    expect(answer.status).toBe(200);
    expect(performance.now() - began).toBeLessThan(500);
    expect(service.output()).not.toMatch(/heap|RangeError|Maximum call stack/);
  });
});

describe('two requests in one', () => {
  it.each([
    ['Content-Length: 4', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
    ['Transfer-Encoding:\u000bchunked', 'Content-Length: 4'],
    ['Content-Length: 4', 'Content-Length: 40'],
  ])('are not made by %s and %s', async (...lines) => {
    const smuggled = `GET /api/auth/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const { text } = await sendBytes(service.origin, [head(lines), `0\r\n\r\n${smuggled}`], 1_000);
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(text).not.toContain('admin@example.com');
  });
});

describe('the webhook, which stores unreadable bodies', () => {
  it.each([
    ['100,000 lists deep', () => deep('[', ']', 100_000)],
    ['90,000 keys', manyKeys],
    ['a TransID of 1 MB', () => `{"TransID":"${'x'.repeat(MB - 100)}","TransAmount":"1"}`],
    ['an amount of 1,000,000 digits', () => `{"TransID":"A","TransAmount":${'9'.repeat(1_000_000)}}`],
    ['a text that tires patterns', () => `{"TransID":"A","TransAmount":"${'0'.repeat(500_000)}x"}`],
    ['spaces that tire patterns', () => `{"TransID":"${' '.repeat(500_000)}","TransAmount":"1"}`],
  ])('refuses %s within a second', async (_what, make) => {
    const path = '/api/webhooks/payments/mobilemoney?token=sesame%20for%20the%20bodies';
    const { text, ms, closed } = await sendBytes(service.origin, whole(make(), [], path));
    // If the service closes a connection while the client still writes, the client may not receive the answer.
    if (!(closed && text === '')) expect(text).toMatch(/^HTTP\/1\.1 (400|413) /);
    expect(ms).toBeLessThan(REFUSED_WITHIN_MS);
  });
});
