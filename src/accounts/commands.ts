import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM, today } from '../core/context.ts';
import { compareDates, type PlainDate } from '../core/dates.ts';
import { inTransaction, type Statement, type Tx, together } from '../core/db.ts';
import { invalidField, notFound } from '../core/errors.ts';
import { insertEntries, type LedgerLine, postToLedger } from '../core/ledger.ts';
import type { Minor } from '../core/money.ts';
import type { AccountStatus, LedgerEvent, StatusCause } from '../core/tables.ts';
import { findEmployee } from '../employees/store.ts';
import { findPayPlanRow } from '../pay-plans/store.ts';
import { findProduct } from '../products/store.ts';
import {
  type Booking,
  bookCancellation,
  bookWriteOff,
  checkMove,
  describeLateness,
  isBeyondGrace,
  isClosed,
  isToComplete,
  paidMonthAfter,
} from './rules.ts';
import { nextItem, type Terms, totalMinor } from './schedule.ts';
import type { AccountChanges, NewAccount } from './schema.ts';
import {
  type AccountRow,
  accountUpdate,
  booksOf,
  findCause,
  findCompletion,
  insertAccount,
  insertStatusChange,
  latenessOf,
  laterMoneyDate,
  lockAccount,
  lockAccountsToActivate,
  lockAccountsToSuspend,
  paidMonthOf,
  termsOf,
  updateAccount,
} from './store.ts';

/** Opens an account: copies the pay plan's terms, and books the sale. */
export async function openAccount(context: Context, actor: Actor, body: NewAccount): Promise<AccountRow> {
  const day = today(context);
  const terms = await termsFor(context, body, day);
  const employeeId = await employeeFor(context, actor, body);
  const status = compareDates(terms.activationDate, day) <= 0 ? 'active' : 'pending';
  const total = totalMinor(terms);
  return inTransaction(context.db, async (tx) => {
    const account = await insertAccount(tx, {
      customerId: body.customerId,
      productId: body.productId,
      payplanId: body.payplanId,
      employeeId,
      status,
      terms,
      receivableMinor: total,
      nextDueDate: nextItem(terms, 0n)?.date ?? null,
    });
    await postToLedger(tx, {
      event: 'account_opened',
      accountId: account.id,
      paymentId: null,
      valueDate: day,
      lines: [
        { ledgerAccount: 'receivable', amountMinor: total },
        { ledgerAccount: 'sales', amountMinor: -total },
      ],
    });
    await insertStatusChange(tx, {
      accountId: account.id,
      from: null,
      to: status,
      reason: null,
      cause: null,
      actorUserId: actor.userId,
      day,
    });
    await audit(tx, actor, {
      action: 'account.open',
      resource: 'account',
      resourceId: account.id,
      after: { ...body, status },
    });
    return account;
  });
}

/** Moves an account to another status; to the one that it has, nothing happens. */
export async function changeAccount(
  context: Context,
  actor: Actor,
  id: number,
  body: AccountChanges,
): Promise<AccountRow> {
  return inTransaction(context.db, async (tx) => {
    const account = await lockAccount(tx, id);
    if (!account) throw notFound('account', id);
    const { status: to, reason } = body;
    if (to === undefined) throw invalidField('status', 'is required: a reason explains a change of status');
    if (to === account.status) return account;
    checkMove(account.status, to, reason);
    const moved = await moveAccount(tx, context, actor, account, { to, reason: reason ?? null });
    return completeIfPaid(tx, context, moved);
  });
}

/**
 * Activates the pending accounts whose activation date has come, one batch per transaction. The change of status
 * has the activation date even when the job runs days later, because instalments fall due from that date.
 *
 * @param signal stops it between two batches.
 * @returns the number of activated accounts.
 */
export async function activateDueAccounts(context: Context, signal: AbortSignal): Promise<number> {
  const batchSize = 200;
  let activated = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const accounts = await lockAccountsToActivate(tx, today(context), batchSize);
      for (const account of accounts) {
        const date = account.activation_date;
        const active = await moveAccount(tx, context, SYSTEM, account, { to: 'active', reason: null, date });
        await completeIfPaid(tx, context, active, await laterMoneyDate(tx, account.id, date));
      }
      return accounts.length;
    });
    activated += batch;
    if (batch < batchSize) break;
  }
  return activated;
}

