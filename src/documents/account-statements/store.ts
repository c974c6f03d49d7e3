import { sql } from 'kysely';
import type { AccountRow } from '../../accounts/ledger/rules.ts';
import type { NewPlanChange } from '../../accounts/plan-changes/schema.ts';
import type { TermColumns } from '../../accounts/schedule/rules.ts';
import { CHANGE_COUNTS } from '../../accounts/schedule/store.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { lookUp } from '../../core/database/statements.ts';
import type { LedgerEvent } from '../../core/database/tables.ts';
import type { Language } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { MoneyMove } from './allocation-rules.ts';
import type { StatementPeriod, TermsChange } from './rules.ts';

/** The customer and the product in the header of a statement. */
export function findHeader(tx: Tx, account: AccountRow) {
  return tx
    .selectFrom('customers as c')
    .innerJoin('products as p', (join) => join.on('p.id', '=', account.product_id))
    .select(['c.first_name', 'c.last_name', 'c.phone', 'c.language', 'p.name as product_name'])
    .where('c.id', '=', account.customer_id)
    .executeTakeFirstOrThrow();
}

/** The language of the customer of an account. Null: that of the company. */
export async function findLanguage(db: Db, accountId: number): Promise<Language | null> {
  const [row] = await lookUp(
    db,
    sql<{ language: Language | null }>`
      select c.language from accounts a join customers c on c.id = a.customer_id where a.id = ${accountId}`,
  );
  return row?.language ?? null;
}

export interface AccountEventRow {
  event_id: number;
  event: LedgerEvent;
  value_date: PlainDate;
  amount_minor: number;
}

/** The ledger events that open, cancel or write off an account. */
export async function findAccountEvents(tx: Tx, accountId: number): Promise<AccountEventRow[]> {
  const { rows } = await sql<AccountEventRow>`
    select e.event_id, e.event, e.value_date, abs(e.amount_minor) as amount_minor
    from ledger_entries e
    where e.account_id = ${accountId} and e.payment_id is null and e.credit_move_id is null
      and (e.event in ('account_opened', 'account_cancelled') and e.ledger_account = 'sales'
        or e.event = 'account_written_off' and e.ledger_account = 'bad_debt')
    order by e.id`.execute(tx);
  return rows;
}

interface TermsChangeRow extends Omit<TermsChange, 'before' | 'after' | 'instalments'> {
  before: TermColumns;
  after: TermColumns;
  body: Pick<NewPlanChange, 'from' | 'firstDueDate'>;
}

/** The changes of the terms of an account, without payoffs that are undone. */
export async function findTermsChanges(tx: Tx, accountId: number): Promise<TermsChangeRow[]> {
  const { rows } = await sql<TermsChangeRow>`
    select c.id, c.kind, c.effective_on as "date", c.reason, c.before, c.after, c.body
    from plan_changes c where c.account_id = ${accountId} and ${CHANGE_COUNTS}
    order by c.id`.execute(tx);
  return rows;
}

export async function findFirstPaymentDate(tx: Tx, accountId: number): Promise<PlainDate | undefined> {
  const first = await tx
    .selectFrom('payments')
    .select('payment_date')
    .where('account_id', '=', accountId)
    .orderBy('payment_date')
    .limit(1)
    .executeTakeFirst();
  return first?.payment_date;
}

/** The fields of MoneyMove, with the amount as the database returns it. */
export type MoneyRow = Omit<MoneyMove, 'amountMinor'> & { amountMinor: number };

/** The payments on an account up to the end of a period, with the ledger events that a statement of the period shows. */
export async function findPayments(
  tx: Tx,
  accountId: number,
  { from, to }: StatementPeriod,
  { timeZone, limit }: { timeZone: string; limit: number },
) {
  const { rows } = await sql<MoneyRow>`
    select 'payment' as type, p.payment_date as "date", p.amount_minor as "amountMinor",
      (p.reversed_at at time zone ${timeZone})::date as "reversedOn", p.id as "paymentId",
      null as "creditMoveId", null as "otherAccountId", p.transaction_ref as "transactionRef",
      m.name as "paymentMethod",
      case when p.payment_date >= ${from}::date or p.reversed_at is not null then
        (select max(e.event_id) from ledger_entries e
          where e.payment_id = p.id and e.account_id = p.account_id and e.event in ('payment_received', 'payment_assigned'))
      end as "ledgerEventId",
      case when p.reversed_at is not null then
        (select max(e.event_id) from ledger_entries e
          where e.payment_id = p.id and e.account_id = p.account_id and e.event = 'payment_reversed')
      end as "reversalEventId"
    from payments p join payment_methods m on m.id = p.payment_method_id
    where p.account_id = ${accountId} and p.payment_date <= ${to}::date
    order by p.payment_date, p.id
    limit ${limit}`.execute(tx);
  return rows;
}

/** The credit moves from or to an account up to a day. */
export async function findCreditMoves(tx: Tx, accountId: number, to: PlainDate, limit: number) {
  const isGiver = sql`c.account_id = ${accountId}`;
  const { rows } = await sql<MoneyRow>`
    select
      case when c.to_account_id is null then 'refund' when ${isGiver} then 'transfer_out' else 'transfer_in' end as type,
      c.value_date as "date", c.amount_minor as "amountMinor", null as "reversedOn",
      null as "paymentId", c.id as "creditMoveId",
      case when ${isGiver} then c.to_account_id else c.account_id end as "otherAccountId",
      c.transaction_ref as "transactionRef", m.name as "paymentMethod",
      (select max(e.event_id) from ledger_entries e where e.credit_move_id = c.id) as "ledgerEventId",
      null as "reversalEventId"
    from credit_moves c left join payment_methods m on m.id = c.payment_method_id
    where (c.account_id = ${accountId} or c.to_account_id = ${accountId}) and c.value_date <= ${to}::date
    order by c.id
    limit ${limit}`.execute(tx);
  return rows;
}
