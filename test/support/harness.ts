import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, onTestFinished, vi } from 'vitest';
import { type AppParts, buildApp } from '../../src/app.ts';
import { createHorizonReader } from '../../src/changes/events/feed-horizon.ts';
import { readConfig } from '../../src/config/config.ts';
import { type Config, type Context, SYSTEM, today } from '../../src/core/context.ts';
import type { Tx } from '../../src/core/database/db.ts';
import type { AccountStatus, UserRole } from '../../src/core/database/tables.ts';
import { inTransaction } from '../../src/core/database/transactions.ts';
import { openRedis } from '../../src/core/http/redis.ts';
import type { HttpServer } from '../../src/core/http/server.ts';
import { createLog } from '../../src/core/log.ts';
import type { TimeLimits } from '../../src/core/time-limits.ts';
import { addDays } from '../../src/core/values/dates.ts';
import { createTasks, runMinuteJobs } from '../../src/jobs.ts';
import { openPostingQueue, type PostingContext } from '../../src/payments/posting/post-payments.ts';
import { type JobQueue, startJobQueue } from '../../src/platform/jobs/queue.ts';
import { createSettableClock, type SettableClock } from '../../src/platform/test-clock/settable-clock.ts';
import { CREDENTIAL_CACHE, createAccessTokens } from '../../src/staff/auth/access-tokens.ts';
import { createUninvitedUser } from '../../src/staff/auth/registration-commands.ts';
import { startSession } from '../../src/staff/auth/session-commands.ts';
import { addUser } from '../../src/staff/users/commands.ts';
import type { NewUser, UserRow } from '../../src/staff/users/store.ts';
import { toUser } from '../../src/staff/users/view.ts';
import { currencyOf } from '../../src/start/database-preparation.ts';
import { openPools } from '../../src/start/pools.ts';
import { dropDatabase } from './drop-database.ts';
import { type Answer, type CallOptions, createCaller, notification } from './http.ts';
import { databaseOn, runStatement } from './statements.ts';
import { STATUS_MODEL } from './status-model.ts';
import { createTestStopwatch, type TestStopwatch } from './stopwatch.ts';
import { PATIENCE } from './waiting.ts';

/** The production app on its own database. It listens on a free port, and tests call it over HTTP. */
export interface TestService {
  context: PostingContext;
  app: HttpServer;
  /** The parts from which the app was built. */
  parts: AppParts;
  clock: SettableClock;
  /** Measures the ages of what the app and its other instances have cached. */
  stopwatch: TestStopwatch;
  /** The settings of a connection to the database of the app. */
  connection: ReturnType<typeof databaseOn>;
  /** http://127.0.0.1:port */
  origin: string;
  /** The token of the admin, who is the first registered user. */
  adminToken: string;
  /** Sends a request below /api, with the body as JSON. Default token: the admin's. `token: null` sends no token. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  /** Creates a user with the role. @returns the token of the user's session. */
  signInAs(role: string): Promise<string>;
  /** The token of a user with the role, whom all tests of the file share. */
  tokenOf(role: string): Promise<string>;
}

export const PASSWORD = 'a long enough password';
const NO_LIMITS = {
  RATE_LIMIT_AUTH: '0',
  RATE_LIMIT_BROWSER: '0',
  RATE_LIMIT_BULK: '0',
  RATE_LIMIT_GENERAL: '0',
  RATE_LIMIT_PAGES: '0',
  RATE_LIMIT_API_KEY: '0',
  RATE_LIMIT_WEBHOOK: '0',
};

/** The settings of a service in a test: no rate limits, a silent log, and time limits that no test reaches by accident. */
function readTestConfig(environment: Record<string, string>, limits: Partial<TimeLimits>): Config {
  const config = readConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    ...NO_LIMITS,
    TIME_LIMIT_FACTOR: PATIENCE,
    ...environment,
  });
  return { ...config, limits: { ...config.limits, ...limits } };
}

/**
 * Starts a service for the tests of a file and removes it afterwards.
 * @param environment - settings in addition to those of `readTestConfig`.
 * @param limits - the time limits that the tests are about.
 */
export function useService(
  environment: Record<string, string> = {},
  limits: Partial<TimeLimits> = {},
): TestService {
  const service = {} as TestService;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const started = await startTestService(environment, limits);
    close = started.close;
    Object.assign(service, started.service);
  });
  afterAll(() => close());
  return service;
}

