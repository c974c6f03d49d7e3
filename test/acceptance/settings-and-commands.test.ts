import { describe, expect, test, vi } from 'vitest';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';
import { BOSS, createAdmin, expectRefusal, linesOf, openAccount, PASSWORD, read, signIn } from './client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  emptyDatabase,
  failToStart,
  newDatabase,
  newFolder,
  runCli,
  startService,
  untilNoProcessIn,
} from './process.ts';

vi.setConfig({ maxConcurrency: 3 });
cleanUpAfterwards();

const PRODUCTION = {
  NODE_ENV: 'production',
  JWT_SECRET: 'a secret of this test, longer than 32 bytes',
  WEBHOOK_SECRET: 'what the provider sends',
};

describe('a mistake in the configuration', () => {
  // src/config/config.test.ts tests each mistake alone. The service first checks the form of all values, then their meaning.
  const mistakes: [what: string, wrong: Environment, beside?: Environment][] = [
    ['of one variable', { PORT: '70000' }],
    [
      'in the form of several variables',
      {
        PORT: 'abc',
        NODE_ENV: 'prodution',
        PHONE_REGION: 'Kenya',
        ACCESS_TOKEN_TTL: '1h',
        REGISTRATION_ROLE: 'boss',
        DEMO_DATA: 'yes',
        PAYBILL_NUMBERS: '600638;600639',
        RATE_LIMIT_AUTH: '-1',
      },
    ],
    [
      'in the meaning of several variables',
      {
        CURRENCY: 'XXZ',
        BUSINESS_TIMEZONE: 'Africa/Nowhere',
        JWT_SECRET: 'too-short-a-secret',
        TRUST_PROXY: 'true',
        WEBHOOK_ALLOWED_IPS: '10.0.0.0/8,garbage',
        COMPANY_LOGO: '/no/such/logo.png',
        PUBLIC_URL: 'pay.example',
        DATABASE_URL: 'mysql://user:hunter2@db.example/ams',
        REDIS_URL: 'http://:hunter2@redis.example',
      },
    ],
    ['that is a secret', { DATABASE_URL: 'hunter2', BUSINESS_TIMEZONE: 'EAT' }],
    [
      'of production',
      { JWT_SECRET: '', WEBHOOK_SECRET: '', REGISTRATION_ROLE: '', TEST_CLOCK: 'on', CURRENCY: 'XXZ' },
      { NODE_ENV: 'production', REGISTRATION: 'open' },
    ],
  ];

  test.concurrent.each(mistakes)(
    'is named without the wrong value: %s',
    async (_what, wrong, beside = {}) => {
      const ended = await failToStart({ ...beside, ...wrong });
      expect(ended.status).toBe(1);
      expect(ended.stdout).toBe('');
      const [, ...problems] = linesOf(ended.stderr);
      const named = problems.map((line) => line.trim().split(' ', 1)[0]);
      expect(named.sort()).toEqual(Object.keys(wrong).sort());
      for (const secret of ['hunter2', ...Object.values(wrong).filter((value) => value.length > 3)]) {
        expect(ended.stderr).not.toContain(secret);
      }
    },
  );

  test('is also reported if it is found only when the database or the address is used', async () => {
    const password = 'hunter2';
    const unreachable = await failToStart({ DATABASE_URL: `postgres://u:${password}@127.0.0.1:1/ams` });
    expectRefusal(unreachable, 'DATABASE_URL');
    expect(unreachable.stderr).not.toContain(password);
    // Node.js knows this time zone, PostgreSQL does not.
    const zone = await failToStart({
      DATABASE_URL: await emptyDatabase(),
      BUSINESS_TIMEZONE: 'US/Pacific-New',
    });
    expectRefusal(zone, 'BUSINESS_TIMEZONE', 'PostgreSQL');
    const elsewhere = await failToStart({ DATABASE_URL: await newDatabase(), HOST: '192.0.2.1' });
    expectRefusal(elsewhere, 'HOST');
  });
});

