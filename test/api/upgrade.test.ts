import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { inSnapshot } from '../../src/core/database/transactions.ts';
import { readMigrationFiles } from '../../src/platform/migrations/files.ts';
import { runChecks } from '../../src/reports/proof/checks-store.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  notify,
  pay,
  reverse,
  runJobs,
  useJobs,
  useService,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';

const service = useService();
useJobs(service);

describe('the service', () => {
  afterEach(async () => {
    await sql`alter table accounts drop column if exists added`.execute(service.context.db);
    await sql`alter table payments drop column if exists added`.execute(service.context.db);
  });

  it('keeps working while a newer version changes the tables of its named statements', async () => {
    const account = await newAccount(service);
    const look = async () => {
      const answers = await Promise.all([
        ...Array.from({ length: 10 }, () => service.call('GET', `/accounts/${account.id}`)),
        ...Array.from({ length: 10 }, () =>
          service.call('GET', `/accounts?customerId=${account.customerId}`),
        ),
        ...Array.from({ length: 10 }, () => service.call('GET', `/accounts/${account.id}/payments`)),
      ]);
      return answers.map(({ status }) => status).filter((status) => status !== 200);
    };
    // Each connection of the pool has named its statements.
    await Promise.all(Array.from({ length: 20 }, () => pay(service, account.id, 1)));
    expect(await look()).toEqual([]);
    await sql`alter table accounts add column added text`.execute(service.context.db);
    await sql`alter table payments add column added text`.execute(service.context.db);
    expect(await look()).toEqual([]);
    for (let i = 0; i < 20; i++) await pay(service, account.id, 1);
    const { body } = await service.call('GET', `/accounts/${account.id}`);
    expect(body.data.paid).toBe(40);
  });
});

