import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tx } from '../../src/core/database/db.ts';
import { openSnapshotReads } from '../../src/core/database/snapshot-reads.ts';
import { inSnapshot } from '../../src/core/database/transactions.ts';
import { CHECKS, runChecks } from '../../src/reports/proof/checks-store.ts';
import type { Finding, Violation } from '../../src/reports/proof/store.ts';
import { expectBooksToBalance } from '../support/books.ts';
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
  startServiceForTest,
  useJobs,
  useService,
} from '../support/harness.ts';
import { PATIENT, until, untilPasses } from '../support/waiting.ts';

const DAY = '2026-11-02';
const service = useService({ CASH_COUNTS: 'on' });
useJobs(service);

/** The ids of the rows to damage, by name. */
const ids: Record<string, number> = {};

beforeAll(async () => {
  setToday(service, DAY);
  const bodyOf = async (method: string, path: string, body?: unknown) => {
    const answer = await service.call(method, path, body);
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  const account = await newAccount(service);
  ids.account = account.id;
  ids.payment = (await pay(service, account.id, 2_000, { transactionRef: 'HAND-1' })).id;
  const mistaken = await pay(service, account.id, 70);
  await reverse(service, mistaken.id);
  ids.reversed = mistaken.id;
  const paid = await newAccount(service);
  ids.completed = paid.id;
  await pay(service, paid.id, paid.total + 100);
  const toAccount = { toAccountId: account.id, amount: 40, reason: 'asked for it' };
  ids.transfer = (await bodyOf('POST', `/accounts/${paid.id}/credit/transfer`, toAccount)).id;
  const back = { amount: 20, reason: 'asked for it', paymentMethodId: 2 };
  ids.refund = (await bodyOf('POST', `/accounts/${paid.id}/credit/refund`, back)).id;
  const lost = await newAccount(service);
  ids.lost = lost.id;
  await move(service, lost.id, 'suspended');
  await move(service, lost.id, 'written_off');
  await pay(service, lost.id, 50);
  const mistyped = await pay(service, (await newAccount(service)).id, 90, { transactionRef: 'MISTYPED-1' });
  const right = { amount: 900, reason: 'typed wrongly' };
  ids.correction = (await bodyOf('POST', `/payments/${mistyped.id}/correct-amount`, right)).id;
  const cancelled = await newAccount(service);
  await pay(service, cancelled.id, 60);
  await move(service, cancelled.id, 'cancelled');

  const webhook = { TransTime: '20261102101530', TransAmount: '400.00' };
  const notified = await notify(service, {
    ...webhook,
    TransID: 'NOTIFIED1',
    BillRefNumber: account.accountNumber,
  });
  ids.notified = notified.body.data.paymentId;
  ids.unmatched = (
    await notify(service, { ...webhook, TransID: 'LONE1', BillRefNumber: '?' })
  ).body.data.paymentId;
  ids.assigned = (
    await notify(service, { ...webhook, TransID: 'LATE1', BillRefNumber: '?' })
  ).body.data.paymentId;
  await bodyOf('POST', `/payments/${ids.assigned}/assign`, { accountId: account.id });
  ids.linked = (await pay(service, account.id, 400, { transactionRef: 'link 1', paymentMethodId: 1 })).id;
  await notify(service, { ...webhook, TransID: 'LINK1', BillRefNumber: account.accountNumber });
  await pay(service, account.id, 1, { transactionRef: 'CLASH1', paymentMethodId: 1 });
  await notify(service, { ...webhook, TransID: 'CLASH1', BillRefNumber: account.accountNumber });

  ids.batch = (
    await bodyOf('POST', '/payments/reconcile', { paymentIds: [ids.payment, ids.notified] })
  ).reconciliationId;
  const file = [
    'Receipt No.,Completion Time,Transaction Status,Paid In',
    'NOTIFIED1,02-11-2026 10:15:30,Completed,400.00',
    '',
  ];
  const headers = { 'content-type': 'text/csv' };
  const upload = await service.call('POST', '/reconciliations/statements', file.join('\n'), { headers });
  expect(upload.status, upload.text).toBe(201);
  const path = `/reconciliations/statements/${upload.body.data.id}`;
  await until('the matched statement', async () => (await bodyOf('GET', path)).status === 'done');
  ids.line = (await bodyOf('GET', `${path}/lines?filter[result]=matched`))[0].id;
  const limited = await startInstance(service, { APPROVAL_LIMIT: '0' });
  const token = service.adminToken;
  const reversal = `/payments/${ids.linked}/reverse`;
  const requested = await limited.call('POST', reversal, { reason: 'A test' }, { token });
  expect(requested.status, requested.text).toBe(202);
  await limited.close();
  await bodyOf('POST', `/approvals/${requested.body.data.id}/withdraw`);
  const items = [{ description: 'Lamp', quantity: 2, unitPrice: 10 }];
  for (const name of ['firstInvoice', 'invoice', 'lastInvoice']) {
    ids[name] = (await bodyOf('POST', '/invoices', { accountId: account.id, items })).id;
  }
  await bodyOf('POST', '/commissions/rules', { rateBasisPoints: 500 });
  const sale = { employeeId: 1, period: '2026-11', salesData: [{ accountId: account.id }] };
  ids.commission = (await bodyOf('POST', '/commissions/calculate', sale)).id;
  await changePlans();
  await deferMany();
  await payOffEarly();
  await countCash();
});

/** Defers two accounts at once, and undoes it for one of them. */
async function deferMany(): Promise<void> {
  const metadata = { region: 'north' };
  const accounts = [];
  for (let n = 0; n < 2; n++) {
    const { id: customerId } = await newCustomer(service, { metadata });
    accounts.push(await newAccount(service, { customerId }));
  }
  ids.undeferred = accounts[0].id;
  ids.stillDeferred = accounts[1].id;
  const path = '/plan-changes/bulk-deferrals';
  const body = { filter: { customerMetadata: metadata }, from: '2026-11-16', periods: 1, reason: 'A test' };
  const { id } = await dataOf(service.call('POST', path, body), 201);
  const untilIs = (status: string) =>
    until(`bulk deferral ${status}`, async () => {
      const { data } = (await service.call('GET', `${path}/${id}`)).body;
      return data.status === status;
    });
  await untilIs('draft');
  await dataOf(service.call('POST', `${path}/${id}/confirm`));
  await untilIs('done');
  const later = { kind: 'discount', amount: 1, reason: 'A test', confirm: { version: 1, paid: 0 } };
  await dataOf(service.call('POST', `/accounts/${ids.stillDeferred}/plan-changes`, later), 201);
  await dataOf(service.call('POST', `${path}/${id}/undo`, { reason: 'A test' }));
  await untilIs('undone');
  ids.bulk = id;
}

/** Changes the plan of an account, undoes a change, and approves another. */
async function changePlans(): Promise<void> {
  const { id } = await newAccount(service);
  ids.changed = id;
  const finance = await service.signInAs('finance');
  const limited = await startInstance(service, { APPROVAL_LIMIT: '1000' });
  const change = async (version: number, body: object, { status = 201, token = service.adminToken } = {}) => {
    const confirm = { version, paid: 0 };
    const path = `/accounts/${id}/plan-changes`;
    const answer = await limited.call('POST', path, { reason: 'A test', ...body, confirm }, { token });
    expect(answer.status, answer.text).toBe(status);
    return answer.body.data.id;
  };
  ids.discount = await change(0, { kind: 'discount', amount: 500 });
  ids.correction1 = await change(1, { kind: 'price_correction', amount: 300 });
  ids.undo = await change(2, { kind: 'undo' });
  const token = finance;
  const requested = await change(3, { kind: 'price_correction', amount: 1_500 }, { status: 202, token });
  const approved = await limited.call('POST', `/approvals/${requested}/approve`, undefined, {
    token: service.adminToken,
  });
  expect(approved.status, approved.text).toBe(200);
  ids.approval = requested;
  const deferral = { kind: 'deferral', from: '2026-11-16', periods: 1 };
  const deferred = await startInstance(service);
  const answer = await deferred.call(
    'POST',
    `/accounts/${id}/plan-changes`,
    { ...deferral, reason: 'A test', confirm: { version: 4 } },
    { token },
  );
  expect(answer.status, answer.text).toBe(201);
  ids.deferral = answer.body.data.id;
  await deferred.close();
  await limited.close();
}

/** Pays off two accounts early, and reverses the payment of one. */
async function payOffEarly(): Promise<void> {
  const offer = { earlyPayoff: { discountBasisPoints: 1_000, until: '2026-12-31' } };
  const plan = { name: 'Early', deposit: 0, instalmentAmount: 100, instalmentCount: 10, frequency: 'weekly' };
  const { id: payplanId } = await dataOf(service.call('POST', '/payplans', { ...plan, ...offer }), 201);
  const payOff = async () => {
    const { id } = await newAccount(service, { payplanId });
    return { id, paymentId: (await pay(service, id, 900)).id };
  };
  const [paidOff, reversed] = [await payOff(), await payOff()];
  await reverse(service, reversed.paymentId);
  ids.paidOff = paidOff.id;
  const changes: { id: number }[] = [];
  for (const { id } of [paidOff, reversed])
    changes.push(...(await dataOf(service.call('GET', `/accounts/${id}/plan-changes?sort=id:asc`))));
  const [payoff, undonePayoff, undoOfPayoff] = changes.map(({ id }) => id);
  Object.assign(ids, { payoff, undonePayoff, undoOfPayoff });
}

/** Counts the cash of the admin, takes a part to the bank, and settles a difference. */
async function countCash(): Promise<void> {
  const [finance, manager] = [await service.signInAs('finance'), await service.signInAs('manager')];
  const send = async (token: string, path: string, body: object = {}) => {
    const answer = await service.call('POST', `/cash${path}`, body, { token });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  const ofCash = { paymentMethodId: 2 };
  const opening = await send(service.adminToken, '/counts', { ...ofCash, counted: 500 });
  await send(finance, `/counts/${opening.id}/confirm`, { isEarlierCash: true });
  ids.openingCount = opening.id;
  const deposit = await send(service.adminToken, '/hand-overs', { ...ofCash, slipNumber: 'S1', amount: 20 });
  await send(finance, `/hand-overs/${deposit.id}/confirm`, { statementDate: DAY, statementText: 'CASH S1' });
  ids.deposit = deposit.id;
  const short = await send(service.adminToken, '/counts', { ...ofCash, counted: 470 });
  await send(service.adminToken, `/counts/${short.id}/explain`, { reason: 'lost' });
  const difference = { kind: 'difference', holderId: opening.holderId, amount: -10, reason: 'agreed' };
  ids.settlement = (await send(finance, '/settlements', { ...ofCash, ...difference })).id;
  await send(manager, `/settlements/${ids.settlement}/confirm`);
}

class Undo extends Error {}

/** The findings after a damage. The damage is rolled back. */
async function findingsAfter(damage: string): Promise<Finding[]> {
  let findings: Finding[] = [];
  const work = service.context.db.transaction().execute(async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx); // no trigger, no foreign key
    await sql.raw(damage).execute(tx);
    findings = await runChecks(tx);
    throw new Undo();
  });
  await expect(work).rejects.toThrow(Undo);
  return findings;
}

