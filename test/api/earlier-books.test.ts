import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Context } from '../../src/core/context.ts';
import { phoneSha256 } from '../../src/core/values/phone.ts';
import { searchText } from '../../src/customers/search-text-rules.ts';
import { runMinuteJobs } from '../../src/jobs.ts';
import { openPostingQueue } from '../../src/payments/posting/post-payments.ts';
import { prepareDatabase } from '../../src/start/database-preparation.ts';
import { openPools } from '../../src/start/pools.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { copyBooks, useDatabaseBefore } from '../support/earlier-database.ts';
import {
  dataOf,
  move,
  newAccount,
  newCustomer,
  notify,
  pay,
  reverse,
  setToday,
  startInstance,
  useService,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';

/** The books of an earlier version, with its faults, after the migrations and the jobs of this version. */

/** The first migration after version 0.1.0. */
const FIRST_NEW_MIGRATION = '0039';
const DAY = '2026-11-30';

describe('books that version 0.1.0 left with its faults', () => {
  const service = useService();
  const earlier = useDatabaseBefore(FIRST_NEW_MIGRATION);

  /** Everything that says how much money is where. */
  async function money() {
    const statements = {
      sums: `select ledger_account, event, account_id, payment_method_id, count(*)::int, sum(amount_minor)::text
        from ledger_entries group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
      entries: `select id, event_id, event, ledger_account, payment_method_id, account_id, payment_id, amount_minor, value_date::text
        from ledger_entries order by id`,
      payments: `select id, account_id, amount_minor, status, payment_date::text, payment_method_id, transaction_ref, source
        from payments order by id`,
      accounts: 'select id, customer_id, status, receivable_minor from accounts order by id',
      creditMoves:
        'select id, account_id, to_account_id, amount_minor, transaction_ref from credit_moves order by id',
    };
    const found: Record<string, unknown[]> = {};
    for (const [name, statement] of Object.entries(statements))
      found[name] = (await earlier.client.query(statement)).rows;
    return found;
  }

  const updateAsEarlier = async (statement: string, values: unknown[] = []) => {
    await earlier.client.query('set session_replication_role = replica');
    const { rowCount } = await earlier.client.query(statement, values);
    await earlier.client.query('set session_replication_role = origin');
    expect(rowCount, statement).toBe(1);
  };

  const storePhone = (customer: Parameters<typeof searchText>[0] & { id: number }, phone: string) =>
    updateAsEarlier('update customers set phone = $2, phone_sha256 = $3, search_text = $4 where id = $1', [
      customer.id,
      phone,
      phoneSha256(phone),
      searchText({ ...customer, phone }),
    ]);

  it('balance, with the same money at the same places, and the faults repaired or listed', async () => {
    setToday(service, DAY);
    const [repairable, shared, wrong, verified] = [
      await newCustomer(service),
      await newCustomer(service),
      await newCustomer(service),
      await newCustomer(service),
    ];
    const owner = await newCustomer(service, { phone: '0712000002' });
    const account = await newAccount(service, { customerId: repairable.id });
    const { id: sharedAccount } = await newAccount(service, { customerId: shared.id });
    const { id: ownerAccount } = await newAccount(service, { customerId: owner.id });
    // Money of all kinds.
    await reverse(service, (await pay(service, sharedAccount, 70)).id);
    const lost = await newAccount(service);
    await pay(service, lost.id, 50);
    await move(service, lost.id, 'cancelled');
    const refund = { amount: 20, reason: 'asked for it', paymentMethodId: 2, transactionRef: 'RF0001' };
    await dataOf(service.call('POST', `/accounts/${lost.id}/credit/refund`, refund), 201);
    // An empty reference from a phone that was stored with a 0.
    const waiting = (
      await notify(service, { BillRefNumber: '', MSISDN: '254712000001', TransID: 'QAE0000001' })
    ).body.data;
    const reported = notification({ TransID: 'QAA0000001', BillRefNumber: account.accountNumber });
    const first = (await notify(service, reported)).body.data;
    const manual = await pay(service, account.id, 400, { transactionRef: 'QAB0000001' });
    const twice = [
      await pay(service, account.id, 30, { transactionRef: 'QAC0000001' }),
      await pay(service, account.id, 30, { transactionRef: 'QAC0000002' }),
    ];
    const kyc = {
      verificationType: 'passport',
      verificationStatus: 'verified',
      documents: [{ type: 'passport', number: 'A1', expiresAt: '2027-05-01' }],
    };
    await dataOf(service.call('PUT', `/customers/${verified.id}/kyc`, kyc));

    const current = new pg.Client(service.connection);
    await current.connect();
    await copyBooks(current, earlier).finally(() => current.end());
    await storePhone(repairable, '+2540712000001');
    await storePhone(shared, '+2540712000002');
    await storePhone(wrong, '+25471200003');
    await updateAsEarlier(
      `update payments set transaction_ref = '''QAA0000001', reference_key = '''QAA0000001' where id = $1`,
      [manual.id],
    );
    await updateAsEarlier(
      `update payments set transaction_ref = '="QAC0000001"', reference_key = '="QAC0000001"' where id = $1`,
      [twice[1].id],
    );
    await updateAsEarlier(
      `update kyc_records set documents = '[{"type": "passport", "number": "A1", "expiresAt": "2024-05-01"}]' where customer_id = $1`,
      [verified.id],
    );
    const { rows: columns } = await earlier.client.query(
      `select from information_schema.columns where table_name = 'notifications' and column_name = 'time_zone'`,
    );
    expect(columns).toEqual([]); // An earlier version stored no zone.
    const before = await money();

    const { config, currency } = service.context;
    expect((await prepareDatabase(earlier.connection, config, currency)).migrations).toContain(
      '0043_rows_with_quotes',
    );
    expect(await money()).toEqual(before);
    const pools = await openPools(config, {
      connection: earlier.connection,
      testClock: service.clock,
    });
    onTestFinished(() => pools.close());
    const onPools: Context = { ...service.context, db: pools.db };
    const context = { ...onPools, queue: openPostingQueue(onPools) };
    await expectBooksToBalance(context);
    for (const day of [DAY, '2026-12-01']) {
      setToday(service, day);
      expect(await runMinuteJobs(context, service.parts.log)).toBe(true);
      await expectBooksToBalance(context);
      expect(await money()).toEqual(before);
    }

    const instance = await startInstance({
      ...service,
      context,
      parts: { ...service.parts, ...pools, context },
    });
    onTestFinished(() => instance.close());
    const read = (path: string) =>
      dataOf(instance.call('GET', path, undefined, { token: service.adminToken }));
    const idsOf = async (path: string) => (await read(path)).map(({ id }: { id: number }) => id);
    expect(await read(`/customers/${repairable.id}`)).toMatchObject({
      phone: '+254712000001',
      phoneProblem: null,
    });
    expect(await idsOf('/customers?filter[phoneProblem]=other_customer')).toEqual([shared.id]);
    expect(await idsOf('/customers?filter[phoneProblem]=invalid')).toEqual([wrong.id]);
    expect(await read(`/customers/${verified.id}`)).toMatchObject({ kycStatus: 'expired' });
    const listed = await idsOf('/payments?filter[hasDuplicateReference]=true');
    expect(listed.toSorted((a: number, b: number) => a - b)).toEqual([manual.id, twice[1].id]);
    expect(await read(`/payments/${waiting.paymentId}`)).toMatchObject({
      status: 'unmatched',
      accountId: null,
    });

    // A repeat of the notification without a zone posts nothing, and a new payment of the repaired phone matches.
    const send = (fields: object) =>
      dataOf(
        instance.call('POST', '/webhooks/payments/mobilemoney', notification({ ...fields }), { token: null }),
      );
    expect(await send(reported)).toMatchObject({ outcome: 'repeated', paymentId: first.paymentId });
    const matched = await send({ BillRefNumber: '', MSISDN: '254712000001', TransID: 'QAE0000002' });
    expect(await read(`/payments/${matched.paymentId}`)).toMatchObject({ accountId: account.id });
    const ofOwner = await send({ BillRefNumber: '', MSISDN: '254712000002', TransID: 'QAE0000003' });
    expect(await read(`/payments/${ofOwner.paymentId}`)).toMatchObject({ accountId: ownerAccount });
    await expectBooksToBalance(context);
  });
});