/**
 * Suspends the active accounts that are beyond their days of grace where their pay plans say so, a batch a
 * transaction; the number of them. Ends early, between two batches, when the signal says so.
 *
 * @param onBatch hears how many were suspended so far, once that is certain.
 */
export async function suspendLateAccounts(
  context: Context,
  signal: AbortSignal,
  onBatch: (suspended: number) => void = () => {},
): Promise<number> {
  const batchSize = 200;
  let suspended = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const day = today(context);
      const accounts = await lockAccountsToSuspend(tx, day, batchSize);
      for (const account of accounts) {
        const reason = describeLateness(latenessOf(account), day);
        await moveAccount(tx, context, SYSTEM, account, { to: 'suspended', reason, cause: 'non_payment' });
      }
      return accounts.length;
    });
    // A batch may be smaller than it could be, because others work on some of its accounts.
    if (batch === 0) break;
    suspended += batch;
    onBatch(suspended);
  }
  return suspended;
}

interface MoneyMove {
  event: LedgerEvent;
  paymentId: number | null;
  creditMoveId?: number;
  valueDate: PlainDate;
  booking: Booking;
  /** The ledger's line on the other side. */
  contra: LedgerLine;
}

/**
 * Books money onto or off an account that the transaction has locked: the entries, and what follows for
 * the account.
 */
export async function bookOnAccount(
  tx: Tx,
  context: Context,
  account: AccountRow,
  move: MoneyMove,
): Promise<AccountRow> {
  const { booking, contra, ...event } = move;
  const entries = insertEntries({ ...event, accountId: account.id, lines: [contra, ...booking.lines] });
  const settled = await settleAccount(tx, context, account, move, entries);
  return settled.account;
}

/**
 * What follows for a locked account from entries: the balances, the first unpaid date, completion or its undoing,
 * and the end of a suspension for non-payment, together.
 *
 * @param posting the statement that posts the entries, where that is still to be done.
 * @returns the account, and the rows that the statement returned.
 */
export async function settleAccount<Row>(
  tx: Tx,
  context: Context,
  account: AccountRow,
  { booking: { after }, event, valueDate }: Pick<MoneyMove, 'booking' | 'event' | 'valueDate'>,
  ...posting: Statement<Row>[]
): Promise<{ account: AccountRow; posted: Row[] }> {
  const { status, reason, cause } = await statusAfter(tx, account, after.paidMinor, event);
  const update = accountUpdate(tx, account.id, {
    books: after,
    paidMonth: paidMonthAfter(paidMonthOf(account), valueDate, after.paidMinor - BigInt(account.paid_minor)),
    nextDueDate: nextDueDateOf(account, status, after.paidMinor),
    ...(status !== account.status && { status, reason }),
  });
  const [[booked], posted = []] = await together<[AccountRow, ...Row[]]>(tx, update, ...posting);
  if (!booked) throw new Error(`Account ${account.id} was locked and is gone.`);
  if (status !== account.status) {
    await recordMove(tx, context, SYSTEM, account, { to: status, reason, cause });
  }
  return { account: await reactivateIfPaid(tx, context, booked), posted };
}

async function termsFor(context: Context, body: NewAccount, day: PlainDate): Promise<Terms> {
  const product = await findProduct(context.db, context.currency, body.productId);
  if (!product) throw notFound('product', body.productId, 'productId');
  const plan = await findPayPlanRow(context.db, body.payplanId);
  if (!plan) throw notFound('payplan', body.payplanId, 'payplanId');
  if (!product.active) throw invalidField('productId', 'must be a product that is active');
  if (!plan.active) throw invalidField('payplanId', 'must be a pay plan that is active');
  if (plan.product_id !== null && plan.product_id !== body.productId) {
    throw invalidField('payplanId', `is a plan for product ${plan.product_id} alone`);
  }
  return {
    depositMinor: BigInt(plan.deposit_minor),
    instalmentMinor: BigInt(plan.instalment_minor),
    instalmentCount: plan.instalment_count,
    frequency: plan.frequency,
    graceDays: plan.grace_days,
    activationDate: body.activationDate ?? day,
  };
}