/** Runs the jobs that requests add, such as jobs of provider statements. Tests call the minute jobs themselves. */
export function useJobs(service: TestService): void {
  let queue: JobQueue;
  beforeAll(() => {
    queue = startRequestJobs(service);
  });
  afterAll(() => queue.stop());
}

export function startRequestJobs({ context, connection, parts: { copies, log } }: TestService): JobQueue {
  return startJobQueue({
    connection,
    db: context.db,
    limits: context.config.limits,
    log,
    tasks: createTasks(context, copies, log),
  });
}

export async function startTestService(
  environment: Record<string, string> = {},
  limits: Partial<TimeLimits> = {},
) {
  const config = readTestConfig(environment, limits);
  const database = `ams_test_${randomUUID().replaceAll('-', '')}`;
  // A copy of the files takes half of the time that a copy through the WAL takes.
  const from = `template ${inject('template')} strategy file_copy`;
  await runStatement(inject('server'), `create database ${database} ${from}`);
  const connection = databaseOn(inject('server'), database);
  const clock = createSettableClock(async () => {});
  const stopwatch = createTestStopwatch();
  const pools = await openPools(config, { connection, testClock: clock });
  const log = createLog(config);
  const redis = config.REDIS_URL === '' ? undefined : openRedis(config.REDIS_URL, config.limits, log);
  const secret = config.JWT_SECRET || 'a secret of the tests, 32 bytes long';
  const withoutQueue: Context = { db: pools.db, clock, config, currency: currencyOf(config), secret };
  const context = { ...withoutQueue, queue: openPostingQueue(withoutQueue) };
  const parts: AppParts = {
    ...pools,
    context,
    stopwatch,
    horizon: createHorizonReader(pools.db),
    log,
    redis,
    version: 'test',
    consoleFolder: undefined,
    databaseKind: 'PostgreSQL',
    jobsCompletedAt: () => undefined,
    deliveryCounts: () => ({}),
    requestCounts: () => ({}),
    isAccepting: () => true,
    testClock: clock,
  };
  const app = buildApp(parts);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const call = createCaller(`${origin}/api`);
  const { accessToken: adminToken } = await withSession(context, (tx) =>
    createUninvitedUser(tx, context, { ...NEW_USER, email: 'admin@example.com' }, 'start of the test'),
  );
  const sharedTokens = new Map<string, Promise<string>>();
  let users = 0;

  const service: TestService = {
    context,
    app,
    parts,
    clock,
    stopwatch,
    connection,
    origin,
    adminToken,
    call: (method, path, body, options = {}) =>
      call(method, path, body, {
        ...options,
        token: options.token === undefined ? adminToken : options.token,
      }),
    async signInAs(role) {
      users += 1;
      const fields = { email: `user${users}@example.com`, role: role as UserRole };
      return (await signUp({ context }, fields)).accessToken;
    },
    tokenOf(role) {
      const token = sharedTokens.get(role) ?? service.signInAs(role);
      sharedTokens.set(role, token);
      return token;
    },
  };
  const close = async () => {
    await Promise.all([pools.cancelLongWork(), app.close()]);
    await pools.close();
    redis?.close();
    await dropDatabase(database);
  };
  return { service, close };
}

/** Starts a service with its own database for one test. */
export async function startServiceForTest(
  environment: Record<string, string> = {},
  limits: Partial<TimeLimits> = {},
): Promise<TestService> {
  const { service, close } = await startTestService(environment, limits);
  onTestFinished(close);
  return service;
}

/**
 * Starts another instance on the database of a running service, with other settings. It has the route of the test clock only if
 * TEST_CLOCK is on.
 */
export async function startInstance(
  service: TestService,
  environment: Record<string, string> = {},
  limits: Partial<TimeLimits> = {},
) {
  const config = readTestConfig(environment, limits);
  const log = createLog(config);
  const redis = config.REDIS_URL === '' ? undefined : openRedis(config.REDIS_URL, config.limits, log);
  const { testClock, ...parts } = service.parts;
  const context = { ...service.context, config, secret: config.JWT_SECRET || service.context.secret };
  const app = buildApp({
    ...parts,
    context: { ...context, queue: openPostingQueue(context) },
    horizon: createHorizonReader(parts.context.db),
    log,
    redis,
    ...(config.TEST_CLOCK === 'on' && testClock && { testClock }),
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const close = async () => {
    await app.close();
    redis?.close();
  };
  return { origin, redis, call: createCaller(`${origin}/api`), close };
}

/** Starts another instance for the tests of a `describe`, on the database of a service. */
export function useInstance(
  service: TestService,
  environment: Record<string, string>,
  limits: Partial<TimeLimits> = {},
): Pick<TestService, 'origin' | 'call'> {
  const instance = {} as Awaited<ReturnType<typeof startInstance>>;
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    Object.assign(instance, await startInstance(service, environment, limits));
    close = instance.close;
  });
  afterAll(() => close?.());
  return instance;
}