describe('the commands', () => {
  test('work on a stopped embedded database, which they stop again, and while the service runs', async () => {
    const DATA_DIR = await newFolder();
    const environment = { DATA_DIR, DEMO_DATA: 'off' };
    const migrated = await runCli('migrate', environment);
    expect(migrated).toMatchObject({ status: 0, stdout: expect.stringContaining('applied 0001') });
    expect(await createAdmin(environment)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('boss@example.com can sign in'),
    });
    await untilNoProcessIn(DATA_DIR);

    const service = await startService(environment);
    expect(service.output()).not.toContain('demo catalogue');
    expect(await runCli('migrate', environment)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('up to date'),
    });
    expect(await createAdmin(environment, { email: 'other@example.com' })).toMatchObject({ status: 0 });
    const token = await signIn(service, BOSS);
    await signIn(service, 'other@example.com');
    expect(await read(service, token, '/payment-methods')).toHaveLength(4);
    expect(await read(service, token, '/products')).toEqual([]);
    expect(await runCli('seed', environment)).toMatchObject({ status: 0 });
    expect(await read(service, token, '/products')).toHaveLength(5);
    expect(await openAccount(service, token)).toMatchObject({ status: 'active' });
    expect((await service.stop()).status).toBe(0);

    expect(await runCli('seed', environment)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Nothing was added'),
    });
    await untilNoProcessIn(DATA_DIR);
  });

  test('explain in one line what is wrong with the arguments of create-admin', async () => {
    const environment = { DATABASE_URL: await newDatabase() };
    const unnamed = await runCli('create-admin', { ...environment, ADMIN_PASSWORD: PASSWORD });
    expect(unnamed).toMatchObject({ status: 1, stderr: expect.stringContaining('Usage:') });
    const short = await createAdmin(environment, { password: 'short' });
    expect(short).toMatchObject({ status: 1, stderr: expect.stringContaining('password: ') });
    const noAddress = await createAdmin(environment, { email: 'boss@example' });
    expect(noAddress).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('email: must be an e-mail'),
    });
    expect((await createAdmin(environment)).status).toBe(0);
    const twice = await createAdmin(environment);
    expect(twice.status).toBe(1);
    expect(twice.stderr).not.toContain('    at ');
  });
});

describe('a test clock', () => {
  test('answers 503 if one of the minute jobs that it runs fails', async () => {
    const url = await newDatabase();
    const service = await startService({ DATABASE_URL: url, TEST_CLOCK: 'on' });
    const setClock = () => service.call('PUT', '/test/clock', { now: '2031-03-05T09:00:00Z' });
    expect((await setClock()).status).toBe(200);
    await runStatement(url, 'alter table sessions rename to sessions_away');
    expect((await setClock()).status).toBe(503);
    await eventually(() => service.output()).toContain('minute job: delete expired sessions: failed');
    await runStatement(url, 'alter table sessions_away rename to sessions');
    expect((await setClock()).status).toBe(200);
    await service.stop();
  });
});

describe('production', () => {
  // The test of ams.service, in deploy.test.ts, starts with the embedded database.
  test('starts with payment methods and without demo data', async () => {
    const environment = { ...PRODUCTION, DATABASE_URL: await emptyDatabase() };
    const service = await startService(environment);
    expect(service.output()).not.toContain(PRODUCTION.JWT_SECRET);
    expect(
      (await service.call('POST', '/auth/register', person('new@example.com'))).status,
      'registration is closed',
    ).toBe(403);
    expect((await service.call('PUT', '/test/clock', { now: null })).status).toBe(404);
    expect(await createAdmin(environment)).toMatchObject({ status: 0 });

    const token = await signIn(service, BOSS);
    expect(await read(service, token, '/payment-methods')).toHaveLength(4);
    expect(await read(service, token, '/products')).toEqual([]);
    expect(await read(service, token, '/payplans')).toEqual([]);
    expect(await runCli('seed', environment)).toMatchObject({ status: 1 });
    expect((await service.stop()).status).toBe(0);
  });

  test('logs JSON with level names: the start with versions, each request with its caller, and the stop', async () => {
    const environment = { ...PRODUCTION, DATABASE_URL: await newDatabase() };
    const service = await startService(environment);
    expect(await createAdmin(environment)).toMatchObject({ status: 0 });
    const token = await signIn(service, BOSS);
    const { id: userId } = await read(service, token, '/auth/me');
    const { stdout } = await service.stop('SIGTERM');
    const lines: Record<string, unknown>[] = linesOf(stdout).map((line) => JSON.parse(line));
    expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);
    const node = process.version;
    expect(lines.filter(({ msg }) => msg === 'Started')).toMatchObject([
      {
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        node,
        database: 'PostgreSQL',
        address: service.origin,
      },
    ]);
    const call = {
      msg: 'request',
      method: 'GET',
      path: '/api/auth/me',
      status: 200,
      client: '127.0.0.1',
      userId,
    };
    expect(lines).toContainEqual(expect.objectContaining(call));
    expect(lines.find(({ path }) => path === '/api/auth/login')).not.toHaveProperty('userId');
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped' });
    expect(lines.filter(({ msg }) => msg === 'Stopping')).toMatchObject([{ reason: 'SIGTERM' }]);
  });
});

function person(email: string) {
  return { email, password: PASSWORD, firstName: 'Some', lastName: 'Body' };
}
