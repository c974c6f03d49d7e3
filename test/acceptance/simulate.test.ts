import { join } from 'node:path';
import { expect, test as sequentialTest } from 'vitest';
import { eventually, untilPasses } from '../support/waiting.ts';
import { read, signIn } from './client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  NO_RATE_LIMITS,
  newDatabase,
  ROOT,
  type RunningService,
  report,
  runToEnd,
  startService,
} from './process.ts';

cleanUpAfterwards();

/** Each test has its own service, and mostly waits for the simulated traffic. */
const test = sequentialTest.concurrent;

const SIMULATE = join(ROOT, 'dist', 'tools', 'simulator', 'simulate.js');
const EMAIL = 'provider@example.com';
const PASSWORD = 'the password of the provider';
const SECRET = 'what the provider knows';

const startOne = async (environment: Environment = {}) =>
  startService({ DATABASE_URL: await newDatabase(), ...environment });

function simulate({ origin }: RunningService, options: string[], environment: Environment = {}) {
  const command = [process.execPath, SIMULATE, '--url', origin, '--email', EMAIL, ...options];
  return runToEnd(command, { SIMULATOR_PASSWORD: PASSWORD, ...environment });
}

/** The sent and shown figures of the printed table, by label. */
function tableOf(output: string): Map<string, string[]> {
  const rows = output.split('\nreferences\n')[1]?.split('\n') ?? [];
  return new Map(
    rows.map((row) => row.trim().split(/ {2,}/)).map(([label = '', ...cells]) => [label, cells]),
  );
}

test('the service shows simulated traffic exactly as it was sent, within its default limits', async () => {
  const service = await startOne({ WEBHOOK_SECRET: SECRET });
  const options = ['--rate', '60', '--seconds', '6', '--accounts', '8', '--seed', '7'];
  const run = await simulate(service, options, { WEBHOOK_SECRET: SECRET });
  expect(run.status, run.stdout + run.stderr).toBe(0);
  expect(run.stderr).toBe('');
  expect(run.stdout).toContain('The service shows exactly what was sent.');
  expect(run.stdout).toContain('seed 7,');
  const table = tableOf(run.stdout);
  for (const label of [
    'transactions',
    'amount',
    'matched',
    'amount matched',
    'unmatched',
    'amount unmatched',
  ]) {
    const [sent, shown] = table.get(label) ?? [];
    expect(Number(sent), label).toBeGreaterThan(0);
    expect(shown, label).toBe(sent);
  }
  // The traffic had repeats, alterations, broken connections and every kind of reference.
  for (const outcome of ['matched', 'unmatched', 'repeated', 'differs', 'retries'])
    expect(run.stdout).toMatch(new RegExp(`\\b[1-9]\\d* ${outcome}\\b`));
  for (const kind of [
    'phone',
    'national id',
    'empty, payer hashed',
    'two digits swapped',
    'phone of two accounts',
  ])
    expect(Number(table.get(kind)?.[0]), kind).toBeGreaterThan(0);
  report(run.stdout.split('\n').at(-2) ?? '');

  // The books have the same number of payments, and the same seed makes the same choices.
  const again = tableOf((await simulate(service, options, { WEBHOOK_SECRET: SECRET })).stdout);
  expect(again).toEqual(table);
  expect((await service.stop()).status).toBe(0);
});

test('simulated bill payments in XML are posted or returned exactly as they were sent', async () => {
  const service = await startOne({ WEBHOOK_SECRET: SECRET });
  const options = [
    '--provider',
    'tigopesa',
    '--rate',
    '60',
    '--seconds',
    '5',
    '--accounts',
    '8',
    '--seed',
    '7',
  ];
  const run = await simulate(service, options, { WEBHOOK_SECRET: SECRET });
  expect(run.status, run.stdout + run.stderr).toBe(0);
  for (const outcome of ['posted', 'returned to the payer', 'retries'])
    expect(run.stdout).toMatch(new RegExp(`\\b[1-9]\\d* ${outcome}\\b`));
  const table = tableOf(run.stdout);
  expect(Number(table.get('matched')?.[0])).toBeGreaterThan(0);
  expect(table.get('unmatched')).toEqual(['0', '0']);
});

test('simulated traffic can pay existing accounts', async () => {
  const service = await startOne(NO_RATE_LIMITS);
  expect((await simulate(service, ['--rate', '5', '--seconds', '1', '--accounts', '3'])).status).toBe(0);
  const run = await simulate(service, ['--rate', '40', '--seconds', '2', '--existing', '--accounts', '3']);
  expect(run.status, run.stdout + run.stderr).toBe(0);
  expect(run.stdout).toContain('3 accounts found');
  const accounts = await read(service, await signIn(service, EMAIL, PASSWORD), '/accounts?limit=100');
  expect(accounts).toHaveLength(3);
  expect((await service.stop()).status).toBe(0);
});

test('the simulator reports changes that others made to its payments, by transaction and account', async () => {
  const service = await startOne(NO_RATE_LIMITS);
  // The changes below must come before the end of the traffic, also on a slow machine.
  const running = simulate(service, ['--rate', '6', '--seconds', '40', '--accounts', '4']);
  const token = await untilPasses(() => signIn(service, EMAIL, PASSWORD)); // The simulator registers the user.
  const matched = () =>
    read(service, token, '/payments?filter[status]=matched&filter[source]=webhook&limit=1&sort=id:asc');
  await eventually(matched).toHaveLength(1);
  const [first] = await matched();
  const byHand = { accountId: first.accountId, amount: 12_345, paymentMethodId: 2 };
  expect((await service.call('POST', '/payments', byHand, { token })).status).toBe(201);
  const reason = { reason: 'to see whether it is reported' };
  expect((await service.call('POST', `/payments/${first.id}/reverse`, reason, { token })).status).toBe(200);

  const run = await running;
  expect(run.status, run.stdout + run.stderr).toBe(1);
  const told = run.stdout.split('\n').filter((line) => line.startsWith('DIFFERENCE '));
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(
    new RegExp(`${first.transactionRef}: should be matched to account ${first.accountId} .*, is reversed`),
  );
  expect(told[1]).toContain(first.accountNumber);
  expect(run.stdout).toContain('2 differences between what was sent and what the service shows.');
  expect((await service.stop()).status).toBe(0);
});

test('a simulation that cannot run explains why', async () => {
  const service = await startOne({ WEBHOOK_SECRET: SECRET, ...NO_RATE_LIMITS });
  const refused = await simulate(service, ['--rate', '3', '--seconds', '1', '--accounts', '1']);
  expect(refused.status).toBe(1);
  expect(refused.stdout).toContain('refused, 401');
  const unknown = await simulate(service, [], { SIMULATOR_PASSWORD: 'another password' });
  expect([unknown.status, unknown.stderr]).toEqual([
    1,
    expect.stringContaining(`registration of ${EMAIL} failed: `),
  ]);
  const mistyped = await simulate(service, ['--rate', 'fast']);
  expect([mistyped.status, mistyped.stderr]).toEqual([1, expect.stringContaining('Usage: npm run simulate')]);
  await service.stop();
  const nobody = await simulate(service, []);
  expect([nobody.status, nobody.stderr]).toEqual([
    1,
    `The connection failed (ECONNREFUSED): POST ${service.origin}/api/auth/login\n`,
  ]);
});
