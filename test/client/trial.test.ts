import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { ApiError, type Client, createClient } from '../../packages/client/src/index.ts';
import { newApiKey, useService } from '../support/harness.ts';
import { spawn } from '../support/processes.ts';
import { compileStrictly, installClient, ROOT } from './package.ts';

const service = useService();
const EXAMPLE = join(ROOT, 'packages', 'client', 'examples', 'local-copy.ts');
const TSX = createRequire(import.meta.url).resolve('tsx');
const WRITING_MS = 2_000;
const MIN_CHANGES = 11; // A busy machine needs longer for them.

let folder: string;
let apiKey: string;
let client: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'trial-'));
  installClient(folder);
  copyFileSync(EXAMPLE, join(folder, 'local-copy.ts'));
  apiKey = (await newApiKey(service, 'manager')).key;
  client = createClient({ baseUrl: service.origin, auth: { apiKey } });
});

describe('the program that keeps a local copy', () => {
  it('has at most 60 lines, and compiles under strict', () => {
    expect(readFileSync(EXAMPLE, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
    expect(compileStrictly(folder, [join(folder, 'local-copy.ts')])).toBe('');
  });

  it('ends with a copy without a difference, while another program writes, and creates nothing when it runs again', async () => {
    const first = await run(() => undefined);
    expect(first.printed.slice(0, 3)).toEqual([
      'customers: 200 created, 0 existing',
      'accounts: 200 created, 0 existing',
      'payments: 200 created, 0 existing',
    ]);
    expect(first.copy).toEqual(await rowsOfService());

    const second = await run(() => write());
    expect(second.printed.slice(0, 3)).toEqual([
      'customers: 0 created, 200 existing',
      'accounts: 0 created, 200 existing',
      'payments: 0 created, 200 existing',
    ]);
    expect(second.copy).toEqual(await rowsOfService());
  });
});

/** Runs the program, writes while it follows, and stops it. @param before - starts before the program. */
async function run(before: () => Promise<void> | undefined) {
  const early = before();
  const env = {
    ...process.env,
    BASE_URL: service.origin,
    API_KEY: apiKey,
    COPY_FILE: join(folder, 'copy.json'),
  };
  const program = spawn(process.execPath, ['--import', TSX, join(folder, 'local-copy.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(program, 'exit');
  const printed: string[] = [];
  try {
    for await (const line of createInterface(program.stdout)) {
      printed.push(line);
      if (line !== 'following') continue;
      await early;
      await write();
      program.kill('SIGTERM');
    }
    expect(await ended).toEqual([0, null]);
  } finally {
    program.kill('SIGKILL');
  }
  const copy = new Map<string, unknown>(JSON.parse(readFileSync(env.COPY_FILE, 'utf8')));
  return { printed, copy };
}

/** Changes accounts, customers and payments at random: for a time, and at least some of them. */
async function write(): Promise<void> {
  const end = performance.now() + WRITING_MS;
  let changes = 0;
  const attempt = async <T>(call: Promise<T>): Promise<T | undefined> => {
    try {
      const result = await call;
      changes += 1;
      return result;
    } catch (error) {
      // The account may be paid in full, or not allow the move.
      if (error instanceof ApiError && error.is('VALIDATION_ERROR')) return undefined;
      throw error;
    }
  };
  const { data: accounts } = await client.accounts.list({ limit: 100 });
  while (performance.now() < end || changes < MIN_CHANGES) {
    const account = accounts[Math.floor(Math.random() * accounts.length)];
    if (!account) throw new Error('There is no account to change.');
    const { status } = await client.accounts.get(account.id);
    const to = status === 'active' ? ('suspended' as const) : ('active' as const);
    const amount = Math.random() < 0.1 ? 30_000 : 400;
    const payment = await attempt(
      client.payments.record({ accountId: account.id, amount, paymentMethodId: 2 }),
    );
    await attempt(client.accounts.update(account.id, { status: to, reason: 'Trial' }));
    await attempt(client.customers.update(account.customerId, { firstName: `W${Math.random()}` }));
    if (payment && Math.random() < 0.5)
      await attempt(client.payments.reverse(payment.id, { reason: 'Trial' }));
    const externalId = `NEW-${Math.random()}`;
    await client.customers.upsert(externalId, { firstName: 'New', lastName: 'One', phone: '0712345678' });
  }
}

async function rowsOfService(): Promise<Map<string, unknown>> {
  const rows = new Map<string, unknown>();
  for (const kind of ['customers', 'accounts', 'payments'] as const) {
    for await (const row of client[kind].iterate()) rows.set(`${kind} ${row.id}`, row);
  }
  return rows;
}
