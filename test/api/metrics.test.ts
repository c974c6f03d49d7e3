import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { createCaller, notification, useService } from '../harness.ts';

describe('GET /metrics', () => {
  const token = 'a token of the monitoring';
  const service = useService({ METRICS_TOKEN: token });

  it('shows counters by route, never by path, to callers with the token', async () => {
    await service.call('GET', '/accounts/424242');
    const answer = await createCaller(service.origin)('GET', '/metrics', undefined, { token });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(answer.text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/api\/accounts\/:id",status="404"\} 1/,
    );
    expect(answer.text).toContain('database_connections{state="waiting"} 0');
    expect(answer.text).toContain('nodejs_eventloop_lag_seconds');
    expect(answer.text).not.toContain('424242');
  });

  it.each([[null], ['wrong'], ['']])('refuses %j', async (wrong) => {
    const answer = await createCaller(service.origin)('GET', '/metrics', undefined, { token: wrong });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('nodejs_');
  });
});

describe('the figures of the business', () => {
  const token = 'a token of the monitoring';
  const service = useService({ METRICS_TOKEN: token });
  /** As an instance that was started a moment ago: figures are kept for some seconds. */
  async function scrape(completedAt?: Date): Promise<string> {
    const app = buildApp({ ...service.parts, jobsCompletedAt: () => completedAt });
    try {
      const answer = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${token}` } });
      expect(answer.statusCode).toBe(200);
      return answer.body;
    } finally {
      await app.close();
    }
  }
  const insertPending = (rows: number) =>
    sql`insert into notifications (provider, raw_body, status, received_at)
      select 'test', '{}', 'pending', now() - interval '10 minutes' from generate_series(1, ${rows}::int)`.execute(
      service.context.db,
    );

  it('start at 0, beside the figures of the process', async () => {
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
  });

  it('count the rows that wait for staff and for the service, with their age', async () => {
    await service.call('POST', '/webhooks/payments/mobilemoney', notification({ BillRefNumber: 'nobody' }));
    await insertPending(2);
    const text = await scrape();
    expect(text).toContain('ams_waiting{what="unmatched_payments"} 1\n');
    expect(text).toContain('ams_waiting{what="pending_notifications"} 2\n');
    expect(text).toContain('ams_waiting{what="conflicts"} 0\n');
    expect(Number(/^ams_oldest_pending_notification_seconds (.*)$/m.exec(text)?.[1])).toBeCloseTo(600, -2);
  });

  it('cost the same with any number of waiting rows, because counting ends at 10,000', async () => {
    await insertPending(10_050);
    expect(await scrape()).toContain('ams_waiting{what="pending_notifications"} 10000\n');
  });

  it('are omitted while the database is slow, without delaying the others', async () => {
    const blocker = new pg.Client(service.connection);
    await blocker.connect();
    try {
      await blocker.query('begin; lock table notifications in access exclusive mode');
      const began = performance.now();
      const text = await scrape();
      expect(performance.now() - began).toBeLessThan(3_000);
      expect(text).toContain('nodejs_eventloop_lag_seconds');
      expect(text).not.toMatch(/^ams_(waiting|oldest)/m);
    } finally {
      await blocker.end();
    }
  });

  it('are read once for all requests within ten seconds', async () => {
    const pending = async () => {
      const { text } = await createCaller(service.origin)('GET', '/metrics', undefined, { token });
      return /^ams_waiting\{what="pending_notifications"\} \d+$/m.exec(text)?.[0];
    };
    const first = await pending();
    expect(first).toBeDefined();
    await sql`delete from notifications where status = 'pending'`.execute(service.context.db);
    expect(await pending()).toBe(first);
  });
});

describe('without METRICS_TOKEN', () => {
  const service = useService();

  it('there is no /metrics', async () => {
    expect((await createCaller(service.origin)('GET', '/metrics')).status).toBe(404);
  });
});