function violationsOf(findings: Finding[], check: string): Violation[] {
  const finding = findings.find((one) => one.check === check);
  if (!finding) throw new Error(`There is no check ${check}.`);
  return finding.violations;
}

const entryOf = (payment: string, ledgerAccount: string) =>
  `(select id from ledger_entries where payment_id = :${payment} and ledger_account = '${ledgerAccount}' and event = 'payment_received')`;

/** Adds a request for approval of the user 1, which the user 2 decided. Default: about the reversed payment. */
function approval(fields: Record<string, string | null>): string {
  const columns: Record<string, string | null> = {
    ...{
      id: '900',
      action: 'reverse_payment',
      account_id: ':account',
      payment_id: ':reversed',
      amount_minor: '7000',
    },
    ...{
      counted_minor: '7000',
      reason: 'A test',
      body: '{}',
      facts: '{}',
      requested_by: '1',
      responsible_user_id: '1',
    },
    ...{ decided_by: '2', ended_at: 'now', ...fields },
  };
  const values = Object.values(columns).map((value) => (value === null ? 'null' : `'${value}'`));
  return `insert into approvals (${Object.keys(columns).join(', ')}) overriding system value values (${values.join(', ')})`;
}

/** The audit entry of a reversal that a request for approval caused. */
function doneBy(id: number, paymentId = ':reversed'): string {
  return `insert into audit_entries (actor, action, resource, resource_id, after)
    values ('a test', 'payment.reverse', 'payment', '${paymentId}', '{"approvalId": ${id}}')`;
}

