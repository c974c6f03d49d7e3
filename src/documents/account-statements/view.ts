import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { AccountRow } from '../../accounts/ledger/rules.ts';
import { changedInstalments } from '../../accounts/plan-changes/outcome-rules.ts';
import { termsOf } from '../../accounts/schedule/rules.ts';
import { dueRuleOf, isStatusIn, statusOn } from '../../accounts/status/rules.ts';
import { getAccountRow } from '../../accounts/store.ts';
import { type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { AccountStatus, LedgerEvent } from '../../core/database/tables.ts';
import { inSnapshot } from '../../core/database/transactions.ts';
import { AppError } from '../../core/http/errors.ts';
import type { Language } from '../../core/http/fields.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import type { MoneyMove } from './allocation-rules.ts';
import { shortFrom } from './folding-rules.ts';
import {
  type AccountEvent,
  coverageOf,
  MAX_COVERAGE,
  MAX_PAYMENTS,
  readStatementPeriod,
  type Statement,
  type StatementPeriod,
  statementOf,
  type TermsChange,
} from './rules.ts';
import {
  type AccountEventRow,
  findAccountEvents,
  findCreditMoves,
  findFirstPaymentDate,
  findHeader,
  findPayments,
  findTermsChanges,
  type MoneyRow,
} from './store.ts';

/** A statement and the data of its header. */
export interface AccountStatement {
  account: AccountRow;
  accountNumber: string;
  customer: { name: string; phone: string };
  productName: string;
  /** The language of the customer, or else of the company. */
  language: Language;
  period: StatementPeriod;
  /** Whether the period ends today, so that the closing figures are the present figures of the account. */
  isToday: boolean;
  /** The status at the end of the period. Of earlier days, only the end of an account is known. */
  status: AccountStatus;
  /** Whether the statement begins later than the account, to be short. */
  isCut: boolean;
  statement: Statement;
}

/**
 * Makes the statement of an account from one snapshot. Without `from`, the statement begins with the opening, the activation date
 * or the first payment, whichever is earliest.
 *
 * @throws AppError NOT_FOUND; VALIDATION_ERROR for a period that ends before it starts, or with too many rows or payments.
 */
export async function makeStatement(
  context: Context,
  id: number,
  given: Partial<StatementPeriod>,
): Promise<AccountStatement> {
  const history = await readHistory(context, id, given);
  return statementFrom(context, history, history.period);
}

/**
 * Makes a statement of one or two pages: without `from`, it can begin later than the account, with the balances brought forward.
 *
 * @throws AppError as `makeStatement`.
 */
export async function makeShortStatement(
  context: Context,
  id: number,
  given: Partial<StatementPeriod>,
): Promise<AccountStatement> {
  const history = await readHistory(context, id, given);
  const whole = statementFrom(context, history, history.period);
  const from = given.from ?? shortFrom(whole.statement.rows, whole.period);
  if (from === whole.period.from) return whole;
  return { ...statementFrom(context, history, { ...history.period, from }), isCut: true };
}

type History = Awaited<ReturnType<typeof readHistory>>;

/** The account, what happened to it, and its money up to the end of the period, from one snapshot. */
async function readHistory(context: Context, id: number, given: Partial<StatementPeriod>) {
  const day = today(context);
  if (given.from) readStatementPeriod(given, day, given.from);
  return inSnapshot(context.db, async (tx) => {
    const account = await getAccountRow(tx, id);
    const eventRows = await findAccountEvents(tx, id);
    const events = eventRows.map((row) => toEvent(row, account));
    const period = readStatementPeriod(given, day, given.from ?? (await firstDayOf(tx, account, events)));
    const header = await findHeader(tx, account);
    const changes = await changesOf(tx, account);
    const money = await moneyOf(tx, context, id, period);
    return { account, header, events, changes, period, day, money };
  });
}

/** @param period - that of the history, or one that begins later. */
function statementFrom(
  context: Context,
  { account, header, events, changes, day, money }: History,
  period: StatementPeriod,
): AccountStatement {
  const present = statusOn(account.status, account.activation_date, period.to);
  const { activated } = dueRuleOf(present);
  const statement = statementOf({ terms: termsOf(account), changes, activated, events, money }, period);
  const isPast = compareDates(period.to, day) < 0 && activated;
  return {
    account,
    accountNumber: formatAccountNumber(account.id),
    customer: { name: `${header.first_name} ${header.last_name}`, phone: header.phone },
    productName: header.product_name,
    language: header.language ?? context.config.DOCUMENT_LANGUAGE,
    period,
    isToday: period.to === day,
    status: isPast ? (statement.end ?? 'active') : present,
    isCut: false,
    statement,
  };
}

/**
 * The latest money of an account up to today, newest first, with what it covers and their number.
 * @returns null if there are more than MAX_COVERAGE payments or credit moves.
 */
export async function readCoverage(context: Context, account: AccountRow, limit: number) {
  const day = today(context);
  const { payments, moves } = await inSnapshot(context.db, (tx) =>
    findMoney(tx, context, account.id, { from: day, to: day }, MAX_COVERAGE),
  );
  if (Math.max(payments.length, moves.length) > MAX_COVERAGE) return null;
  const terms = termsOf(account);
  const money = [...payments, ...moves].map(toMoney);
  const rows = coverageOf(terms, money, isStatusIn(account.status, 'saleUndone')).slice(0, limit);
  return { rows, total: money.length };
}

/** The changes of the terms. Most accounts have none, and nothing is read for them. */
async function changesOf(tx: Tx, account: AccountRow): Promise<TermsChange[]> {
  if (account.plan_version === 0) return [];
  const rows = await findTermsChanges(tx, account.id);
  return rows.map(({ body, ...row }) => {
    const [before, after] = [termsOf(row.before), termsOf(row.after)];
    return { ...row, before, after, instalments: changedInstalments(row.kind, body, before, after) };
  });
}

async function firstDayOf(tx: Tx, account: AccountRow, events: AccountEvent[]): Promise<PlainDate> {
  const firstPayment = await findFirstPaymentDate(tx, account.id);
  const days = [account.activation_date, ...events.map(({ date }) => date)];
  if (firstPayment) days.push(firstPayment);
  return days.sort(compareDates)[0] ?? account.activation_date;
}

/** All money of an account up to the end of a period, reversed payments included. */
async function moneyOf(
  tx: Tx,
  context: Context,
  accountId: number,
  period: StatementPeriod,
): Promise<MoneyMove[]> {
  const { payments, moves } = await findMoney(tx, context, accountId, period, MAX_PAYMENTS);
  checkMoneyLimit(payments, 'payments', period);
  checkMoneyLimit(moves, 'credit moves', period);
  return [...payments, ...moves].map(toMoney);
}

/** At most one row more than the limit, of each. */
async function findMoney(
  tx: Tx,
  { config }: Context,
  accountId: number,
  period: StatementPeriod,
  maximum: number,
) {
  const limit = maximum + 1;
  const payments = await findPayments(tx, accountId, period, { timeZone: config.BUSINESS_TIMEZONE, limit });
  return { payments, moves: await findCreditMoves(tx, accountId, period.to, limit) };
}

function toMoney(row: MoneyRow): MoneyMove {
  return { ...row, amountMinor: BigInt(row.amountMinor) };
}

function checkMoneyLimit(rows: readonly unknown[], what: string, { to }: StatementPeriod): void {
  if (rows.length <= MAX_PAYMENTS) return;
  throw new AppError(
    'VALIDATION_ERROR',
    `Up to ${to}, the account has more than ${MAX_PAYMENTS} ${what}. Request a statement that ends earlier.`,
  );
}

/** An account that was recorded after its activation date is shown as opened on its activation date. */
function toEvent(row: AccountEventRow, { activation_date }: AccountRow): AccountEvent {
  const type = typeOfEvent(row.event);
  const isBackdated = type === 'opened' && compareDates(activation_date, row.value_date) < 0;
  return {
    type,
    date: isBackdated ? activation_date : row.value_date,
    amountMinor: BigInt(row.amount_minor),
    ledgerEventId: row.event_id,
  };
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
      throw new Error(`The ledger event ${event} does not open, cancel or write off an account.`);
  }
}