describe('0018_statement_reports', () => {
  const CASH = 2;

  /** Writes rows as an earlier version did, without the triggers of this version. */
  async function asEarlierVersion(...statements: ReturnType<typeof sql>[]) {
    await service.context.db.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      for (const statement of statements) await statement.execute(tx);
    });
  }

  async function failedChecks(): Promise<string[]> {
    const findings = await inSnapshot(service.context.db, runChecks);
    return findings.flatMap(({ check, violationCount }) => (violationCount > 0 ? [check] : []));
  }

  async function notificationOf(reference: string) {
    const { body } = await service.call(
      'GET',
      `/notifications?filter[transactionRef]=${reference}&filter[outcome][ne]=differs`,
    );
    expect(body.data).toHaveLength(1);
    return body.data[0];
  }

  const paymentOf = async (id: number) => (await service.call('GET', `/payments/${id}`)).body.data;
  const giveReference = (paymentId: number, reference: string) => sql`
    update payments set transaction_ref = ${reference}, reference_key = ${reference} where id = ${paymentId}`;
  let references = 0;

  /** A manual payment with the reference of a reversed payment, which the earlier version allowed. */
  async function recordedBeside(
    accountId: number,
    reference: string,
    amount: number,
    paymentMethodId = CASH,
  ) {
    references += 1;
    const fields = { transactionRef: `BEFORE${references}`, paymentMethodId };
    const { id } = await pay(service, accountId, amount, fields);
    await asEarlierVersion(giveReference(id, reference));
    return id;
  }

  /** A transaction of 400 whose provider payment was reversed. */
  async function reversedTransaction(accountNumber: string) {
    const sent = notification({ BillRefNumber: accountNumber });
    const { paymentId } = (await notify(service, sent)).body.data;
    await reverse(service, paymentId);
    return { reference: sent.TransID, reversedId: paymentId };
  }

  /** A transaction of 400 whose notification is linked to a manual payment that was reversed. */
  async function reversedLink(accountId: number, accountNumber: string) {
    references += 1;
    const reference = `LINKED${references}`;
    const manual = await pay(service, accountId, 400, { transactionRef: `${reference}X` });
    await reverse(service, manual.id);
    const sent = notification({ TransID: reference, BillRefNumber: accountNumber });
    await asEarlierVersion(
      giveReference(manual.id, reference),
      sql`update payments set provider = 'mobilemoney', provider_trans_id = ${reference}, match_method = 'manual_entry'
        where id = ${manual.id}`,
      sql`insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, trans_time,
          business_short_code, bill_ref, payer, flags, status, outcome, payment_id, attempts, processed_at)
        values ('mobilemoney', ${JSON.stringify(sent)}, ${reference}, ${Buffer.from(reference)}, 40000, now(), '600638',
          ${accountNumber}, '254700000000', '{other_method}', 'processed', 'linked', ${manual.id}, 1, now())`,
    );
    return { reference, reversedId: manual.id };
  }

  async function upgrade() {
    const files = await readMigrationFiles();
    const migration = files.find(({ name }) => name === '0018_statement_reports') ?? expect.fail();
    await service.context.db.transaction().execute(async (tx) => {
      // Later migrations renamed this value and dropped this column.
      await sql`alter type match_method rename value 'manual_entry' to 'hand_entry'`.execute(tx);
      await sql`alter table provider_statements add column attempts smallint`.execute(tx);
      for (const statement of migration.statements) await sql.raw(statement).execute(tx);
      await sql`alter table provider_statements drop column attempts`.execute(tx);
      await sql`alter type match_method rename value 'hand_entry' to 'manual_entry'`.execute(tx);
    });
  }

  it('links a transaction to the one manual payment of its amount beside a reversed payment', async () => {
    const { id: accountId, accountNumber } = await newAccount(service);
    const provider = await reversedTransaction(accountNumber);
    const link = await reversedLink(accountId, accountNumber);
    const manualIds: number[] = [];
    for (const { reference } of [provider, link])
      manualIds.push(await recordedBeside(accountId, reference, 400));
    expect(await failedChecks()).toEqual(['references_once', 'notifications']);
    await upgrade();
    await expectBooksToBalance(service.context);

    for (const [at, { reference, reversedId }] of [provider, link].entries()) {
      const manualId = manualIds[at] ?? 0;
      expect(await notificationOf(reference)).toMatchObject({ outcome: 'linked', paymentId: manualId });
      expect(await paymentOf(manualId)).toMatchObject({ status: 'matched', matchMethod: 'manual_entry' });
      const audit = await service.call(
        'GET',
        `/audit?filter[action]=payment.link&filter[resourceId]=${manualId}`,
      );
      expect(audit.body.data[0].after).toEqual({ matchMethod: 'hand_entry', transId: reference });
      const repeat = await notify(service, notification({ TransID: reference, BillRefNumber: 'again' }));
      expect(repeat.body.data.outcome).toBe('differs');
      const again = { accountId, amount: 400, paymentMethodId: 3, transactionRef: reference };
      const refused = await service.call('POST', '/payments', again);
      expect([refused.status, refused.body.error.details.id]).toEqual([409, manualId]);
      expect(await paymentOf(reversedId)).toMatchObject({ status: 'reversed' });
    }
    expect((await accountNow(service, accountId)).paid).toBe(800);
    await expectBooksToBalance(service.context);
  });

  it('leaves several manual payments, and one of another amount, to finance', async () => {
    const { id: accountId, accountNumber } = await newAccount(service);
    const two = await reversedTransaction(accountNumber);
    const chosen = await recordedBeside(accountId, two.reference, 400);
    await recordedBeside(accountId, two.reference, 300, 3);
    const other = await reversedLink(accountId, accountNumber);
    const otherId = await recordedBeside(accountId, other.reference, 250);
    await upgrade();
    await expectBooksToBalance(service.context);

    const conflict = await notificationOf(two.reference);
    expect(conflict).toMatchObject({ outcome: 'conflict', paymentId: null, conflictingPaymentId: chosen });
    expect(await resolve(conflict.id, chosen)).toMatchObject({ outcome: 'linked', paymentId: chosen });
    const ofOther = await notificationOf(other.reference);
    expect(ofOther).toMatchObject({ outcome: 'conflict', conflictingPaymentId: otherId });
    expect(await resolve(ofOther.id, null)).toMatchObject({ outcome: 'matched' });
    expect((await accountNow(service, accountId)).paid).toBe(800);
    await expectBooksToBalance(service.context);
  });

  it('asks finance about a notification that is linked to a reversed manual payment, and posts it after their decision', async () => {
    const { id: accountId, accountNumber } = await newAccount(service);
    const { reference, reversedId } = await reversedLink(accountId, accountNumber);
    expect(await failedChecks()).toEqual(['notifications']);
    await upgrade();
    await expectBooksToBalance(service.context);

    const conflict = await notificationOf(reference);
    expect(conflict).toMatchObject({
      outcome: 'conflict',
      flags: ['other_method', 'payment_reversed'],
      paymentId: null,
      conflictingPaymentId: reversedId,
    });
    const record = { accountId, amount: 400, paymentMethodId: 3, transactionRef: reference };
    expect((await service.call('POST', '/payments', record)).status).toBe(409);
    expect(await resolve(conflict.id, null)).toMatchObject({ outcome: 'matched', flags: [] });
    expect((await accountNow(service, accountId)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('does not change correct rows', async () => {
    const { id: accountId, accountNumber } = await newAccount(service);
    const reversedAlone = await reversedTransaction(accountNumber);
    const sent = notification({ BillRefNumber: accountNumber });
    const manual = await pay(service, accountId, 400, { transactionRef: sent.TransID });
    await notify(service, sent);
    const before = [await notificationOf(reversedAlone.reference), await notificationOf(sent.TransID)];
    await upgrade();
    expect([await notificationOf(reversedAlone.reference), await notificationOf(sent.TransID)]).toEqual(
      before,
    );
    expect(before.map(({ outcome }) => outcome)).toEqual(['matched', 'linked']);
    expect(await paymentOf(manual.id)).toMatchObject({ matchMethod: 'manual_entry' });
    await expectBooksToBalance(service.context);
  });

  it('compares statements again whose lines matched manual payments by the reference alone', async () => {
    const [meant, other] = [await newAccount(service), await newAccount(service)];
    const reference = 'OLDLINE1';
    const body = { accountId: other.id, amount: 400, paymentMethodId: 2, transactionRef: reference };
    await service.call('POST', '/payments', body, { token: await service.signInAs('agent') });
    const file = [
      'Receipt No.,Completion Time,Transaction Status,Paid In,A/C No.',
      `${reference},02-11-2025 10:15:30,Completed,400.00,${meant.accountNumber}`,
      '',
    ];
    const headers = { 'content-type': 'text/csv' };
    const upload = await service.call('POST', '/reconciliations/statements', file.join('\n'), { headers });
    const statement = async () =>
      (await service.call('GET', `/reconciliations/statements/${upload.body.data.id}`)).body.data;
    await eventually(async () => (await statement()).status).toBe('done');
    await asEarlierVersion(
      sql`delete from notifications where trans_id = ${reference}`,
      sql`update provider_statement_lines set result = 'matched' where receipt = ${reference}`,
      sql`update provider_statement_totals set result = 'matched' where result = 'conflict'`,
    );
    expect(await failedChecks()).toEqual(['statement_lines']);
    await upgrade();
    await expectBooksToBalance(service.context);
    expect((await statement()).status).toBe('matching');
    await runJobs(service);
    await eventually(async () => (await statement()).status).toBe('done');
    expect((await statement()).results).toMatchObject({
      matched: { lines: 0 },
      conflict: { lines: 1, total: 400 },
    });
    expect(await notificationOf(reference)).toMatchObject({ outcome: 'conflict', flags: ['other_account'] });
    await expectBooksToBalance(service.context);
  });

  async function resolve(id: number, paymentId: number | null) {
    return dataOf(service.call('POST', `/notifications/${id}/resolve`, { paymentId, reason: 'asked' }));
  }
});