/** Stores the weekly schedule of the account, from 2 November on, as runs. */
function runs({ from, place, count, before }: Record<'from' | 'place' | 'count' | 'before', string>): string {
  const ofEach = (value: string) => `array_fill(${value}, array[${place.split(',').length}])`;
  return `update accounts set run_from = array[${from}], run_place = array[${place}], run_count = array[${count}],
      run_before_minor = array[${before}], run_anchor = ${ofEach('activation_date')}, run_unit = ${ofEach("cast('day' as text)")},
      run_every = ${ofEach('7')}, run_amount_minor = ${ofEach('instalment_minor')}
    where id = :account`;
}

/** A damage, the checks that it must violate, and the row that each must name. `:name` is replaced by an id. */
const DAMAGES: [name: string, damage: string, named: Record<string, [table: string, id: string]>][] = [
  [
    'an entry is lost',
    `delete from ledger_entries where id = ${entryOf('payment', 'receivable')}`,
    {
      ledger_events: ['ledger_entries', entryOf('payment', 'clearing')],
      payments_in_ledger: ['payments', ':payment'],
      balances_equal_ledger: ['accounts', ':account'],
    },
  ],
  [
    'all entries of a payment are lost',
    'delete from ledger_entries where payment_id = :notified',
    {
      payments_in_ledger: ['payments', ':notified'],
      balances_equal_ledger: ['accounts', ':account'],
      days_by_method: ['payment_methods', '1'],
    },
  ],
  [
    'the event of a payment is lost',
    `delete from events where type = 'payment.received' and resource_id = :payment`,
    {
      events_of_changes: [
        'audit_entries',
        "(select id from audit_entries where action = 'payment.record' and resource_id = :payment)",
      ],
    },
  ],
  [
    'an account has more events than it counts',
    'update accounts set event_count = event_count - 1 where id = :account',
    { events_of_accounts: ['accounts', ':account'] },
  ],
  [
    'the amount of a payment is changed',
    'update payments set amount_minor = amount_minor + 1 where id = :notified',
    {
      payments_in_ledger: ['payments', ':notified'],
      balances_follow_payments: ['accounts', ':account'],
      reconciliations: ['reconciliations', ':batch'],
      notifications: ['notifications', '(select id from notifications where payment_id = :notified)'],
    },
  ],
  [
    'the amounts of an event are changed together',
    `update ledger_entries set amount_minor = amount_minor * 2 where payment_id = :payment`,
    { payments_in_ledger: ['payments', ':payment'], balances_equal_ledger: ['accounts', ':account'] },
  ],
  [
    'a correction names a payment that is not reversed, on another account, with other fields',
    'update payments set corrects_payment_id = :payment where id = :correction',
    { corrections: ['payments', ':correction'] },
  ],
  [
    'a correction has another recorder than the corrected payment',
    'update payments set created_by = null where id = :correction',
    { corrections: ['payments', ':correction'] },
  ],
  [
    'an amount exceeds every exact number',
    'update payments set amount_minor = 9223372036854775807 where id = :notified',
    { payments_in_ledger: ['payments', ':notified'] },
  ],
  [
    'an entry has another value date',
    `update ledger_entries set value_date = '2026-10-31' where id = ${entryOf('payment', 'clearing')}`,
    {
      ledger_events: ['ledger_entries', `(select min(id) from ledger_entries where payment_id = :payment)`],
      payments_in_ledger: ['ledger_entries', entryOf('payment', 'clearing')],
      days_by_method: ['payment_methods', '2'],
    },
  ],
  [
    'an entry has another account',
    `update ledger_entries set account_id = :lost where id = ${entryOf('payment', 'receivable')}`,
    {
      ledger_events: ['ledger_entries', `(select min(id) from ledger_entries where payment_id = :payment)`],
      payments_in_ledger: ['payments', ':payment'],
      balances_equal_ledger: ['accounts', ':lost'],
    },
  ],
  [
    'an entry has another payment method',
    `update ledger_entries set payment_method_id = 3 where id = ${entryOf('payment', 'clearing')}`,
    {
      payments_in_ledger: ['ledger_entries', entryOf('payment', 'clearing')],
      days_by_method: ['payment_methods', '3'],
    },
  ],
  [
    'two payments have one TransID',
    `alter table payments drop constraint payments_trans_id_unique;
     update payments set provider_trans_id = 'NOTIFIED1' where id = :assigned`,
    {
      transactions_once: ['payments', ':assigned'],
      notifications: ['notifications', '(select id from notifications where payment_id = :assigned)'],
    },
  ],
  [
    'a payment has a provider that nobody knows',
    `update payments set provider = 'mpesa' where id = :assigned`,
    {
      transactions_once: ['payments', ':assigned'],
      notifications: ['notifications', '(select id from notifications where payment_id = :assigned)'],
    },
  ],
  [
    'a payment of a provider has another reference than its transaction',
    `update payments set transaction_ref = 'OTHER', reference_key = 'OTHER' where id = :assigned`,
    { transactions_once: ['payments', ':assigned'] },
  ],
  [
    'two payments of one method have one reference',
    `drop index payments_transaction_ref_unique;
     update payments set transaction_ref = 'hand-1', reference_key = 'HAND-1' where id in (:payment, :completedPayment)`,
    { references_once: ['payments', ':completedPayment'] },
  ],
  [
    'a manual payment has the reference of a provider transaction',
    `update payments set transaction_ref = 'notified 1', reference_key = 'NOTIFIED1' where id = :completedPayment`,
    { references_once: ['payments', 'greatest(:notified, :completedPayment)'] },
  ],
  ...['paid', 'receivable', 'credit'].map((balance): (typeof DAMAGES)[number] => [
    `the ${balance} of an account is off by one`,
    `update accounts set ${balance}_minor = ${balance}_minor + 1 where id = :account`,
    {
      balances_equal_ledger: ['accounts', ':account'],
      balances_follow_payments: ['accounts', ':account'],
    },
  ]),
  [
    'what an account paid in its latest month is off by one',
    'update accounts set paid_month_minor = paid_month_minor + 1 where id = :account',
    { balances_follow_payments: ['accounts', ':account'] },
  ],
  [
    'the latest month of an account is an earlier one',
    `update accounts set paid_month = paid_month - interval '1 month' where id = :account`,
    { balances_follow_payments: ['accounts', ':account'] },
  ],
  [
    'the latest month of an account is later than all money',
    `update accounts set paid_month = '2999-01-01', paid_month_minor = 0 where id = :account`,
    { balances_follow_payments: ['accounts', ':account'] },
  ],
  [
    'the loss of an account is off by one',
    'update accounts set written_off_minor = written_off_minor + 1 where id = :lost',
    { balances_equal_ledger: ['accounts', ':lost'] },
  ],
  [
    'more is taken out of recovery than came in, although the total loss is right',
    `with event as (select nextval('ledger_event_ids') as id)
     insert into ledger_entries (event_id, event, ledger_account, account_id, amount_minor, value_date)
      select id, 'account_written_off', cast(side.name as ledger_account), :lost, side.amount, '2026-11-02'
      from event, (values ('recovery', 6000), ('bad_debt', -6000)) as side(name, amount);
     update accounts set written_off_minor = written_off_minor - 6000 where id = :lost`,
    { balances_equal_ledger: ['accounts', ':lost'] },
  ],
  [
    'a payment is moved to another account',
    'update payments set account_id = :lost where id = :payment',
    {
      payments_in_ledger: ['payments', ':payment'],
      balances_follow_payments: ['accounts', ':account'],
    },
  ],
  [
    'the amount of a move of credit is changed',
    'update credit_moves set amount_minor = amount_minor + 1 where id = :transfer',
    { credit_moves: ['credit_moves', ':transfer'], balances_follow_payments: ['accounts', ':account'] },
  ],
  [
    'the entries of a refund are lost',
    'delete from ledger_entries where credit_move_id = :refund',
    { credit_moves: ['credit_moves', ':refund'], balances_equal_ledger: ['accounts', ':completed'] },
  ],
  [
    'an unmatched payment becomes matched without entries',
    `update payments set status = 'matched', account_id = :account where id = :unmatched`,
    { payments_in_ledger: ['payments', ':unmatched'], balances_follow_payments: ['accounts', ':account'] },
  ],
  [
    'a reversed payment lost the entries of its reversal',
    `delete from ledger_entries where payment_id = :reversed and event = 'payment_reversed'`,
    { payments_in_ledger: ['payments', ':reversed'], days_by_method: ['payment_methods', '2'] },
  ],
  [
    'a payment becomes reversed without entries',
    `update payments set status = 'reversed', reversed_at = now() where id = :payment`,
    { payments_in_ledger: ['payments', ':payment'], days_by_method: ['payment_methods', '2'] },
  ],
  [
    'the assignment of a payment lost its entries',
    `delete from ledger_entries where payment_id = :assigned and event = 'payment_assigned'`,
    {
      payments_in_ledger: ['payments', ':assigned'],
      balances_equal_ledger: ['accounts', ':account'],
      days_by_state: ['payments', 'null'], // no row: the day is wrong
    },
  ],
  [
    'a payment is lost with its entries',
    'delete from ledger_entries where payment_id = :notified; delete from payments where id = :notified',
    {
      balances_equal_ledger: ['accounts', ':account'],
      reconciliations: ['reconciliations', ':batch'],
      notifications: ['notifications', '(select id from notifications where payment_id = :notified)'],
    },
  ],
  [
    'a notification lost its link',
    'update notifications set payment_id = null where payment_id = :notified',
    { notifications: ['payments', ':notified'] },
  ],
  [
    'a notification is lost',
    'delete from notifications where payment_id = :notified',
    { notifications: ['payments', ':notified'] },
  ],
  [
    'a conflict is resolved but not posted',
    `update notifications set amount_minor = 100 where trans_id = 'CLASH1'`,
    { notifications: ['notifications', `(select id from notifications where trans_id = 'CLASH1')`] },
  ],
  [
    'two notifications count for one payment',
    `insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, status, outcome, payment_id)
     select provider, raw_body, trans_id, 'other', amount_minor, status, outcome, payment_id
     from notifications where payment_id = :notified`,
    { notifications: ['notifications', `(select last_value + 1 from notifications_id_seq)`] },
  ],
  [
    'the notification of a matched payment has the outcome unmatched',
    `update notifications set outcome = 'unmatched' where payment_id = :notified`,
    { notifications: ['notifications', '(select id from notifications where payment_id = :notified)'] },
  ],
  [
    'a linked manual payment has the source webhook',
    `update payments set source = 'webhook' where id = :linked`,
    { notifications: ['notifications', '(select id from notifications where payment_id = :linked)'] },
  ],
  [
    'the only report of a transaction counts as a repeat',
    `insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, status, outcome)
      values ('mobilemoney', '{}', 'NOBODY1', 'hash', 100, 'processed', 'repeated')`,
    { reported_transactions: ['notifications', '(select last_value + 1 from notifications_id_seq)'] },
  ],
  [
    'the payment of a paid payment request is not posted',
    `insert into payment_requests (account_id, provider, phone, amount_minor, status, callback_key, send_started_at, holds_phone,
       receipt, requested_by, ended_at)
      values (:account, 'mobilemoney', '+254712000000', 100, 'paid', 'key', business_now(), false, 'NOBODY2', 'a test',
        business_now() - interval '2 hours')`,
    { reported_transactions: ['payment_requests', '1'] },
  ],
  [
    'an account has other terms than after its newest change',
    'update accounts set grace_days = grace_days + 1 where id = :changed',
    { plan_versions: ['accounts', ':changed'] },
  ],
  [
    'an account counts too many changes of its plan',
    'update accounts set plan_version = plan_version + 1 where id = :changed',
    { plan_versions: ['accounts', ':changed'] },
  ],
  [
    'an account without changes counts one',
    'update accounts set plan_version = 1 where id = :account',
    { plan_versions: ['accounts', ':account'] },
  ],
  [
    'an account does not name its newest deferral',
    `update accounts set restructured_kind = null, restructured_on = null where id = :changed;
     update plan_changes set after = jsonb_set(jsonb_set(after, '{restructured_kind}', 'null'), '{restructured_on}', 'null')
     where id = :deferral`,
    { plan_versions: ['accounts', ':changed'] },
  ],
  [
    'the newest change of a plan is lost',
    'delete from plan_changes where id = :deferral',
    { plan_versions: ['accounts', ':changed'] },
  ],
  [
    'an account has another original due date',
    'update accounts set original_due_date = original_due_date + 1 where id = :changed',
    { original_terms: ['accounts', ':changed'] },
  ],
  [
    'the original terms after a change are lost',
    'delete from original_terms where account_id = :changed and version = 1',
    { original_terms: ['accounts', ':changed'] },
  ],
  [
    'the original terms have other instalments',
    `update original_terms set run_count[1] = run_count[1] + 1 where account_id = :changed and version = 5`,
    { original_terms: ['accounts', ':changed'] },
  ],
  [
    'a change of a plan has another number',
    'update plan_changes set version = 9 where id = :undo',
    { plan_changes: ['plan_changes', ':undo'] },
  ],
  [
    'a change of a plan begins with other terms',
    `update plan_changes set before = before || '{"grace_days": 99}' where id = :correction1`,
    { plan_changes: ['plan_changes', ':correction1'] },
  ],
  [
    'a change of a plan has another total than its instalments',
    `update plan_changes set after = after || '{"total_minor": 1}' where id = :discount`,
    { plan_changes: ['plan_changes', ':discount'] },
  ],
  [
    'a change of a plan changes the price by another amount',
    'update plan_changes set price_change_minor = price_change_minor - 1 where id = :discount',
    { plan_changes: ['plan_changes', ':discount'], price_changes: ['accounts', ':changed'] },
  ],
  [
    'an undo names an older change',
    'update plan_changes set undoes = :discount where id = :undo',
    { plan_changes: ['plan_changes', ':undo'] },
  ],
  [
    'an undo leads to other terms',
    `update plan_changes set after = after || '{"grace_days": 99}' where id = :undo`,
    { plan_changes: ['plan_changes', ':undo'] },
  ],
  [
    'a change of a plan names the approval of another account',
    'update approvals set account_id = :account where id = :approval',
    { plan_changes: ['plan_changes', '(select id from plan_changes where approval_id = :approval)'] },
  ],
  [
    'the entries of a discount are lost',
    `delete from ledger_entries where account_id = :changed and event = 'price_discounted'`,
    { price_changes: ['accounts', ':changed'], balances_equal_ledger: ['accounts', ':changed'] },
  ],
  [
    'a correction of the price was posted as a discount',
    `update ledger_entries set event = 'price_discounted' where account_id = :changed and event = 'price_corrected'`,
    { price_changes: ['accounts', ':changed'] },
  ],
  [
    'an account was deferred without its bulk deferral',
    'update plan_changes set bulk_deferral_id = :bulk where id = :deferral',
    { bulk_deferrals: ['bulk_deferrals', ':bulk'] },
  ],
  [
    'an account of a bulk deferral names the change of another',
    `update bulk_deferral_accounts set change_id = :deferral where account_id = :undeferred`,
    { bulk_deferrals: ['bulk_deferrals', ':bulk'] },
  ],
  [
    'an account of an undone bulk deferral is said to be undone, and is not',
    `update bulk_deferral_accounts set state = 'undone', problem = null, problem_text = null where account_id = :stillDeferred`,
    { bulk_deferrals: ['bulk_deferrals', ':bulk'] },
  ],
  [
    'an account of an undone bulk deferral still waits',
    `update bulk_deferral_accounts set state = 'waiting', change_id = null, problem = null, problem_text = null
      where account_id = :stillDeferred;
     update plan_changes set bulk_deferral_id = null where account_id = :stillDeferred`,
    { bulk_deferrals: ['bulk_deferrals', ':bulk'] },
  ],
  [
    'an early payoff has another discount than the offer',
    `update plan_changes set body = jsonb_set(body, '{earlyPayoff,discountBasisPoints}', '999') where id = :payoff`,
    { early_payoffs: ['plan_changes', ':payoff'] },
  ],
  [
    'the discount of an early payoff is no multiple of the rounding unit',
    `update plan_changes set body = jsonb_set(body, '{roundingMinor}', '3000') where id = :payoff`,
    { early_payoffs: ['plan_changes', ':payoff'] },
  ],
  [
    'an early payoff was made after the offer',
    `update plan_changes set body = jsonb_set(body, '{earlyPayoff,until}', '"2026-11-01"') where id = :payoff`,
    { early_payoffs: ['plan_changes', ':payoff'] },
  ],
  [
    'an early payoff is not undone although its price is no longer paid',
    'update accounts set paid_minor = paid_minor - 1 where id = :paidOff',
    { early_payoffs: ['plan_changes', ':payoff'] },
  ],
  [
    'the undo of an early payoff has another date',
    `update plan_changes set effective_on = effective_on + 1 where id = :undoOfPayoff;
     update original_terms set effective_on = effective_on + 1
     where (account_id, version) = (select account_id, version from plan_changes where id = :undoOfPayoff)`,
    { early_payoffs: ['plan_changes', ':undonePayoff'] },
  ],
  ['an approved request was not done', approval({ status: 'approved' }), { approvals: ['approvals', '900'] }],
  [
    'an approved request was done twice',
    `${approval({ status: 'approved' })}; ${doneBy(900)}; ${doneBy(900)}`,
    { approvals: ['approvals', '900'] },
  ],
  [
    'a rejected request was done',
    `${approval({ status: 'rejected', decision_reason: 'No' })}; ${doneBy(900)}`,
    { approvals: ['approvals', '900'] },
  ],
  [
    'a pending request was done',
    `${approval({ status: 'pending', decided_by: null, ended_at: null })}; ${doneBy(900)}`,
    { approvals: ['approvals', '900'] },
  ],
  [
    'a payment whose reversal was approved is not reversed',
    `${approval({ status: 'approved', payment_id: ':payment' })}; ${doneBy(900, ':payment')}`,
    { approvals: ['approvals', '900'] },
  ],
  [
    'a user approved their own request',
    `alter table approvals drop constraint approvals_two_people;
     ${approval({ status: 'approved', decided_by: '1' })}; ${doneBy(900)}`,
    { approvals: ['approvals', '900'] },
  ],
  [
    'an approved refund has another credit move',
    `${approval({ status: 'approved', action: 'refund_credit', payment_id: null, credit_move_id: ':transfer' })}; ${doneBy(900)}`,
    { approvals: ['approvals', '900'] },
  ],
  [
    'two approved refunds have the same credit move',
    [900, 901]
      .map((id) =>
        approval({
          id: String(id),
          status: 'approved',
          action: 'refund_credit',
          payment_id: null,
          credit_move_id: ':refund',
        }),
      )
      .join('; '),
    { approvals: ['approvals', '901'] },
  ],
  [
    'a line of a statement matched another payment',
    'update provider_statement_lines set payment_id = :payment where id = :line',
    { statement_lines: ['provider_statement_lines', ':line'] },
  ],
  [
    'a line of a statement matched another amount',
    'update provider_statement_lines set amount_minor = 1 where id = :line',
    { statement_lines: ['provider_statement_lines', ':line'] },
  ],
  [
    'a reconciliation has a wrong total',
    'update reconciliations set total_minor = total_minor - 1 where id = :batch',
    { reconciliations: ['reconciliations', ':batch'] },
  ],
  [
    'a reconciliation lists another payment',
    'update reconciliations set payment_ids[1] = payment_ids[1] + 1000 where id = :batch',
    { reconciliations: ['reconciliations', ':batch'] },
  ],
  [
    'a payment left its reconciliation',
    'update payments set reconciliation_id = null, reconciliation_date = null where id = :payment',
    { reconciliations: ['reconciliations', ':batch'] },
  ],
  [
    'an invoice is lost',
    'delete from invoice_items where invoice_id = :invoice; delete from invoices where id = :invoice',
    { invoice_numbers: ['invoices', ':lastInvoice'] },
  ],
  [
    'the last invoice is lost',
    'delete from invoice_items where invoice_id = :lastInvoice; delete from invoices where id = :lastInvoice',
    { invoice_numbers: ['invoice_numbers', '(select max(year) from invoice_numbers)'] },
  ],
  [
    'an invoice has a wrong total',
    'update invoices set total_minor = total_minor + 5 where id = :invoice',
    { invoice_totals: ['invoices', ':invoice'] },
  ],
  [
    'a line of a commission is lost',
    'delete from commission_lines where commission_id = :commission',
    { commission_totals: ['commissions', ':commission'], commission_shares: ['accounts', ':account'] },
  ],
  [
    'two commissions have the whole share of one account',
    `alter table commission_sales drop constraint commission_sales_shared_once;
     insert into commissions (employee_id, period, status, total_minor) values (2, '2026-11', 'calculated', 0);
     insert into commission_lines (commission_id, line_number, account_id, quantity, base_minor, rate_basis_points,
       share_basis_points, amount_minor)
      select max(id), 1, :account, 1, 0, 0, 10000, 0 from commissions;
     update commission_sales set share_basis_points = 20000 where account_id = :account`,
    { commission_shares: ['accounts', ':account'] },
  ],
  [
    'an account has another price than its terms',
    'update accounts set total_minor = total_minor + 1 where id = :lost',
    { schedules: ['accounts', ':lost'] },
  ],
  [
    'an account has another due date than its schedule',
    'update accounts set next_due_date = next_due_date + 1 where id = :account',
    { schedules: ['accounts', ':account'] },
  ],
  [
    'a run of instalments has another date than its rhythm',
    runs({ from: "date '2026-11-10'", place: '1', count: 'instalment_count', before: 'deposit_minor' }),
    { schedules: ['accounts', ':account'] },
  ],
  [
    'a run of instalments begins with another sum than those before it',
    runs({
      from: "date '2026-11-09', '2026-11-16'",
      place: '1, 2',
      count: '1, instalment_count - 1',
      before: 'deposit_minor, deposit_minor + instalment_minor + 1',
    }),
    { schedules: ['accounts', ':account'] },
  ],
  [
    'a run of instalments begins before the one before it has ended',
    runs({
      from: "date '2026-11-09', '2026-11-16'",
      place: '1, 2',
      count: '2, instalment_count - 2',
      before: 'deposit_minor, deposit_minor + 2 * instalment_minor',
    }),
    { schedules: ['accounts', ':account'] },
  ],
  ...['instalment_minor', 'instalment_count'].map((column): (typeof DAMAGES)[number] => [
    `an account with runs has another ${column} than its runs`,
    `${runs({ from: "date '2026-11-09'", place: '1', count: 'instalment_count', before: 'deposit_minor' })};
     update accounts set ${column} = ${column} + 1 where id = :account`,
    { schedules: ['accounts', ':account'] },
  ]),
  [
    'a status changes without a record',
    `update accounts set status = 'suspended' where id = :account`,
    { statuses: ['accounts', ':account'] },
  ],
  [
    'a record of a status is lost',
    `delete from account_status_changes where account_id = :lost and to_status = 'suspended'`,
    {
      statuses: [
        'account_status_changes',
        `(select id from account_status_changes where account_id = :lost and to_status = 'written_off')`,
      ],
    },
  ],
  [
    'a completed account owes',
    `update accounts set status = 'completed' where id = :account;
     insert into account_status_changes (account_id, from_status, to_status, changed_on)
      values (:account, 'active', 'completed', '2026-11-02')`,
    { statuses: ['accounts', ':account'] },
  ],
  [
    'a fully paid account is not completed',
    `update accounts set status = 'active' where id = :completed;
     insert into account_status_changes (account_id, from_status, to_status, changed_on)
      values (:completed, 'completed', 'active', '2026-11-02')`,
    { statuses: ['accounts', ':completed'] },
  ],
  [
    'cash that a count took could be counted again',
    'delete from cash_count_entries where entry_id = (select max(entry_id) from cash_count_entries)',
    { cash_in_hand: ['payment_methods', '2'], cash_counts: ['cash_counts', ':openingCount'] },
  ],
  [
    'a deposit of cash has another amount',
    'update cash_handovers set amount_minor = amount_minor + 1 where id = :deposit',
    { cash_handovers: ['cash_handovers', ':deposit'] },
  ],
  [
    'a settlement of cash has another amount',
    'update cash_settlements set amount_minor = amount_minor - 1 where id = :settlement',
    { cash_settlements: ['cash_settlements', ':settlement'] },
  ],
];