/** Like `startInstance`, for one test. The test may close the instance earlier. */
export async function startInstanceForTest(
  service: TestService,
  environment: Record<string, string> = {},
  limits: Partial<TimeLimits> = {},
) {
  const instance = await startInstance(service, environment, limits);
  onTestFinished(instance.close);
  return instance;
}

/** Expects an answer with the status. @returns its `data`. */
export async function dataOf(asked: Promise<Answer>, expectedStatus = 200) {
  const { status, body, text } = await asked;
  // `expect` takes a hundredth of a millisecond, and tests call this function tens of thousands of times.
  if (status !== expectedStatus) expect(status, text).toBe(expectedStatus);
  return body.data;
}

/** A hash of PASSWORD, the cheapest that is possible. With the usual hashes, tests would spend much of their time on sign-ins. */
const PASSWORD_HASH =
  '$argon2id$v=19$m=8,t=1,p=1$gi+RX6sKI66Ugdft9ww6lw$IUu4CrdGQRQNzs/GpnvZWE74XUdLzpnXztP5jH3xnqY';

let newcomers = 0;

/**
 * Creates a user with PASSWORD and a session, with the functions that a registration uses.
 * @returns what a registration answers.
 */
export function signUp({ context }: Pick<TestService, 'context'>, fields: Partial<NewUser> = {}) {
  newcomers += 1;
  const user = { ...NEW_USER, email: `newcomer${newcomers}@example.com`, ...fields };
  return withSession(context, (tx) => addUser(tx, SYSTEM, user));
}

const NEW_USER = {
  firstName: 'Test',
  lastName: 'User',
  passwordHash: PASSWORD_HASH,
  role: 'manager',
} as const;

async function withSession(context: Context, create: (tx: Tx) => Promise<UserRow>) {
  const tokens = createAccessTokens(context.secret, context.config.ACCESS_TOKEN_TTL);
  const started = await inTransaction(context.db, async (tx) =>
    startSession(tx, context, { tokens }, await create(tx)),
  );
  return { ...started, user: toUser(started.user) };
}

/** Creates an API key of a role, or with the given permissions. Its `key` is the bearer token. */
export async function newApiKey(service: TestService, grant: string | string[], fields: object = {}) {
  const name = `Key of ${grant}`.slice(0, 100);
  const granted = typeof grant === 'string' ? { role: grant } : { permissions: grant };
  return dataOf(service.call('POST', '/api-keys', { name, ...granted, ...fields }), 201);
}

let phones = 0;

/** Creates a customer with a new phone number. @returns the `data` of the answer. */
export async function newCustomer(service: TestService, fields: Record<string, unknown> = {}) {
  phones += 1;
  const phone = `+2547${String(10_000_000 + phones)}`;
  const body = { firstName: 'Test', lastName: 'Customer', phone, ...fields };
  return dataOf(service.call('POST', '/customers', body), 201);
}

/** Opens an account with the weekly demo plan (deposit 2,000, 52 × 400) for a new customer, or for the given one. */
export async function newAccount(service: TestService, fields: Record<string, unknown> = {}) {
  const customerId = fields.customerId ?? (await newCustomer(service)).id;
  const body = { customerId, productId: 1, payplanId: 2, ...fields };
  return dataOf(service.call('POST', '/accounts', body), 201);
}

/** Opens an account, and changes its status by the moves of the status model. */
export async function newAccountThatIs(
  service: TestService,
  status: AccountStatus,
  fields: Record<string, unknown> = {},
) {
  const activation = status === 'pending' && { activationDate: addDays(today(service.context), 8) };
  const { id, total } = await newAccount(service, { ...activation, ...fields });
  for (const step of STATUS_MODEL[status].movesFromActive) await move(service, id, step);
  if (status === 'completed') await pay(service, id, total);
  return accountNow(service, id);
}

