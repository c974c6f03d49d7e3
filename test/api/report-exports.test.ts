import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openCopyPool } from '../../src/core/database/copy-pool.ts';
import { newAccount, type TestService, useService } from '../support/harness.ts';
import { eventually } from '../support/waiting.ts';

const NOW = new Date('2026-11-15T09:00:00Z');

/** The number of exports that run on the database of this service. */
async function exportsRunning(service: TestService): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and query ilike 'copy%' and state = 'active' and backend_type = 'client backend'`.execute(
    service.context.db,
  );
  return rows[0]?.n ?? 0;
}

describe('a long export', () => {
  const service = useService({}, { slotMs: 200 });
  // 24 MB in total, more than the buffers of the sockets.
  const ROWS = 30_000;
  const REF_LENGTH = 800;
  const QUERY = '/api/reports/payments?format=csv&startDate=2026-01-01&endDate=2026-12-31';

  const SHORT = '/reports/payments?format=csv&startDate=2026-01-01&endDate=2026-01-02';

  beforeAll(async () => {
    service.clock.set(NOW);
    const { id } = await newAccount(service, { activationDate: '2026-01-01' });
    for (let first = 1; first <= ROWS; first += 10_000) {
      await sql`
        insert into payments
          (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status, source)
        select ${id}, 100 + n, 1, ref, ref, date '2026-01-01' + (n % 300)::int, 'matched', 'manual'
        from generate_series(${first}::int, ${first + 9_999}::int) n, lpad(n::text, ${REF_LENGTH}::int, 'X') ref`.execute(
        service.context.db,
      );
    }
  });

  /** Waits until no export of another test is running. */
  const untilFree = async () => {
    await eventually(() => exportsRunning(service)).toBe(0);
    await eventually(async () => (await service.call('GET', SHORT)).status).toBe(200);
  };
  beforeEach(untilFree);

  /** Starts an export and stops reading after the first bytes. */
  async function startReading(token = service.adminToken) {
    const request = http.get(`${service.origin}${QUERY}`, {
      headers: { authorization: `Bearer ${token}` },
      agent: false,
    });
    request.on('error', () => {}); // the response reports a reset too
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.pause();
    return { request, response };
  }

  async function readToEnd(response: http.IncomingMessage) {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const failure = await new Promise<Error | null>((resolve) => {
      response.resume();
      response.on('end', () => resolve(null));
      response.on('error', resolve);
    });
    return { bytes, failure };
  }

  it('arrives complete', async () => {
    const { text } = await service.call('GET', QUERY.replace('/api', ''));
    expect(text.split('\r\n')).toHaveLength(ROWS + 2);
  });

  it('answers HEAD with the headers of the file and no export', async () => {
    const { status, headers, text } = await service.call('HEAD', '/reports/payments?format=csv');
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/csv; charset=utf-8']);
    expect(headers.get('content-length')).toBeNull();
    const json = await fetch(`${service.origin}/api/reports/payments`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${service.adminToken}` },
    });
    expect([json.status, await json.text()]).toEqual([200, '']);
    expect(await exportsRunning(service)).toBe(0);
  });

  it('resets the connection when the database ends it midway', async () => {
    const { response } = await startReading();
    expect(response.statusCode).toBe(200);
    const { rows } = await sql`
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and query ilike 'copy%' and state = 'active' and backend_type = 'client backend'`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ ended: true }]);
    const { failure, bytes } = await readToEnd(response);
    expect(failure).toBeInstanceOf(Error);
    expect((failure as NodeJS.ErrnoException).code).toBe('ECONNRESET');
    expect(response.complete).toBe(false);
    expect(bytes).toBeLessThan(ROWS * REF_LENGTH);
    await untilFree();
  });

  it('ends on the server when the client disconnects', async () => {
    const { request } = await startReading();
    await eventually(() => exportsRunning(service)).toBe(1);
    request.destroy();
    await eventually(() => exportsRunning(service)).toBe(0);
    // An export whose reader leaves before the first byte ends too.
    for (let i = 0; i < 6; i += 1) {
      const hasty = http.get(`${service.origin}${QUERY}`, {
        headers: { authorization: `Bearer ${service.adminToken}` },
        agent: false,
      });
      hasty.on('error', () => {});
      await delay(15 * i);
      hasty.destroy();
    }
    await untilFree();
  });

  it('runs beside the export of another user; a third export, or a second one of the same user, is refused with a delay', async () => {
    const [viewer, finance] = [await service.signInAs('viewer'), await service.signInAs('finance')];
    const first = await startReading();
    // It waits briefly, in case the first one has just ended.
    const own = await service.call('GET', QUERY.replace('/api', ''));
    expect([own.status, own.body.error.code]).toEqual([429, 'RATE_LIMITED']);
    const second = await startReading(viewer);
    const third = await service.call('GET', QUERY.replace('/api', ''), undefined, { token: finance });
    expect([third.status, third.body.error.code]).toEqual([503, 'INTERNAL_ERROR']);
    for (const { headers } of [own, third]) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.call('GET', '/reports/payments')).status).toBe(200);
    const [one] = await Promise.all([readToEnd(first.response), second.request.destroy()]);
    expect(one.failure).toBeNull();
    await untilFree();
  });

  it('fails before anything is sent if its statement is wrong, and frees its slot', async () => {
    const pool = openCopyPool({
      connection: service.connection,
      limits: service.context.config.limits,
      onConnectionLost: () => {},
    });
    for (let i = 0; i < 4; i += 1)
      await expect(pool.open('user 1', 'select nothing', ['nothing'])).rejects.toThrow(/nothing/);
    const { value: stream } = await pool.open('user 1', "select 'a' as x", ['x']);
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('\ufeffx\r\n"a"\r\n');
    await pool.close();
  });
});