function withIds(text: string): string {
  return text.replace(/:(\w+)/g, (_, name: string) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`Nothing is named ${name}.`);
    return String(id);
  });
}

describe('the checks', () => {
  afterAll(() => expectBooksToBalance(service.context)); // The damages are rolled back.

  beforeAll(async () => {
    const { rows } = await sql<{ id: number }>`
      select id from payments where account_id = ${ids.completed}`.execute(service.context.db);
    ids.completedPayment = rows[0]?.id ?? 0;
  });

  it('pass on sound books and read rows', async () => {
    const findings = await inSnapshot(service.context.db, (tx) => runChecks(tx));
    expect(findings.filter(({ violationCount }) => violationCount > 0)).toEqual([]);
    for (const { check, checkedRowCount } of findings) expect(checkedRowCount, check).toBeGreaterThan(0);
  });

  it.each(DAMAGES)('find a violation when %s', async (_, damage, named) => {
    const rows: Record<string, [string, number | null]> = {};
    for (const [check, [table, id]] of Object.entries(named)) {
      const { rows: found } = await sql<{
        id: number | null;
      }>`select (${sql.raw(withIds(id))})::bigint as id`.execute(service.context.db);
      rows[check] = [table, found[0]?.id ?? null];
    }
    const findings = await findingsAfter(withIds(damage));
    for (const [check, [table, id]] of Object.entries(rows)) {
      expect(violationsOf(findings, check), check).toContainEqual(expect.objectContaining({ table, id }));
    }
  });

  it('each have a damage that violates them', () => {
    const broken = new Set(DAMAGES.flatMap(([, , named]) => Object.keys(named)));
    expect([...broken].sort()).toEqual(CHECKS.map(({ name }) => name).sort());
  });

  it('expect a linked payment to be manual or imported, and others to come from a provider', async () => {
    const linked = await findingsAfter(withIds(`update payments set source = 'webhook' where id = :linked`));
    const what = (id: number | undefined) => `source of payment ${id}`;
    expect(violationsOf(linked, 'notifications')).toMatchObject([
      { what: what(ids.linked), expected: 'manual, or a portfolio import', found: 'webhook' },
    ]);
    const matched = await findingsAfter(
      withIds(`update payments set source = 'manual' where id = :notified`),
    );
    expect(violationsOf(matched, 'notifications')).toMatchObject([
      { what: what(ids.notified), expected: 'webhook, import or pull', found: 'manual' },
    ]);
  });

  it('report the day, the expected and the found value', async () => {
    const findings = await findingsAfter(withIds('delete from ledger_entries where payment_id = :unmatched'));
    expect(violationsOf(findings, 'days_by_state')).toEqual([
      {
        table: 'payments',
        id: null,
        what: `entries in unmatched on ${DAY}`,
        expected: '40000',
        found: '0',
        date: DAY,
      },
    ]);
    expect(violationsOf(findings, 'payments_in_ledger')).toEqual([
      {
        table: 'payments',
        id: ids.unmatched,
        what: 'entries in unmatched',
        expected: '-40000',
        found: '0',
        date: DAY,
      },
      {
        table: 'payments',
        id: ids.unmatched,
        what: 'received entries',
        expected: '40000',
        found: '0',
        date: DAY,
      },
    ]);
  });

  it('list a hundred violations and count all', async () => {
    const findings = await findingsAfter(`
      insert into payments (amount_minor, payment_method_id, payment_date, status, source)
      select 100, 2, '2026-11-02', 'unmatched', 'manual' from generate_series(1, 130)`);
    const finding = findings.find(({ check }) => check === 'payments_in_ledger');
    expect([finding?.violations.length, finding?.violationCount]).toEqual([100, 260]);
  });
});

