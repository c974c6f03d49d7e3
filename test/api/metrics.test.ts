import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { openDatabase } from '../../src/core/database/db.ts';
import { startInstanceForTest, useInstance, useService, whileHolding } from '../support/harness.ts';
import { createCaller, notification } from '../support/http.ts';
import { PATIENT } from '../support/waiting.ts';

const token = 'a token of the monitoring';
const service = useService({ METRICS_TOKEN: token });

describe('GET /metrics', () => {
  const instance = useInstance(service, { METRICS_TOKEN: token });

  it('shows counters by route, never by path, to callers with the token', async () => {
    await instance.call('GET', '/accounts/424242', undefined, { token: service.adminToken });
    const answer = await createCaller(instance.origin)('GET', '/metrics', undefined, { token });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(answer.text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/api\/accounts\/:id",status="404"\} 1/,
    );
    expect(answer.text).toContain('database_connections{state="waiting"} 0');
    expect(answer.text).toContain('nodejs_eventloop_lag_seconds');
    expect(answer.text).not.toContain('424242');
  });

  it('does not exist without METRICS_TOKEN', async () => {
    const { origin } = await startInstanceForTest(service);
    expect((await createCaller(origin)('GET', '/metrics')).status).toBe(404);
  });

  it.each([[null], ['wrong'], ['']])('refuses %j', async (wrong) => {
    const answer = await createCaller(instance.origin)('GET', '/metrics', undefined, { token: wrong });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('nodejs_');
  });
});

describe('the figures of the business', () => {
  /** Reads the metrics of a new instance, because an instance caches the figures for some seconds. */
  async function scrape(completedAt?: Date, context = service.context): Promise<string> {
    const app = buildApp({ ...service.parts, context, jobsCompletedAt: () => completedAt });
    try {
      const answer = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${token}` } });
      expect(answer.statusCode).toBe(200);
      return answer.body;
    } finally {
      await app.close();
    }
  }
  const deletePending = () =>
    sql`delete from notifications where status = 'pending'`.execute(service.context.db);
  async function insertPending(rows: number): Promise<void> {
    await sql`insert into notifications (provider, raw_body, status, received_at)
      select 'test', '{}', 'pending', now() - interval '10 minutes' from generate_series(1, ${rows}::int)`.execute(
      service.context.db,
    );
    onTestFinished(async () => {
      await deletePending();
    });
  }

  it('start at 0, and count the rows that wait for staff and for the service, with their age', async () => {
    const text = await scrape();
    expect(text).toContain(
      `ams_build_info{version="test",node="${process.version}",database="PostgreSQL"} 1`,
    );
    expect(text.match(/^ams_waiting\{what="\w+"\} 0$/gm)).toHaveLength(6);
    expect(text).toContain('\nams_oldest_pending_notification_seconds 0\n');
    expect(text).not.toMatch(/^ams_minute_jobs_completed_timestamp_seconds/m);
    expect(await scrape(new Date(1_800_000_000_000))).toContain(
      '\nams_minute_jobs_completed_timestamp_seconds 1800000000\n',
    );

    await service.call('POST', '/webhooks/payments/mobilemoney', notification({ BillRefNumber: 'nobody' }));
    await insertPending(2);
    const later = await scrape();
    expect(later).toContain('ams_waiting{what="unmatched_payments"} 1\n');
    expect(later).toContain('ams_waiting{what="pending_notifications"} 2\n');
    expect(later).toContain('ams_waiting{what="conflicts"} 0\n');
    const seconds = Number(/^ams_oldest_pending_notification_seconds (.*)$/m.exec(later)?.[1]);
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from now() - min(received_at))::float8 as seconds from notifications
      where status = 'pending'`.execute(service.context.db);
    expect(seconds).toBeGreaterThanOrEqual(600);
    expect(seconds).toBeLessThanOrEqual(rows[0]?.seconds ?? 0);
  });

  it('cost the same with any number of waiting rows, because counting ends at 10,000', async () => {
    await insertPending(10_050);
    expect(await scrape()).toContain('ams_waiting{what="pending_notifications"} 10000\n');
  });

  it('are omitted while the database is slow, without delaying the others', async () => {
    const { db, close } = openDatabase({
      connection: service.connection,
      limits: { ...PATIENT, figureMs: 20 },
      poolSize: 2,
      prepare: true,
      onConnectionLost: () => {},
    });
    onTestFinished(() => close());
    await whileHolding(service, 'lock table notifications in access exclusive mode', async () => {
      const text = await scrape(undefined, { ...service.context, db });
      expect(text).toContain('nodejs_eventloop_lag_seconds');
      expect(text).not.toMatch(/^ams_(waiting|oldest)/m);
    });
  });

  it('are read once for all requests within ten seconds', async () => {
    const pending = async () => {
      const { text } = await createCaller(service.origin)('GET', '/metrics', undefined, { token });
      return /^ams_waiting\{what="pending_notifications"\} \d+$/m.exec(text)?.[0];
    };
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    await insertPending(3);
    vi.advanceTimersByTime(10_001);
    expect(await pending()).toBe('ams_waiting{what="pending_notifications"} 3');
    await deletePending();
    vi.advanceTimersByTime(10_000);
    expect(await pending()).toBe('ams_waiting{what="pending_notifications"} 3');
    vi.advanceTimersByTime(1);
    expect(await pending()).toBe('ams_waiting{what="pending_notifications"} 0');
  });
});

describe('deploy/', () => {
  const replicated = useService({
    METRICS_TOKEN: token,
    DATABASE_URL: 'postgres://ams@127.0.0.1:1/ams',
    REDIS_URL: 'redis://127.0.0.1:1',
    DATABASE_REPLICA_URL: 'postgres://ams@127.0.0.1:1/ams', // Nothing listens there, so the replica is down.
  });
  const OF_PROMETHEUS = ['up'];

  it.each(['grafana-dashboard.json', 'prometheus-alerts.yml'])(
    'uses only metrics that the service has: %s',
    async (file) => {
      const { text } = await createCaller(replicated.origin)('GET', '/metrics', undefined, { token });
      expect(text).toContain('\nams_replica_up 0\n');
      const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
      const known = types.flatMap(([, name, type]) =>
        type === 'histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : [name],
      );
      const used = expressionsOf(readFileSync(`deploy/${file}`, 'utf8')).flatMap(metricsOf);
      expect(used.length).toBeGreaterThan(8);
      expect(used.filter((name) => ![...known, ...OF_PROMETHEUS].includes(name))).toEqual([]);
    },
  );

  it('shows every metric of the business on the dashboard', async () => {
    const { text } = await createCaller(replicated.origin)('GET', '/metrics', undefined, { token });
    const dashboard = readFileSync('deploy/grafana-dashboard.json', 'utf8');
    const own = [...text.matchAll(/^# TYPE (ams_\S+) /gm)].map(([, name = '']) => name);
    expect(own.filter((name) => !dashboard.includes(name))).toEqual([]);
  });
});

/** The expressions of a dashboard or of alerts. */
function expressionsOf(text: string): string[] {
  const lines = [...text.matchAll(/^ *"?expr"?: (.*?),?$/gm)].map(([, value = '']) => value);
  return lines.map((value) => (value.startsWith('"') ? JSON.parse(value) : value));
}

/** The words of an expression that are not functions, keywords, labels or texts. */
function metricsOf(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, '')
    .replaceAll(/\b(by|without) *\([^)]*\)/g, '');
  return [...bare.matchAll(/\b[a-z_]\w*\b(?! *\()/g)].map(([name]) => name);
}
