import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildApp } from './app.ts';
import { createHorizonReader } from './changes/events/feed-horizon.ts';
import { type Dispatcher, startDispatcher } from './changes/webhook-endpoints/start-dispatcher.ts';
import type { Config, Context } from './core/context.ts';
import type { Connection } from './core/database/db.ts';
import { unavailable } from './core/http/errors.ts';
import { openRedis } from './core/http/redis.ts';
import { createLog, type Log } from './core/log.ts';
import { PACKAGE_ROOT } from './core/package-root.ts';
import { systemClock } from './core/values/dates.ts';
import { addDemoCompany } from './demo/company.ts';
import { type Jobs, startJobs } from './jobs.ts';
import {
  type RequestWorker,
  sendPaymentRequests,
} from './mobile-money/payment-requests/send-payment-requests.ts';
import { openPostingQueue } from './payments/posting/post-payments.ts';
import { DOCS_PATH } from './platform/api-docs/pages.ts';
import { startEmbeddedPostgres } from './platform/embedded-postgres/supervisor.ts';
import { createSettableClock } from './platform/test-clock/settable-clock.ts';
import { mayDo } from './rights.ts';
import { currencyOf, getJwtSecret, type Preparation, prepareDatabase } from './start/database-preparation.ts';
import { openPools } from './start/pools.ts';

/**
 * How long the service reports "not ready" before it closes, so that load balancers stop sending requests. HAProxy stops after two
 * failed checks, which take up to two seconds under load (deploy/haproxy.cfg).
 */
const READINESS_DRAIN_MS = 3_000;

export interface Service {
  address: string;
  log: Log;
  /** @param reason - logged as the reason, such as the name of a signal. */
  stop(reason: string): Promise<void>;
}

/** Prepares the database, opens the connections, and starts HTTP and the jobs. `stop` stops these parts in the reverse order. */
export async function startService(config: Config): Promise<Service> {
  const log = createLog(config);
  const version = packageVersion();
  const embedded =
    config.DATABASE_URL === '' ? await startEmbeddedPostgres({ dataDir: config.DATA_DIR, log }) : undefined;
  const connection: Connection = embedded?.connection ?? config.DATABASE_URL;
  const direct: Connection = embedded?.connection ?? config.directUrl;
  const pooler = config.pooled ? config.DATABASE_URL : undefined;
  const currency = currencyOf(config);
  const { migrations, isNew } = await prepareDatabase(direct, config, currency, {
    pooler,
    warn: (message) => log.warn(message),
  });
  if (config.DEMO_DATA === 'company') await addDemoCompany(direct, config, log);

  const testClock =
    config.TEST_CLOCK === 'on'
      ? createSettableClock(async () => {
          if (jobs && !(await jobs.runMinuteJobsNow()))
            throw unavailable(new Error('a job that runs every minute failed; the log names it'));
        })
      : undefined;
  const pools = await openPools(config, {
    ...{ connection, direct, pooler, testClock, log },
    onConnectionLost: (name, error) => log.warn(`The ${name} pool lost a connection: ${error.message}`),
  });
  const redis = config.REDIS_URL === '' ? undefined : openRedis(config.REDIS_URL, config.limits, log);
  let isAccepting = true;
  let jobs: Jobs | undefined;
  let dispatcher: Dispatcher | undefined;
  let requestWorker: RequestWorker | undefined;
  const withoutQueue: Context = {
    db: pools.db,
    clock: testClock ?? systemClock,
    config,
    currency,
    secret: await getJwtSecret(pools.db, config),
  };
  const queue = openPostingQueue(withoutQueue);
  const context = { ...withoutQueue, queue };
  const horizon = createHorizonReader(pools.db);
  const consoleFolder = findConsole();
  const app = buildApp({
    ...pools,
    context,
    stopwatch: performance,
    horizon,
    log,
    redis,
    version,
    consoleFolder,
    databaseKind: databaseKind(config),
    jobsCompletedAt: () => jobs?.lastCompletedAt(),
    deliveryCounts: () => dispatcher?.counts ?? {},
    requestCounts: () => requestWorker?.counts ?? {},
    isAccepting: () => isAccepting,
    ...(testClock && { testClock }),
  });
  const address = await app.listen({ host: config.HOST, port: config.PORT });
  jobs = startJobs(context, { connection: direct, copies: pools.copies, replica: pools.replica }, log);
  dispatcher = startDispatcher(context, horizon, log);
  requestWorker = sendPaymentRequests(context, log);
  log.info({ version, node: process.version, database: databaseKind(config), address }, 'Started');
  for (const line of welcome(address, config, { migrations, isNew, consoleFolder })) log.info(line);

  return {
    address,
    log,
    async stop(reason) {
      log.info({ reason }, 'Stopping');
      isAccepting = false;
      // Jobs and deliveries finish their current batches while requests continue.
      const workStopped = Promise.all([jobs?.stop(), dispatcher?.stop(), requestWorker?.stop()]);
      // Load balancers must see "not ready" before the service refuses the first request.
      if (config.production) await sleep(READINESS_DRAIN_MS);
      // Uploads, exports and long reads may take minutes, so they are interrupted. Other requests complete.
      await Promise.all([pools.cancelLongWork(), app.close()]);
      await workStopped;
      await queue.close();
      await pools.close();
      redis?.close();
      await embedded?.stop();
      log.info('Stopped');
    },
  };
}

function packageVersion(): string {
  const file = readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8');
  return (JSON.parse(file) as { version: string }).version;
}

function findConsole(): string | undefined {
  const folder = join(PACKAGE_ROOT, 'web', 'dist');
  return existsSync(join(folder, 'index.html')) ? folder : undefined;
}

function databaseKind({ DATABASE_URL, pooled }: Config): string {
  if (DATABASE_URL === '') return 'embedded PostgreSQL';
  return pooled ? 'PostgreSQL behind a pooler' : 'PostgreSQL';
}

/** The lines that are printed after a start. The addresses come last, so that they stay visible. */
function welcome(
  address: string,
  config: Config,
  { migrations, isNew, consoleFolder }: Preparation & { consoleFolder: string | undefined },
): string[] {
  const lines: string[] = [];
  const applied = isNew
    ? `${migrations.length} migrations up to ${migrations.at(-1)}`
    : migrations.join(', ');
  if (migrations.length > 0) lines.push(`Migrated the database: ${applied}.`);
  if (isNew && !config.production && config.DEMO_DATA === 'on')
    lines.push('Added a demo catalogue of products and pay plans.');
  if (config.WEBHOOK_SECRET === '' && !config.webhookNetworks) {
    lines.push('WEBHOOK_SECRET is empty: anyone who reaches this port can post payment notifications.');
  }
  const { open, role } = config.registration;
  if (config.approvalLimitMinor !== undefined && open && mayDo({ role }, 'approvals:decide')) {
    lines.push(
      'APPROVAL_LIMIT is set, but registration is open: one person can register twice and approve their own requests. Set REGISTRATION=closed.',
    );
  }
  if (config.TEST_CLOCK === 'on') lines.push('TEST_CLOCK is on: anyone can change the date of the service.');
  if (config.production) return lines;
  return [
    ...lines,
    `The API is at ${address}/api, and its health at ${address}/health.`,
    isNew
      ? 'Create the first user, who becomes the admin: run npm run create-admin, or call POST /api/auth/register.'
      : 'Sign in in the console, or with POST /api/auth/login.',
    `Open ${address}${DOCS_PATH} to read and try the API.`,
    ...(consoleFolder === undefined ? [] : [`Open ${address}/ for the staff console.`]),
  ];
}