describe('GET /reports/proof', () => {
  it('shows the day beside the ledger, and that every check passes', async () => {
    const { status, body } = await service.call('GET', `/reports/proof?date=${DAY}`);
    expect(status).toBe(200);
    const { data } = body;
    expect(data).toMatchObject({ date: DAY, currency: 'KES', holds: true });
    const { received, matched, unmatched, reversed, refunded, ledger, byMethod, holds, violations } =
      data.day;
    expect([holds, violations]).toEqual([true, []]);
    expect(received.count).toBe(14);
    expect(unmatched).toEqual({ count: 1, amount: 400 });
    expect(reversed).toEqual({ count: 3, amount: 1_060 });
    expect(received.amount).toBe(matched.amount + unmatched.amount + reversed.amount);
    expect(refunded).toEqual({ count: 1, amount: 20 });
    expect(ledger).toEqual({
      received: received.amount,
      reversed: 1_060,
      refunded: 20,
      net: received.amount - 1_080,
    });
    expect(byMethod.map((row: { paymentMethod: string }) => row.paymentMethod)).toEqual([
      'Mobile money',
      'Cash',
    ]);
    expect(byMethod[0].received).toEqual({ count: 5, amount: 1601 });
  });

  it('shows an empty day, and defaults to today', async () => {
    const empty = await service.call('GET', '/reports/proof?date=2020-01-01');
    expect(empty.body.data.day).toMatchObject({
      received: { count: 0, amount: 0 },
      byMethod: [],
      holds: true,
    });
    expect((await service.call('GET', '/reports/proof')).body.data.date).toBe(DAY);
    expect((await service.call('GET', '/reports/proof?date=2026-02-30')).status).toBe(400);
  });

  it('lists the violations of the day separately, and shows null for an amount that exceeds exact numbers', async () => {
    const damaged = await startServiceForTest();
    setToday(damaged, DAY);
    const { id: accountId } = await newAccount(damaged);
    const { id } = await pay(damaged, accountId, 100);
    const other = await pay(damaged, accountId, 100, { paymentDate: '2026-11-01' });
    const { pool } = damaged.parts;
    await pool.query('alter table ledger_entries disable trigger ledger_entries_leave_with_their_import');
    await pool.query('delete from ledger_entries where payment_id = $1', [other.id]);
    await pool.query('alter table payments disable trigger payments_money_frozen');
    await pool.query('update payments set amount_minor = 9007199254740993 where id = $1', [id]);
    const { status, body, text } = await damaged.call('GET', `/reports/proof?date=${DAY}`);
    expect(status, text).toBe(200);
    expect(body.data.holds).toBe(false);
    expect(body.data.day).toMatchObject({ holds: false, received: { count: 1, amount: null } });
    const rows = body.data.day.violations.filter(
      ({ check }: { check: string }) => check === 'payments_in_ledger',
    );
    expect(rows.map((row: Violation) => row.id)).toEqual([id, id]);
    const check = body.data.checks.find((one: { check: string }) => one.check === 'payments_in_ledger');
    expect(new Set(check.violations.map((row: Violation) => row.id))).toEqual(new Set([id, other.id]));
  });
});

