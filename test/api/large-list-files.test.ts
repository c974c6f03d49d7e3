import http from 'node:http';
import { parse } from 'csv-parse/sync';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { newAccount, pay, setToday, useService } from '../support/harness.ts';
import { eventually } from '../support/waiting.ts';

const service = useService();

/** The rows of a file, by column. */
async function rowsOf(path: string, token?: string): Promise<Record<string, string>[]> {
  const answer = await service.call('GET', path, undefined, token === undefined ? {} : { token });
  expect(answer.status, answer.text).toBe(200);
  return parse(answer.text, { columns: true, bom: true });
}

const ROWS = 20_000;

beforeAll(async () => {
  await setToday(service, '2026-11-16');
  const { id } = await newAccount(service, { activationDate: '2026-01-01' });
  await sql`
    insert into payments
      (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status, source)
    select ${id}, 100 + n, 1, ref, ref, date '2026-01-01' + (n % 300)::int, 'matched', 'import'
    from generate_series(1, ${ROWS}::int) n, lpad(n::text, 500, 'X') ref`.execute(service.context.db);
});

it('the file of a list with many rows has each row once, in one order, although payments are added meanwhile', async () => {
  const { id } = await newAccount(service);
  const reading = rowsOf('/payments.csv?filter[source]=import&sort=amount:desc');
  await pay(service, id, 2_000);
  const amounts = (await reading).map(({ amount }) => Number(amount));
  expect(amounts).toHaveLength(ROWS);
  expect(new Set(amounts).size).toBe(ROWS);
  expect(amounts).toEqual(amounts.toSorted((one, other) => other - one));
});

it('a download ends its transaction when the client goes away', async () => {
  const { request, stalled } = download();
  await stalled;
  await eventually(cursors).toBe(1);
  request.destroy();
  await eventually(cursors).toBe(0);
});

it('two stalled downloads of one user leave a connection to others', async () => {
  const [first, second] = [download(), download()];
  await Promise.race([first.stalled, second.stalled]);
  await eventually(cursors).toBe(1);
  const path = '/payments.csv?filter[id]=0';
  expect(await rowsOf(path, await service.tokenOf('manager'))).toEqual([]);
  first.request.destroy();
  second.request.destroy();
  await eventually(cursors).toBe(0);
  // The download that waited is forgotten as soon as the service knows that its connection has ended.
  await eventually(async () => (await service.call('GET', path)).status).toBe(200);
});

/** Starts a download by the admin. `stalled` resolves when the first bytes have come, which nobody reads. */
function download() {
  const path = `${service.origin}/api/payments.csv?filter[source]=import`;
  const headers = { authorization: `Bearer ${service.adminToken}` };
  const request = http.get(path, { headers, agent: false });
  request.on('error', () => {});
  const stalled = new Promise<void>((resolve) => {
    request.once('response', (response) => {
      response.pause();
      resolve();
    });
  });
  return { request, stalled };
}

/** The number of files that are being read from the database. */
async function cursors(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and query like 'fetch %' and state <> 'idle'`.execute(
    service.context.db,
  );
  return rows[0]?.n ?? 0;
}
