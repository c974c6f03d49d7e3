import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { newAccount, paymentNow, setToday, type TestService, useService } from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { untilPasses } from '../support/waiting.ts';

const service = useService();

beforeAll(() => setToday(service, '2026-11-02'));

async function pay(to: TestService, amount: number, paymentDate?: string): Promise<number> {
  const { id: accountId } = await newAccount(to);
  const answer = await to.call('POST', '/payments', { accountId, amount, paymentMethodId: 2, paymentDate });
  return answer.body.data.id;
}

describe('POST /payments/reconcile', () => {
  it('reconciles the new payments in a batch, with an outcome for each id', async () => {
    const first = await pay(service, 10.55);
    const second = await pay(service, 20);
    const reversed = await pay(service, 30);
    await service.call('POST', `/payments/${reversed}/reverse`, { reason: 'test' });
    const unmatched = await service.call(
      'POST',
      '/webhooks/payments/mobilemoney',
      notification({ BillRefNumber: '?' }),
    );
    const unmatchedId = unmatched.body.data.paymentId;

    const body = {
      paymentIds: [first, second, second, reversed, unmatchedId, 999999],
      reconciliationDate: '2026-11-03',
    };
    const { status, body: answer } = await service.call('POST', '/payments/reconcile', body);
    expect(status).toBe(200);
    expect(answer.data.counts).toEqual({
      reconciled: 3,
      already_reconciled: 0,
      not_found: 1,
      not_reconcilable: 1,
    });
    expect(answer.data.totals.reconciled).toBe(430.55);
    expect(answer.data.results).toMatchObject([
      { paymentId: first, result: 'reconciled', reason: null, amount: 10.55 },
      { paymentId: second, result: 'reconciled' },
      { paymentId: reversed, result: 'not_reconcilable', reason: 'reversed' },
      { paymentId: unmatchedId, result: 'reconciled' },
      { paymentId: 999999, result: 'not_found', amount: null },
    ]);

    const payment = await service.call('GET', `/payments/${first}`);
    expect(payment.body.data).toMatchObject({ reconciliationDate: '2026-11-03', status: 'matched' });
    const { reconciliationId } = answer.data;
    const batch = await service.call('GET', `/reconciliations/${reconciliationId}`);
    expect(batch.body.data).toMatchObject({
      paymentCount: 3,
      total: 430.55,
      reconciliationDate: '2026-11-03',
    });
    for (const filter of [`=${reconciliationId}`, `[in]=${reconciliationId},999999`]) {
      const inBatch = await service.call('GET', `/payments?filter[reconciliationId]${filter}`);
      expect(inBatch.body.pagination.total).toBe(3);
    }
  });

  it('excludes payments that are dated after the batch, with a reason for each', async () => {
    const earlier = await pay(service, 1, '2026-10-30');
    const sameDay = await pay(service, 2, '2026-10-31');
    const later = await pay(service, 4, '2026-11-01');
    const body = { paymentIds: [earlier, sameDay, later], reconciliationDate: '2026-10-31' };
    const { body: answer } = await service.call('POST', '/payments/reconcile', body);
    expect(answer.data).toMatchObject({
      counts: { reconciled: 2, not_reconcilable: 1 },
      totals: { reconciled: 3, not_reconcilable: 4 },
      results: [
        { paymentId: earlier, result: 'reconciled' },
        { paymentId: sameDay, result: 'reconciled' },
        { paymentId: later, result: 'not_reconcilable', reason: 'dated_later', reconciliationId: null },
      ],
    });
    expect((await service.call('GET', `/payments/${later}`)).body.data.reconciliationDate).toBeNull();
    const again = await service.call('POST', '/payments/reconcile', {
      ...body,
      reconciliationDate: '2026-11-01',
    });
    expect(again.body.data.counts).toMatchObject({ reconciled: 1, already_reconciled: 2 });

    const unstamped = await pay(service, 8, '2026-11-01');
    await expect(
      sql`update payments set reconciliation_id = ${answer.data.reconciliationId}, reconciliation_date = '2026-10-31'
        where id = ${unstamped}`.execute(service.context.db),
    ).rejects.toThrow('cannot be reconciled as of 2026-10-31');
  });

  it('keeps its figures when a payment is reversed, and shows the reversal', async () => {
    const [kept, reversed] = [await pay(service, 10), await pay(service, 20.5)];
    const { body } = await service.call('POST', '/payments/reconcile', { paymentIds: [kept, reversed] });
    const path = `/reconciliations/${body.data.reconciliationId}`;
    const before = (await service.call('GET', path)).body.data;
    expect(before).toMatchObject({ paymentCount: 2, total: 30.5, reversedCount: 0, reversedTotal: 0 });
    await service.call('POST', `/payments/${reversed}/reverse`, { reason: 'bounced' });
    const after = { ...before, reversedCount: 1, reversedTotal: 20.5 };
    expect((await service.call('GET', path)).body.data).toEqual(after);
    const list = await service.call('GET', `/reconciliations?filter[id]=${before.id}`);
    expect(list.body.data).toEqual([after]);
  });

  it('changes nothing when it is repeated', async () => {
    const id = await pay(service, 5);
    await service.call('POST', '/payments/reconcile', { paymentIds: [id] });
    const batches = (await service.call('GET', '/reconciliations')).body.pagination.total;
    const again = await service.call('POST', '/payments/reconcile', {
      paymentIds: [id],
      reconciliationDate: '2020-01-01',
    });
    expect(again.body.data).toMatchObject({
      reconciliationId: null,
      counts: { reconciled: 0, already_reconciled: 1 },
    });
    expect((await service.call('GET', '/reconciliations')).body.pagination.total).toBe(batches);
  });

  it('reconciles a payment once for concurrent calls with the ids in any order', async () => {
    const ids: number[] = [];
    for (let i = 0; i < 10; i++) ids.push(await pay(service, 1));
    const orders = Array.from({ length: 12 }, (_, i) => (i % 2 ? ids : ids.toReversed()));
    const answers = await Promise.all(
      orders.map((paymentIds) => service.call('POST', '/payments/reconcile', { paymentIds })),
    );
    expect(answers.map(({ status }) => status)).toEqual(orders.map(() => 200));
    const reconciled = answers.reduce((sum, { body }) => sum + body.data.counts.reconciled, 0);
    expect(reconciled).toBe(ids.length);
  });

  it('refuses no ids, more than 10,000, and a date that does not exist', async () => {
    for (const body of [
      { paymentIds: [] },
      { paymentIds: Array.from({ length: 10_001 }, (_, i) => i + 1) },
      { paymentIds: [1], reconciliationDate: '2026-02-30' },
      { paymentIds: ['1'] },
    ]) {
      expect((await service.call('POST', '/payments/reconcile', body)).status).toBe(400);
    }
  });

  it('sets updatedAt of its payments, by which lists filter and sort', async () => {
    const [first, second, third] = [await pay(service, 1), await pay(service, 2), await pay(service, 3)];
    const before = (await service.call('GET', `/payments/${third}`)).body.data.updatedAt;
    service.clock.set(new Date(service.clock.now().getTime() + 1_000));
    await service.call('POST', '/payments/reconcile', { paymentIds: [first] });
    const { updatedAt, createdAt } = (await service.call('GET', `/payments/${first}`)).body.data;
    expect(updatedAt > before).toBe(true);
    expect(updatedAt > createdAt).toBe(true);
    const since = `filter[id][in]=${first},${second},${third}&filter[updatedAt][gte]=${updatedAt}`;
    const later = await service.call('GET', `/payments?${since}`);
    expect(later.body.data).toMatchObject([{ id: first, updatedAt }]);
    const newest = await service.call('GET', '/payments?sort=updatedAt:desc&limit=1');
    expect(newest.body.data).toMatchObject([{ id: first }]);
    service.clock.set(new Date(service.clock.now().getTime() + 1_000));
    const reversed = await service.call('POST', `/payments/${first}/reverse`, { reason: 'bounced' });
    expect(reversed.body.data.updatedAt > updatedAt).toBe(true);
    expect(await paymentNow(service, first)).toEqual(reversed.body.data);
  });

  it('never loses a payment to another batch', async () => {
    const id = await pay(service, 1);
    const { body } = await service.call('POST', '/payments/reconcile', { paymentIds: [id] });
    for (const batch of [null, body.data.reconciliationId + 1]) {
      const moved = sql`update payments set reconciliation_id = ${batch} where id = ${id}`;
      await expect(moved.execute(service.context.db)).rejects.toThrow('is reconciled already');
    }
  });

  it('updates its payments without writing to an index, and finds the batch by its key', async () => {
    const { db } = service.context;
    const indexed = await sql`
      select indexdef from pg_indexes where tablename = 'payments' and indexdef ~ 'reconciliation|updated_at'`.execute(
      db,
    );
    expect(indexed.rows).toEqual([]);
    const written = async () => {
      await sql`select pg_stat_force_next_flush()`.execute(db);
      const { rows } = await sql<{ all: number; in_place: number; batches_by_key: number }>`
        select p.n_tup_upd as all, p.n_tup_hot_upd as in_place, r.idx_scan as batches_by_key
        from pg_stat_user_tables p, pg_stat_user_tables r
        where p.relname = 'payments' and r.relname = 'reconciliations'`.execute(db);
      return rows[0] ?? expect.fail();
    };
    const { id: accountId } = await newAccount(service);
    await sql`
      insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date,
        status, source)
      select ${accountId}, 1000 + n, 2, 'HOT' || n, 'HOT' || n, '2026-11-02', 'matched', 'manual'
      from generate_series(1, 2000) n`.execute(db);
    const { rows } = await sql<{
      id: number;
    }>`select id from payments where reference_key like 'HOT%'`.execute(db);
    await sql`analyze reconciliations`.execute(db); // tells PostgreSQL that they are few
    const before = await written();
    const paymentIds = rows.map(({ id }) => id);
    const { body } = await service.call('POST', '/payments/reconcile', { paymentIds });
    expect(body.data.counts.reconciled).toBe(2_000);
    await untilPasses(async () => {
      const after = await written();
      expect(after.all - before.all).toBeGreaterThanOrEqual(2_000);
      expect(after.in_place - before.in_place).toBeGreaterThanOrEqual(1_990);
      expect(after.batches_by_key - before.batches_by_key).toBeGreaterThanOrEqual(2_000);
    });
  });

  it('accepts 10,000 ids', async () => {
    const paymentIds = Array.from({ length: 10_000 }, (_, i) => 5_000_000 + i);
    const { status, body } = await service.call('POST', '/payments/reconcile', { paymentIds });
    expect(status).toBe(200);
    expect(body.data.counts.not_found).toBe(10_000);
  });
});