describe('long reads', () => {
  const open = ({ timeoutMs = PATIENT.proofMs, slotMs = PATIENT.slotMs } = {}) => {
    const { host, port, user, password, database } = service.parts.pool.options;
    const { connectionString } = service.parts.pool.options;
    const connection = connectionString ?? {
      host: host ?? '',
      port: port ?? 5432,
      user: user ?? '',
      database: database ?? '',
      ...(typeof password === 'string' && { password }),
    };
    return openSnapshotReads({
      connection,
      limits: { ...PATIENT, slotMs },
      what: 'proofs',
      connections: 1,
      timeoutMs,
      onConnectionLost: () => {},
    });
  };

  it('are read-only and see one snapshot', async () => {
    const verifier = open();
    const count = sql<{ n: number }>`select count(*) as n from customers`;
    await verifier.read('user 1', async (tx) => {
      const before = (await count.execute(tx)).rows[0]?.n;
      await newAccount(service);
      expect((await count.execute(tx)).rows[0]?.n).toBe(before);
    });
    await expect(verifier.read('user 1', (tx) => sql`delete from customers`.execute(tx))).rejects.toThrow(
      /read-only/,
    );
    await verifier.close();
  });

  /** A read that lasts until the test ends it. */
  function hold(verifier: ReturnType<typeof open>) {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    return { read: verifier.read('user 1', () => ended), end };
  }

  it('wait for a free connection', async () => {
    const verifier = open();
    const holding = hold(verifier);
    let isHeld = true;
    const next = verifier.read('user 1', async () => isHeld);
    isHeld = false;
    holding.end();
    await holding.read;
    expect(await next).toMatchObject({ value: false });
    await verifier.close();
  });

  it('give up after a few seconds without a free connection', async () => {
    const verifier = open({ slotMs: 20 });
    const holding = hold(verifier);
    await expect(verifier.read('user 2', async () => 'never')).rejects.toThrow('slot for proofs is busy');
    holding.end();
    await holding.read;
    await verifier.close();
  });

  const sleepFor = (seconds: number) => (tx: Tx) => sql`select pg_sleep(${seconds})`.execute(tx);

  it('end at their timeout, and leave the connection to the next read', async () => {
    const verifier = open({ timeoutMs: 200 });
    await expect(verifier.read('user 1', sleepFor(300))).rejects.toThrow();
    // On a busy machine, this read can also reach its timeout.
    expect(await untilPasses(() => verifier.read('user 1', async () => 'again'))).toMatchObject({
      value: 'again',
    });
    await verifier.close();
  });

  it.each([
    ['run', (read: () => boolean) => until('the read to begin', read)],
    ['are still being connected', async () => {}],
  ])('end when they are closed while they %s', async (_state, untilClosed) => {
    const verifier = open();
    let hasBegun = false;
    const reading = verifier.read('user 1', (tx) => {
      hasBegun = true;
      return sleepFor(300)(tx);
    });
    const broken = expect(reading).rejects.toThrow();
    await untilClosed(() => hasBegun);
    await verifier.close();
    await broken;
  });
});
