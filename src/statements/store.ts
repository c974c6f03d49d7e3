import { sql } from 'kysely';
import { formatAccountNumber } from '../accounts/account-number.ts';
import { findAccountRow, termsOf } from '../accounts/store.ts';
import { type Context, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { LedgerEvent } from '../core/database/tables.ts';
import { inSnapshot } from '../core/database/transactions.ts';
import { AppError, notFound } from '../core/http/errors.ts';
import { businessDay, compareDates, type PlainDate } from '../core/values/dates.ts';
import type { AccountRow } from '../ledger/rules.ts';
import type { Money } from './coverage-rules.ts';
import {
  type AccountEvent,
  isActivated,
  MAX_PAYMENTS,
  type Period,
  readPeriod,
  type Statement,
  statementOf,
} from './rules.ts';

/** A statement with what stands at its head. */
export interface AccountStatement {
  account: AccountRow;
  accountNumber: string;
  customer: { name: string; phone: string };
  productName: string;
  period: Period;
  /** Whether the period ends today, so that its closing figures are those of now. */
  isToday: boolean;
  statement: Statement;
}

/**
 * Makes the statement of an account from one snapshot. Without `from` it begins with the first thing that
 * happened on the account.
 *
 * @throws AppError NOT_FOUND; VALIDATION_ERROR for a period that is turned round or too long.
 */
export async function makeStatement(
  context: Context,
  id: number,
  given: Partial<Period>,
): Promise<AccountStatement> {
  const day = today(context);
  if (given.from) readPeriod(given, day, given.from);
  const { account, head, events, period, money } = await inSnapshot(context.db, async (tx) => {
    const account = await findAccountRow(tx, id);
    if (!account) throw notFound('account', id);
    const events = await accountEvents(tx, account);
    const period = readPeriod(given, day, given.from ?? (await firstDayOf(tx, account, events)));
    return {
      account,
      head: await headOf(tx, account),
      events,
      period,
      money: await moneyOf(tx, context, id, period),
    };
  });
  const terms = termsOf(account);
  const activated = isActivated(account.status, terms, period.to);
  return {
    account,
    accountNumber: formatAccountNumber(id),
    customer: { name: `${head.first_name} ${head.last_name}`, phone: head.phone },
    productName: head.product_name,
    period,
    isToday: period.to === day,
    statement: statementOf({ terms, activated, events, money }, period),
  };
}

function headOf(tx: Tx, account: AccountRow) {
  return tx
    .selectFrom('customers as c')
    .innerJoin('products as p', (join) => join.on('p.id', '=', account.product_id))
    .select(['c.first_name', 'c.last_name', 'c.phone', 'p.name as product_name'])
    .where('c.id', '=', account.customer_id)
    .executeTakeFirstOrThrow();
}

/** The opening and the end of an account as the ledger has them; an account is there from its activation date. */
async function accountEvents(tx: Tx, account: AccountRow): Promise<AccountEvent[]> {
  const { rows } = await sql<{
    event_id: number;
    event: LedgerEvent;
    value_date: PlainDate;
    amount_minor: number;
    reason: string | null;
  }>`
    select e.event_id, e.event, e.value_date, abs(e.amount_minor) as amount_minor,
      (select h.reason from account_status_changes h
        where h.account_id = e.account_id
          and h.to_status::text = case e.event
            when 'account_cancelled' then 'cancelled' when 'account_written_off' then 'written_off' end
        order by h.id limit 1) as reason
    from ledger_entries e
    where e.account_id = ${account.id} and e.payment_id is null and e.credit_move_id is null
      and (e.event in ('account_opened', 'account_cancelled') and e.ledger_account = 'sales'
        or e.event = 'account_written_off' and e.ledger_account = 'bad_debt')
    order by e.id`.execute(tx);
  return rows.map((row) => {
    const type = typeOfEvent(row.event);
    const { activation_date } = account;
    return {
      type,
      date:
        type === 'opened' && compareDates(activation_date, row.value_date) < 0
          ? activation_date
          : row.value_date,
      amountMinor: BigInt(row.amount_minor),
      ledgerEventId: row.event_id,
      reason: row.reason,
    };
  });
}

function typeOfEvent(event: LedgerEvent): AccountEvent['type'] {
  switch (event) {
    case 'account_opened':
      return 'opened';
    case 'account_cancelled':
      return 'cancelled';
    case 'account_written_off':
      return 'written_off';
    default:
      throw new Error(`${event} does not change what an account owes in total`);
  }
}

async function firstDayOf(tx: Tx, account: AccountRow, events: AccountEvent[]): Promise<PlainDate> {
  const first = await tx
    .selectFrom('payments')
    .select('payment_date')
    .where('account_id', '=', account.id)
    .orderBy('payment_date')
    .limit(1)
    .executeTakeFirst();
  const days = [account.activation_date, ...events.map(({ date }) => date)];
  if (first) days.push(first.payment_date);
  return days.sort(compareDates)[0] ?? account.activation_date;
}

/**
 * All that came onto an account up to the end of a period and left it, and what was taken back of it: the one
 * place where a statement learns of money.
 *
 * @throws AppError VALIDATION_ERROR for more than MAX_PAYMENTS payments, or as many moves of credit.
 */
async function moneyOf(
  tx: Tx,
  context: Pick<Context, 'config'>,
  accountId: number,
  period: Period,
): Promise<Money[]> {
  return [
    ...(await paymentsOf(tx, context, accountId, period)),
    ...(await creditMovesOf(tx, accountId, period)),
  ];
}

async function paymentsOf(
  tx: Tx,
  { config }: Pick<Context, 'config'>,
  accountId: number,
  { from, to }: Period,
): Promise<Money[]> {
  const { rows } = await sql<{
    id: number;
    payment_date: PlainDate;
    amount_minor: number;
    transaction_ref: string | null;
    payment_method: string;
    reversed_at: string | null;
    reversal_reason: string | null;
    booked_event: number | null;
    reversal_event: number | null;
  }>`
    select p.id, p.payment_date, p.amount_minor, p.transaction_ref, m.name as payment_method, p.reversed_at,
      p.reversal_reason,
      case when p.payment_date >= ${from}::date or p.reversed_at is not null then
        (select max(e.event_id) from ledger_entries e
          where e.payment_id = p.id and e.account_id = p.account_id and e.event in ('payment_received', 'payment_assigned'))
      end as booked_event,
      case when p.reversed_at is not null then
        (select max(e.event_id) from ledger_entries e
          where e.payment_id = p.id and e.account_id = p.account_id and e.event = 'payment_reversed')
      end as reversal_event
    from payments p join payment_methods m on m.id = p.payment_method_id
    where p.account_id = ${accountId} and p.payment_date <= ${to}::date
    order by p.payment_date, p.id
    limit ${MAX_PAYMENTS + 1}`.execute(tx);
  refuseMore(rows, 'payments');
  return rows.map((row) => ({
    type: 'payment' as const,
    date: row.payment_date,
    amountMinor: BigInt(row.amount_minor),
    reversedOn:
      row.reversed_at === null ? null : businessDay(new Date(row.reversed_at), config.BUSINESS_TIMEZONE),
    reversalReason: row.reversal_reason,
    paymentId: row.id,
    creditMoveId: null,
    otherAccountId: null,
    reason: null,
    transactionRef: row.transaction_ref,
    paymentMethod: row.payment_method,
    ledgerEventId: row.booked_event,
    reversalEventId: row.reversal_event,
  }));
}

async function creditMovesOf(tx: Tx, accountId: number, { to }: Period): Promise<Money[]> {
  const { rows } = await sql<{
    id: number;
    account_id: number;
    to_account_id: number | null;
    value_date: PlainDate;
    amount_minor: number;
    reason: string;
    transaction_ref: string | null;
    payment_method: string | null;
    ledger_event: number | null;
  }>`
    select c.id, c.account_id, c.to_account_id, c.value_date, c.amount_minor, c.reason, c.transaction_ref,
      m.name as payment_method,
      (select max(e.event_id) from ledger_entries e where e.credit_move_id = c.id) as ledger_event
    from credit_moves c left join payment_methods m on m.id = c.payment_method_id
    where (c.account_id = ${accountId} or c.to_account_id = ${accountId}) and c.value_date <= ${to}::date
    order by c.id
    limit ${MAX_PAYMENTS + 1}`.execute(tx);
  refuseMore(rows, 'moves of credit');
  return rows.map((row) => {
    const isGiver = row.account_id === accountId;
    return {
      type: row.to_account_id === null ? 'refund' : isGiver ? 'transfer_out' : 'transfer_in',
      date: row.value_date,
      amountMinor: BigInt(row.amount_minor),
      reversedOn: null,
      reversalReason: null,
      paymentId: null,
      creditMoveId: row.id,
      otherAccountId: isGiver ? row.to_account_id : row.account_id,
      reason: row.reason,
      transactionRef: row.transaction_ref,
      paymentMethod: row.payment_method,
      ledgerEventId: row.ledger_event,
      reversalEventId: null,
    };
  });
}

function refuseMore(rows: readonly unknown[], what: string): void {
  if (rows.length <= MAX_PAYMENTS) return;
  throw new AppError('VALIDATION_ERROR', `The account has more than ${MAX_PAYMENTS} ${what}.`);
}
