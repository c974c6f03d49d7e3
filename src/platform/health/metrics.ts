import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Type } from 'typebox';
import type { Db } from '../../core/database/db.ts';
import { withTimeout } from '../../core/database/transactions.ts';
import { AppError } from '../../core/http/errors.ts';
import type { HttpServer } from '../../core/http/server.ts';
import { sameSecret } from '../../core/values/secret.ts';
import { MAX_COUNTED, readWaiting } from './store.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The shortest interval between two counts of the backlogs, and the longest wait of a scrape for a count. */
const WAITING_MAX_AGE_MS = 10_000;
const WAITING_TIMEOUT_MS = 1_000;

interface MetricsParts {
  db: Db;
  pool: Pool;
  version: string;
  databaseKind: string;
  jobsCompletedAt(): Date | undefined;
  webhooks: WebhookMetrics;
}

export interface WebhookMetrics {
  /** Attempts of this instance to deliver events, by outcome. */
  counts(): Readonly<Record<string, number>>;
  readState(db: Db): Promise<{ failing: number; disabled: number; oldestPendingSeconds: number }>;
}

/** GET /metrics in Prometheus' text format, for callers with `Authorization: Bearer <token>`. */
export function metricsRoutes(
  app: HttpServer,
  token: string,
  { db, pool, version, databaseKind, jobsCompletedAt, webhooks }: MetricsParts,
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
    help: 'Connections of the pool by state. waiting counts the requests that wait for a connection.',
    labelNames: ['state'],
    registers: [register],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });

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
    help: 'When this instance last completed the minute jobs. Use the maximum of all instances, because one of them runs the jobs.',
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

  app.addHook('onResponse', async (request, reply) => {
    // The label is the route's pattern, because each id in a URL would create a time series.
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

/**
 * Reads backlogs, once for all scrapes within ten seconds.
 * @returns undefined if the read takes too long, because a scrape must show the other metrics while the database is slow.
 */
function createCachedReader<T>(db: Db, read: (db: Db) => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T | undefined> | undefined;
  let readAtMs = 0;
  return () => {
    if (!reading || Date.now() - readAtMs > WAITING_MAX_AGE_MS) {
      readAtMs = Date.now();
      const result = withTimeout(db, WAITING_TIMEOUT_MS, read).catch(() => undefined); // /health gives the reason.
      reading = Promise.race([result, sleep(WAITING_TIMEOUT_MS, undefined, { ref: false })]);
    }
    return reading;
  };
}