/** Who earns the commission: the employee who was named, else the caller's own while that one is active. */
async function employeeFor({ db }: Context, actor: Actor, body: NewAccount): Promise<number | null> {
  const employeeId = body.employeeId ?? actor.employeeId;
  if (employeeId === null) return null;
  const employee = await findEmployee(db, employeeId);
  // One who does not exist is told by the account's foreign key.
  if (!employee || employee.active) return employeeId;
  if (body.employeeId === undefined) return null;
  throw invalidField('employeeId', 'must be an employee who is active');
}

interface StatusMove {
  to: AccountStatus;
  reason: string | null;
  cause?: StatusCause | null;
  /** The business day of the move; default: today. */
  date?: PlainDate;
}

async function moveAccount(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  move: StatusMove,
): Promise<AccountRow> {
  const { to, reason, date: day = today(context) } = move;
  const booking = bookingOfMove(account, to);
  if (booking) {
    await postToLedger(tx, {
      event: to === 'cancelled' ? 'account_cancelled' : 'account_written_off',
      accountId: account.id,
      paymentId: null,
      valueDate: day,
      lines: booking.lines,
    });
  }
  const moved = await updateAccount(tx, account.id, {
    status: to,
    reason,
    nextDueDate: nextDueDateOf(account, to, BigInt(account.paid_minor)),
    ...(booking && { books: booking.after }),
    ...(to === 'active' && actor.userId !== null && { reprievedOn: day }),
    ...(to === 'written_off' && { writtenOffOn: day }),
  });
  await recordMove(tx, context, actor, account, move);
  return moved;
}

function bookingOfMove(account: AccountRow, to: AccountStatus): Booking | undefined {
  if (to === 'cancelled') return bookCancellation(booksOf(account));
  if (to === 'written_off') return bookWriteOff(booksOf(account));
  return undefined;
}

async function completeIfPaid(
  tx: Tx,
  context: Context,
  account: AccountRow,
  date = today(context),
): Promise<AccountRow> {
  const { status, reason } = await statusAfter(tx, account, BigInt(account.paid_minor));
  if (status === account.status) return account;
  const completed = await updateAccount(tx, account.id, { status, reason });
  await recordMove(tx, context, SYSTEM, account, { to: status, reason, date });
  return completed;
}

/** Ends a suspension that the lateness policy began, once the account is within its days of grace again. */
async function reactivateIfPaid(tx: Tx, context: Context, account: AccountRow): Promise<AccountRow> {
  const day = today(context);
  if (account.status !== 'suspended' || isBeyondGrace(latenessOf(account), day)) return account;
  if ((await findCause(tx, account.id)) !== 'non_payment') return account;
  const reason = `paid: ${describeLateness(latenessOf(account), day)}`;
  return moveAccount(tx, context, SYSTEM, account, { to: 'active', reason, cause: 'payment' });
}

/** The status that follows from what is paid: completed, or what it was before it was completed. */
async function statusAfter(tx: Tx, account: AccountRow, paidMinor: Minor, event?: LedgerEvent) {
  const total = BigInt(account.total_minor);
  if (isToComplete(account.status, paidMinor, total))
    return { status: 'completed' as const, reason: 'paid in full', cause: null };
  if (account.status === 'completed' && paidMinor < total) {
    const completion = await findCompletion(tx, account.id);
    const { from_status: status, cause } = completion ?? {};
    const reason = event === 'payment_unassigned' ? 'a payment was unassigned' : 'a payment was reversed';
    return { status: status ?? 'active', reason, cause: cause ?? null };
  }
  return { status: account.status, reason: account.status_reason, cause: null };
}

/** The date of the first item that is not fully paid; null where nothing falls due any more. */
function nextDueDateOf(account: AccountRow, status: AccountStatus, paidMinor: Minor): PlainDate | null {
  if (isClosed(status)) return null;
  return nextItem(termsOf(account), paidMinor)?.date ?? null;
}

async function recordMove(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  { to, reason, cause = null, date: day = today(context) }: StatusMove,
): Promise<void> {
  const { id: accountId, status: from } = account;
  const actorUserId = actor.userId;
  await insertStatusChange(tx, { accountId, from, to, reason, cause, actorUserId, day });
  await audit(tx, actor, {
    action: 'account.status',
    resource: 'account',
    resourceId: accountId,
    before: { status: from, reason: account.status_reason },
    after: { status: to, reason },
  });
}
