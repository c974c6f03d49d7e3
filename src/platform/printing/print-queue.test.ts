import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PATIENT, until, untilPasses } from '../../../test/support/waiting.ts';
import { PrintError } from './print-process.ts';
import { createPrintQueue, type PrintQueue } from './print-queue.ts';

/** The program of a print process that follows the instructions in the data. */
const OBEDIENT = `
import { writeFileSync } from 'node:fs';
process.on('disconnect', () => process.exit());
const parent = process.ppid;
process.on('message', ({ id, data }) => {
  if (data.startsWith('hang in ')) {
    writeFileSync(data.slice(8), String(process.pid));
    while (process.ppid === parent); // The process of the tests may be killed meanwhile.
  }
  if (data === 'pid') return process.send({ id, pdf: Buffer.from(String(process.pid)) });
  if (data === 'crash') process.kill(process.pid, 'SIGSEGV');
  if (data === 'refuse') return process.send({ id, failure: 'no such glyph' });
  if (data === 'environment') return process.send({ id, pdf: Buffer.from(JSON.stringify(process.env)) });
  setTimeout(() => process.send({ id, pdf: Buffer.from(data) }), 1);
});`;

let folder: string;
let queue: PrintQueue;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ams-print-'));
  await writeFile(join(folder, 'program.mjs'), OBEDIENT);
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => queue.close());

function open(options: { maxWaiting?: number; timeoutMs?: number; idleMs?: number } = {}): PrintQueue {
  const limits = { waitMs: PATIENT.printSlotMs, timeoutMs: PATIENT.printMs, idleMs: PATIENT.printMs };
  const defaults = { maxPerCaller: 5, maxWaiting: 50, ...limits };
  queue = createPrintQueue({ program: join(folder, 'program.mjs'), ...defaults, ...options });
  return queue;
}

const print = async (data: string, caller = 'user 1') =>
  String(await queue.print(caller, { template: 'any.typ', data, files: [] }));

describe('the print queue', () => {
  it('prints the documents of one caller in the order of arrival', async () => {
    open();
    const done: string[] = [];
    await Promise.all(['a', 'b', 'c'].map(async (data) => done.push(await print(data))));
    expect(done).toEqual(['a', 'b', 'c']);
  });

  it('answers 503 with Retry-After when too many documents wait', async () => {
    open({ maxWaiting: 2 });
    const orders = await Promise.allSettled(['a', 'b', 'c', 'd'].map((data) => print(data)));
    expect(orders.map((order) => order.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(orders[3]).toMatchObject({ reason: { status: 503, retryAfterSeconds: 5 } });
  });

  it('refuses the sixth document of a caller, but accepts documents of other callers', async () => {
    open();
    const own = Array.from({ length: 6 }, (_, n) => print(`own ${n}`));
    const other = print('other', 'user 2');
    const orders = await Promise.allSettled(own);
    expect(orders.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect(orders[5]).toMatchObject({ reason: { status: 429, retryAfterSeconds: 5 } });
    await expect(other).resolves.toBe('other');
  });

  it('lets callers take turns, even if one caller has many waiting documents', async () => {
    open();
    const done: string[] = [];
    const orders = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(async (data) => {
      done.push(await print(data, data.charAt(0)));
    });
    await Promise.all(orders);
    expect(done).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('kills a process that hangs, and prints the next document with another process', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    open({ timeoutMs: 5_000 });
    const file = join(folder, 'hangs');
    const refused = expect(print(`hang in ${file}`)).rejects.toMatchObject({ status: 503 });
    const pid = await untilPasses(async () => {
      const text = await readFile(file, 'utf8');
      expect(text).not.toBe('');
      return Number(text);
    });
    vi.advanceTimersByTime(5_000);
    await refused;
    await until('the process to end', () => !isRunning(pid));
    await expect(print('next')).resolves.toBe('next');
  });

  it('continues after a crash of the process', async () => {
    open();
    const [lost, next] = await Promise.allSettled([print('crash'), print('next')]);
    expect(lost).toMatchObject({ reason: { status: 503 } });
    expect(next).toMatchObject({ value: 'next' });
  });

  it('distinguishes a document that cannot be printed from a process that cannot print', async () => {
    open();
    await expect(print('refuse')).rejects.toThrow(PrintError);
    await expect(print('next')).resolves.toBe('next');
  });

  it('gives the process none of the service’s environment variables', async () => {
    open();
    expect(Object.keys(JSON.parse(await print('environment')))).not.toContain('PATH');
  });

  it('starts another process after an idle time', async () => {
    open({ idleMs: 1 });
    const pid = await print('pid');
    await until('the process to end', () => !isRunning(Number(pid)));
    expect(await print('pid')).not.toBe(pid);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
