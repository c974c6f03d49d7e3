import type { Pool } from 'pg';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Type } from 'typebox';
import type { Db } from '../../core/database/db.ts';
import type { RefusedWrites } from '../../core/database/refused-writes.ts';
import type { Replica } from '../../core/database/replica.ts';
import { AppError } from '../../core/http/errors.ts';
import type { SharedRedis } from '../../core/http/redis.ts';
import type { HttpServer } from '../../core/http/server.ts';
import { sameSecret } from '../../core/values/secret.ts';
import { createCachedReader } from './cached-reader.ts';
import { MAX_COUNTED, readWaiting } from './store.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface MetricsParts {
  db: Db;
  pool: Pool;
  redis: SharedRedis | undefined;
  replica: Replica | undefined;
  refusedWrites: RefusedWrites;
  version: string;
  databaseKind: string;
  jobsCompletedAt(): Date | undefined;
  webhooks: WebhookMetrics;
  /** How many calls about payment requests this instance made to the provider, by result. */
  requestCounts(): Readonly<Record<string, number>>;
  readProviders(db: Db): Promise<ProviderFigures[]>;
  /** The result of the last check of the books. Undefined before the first one. */
  readLastProof(db: Db): Promise<{ read_at: string; violation_count: number } | undefined>;
}

/** The figures of a payment provider. Times are ISO 8601. */
interface ProviderFigures {
  provider: string;
  lastHeardAt: string | null;
  silentSince: string | null;
  openBalanceGaps: number;
  pulls: { shortCode: string; completeUntil: string | null }[];
}

interface WebhookMetrics {
  /** How often this instance attempted to deliver an event, by outcome. */
  counts(): Readonly<Record<string, number>>;
  readState(db: Db): Promise<{ failing: number; disabled: number; oldestPendingSeconds: number }>;
}

function replicaMetrics(register: Registry, replica: Replica): void {
  new Gauge({
    name: 'ams_replica_up',
    help: '1 if the reports of this instance may read the replica, otherwise 0.',
    registers: [register],
    collect() {
      this.set(replica.status().state === 'up' ? 1 : 0);
    },
  });
  new Gauge({
    name: 'ams_replica_lag_seconds',
    help: 'How far the replica is behind the primary, with a precision of a second. Missing if it is not known.',
    registers: [register],
    collect() {
      this.remove();
      const { lagSeconds } = replica.status();
      if (lagSeconds !== undefined) this.set(lagSeconds);
    },
  });
  new Counter({
    name: 'ams_reports_total',
    help: 'Reports of this instance, by the server on which they started.',
    labelNames: ['server'],
    registers: [register],
    collect() {
      this.reset();
      for (const [server, count] of Object.entries(replica.status().reports)) this.inc({ server }, count);
    },
  });
}

