import pg from 'pg';
import { expect, test } from 'vitest';
import { eventually } from '../support/waiting.ts';
import { expectVerifyToPass } from './books.ts';
import { registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  startService,
  USUAL_LIMITS,
} from './process.ts';

// Another instance takes over the job of a killed one within about 30 seconds.
cleanUpAfterwards();

const ACCOUNTS = 60;
const PATH = '/plan-changes/bulk-deferrals';

test('a bulk deferral whose service is killed in the middle continues after the restart, and defers each account once', async () => {
  const database = await newDatabase();
  const environment = { ...NO_RATE_LIMITS, ...USUAL_LIMITS, DATABASE_URL: database, LOG_LEVEL: 'warn' };
  const killed = await startService(environment);
  const token = await registerAdmin(killed);
  const call = async (service: RunningService, method: string, path: string, body?: unknown) => {
    const answer = await service.call(method, path, body, { token });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  const customer = { firstName: 'Wanjiru', lastName: 'Kamau', phone: '+254712345678' };
  const { id: customerId } = await call(killed, 'POST', '/customers', customer);
  const items = Array.from({ length: ACCOUNTS }, () => ({ customerId, productId: 1, payplanId: 2 }));
  await call(killed, 'POST', '/accounts/bulk', { items });

  const from = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
  const body = { filter: { status: { eq: 'active' } }, from, periods: 1, reason: 'The harvest was lost' };
  const { id } = await call(killed, 'POST', PATH, body);
  const statusIn = async (service: RunningService) => (await call(service, 'GET', `${PATH}/${id}`)).status;
  await eventually(() => statusIn(killed)).toBe('draft');

  const client = new pg.Client(database);
  await client.connect();
  try {
    const changes = async () =>
      (await client.query('select count(*)::int as count from plan_changes')).rows[0].count;
    // The job waits for this account, in the middle of its work, with a transaction open.
    await client.query(
      'begin; select from accounts where id = (select max(id) - 20 from accounts) for update',
    );
    await call(killed, 'POST', `${PATH}/${id}/confirm`);
    await eventually(changes).toBeGreaterThan(ACCOUNTS / 2);
    await killed.kill();
    const before = await changes();
    expect(before).toBeLessThan(ACCOUNTS);
    await client.query('commit');

    const restarted = await startService(environment);
    await eventually(() => statusIn(restarted)).toBe('done');
    const { counts } = await call(restarted, 'GET', `${PATH}/${id}`);
    expect(counts).toMatchObject({ waiting: 0, deferred: ACCOUNTS, skipped: 0 });
    expect(await changes()).toBe(ACCOUNTS);
    const { rows } = await client.query('select distinct plan_version from accounts');
    expect(rows).toEqual([{ plan_version: 1 }]);
    expect((await restarted.stop()).status).toBe(0);
  } finally {
    await client.end();
  }
  await expectVerifyToPass(database);
});