/** The account as the API shows it now. */
export function accountNow(service: TestService, id: number) {
  return dataOf(service.call('GET', `/accounts/${id}`));
}

/** The payment as the API shows it now. */
export function paymentNow(service: TestService, id: number) {
  return dataOf(service.call('GET', `/payments/${id}`));
}

/** Records a payment in cash for an account. */
export function pay(
  service: TestService,
  accountId: number,
  amount: number,
  fields: Record<string, unknown> = {},
) {
  const body = { accountId, amount, paymentMethodId: 2, ...fields };
  return dataOf(service.call('POST', '/payments', body), 201);
}

/** Lets agents record payments with mobile money, as in earlier versions, whose payments the tests are about. */
export function letAgentsRecordMobileMoney(service: TestService) {
  return dataOf(service.call('PUT', '/payment-methods/1', { cash: true }));
}

export function reverse(service: TestService, paymentId: number) {
  const body = { reason: 'entered by mistake' };
  return dataOf(service.call('POST', `/payments/${paymentId}/reverse`, body));
}

/** Moves an account to a status, with a reason. */
export function move(service: TestService, accountId: number, status: string) {
  const body = { status, reason: `now ${status}` };
  return dataOf(service.call('PUT', `/accounts/${accountId}`, body));
}

/** Posts a notification. @returns the answer. */
export function notify(
  service: Pick<TestService, 'call'>,
  fields: Record<string, unknown> = {},
  { query = '', headers }: { query?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const options = { token: null, ...(headers && { headers }) };
  return service.call('POST', `/webhooks/payments/mobilemoney${query}`, notification(fields), options);
}

/** Runs the minute jobs once. */
export function runJobs({ context, parts }: TestService): Promise<boolean> {
  return runMinuteJobs(context, parts.log);
}

/**
 * Runs a statement such as `lock table` in a transaction of another connection, and does the work while the transaction is open.
 * The transaction is rolled back after the work, unless the work ends it.
 */
export async function whileHolding<T>(
  { connection }: Pick<TestService, 'connection'>,
  statement: string,
  work: (holder: pg.Client) => Promise<T>,
): Promise<T> {
  const holder = new pg.Client(connection);
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query(statement);
    return await work(holder);
  } finally {
    await holder.end();
  }
}

/** The processes of PostgreSQL that wait for a lock in the database of the connection. */
export async function waitingForLock(client: pg.Client): Promise<number[]> {
  await client.query('select pg_stat_clear_snapshot()'); // A transaction keeps what it has read of pg_stat_activity.
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
}

/** The statements that the work sends to PostgreSQL, through any connection. */
export async function statementsOf(work: () => Promise<unknown>): Promise<pg.QueryConfig[]> {
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    return asked.mock.calls.map(([config]): unknown => config).filter(isQueryConfig);
  } finally {
    asked.mockRestore();
  }
}

function isQueryConfig(given: unknown): given is pg.QueryConfig {
  return typeof given === 'object' && given !== null && 'text' in given;
}

/** Makes each insert of a payment with this amount fail. @returns a function that lets the inserts succeed again. */
export async function breakPosting(
  { context: { db } }: TestService,
  amountMinor: number,
): Promise<() => Promise<void>> {
  await sql
    .raw(`
    create function fail_for_a_test() returns trigger language plpgsql as
      $$ begin if new.amount_minor = ${amountMinor} then raise exception 'broken for a test'; end if; return new; end $$;
    create trigger fail_for_a_test before insert on payments for each row execute function fail_for_a_test()`)
    .execute(db);
  return async () => {
    await sql.raw('drop function fail_for_a_test cascade').execute(db);
  };
}

/** Lets the instances of the service forget the credentials that they have cached. They then read them from the database. */
export function forgetCredentials({ stopwatch }: TestService): void {
  stopwatch.advance(CREDENTIAL_CACHE.ttl + 1);
}

/** Sets the business clock to noon of a date in Nairobi. */
export function setToday(service: TestService, date: string): void {
  service.clock.set(new Date(`${date}T09:00:00Z`));
}

/** Asserts that validation refused the request. @returns the paths of the wrong fields. */
export function wrongFields(answer: Answer): string[] {
  expect(answer.body, answer.text).toMatchObject({ success: false, error: { code: 'VALIDATION_ERROR' } });
  expect(answer.status, answer.text).toBe(400);
  return answer.body.error.details.fields.map((field: { path: string }) => field.path).sort();
}