/** GET /metrics in Prometheus' text format, for callers with `Authorization: Bearer <token>`. */
export function metricsRoutes(
  app: HttpServer,
  token: string,
  {
    db,
    pool,
    redis,
    replica,
    refusedWrites,
    version,
    databaseKind,
    jobsCompletedAt,
    webhooks,
    requestCounts,
    readProviders,
    readLastProof,
  }: MetricsParts,
): void {
  const register = new Registry();
  collectDefaultMetrics({ register });
  new Gauge({
    name: 'ams_build_info',
    help: 'Always 1. The labels describe the running service.',
    labelNames: ['version', 'node', 'database'],
    registers: [register],
  }).set({ version, node: process.version, database: databaseKind }, 1);
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers: [register],
  });
  new Gauge({
    name: 'database_connections',
    help: 'Connections of the pool by state. The state waiting counts requests that wait for a connection.',
    labelNames: ['state'],
    registers: [register],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });

  new Gauge({
    name: 'ams_database_refuses_writes',
    help: '1 if PostgreSQL has refused a write of this instance in the last two minutes, because its disk is full or it is read-only, otherwise 0.',
    registers: [register],
    collect() {
      this.set(refusedWrites.isRecent() ? 1 : 0);
    },
  });
  if (redis)
    new Gauge({
      name: 'ams_redis_up',
      help: '1 if this instance shares its rate limits through Redis, otherwise 0.',
      registers: [register],
      async collect() {
        this.set((await redis.state()) === 'up' ? 1 : 0);
      },
    });
  if (replica) replicaMetrics(register, replica);

  const waiting = createCachedReader(db, readWaiting);
  new Gauge({
    name: 'ams_waiting',
    help: `Rows that wait for the service or for staff, counted up to ${MAX_COUNTED}. Missing while the database is slow.`,
    labelNames: ['what'],
    registers: [register],
    async collect() {
      this.reset();
      for (const [what, count] of Object.entries((await waiting())?.counts ?? {})) this.set({ what }, count);
    },
  });
  new Gauge({
    name: 'ams_oldest_pending_notification_seconds',
    help: 'Age of the oldest notification that is stored but not processed. 0 if there is none.',
    registers: [register],
    async collect() {
      this.remove();
      const seconds = (await waiting())?.oldestPendingSeconds;
      if (seconds !== undefined) this.set(seconds);
    },
  });
  new Gauge({
    name: 'ams_minute_jobs_completed_timestamp_seconds',
    help: 'When this instance last completed the minute jobs. Use the maximum of all instances, because each minute only one of them runs the jobs.',
    registers: [register],
    collect() {
      this.remove();
      const completedAt = jobsCompletedAt();
      if (completedAt) this.set(completedAt.getTime() / 1000);
    },
  });

  new Counter({
    name: 'ams_webhook_deliveries_total',
    help: 'Attempts of this instance to deliver an event to a webhook endpoint.',
    labelNames: ['outcome'],
    registers: [register],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(webhooks.counts())) this.inc({ outcome }, count);
    },
  });
  new Counter({
    name: 'ams_payment_request_calls_total',
    help: 'How often this instance called the provider to send a payment request or to ask for its outcome.',
    labelNames: ['result'],
    registers: [register],
    collect() {
      this.reset();
      for (const [result, count] of Object.entries(requestCounts())) this.inc({ result }, count);
    },
  });
  const deliveries = createCachedReader(db, webhooks.readState);
  new Gauge({
    name: 'ams_webhook_endpoints',
    help: 'Webhook endpoints that fail, and those that the service has disabled. Missing while the database is slow.',
    labelNames: ['state'],
    registers: [register],
    async collect() {
      this.reset();
      const state = await deliveries();
      if (!state) return;
      this.set({ state: 'failing' }, state.failing);
      this.set({ state: 'disabled' }, state.disabled);
    },
  });
  new Gauge({
    name: 'ams_webhook_oldest_pending_seconds',
    help: 'Age of the oldest event that was not yet delivered to an active webhook endpoint. 0 if there is none.',
    registers: [register],
    async collect() {
      this.remove();
      const seconds = (await deliveries())?.oldestPendingSeconds;
      if (seconds !== undefined) this.set(seconds);
    },
  });

  const providers = createCachedReader(db, readProviders);
  const providerGauge = (name: string, help: string, set: (gauge: Gauge, figures: ProviderFigures) => void) =>
    new Gauge({
      name,
      help: `${help} Missing while the database is slow.`,
      labelNames: ['provider', 'short_code'],
      registers: [register],
      async collect() {
        this.reset();
        for (const figures of (await providers()) ?? []) set(this, figures);
      },
    });
  providerGauge(
    'ams_provider_silent',
    '1 while a payment provider is silent for longer than usual, otherwise 0.',
    (gauge, { provider, silentSince }) => gauge.set({ provider }, silentSince === null ? 0 : 1),
  );
  providerGauge(
    'ams_provider_last_heard_timestamp_seconds',
    'When a payment provider last posted a notification.',
    (gauge, { provider, lastHeardAt }) => {
      if (lastHeardAt !== null) gauge.set({ provider }, Date.parse(lastHeardAt) / 1000);
    },
  );
  providerGauge(
    'ams_provider_balance_gaps',
    'Unexplained gaps in the running balance of a payment provider.',
    (gauge, { provider, openBalanceGaps }) => gauge.set({ provider }, openBalanceGaps),
  );
  providerGauge(
    'ams_provider_pull_complete_timestamp_seconds',
    'The payments of a short code have been pulled completely up to this time.',
    (gauge, { provider, pulls }) => {
      for (const { shortCode, completeUntil } of pulls)
        if (completeUntil !== null)
          gauge.set({ provider, short_code: shortCode }, Date.parse(completeUntil) / 1000);
    },
  );

  const proof = createCachedReader(db, readLastProof);
  new Gauge({
    name: 'ams_proof_violations',
    help: 'Violations that the last check of the books found. Missing before the first check, and while the database is slow.',
    registers: [register],
    async collect() {
      this.remove();
      const last = await proof();
      if (last) this.set(last.violation_count);
    },
  });
  new Gauge({
    name: 'ams_proof_timestamp_seconds',
    help: 'When the last check read the books. Missing before the first check, and while the database is slow.',
    registers: [register],
    async collect() {
      this.remove();
      const last = await proof();
      if (last) this.set(Date.parse(last.read_at) / 1000);
    },
  });

  app.addHook('onResponse', async (request, reply) => {
    // The label is the route's pattern, not the URL. Otherwise each id in a URL would create a time series.
    const route = request.routeOptions.url ?? 'unknown';
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
  });

  app.get(
    '/metrics',
    {
      config: { access: 'public', rate: 'none' },
      schema: { hide: true, response: { 200: Type.String() } },
    },
    async (request, reply) => {
      const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
      if (!sameSecret(given, token))
        throw new AppError('UNAUTHORIZED', 'Send METRICS_TOKEN as a bearer token.');
      return reply.type(register.contentType).send(await register.metrics());
    },
  );
}
