import { sql } from 'kysely';
import { closedBeforeActivation, statusesIn } from '../../accounts/status/rules.ts';
import type { shapeOf } from '../../catalogue/pay-plans/rules.ts';
import type { Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { AccountStatus, Frequency, StatusCause } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { FILE_NAMES } from '../format-rules.ts';
import type { HistoryItem } from './account-books-rules.ts';
import type { StagedRun } from './cell-rules.ts';
import { stagingTable, stagingTableStatements } from './staging-rules.ts';

// Completes the staging tables of an import with derived values and rows, and creates the history of each account.

export interface StagingSettings {
  today: PlainDate;
  timeZone: string;
  /** Whether the rows will be written, and therefore need ids. False for a check. */
  writesRows: boolean;
}

/** `opening_paid` becomes one payment with this method. The payment stands for all payments before the import. */
const OPENING_METHOD = { code: 'opening_balance', name: 'Opening balance' };

const CLOSED_BEFORE_ACTIVATION = literalList(closedBeforeActivation());

export async function createStagingTables(tx: Tx, { writesRows }: StagingSettings): Promise<void> {
  // Each sort and hash table of a statement can use `work_mem`. With a higher limit, memory would grow with the import.
  await sql`set local work_mem = '32MB'`.execute(tx);
  await sql`set local temp_buffers = '64MB'`.execute(tx);
  for (const statement of stagingTableStatements(writesRows)) await sql.raw(statement).execute(tx);
}

/** Fills in defaults, and adds the payments and changes of status that follow from columns of accounts.csv. */
export async function deriveRows(tx: Tx, { today, timeZone, writesRows }: StagingSettings): Promise<void> {
  for (const file of FILE_NAMES) await sql`analyze ${sql.table(stagingTable(file))}`.execute(tx);
  await sql`
    create temporary table plans on commit drop as
    select name, product, deposit, instalment, instalment_count, frequency, grace_days, auto_suspend, price,
      coalesce(every, 1) as every, coalesce(months_without_dues, '{}') as months_without_dues, rounding_unit, harvest,
      harvest_cycles, lead_days
    from new_pay_plans
    union all
    select p.name, r.sku, p.deposit_minor, p.instalment_minor, p.instalment_count, p.frequency::text, p.grace_days,
      p.auto_suspend, p.price_minor, p.every, p.months_without_dues, p.rounding_minor,
      jsonb_build_object('months', p.harvest_months, 'days', p.harvest_days, 'shares', p.harvest_shares), p.harvest_cycles,
      p.lead_days
    from pay_plans p left join products r on r.id = p.product_id`.execute(tx);
  // An account with terms of its own has equal instalments. An exported account always has all terms.
  await sql`alter table new_accounts add column follows_plan boolean`.execute(tx);
  await sql`
    update new_accounts a set
      follows_plan = a.schedule is null and num_nonnulls(a.deposit, a.instalment, a.instalment_count, a.frequency) < 4
        and (coalesce(a.deposit, p.deposit), coalesce(a.instalment, p.instalment),
          coalesce(a.instalment_count, p.instalment_count), coalesce(a.frequency, p.frequency))
          is not distinct from (p.deposit, p.instalment, p.instalment_count, p.frequency),
      activation_date = coalesce(a.activation_date, (a.opened_at at time zone ${timeZone})::date),
      deposit = coalesce(a.deposit, p.deposit),
      instalment = coalesce(a.instalment, (a.schedule -> 0 ->> 'amount')::bigint, p.instalment),
      instalment_count = coalesce(a.instalment_count,
        (select sum((r ->> 'count')::integer)::integer from jsonb_array_elements(a.schedule) r), p.instalment_count),
      frequency = coalesce(a.frequency, p.frequency), grace_days = coalesce(a.grace_days, p.grace_days)
    from plans p where p.name = a.pay_plan`.execute(tx);
  if (writesRows) await takeAccountIds(tx);
  await sql`
    insert into new_payments (position, account, amount, payment_date, payment_method)
    select (select coalesce(max(position), 0) from new_payments) + row_number() over (order by position), external_id,
      opening_paid, opening_paid_on, ${OPENING_METHOD.code}
    from new_accounts where opening_paid is not null and opening_paid_on is not null and external_id is not null
    order by position`.execute(tx);
  const { code, name } = OPENING_METHOD;
  await sql`
    insert into new_payment_methods (position, code, name, active)
    select (select coalesce(max(position), 0) + 1 from new_payment_methods), ${code}, ${name}, false
    where exists (select from new_payments where payment_method = ${code} and line is null)
      and not exists (select from new_payment_methods where code = ${code})`.execute(tx);
  // Adds the changes of accounts without rows in account_changes. An account that was opened before its activation date became
  // active on that date. The status in accounts.csv began on status_since.
  await sql`
    insert into new_account_changes (position, account, status, changed_on, reason, cause)
    select (select coalesce(max(position), 0) from new_account_changes) + row_number() over (order by step, a.position),
      a.external_id, c.status, c.changed_on, c.reason, c.cause
    from new_accounts a left join plans p on p.name = a.pay_plan
    cross join lateral (select (a.opened_at at time zone ${timeZone})::date as opened_on) o
    cross join lateral (values
      (1, 'active', a.activation_date, null, null,
        a.activation_date > o.opened_on and a.activation_date <= ${today}::date and (a.status in ${CLOSED_BEFORE_ACTIVATION}) is not true),
      (2, a.status, a.status_since, a.status_reason,
        case when a.status in ${literalList(statusesIn('reactivatedWhenPaid'))} and p.auto_suspend then 'non_payment' end,
        a.status_since is not null and a.status not in ${literalList(statusesIn('paidInFull'))}
          and not (a.status = 'active' and a.activation_date <= ${today}::date)
          and not (a.status in ${literalList(statusesIn('awaitingActivation'))} and a.activation_date > o.opened_on))
    ) as c (step, status, changed_on, reason, cause, is_needed)
    where c.is_needed and not exists (select from new_account_changes h where h.account = a.external_id)`.execute(
    tx,
  );
  // `fetchAccounts` uses this index.
  await sql`create index on new_accounts (position)`.execute(tx);
  await sql`analyze new_accounts, new_payments, new_account_changes`.execute(tx);
}

/** The staged account number is the id of the account. Accounts without a number get higher ids than all numbered accounts. */
async function takeAccountIds(tx: Tx): Promise<void> {
  await sql`update new_accounts set id = account_number where account_number is not null`.execute(tx);
  // Other requests can open accounts between `nextval` and `setval`. The margin of 100 keeps the ids of these accounts unique.
  await sql`
    select setval('accounts_id_seq', highest + 100)
    from (select max(account_number) as highest from new_accounts) given
    where highest >= nextval('accounts_id_seq')`.execute(tx);
  await sql`
    update new_accounts a set id = n.id
    from (
      select position, nextval('accounts_id_seq') as id
      from (select position from new_accounts where account_number is null order by position) unnumbered
    ) n
    where a.position = n.position`.execute(tx);
}

/**
 * Creates the history of all accounts, in the order of time. A payment, credit move or status change is left out if a value that
 * the history needs is missing, or if its account is not in the import. The opening of an account is never left out, even if its
 * day cannot be read.
 * @returns the number of items.
 */
export async function createHistory(tx: Tx, { timeZone, writesRows }: StagingSettings): Promise<number> {
  const startOf = (day: string) => sql`${sql.ref(day)}::timestamp at time zone ${timeZone}`;
  const eventId = writesRows ? sql`nextval('ledger_event_ids')` : sql`row_number() over ()`;
  await sql`
    create temporary table new_history on commit drop as
    with received as (
      select p.*, a.position as of_account, coalesce(p.received_at, ${startOf('p.payment_date')}) as moment
      from new_payments p left join new_accounts a on a.external_id = p.account
      where p.amount is not null and p.payment_date is not null and (p.account is null or a.position is not null)
    ), earlier as (
      select r.position, r.line, r.payment_date, r.amount, r.id, r.payment_method, r.moment, a.position as of_account,
        e.assigned_at, e.unassigned_at
      from (select * from received where earlier_assignments is not null) r
        cross join lateral jsonb_to_recordset(r.earlier_assignments)
          as e (account text, assigned_at timestamptz(3), unassigned_at timestamptz(3))
        join new_accounts a on a.external_id = e.account
    ), first_accounts as (
      select position, min(of_account) as account from earlier where assigned_at is null group by position
    )
    select ${eventId} as event_id, h.* from (
      select 'open' as kind, a.position as account, null::integer as to_account, a.position, a.line, a.opened_at as moment,
        0 as step, (a.opened_at at time zone ${timeZone})::date as day, null::bigint as amount, null::bigint as row_id,
        null as method, null as status, null as reason, null as cause
      from new_accounts a
      union all
      select 'receive', coalesce(f.account, case when r.assigned_at is null then r.of_account end), null, r.position, r.line,
        r.moment, 1, r.payment_date, r.amount, r.id, r.payment_method, null, null, null
      from received r left join first_accounts f on f.position = r.position
      union all
      select e.kind, of_account, null, position, line, e.moment, 2, payment_date, amount, id, payment_method, null, null, null
      from earlier cross join lateral (values ('assign', assigned_at), ('unassign', unassigned_at)) as e (kind, moment)
      where e.moment is not null
      union all
      select 'assign', of_account, null, position, line, assigned_at, 2, payment_date, amount, id, payment_method, null,
        null, null
      from received where assigned_at is not null and of_account is not null
      union all
      select 'reverse', of_account, null, position, line, reversed_at, 3, payment_date, amount, id, payment_method, null,
        null, null
      from received where reversed_at is not null
      union all
      select case when m.to_account is null then 'refund' else 'transfer' end, a.position, t.position, m.position, m.line,
        coalesce(m.moved_at, ${startOf('m.moved_on')}), 4, m.moved_on, m.amount, m.id, m.payment_method, null, null, null
      from new_credit_moves m join new_accounts a on a.external_id = m.account
        left join new_accounts t on t.external_id = m.to_account
      where m.amount is not null and m.moved_on is not null and (m.to_account is null or t.position is not null)
      union all
      select 'change', a.position, null, c.position, c.line, coalesce(c.changed_at, ${startOf('c.changed_on')}), 5,
        c.changed_on, null, null, null, c.status, c.reason, c.cause
      from new_account_changes c join new_accounts a on a.external_id = c.account
      where c.status is not null and c.changed_on is not null
      order by moment, step, position
    ) h`.execute(tx);
  await sql`analyze new_history`.execute(tx);
  const { rows } = await sql<{ count: number }>`select count(*) as count from new_history`.execute(tx);
  return rows[0]?.count ?? 0;
}

/** An item of the history of an account. The first item is the opening of the account. */
export interface HistoryRow {
  account: number;
  kind: HistoryItem['kind'];
  is_receiver: boolean;
  line: number | null;
  moment: string;
  /** Null for an opening whose day cannot be read. */
  day: PlainDate | null;
  amount: number | null;
  event_id: number;
  row_id: number | null;
  method: string | null;
  status: AccountStatus | null;
  reason: string | null;
  cause: StatusCause | null;
}

type PlanShapeColumns = Omit<
  Parameters<typeof shapeOf>[0],
  'deposit_minor' | 'instalment_minor' | 'instalment_count' | 'frequency'
>;

export interface AccountTermsRow {
  position: number;
  id: number | null;
  line: number;
  external_id: string | null;
  activation_date: PlainDate | null;
  deposit: number | null;
  instalment: number | null;
  instalment_count: number | null;
  frequency: Frequency | null;
  grace_days: number | null;
  schedule: StagedRun[] | null;
  /** The shape of the pay plan. Null if the account has terms of its own. */
  shape: PlanShapeColumns | null;
  plan_changed_on: PlainDate | null;
  status: AccountStatus | null;
  status_since: PlainDate | null;
  source_as_of: PlainDate | null;
  source_payment_count: number | null;
  source_paid: number | null;
  source_balance: number | null;
  source_arrears: number | null;
  source_paid_until: PlainDate | null;
}

/** Opens a cursor over the history, account by account. A transfer is in the history of both accounts. */
export async function openHistory(tx: Tx): Promise<void> {
  await sql`
    declare history no scroll cursor for
    select s.account, kind, s.is_receiver, line, moment, day, amount, event_id, row_id, method, status, reason, cause
    from new_history cross join lateral (values (account, false), (to_account, true)) as s (account, is_receiver)
    where s.account is not null
    order by s.account, (kind <> 'open'), moment, step, position`.execute(tx);
}

export async function fetchHistory(tx: Tx, limit: number): Promise<HistoryRow[]> {
  return (await sql<HistoryRow>`fetch ${sql.lit(limit)} from history`.execute(tx)).rows;
}

export async function fetchAccounts(tx: Tx, from: number, to: number): Promise<AccountTermsRow[]> {
  const { rows } = await sql<AccountTermsRow>`
    select position, id, line, external_id, activation_date, a.deposit, a.instalment, a.instalment_count, a.frequency,
      a.grace_days, schedule, case when follows_plan then json_build_object('price_minor', p.price, 'every', p.every,
        'months_without_dues', p.months_without_dues, 'rounding_minor', p.rounding_unit, 'harvest_months', p.harvest -> 'months',
        'harvest_days', p.harvest -> 'days', 'harvest_shares', p.harvest -> 'shares', 'harvest_cycles', p.harvest_cycles,
        'lead_days', p.lead_days) end as shape, plan_changed_on, status, status_since, source_as_of,
      source_payment_count, source_paid, source_balance, source_arrears, source_paid_until
    from new_accounts a left join plans p on p.name = a.pay_plan
    where position between ${from} and ${to} order by position`.execute(tx);
  return rows;
}
