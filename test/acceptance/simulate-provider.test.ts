import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { expect, test as sequentialTest } from 'vitest';
import { eventually, untilPasses } from '../support/waiting.ts';
import { expectVerifyToPass } from './books.ts';
import { read, signIn } from './client.ts';
import {
  cleanUpAfterwards,
  type Ended,
  freePort,
  launch,
  NO_RATE_LIMITS,
  newDatabase,
  newFolder,
  ROOT,
  type RunningService,
  report,
  runToEnd,
  startService,
  USUAL_LIMITS,
} from './process.ts';

cleanUpAfterwards();

/** Each test has its own provider and service, and mostly waits for them. */
const test = sequentialTest.concurrent;

const SIMULATE = [process.execPath, join(ROOT, 'dist', 'tools', 'simulator', 'simulate-provider.js')];
const USER = { email: 'provider@example.com', password: 'the password of the provider' };
const SECRET = 'what the provider knows';
const MINUTE_MS = 60_000;

interface Simulation {
  service: RunningService;
  token: string;
  output(): string;
  /** Ends the traffic. The program then compares the payments. */
  stop(): void;
  ended: Promise<Ended>;
  databaseUrl: string;
}

async function simulate(options: string[]): Promise<Simulation> {
  const folder = await newFolder();
  const [apiPort, port] = [await freePort(), await freePort()];
  const places = ['--port', `${apiPort}`, '--url', `http://127.0.0.1:${port}`, '--folder', folder];
  const { child, ended, output } = launch(
    [...SIMULATE, ...places, '--email', USER.email, ...options],
    folder,
    {
      SIMULATOR_PASSWORD: USER.password,
      WEBHOOK_SECRET: SECRET,
    },
  );
  await untilPasses(() => expect(output()).toContain('Start the service'));
  const settings = parseEnv(readFileSync(join(folder, 'settings.env'), 'utf8')) as Record<string, string>;
  const databaseUrl = await newDatabase();
  const service = await startService({
    ...settings,
    ...NO_RATE_LIMITS,
    ...USUAL_LIMITS,
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    WEBHOOK_SECRET: SECRET,
    TEST_CLOCK: 'on',
  });
  await untilPasses(() => expect(output()).toContain('accounts opened'));
  const token = await signIn(service, USER.email, USER.password);
  return { service, token, output, stop: () => child.kill('SIGINT'), ended, databaseUrl };
}

/** Lets time pass for the service, until the program has ended. */
async function passTimeUntilEnd({ service, token, ended }: Simulation): Promise<Ended> {
  for (let minutes = 11; ; minutes += 11) {
    const end = await Promise.race([ended, sleep(1_000)]);
    if (end) return end;
    await setClockAhead({ service, token }, minutes);
  }
}

async function setClockAhead(
  { service, token }: Pick<Simulation, 'service' | 'token'>,
  minutes: number,
): Promise<void> {
  const now = new Date(Date.now() + minutes * MINUTE_MS).toISOString();
  expect((await service.call('PUT', '/test/clock', { now }, { token })).status).toBe(200);
}

test('a service finds every payment of the simulated provider, although notifications are lost and the provider is down for some time', async () => {
  const simulation = await simulate([
    '--every',
    '1',
    '--lost',
    '40',
    '--seed',
    '7',
    '--accounts',
    '3',
    '--down-after',
    '1',
    '--down-for',
    '5',
  ]);
  const { service, token, output, databaseUrl } = simulation;
  await untilPasses(() => expect(output()).toContain('The provider is up again.'));
  const [account] = await read(service, token, '/accounts?limit=1&sort=id:asc');
  const ask = async (phone: string) => {
    const body = { amount: 150, phone };
    const answer = await service.call('POST', `/accounts/${account.id}/payment-requests`, body, { token });
    expect(answer.status, answer.text).toBe(201);
    return answer.body.data.id as number;
  };
  const statusOf = async (id: number) => {
    const answer = await service.call('GET', `/payment-requests/${id}`, undefined, { token });
    const { status, reason, paymentId } = answer.body.data;
    return { status, reason, isPosted: paymentId !== null };
  };
  const becomes = (id: number, expected: object) => eventually(() => statusOf(id)).toMatchObject(expected);

  const paid = await ask('0712000000');
  const paidTwice = await ask('0712000001');
  const notNotified = await ask('0712000002');
  const cancelled = await ask('0712000006');
  const unanswered = await ask('0712000009');
  for (const id of [paid, paidTwice, notNotified])
    await becomes(id, { status: 'paid', reason: null, isPosted: true });
  await becomes(cancelled, { status: 'declined', reason: 'cancelled' });

  const { body: paidRequest } = await service.call('GET', `/payment-requests/${paid}`, undefined, { token });
  const question = `/payments/${paidRequest.data.paymentId}/status-queries`;
  const asked = await service.call('POST', question, undefined, { token });
  expect(asked.status, asked.text).toBe(202);
  await untilPasses(() => expect(output().match(/C\d{5}: /g)?.length).toBeGreaterThan(14));
  // The service asks for the outcome after some minutes, so the provider must still answer then.
  await setClockAhead(simulation, 10);
  await becomes(unanswered, { status: 'expired', reason: 'no_answer' });
  simulation.stop();
  const end = await passTimeUntilEnd(simulation);
  expect(end.status, end.stdout + end.stderr).toBe(0);
  expect(end.stderr).toBe('');
  expect(end.stdout).toContain('The service shows exactly what was sent.');
  const answered = await service.call('GET', `/status-queries/${asked.body.data.id}`, undefined, { token });
  expect(answered.body.data).toMatchObject({ state: 'answered', differences: [] });

  // The service has found each payment by asking the provider.
  const lost = [...end.stdout.matchAll(/^(\w+): .*notification lost$/gm)].map(([, transId]) => transId);
  expect(lost.length).toBeGreaterThan(5);
  const pulled = await read(service, token, '/payments?filter[source]=pull&limit=100');
  expect(pulled.map((payment: { transactionRef: string }) => payment.transactionRef)).toEqual(
    expect.arrayContaining(lost),
  );
  report(`${end.stdout.match(/C\d{5}: /g)?.length} payments of customers, ${lost.length} notifications lost`);

  await service.stop();
  await expectVerifyToPass(databaseUrl);
});

test('the simulated provider reports a payment that the service does not show', async () => {
  const simulation = await simulate(['--every', '1', '--lost', '100', '--accounts', '1']);
  await untilPasses(() => expect(simulation.output()).toContain('notification lost'));
  simulation.stop();
  await untilPasses(() => expect(simulation.output()).toContain('Ctrl+C compares at once'));
  simulation.stop();
  const { status, stdout } = await simulation.ended;
  expect(status).toBe(1);
  expect(stdout).toMatch(/DIFFERENCE SIM\w+C00000: acknowledged, but there is no payment/);
  await simulation.service.stop();
});

test('a mistyped option of the simulated provider prints the usage', async () => {
  for (const option of [['--every', 'often'], ['--lost', '101'], ['--url', 'localhost'], ['--unknown']]) {
    const { status, stderr } = await runToEnd([...SIMULATE, ...option]);
    expect([status, stderr]).toEqual([1, expect.stringContaining('Usage: npm run simulate:provider')]);
  }
});
