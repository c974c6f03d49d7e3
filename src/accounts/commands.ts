import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM, today } from '../core/context.ts';
import { compareDates, type PlainDate } from '../core/dates.ts';
import { inTransaction, type Tx } from '../core/db.ts';
import { invalidField, notFound } from '../core/errors.ts';
import { type LedgerLine, postToLedger } from '../core/ledger.ts';
import type { Minor } from '../core/money.ts';
import type { AccountStatus, LedgerEvent } from '../core/tables.ts';
import { findPayPlanRow } from '../pay-plans/store.ts';
import { findProduct } from '../products/store.ts';
import { type Booking, bookCancellation, bookWriteOff, checkMove, isClosed, isToComplete } from './rules.ts';
import { nextItem, type Terms, totalMinor } from './schedule.ts';
import type { AccountChanges, NewAccount } from './schema.ts';
import {
  type AccountRow,
  booksOf,
  findCompletion,
  insertAccount,
  insertStatusChange,
  lockAccount,
  lockAccountsToActivate,
  termsOf,
  updateAccount,
} from './store.ts';

/** Opens an account: copies the pay plan's terms, and books the sale. */
export async function openAccount(context: Context, actor: Actor, body: NewAccount): Promise<AccountRow> {
  const day = today(context);
  const terms = await termsFor(context, body, day);
  const status = compareDates(terms.activationDate, day) <= 0 ? 'active' : 'pending';
  const total = totalMinor(terms);
  return inTransaction(context.db, async (tx) => {
    const account = await insertAccount(tx, {
      customerId: body.customerId,
      productId: body.productId,
      payplanId: body.payplanId,
      employeeId: body.employeeId ?? actor.employeeId,
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
    const moved = await moveAccount(tx, context, actor, account, to, reason ?? null);
    return completeIfPaid(tx, context, moved);
  });
}

/** Activates the pending accounts whose day has come, a batch a transaction; the number of them. */
export async function activateDueAccounts(context: Context): Promise<number> {
  const batchSize = 200;
  let activated = 0;
  for (;;) {
    const batch = await inTransaction(context.db, async (tx) => {
      const accounts = await lockAccountsToActivate(tx, today(context), batchSize);
      for (const account of accounts) {
        await completeIfPaid(tx, context, await moveAccount(tx, context, SYSTEM, account, 'active', null));
      }
      return accounts.length;
    });
    activated += batch;
    if (batch < batchSize) return activated;
  }
}

interface MoneyMove {
  event: LedgerEvent;
  paymentId: number;
  valueDate: PlainDate;
  booking: Booking;
  /** The ledger's line on the other side. */
  contra: LedgerLine;
}

/**
 * Books money onto or off an account that the transaction has locked: the entries, the balances, the
 * first unpaid date, and completion or its undoing, together.
 */
export async function bookOnAccount(
  tx: Tx,
  context: Context,
  account: AccountRow,
  move: MoneyMove,
): Promise<AccountRow> {
  const { after, lines } = move.booking;
  await postToLedger(tx, {
    event: move.event,
    accountId: account.id,
    paymentId: move.paymentId,
    valueDate: move.valueDate,
    lines: [move.contra, ...lines],
  });
  const { status, reason } = await statusAfter(tx, account, after.paidMinor);
  const booked = await updateAccount(tx, account.id, {
    books: after,
    nextDueDate: nextDueDateOf(account, status, after.paidMinor),
    ...(status !== account.status && { status, reason }),
  });
  if (status !== account.status) await recordMove(tx, context, SYSTEM, account, status, reason);
  return booked;
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

async function moveAccount(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  to: AccountStatus,
  reason: string | null,
): Promise<AccountRow> {
  const day = today(context);
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
    ...(to === 'written_off' && { writtenOffOn: day }),
  });
  await recordMove(tx, context, actor, account, to, reason);
  return moved;
}

function bookingOfMove(account: AccountRow, to: AccountStatus): Booking | undefined {
  if (to === 'cancelled') return bookCancellation(booksOf(account));
  if (to === 'written_off') return bookWriteOff(booksOf(account));
  return undefined;
}

async function completeIfPaid(tx: Tx, context: Context, account: AccountRow): Promise<AccountRow> {
  const { status, reason } = await statusAfter(tx, account, BigInt(account.paid_minor));
  if (status === account.status) return account;
  const completed = await updateAccount(tx, account.id, { status, reason });
  await recordMove(tx, context, SYSTEM, account, status, reason);
  return completed;
}

/** The status that follows from what is paid: completed, or what it was before it was completed. */
async function statusAfter(tx: Tx, account: AccountRow, paidMinor: Minor) {
  const total = BigInt(account.total_minor);
  if (isToComplete(account.status, paidMinor, total))
    return { status: 'completed' as const, reason: 'paid in full' };
  if (account.status === 'completed' && paidMinor < total) {
    const completion = await findCompletion(tx, account.id);
    return { status: completion?.from_status ?? 'active', reason: 'a payment was reversed' };
  }
  return { status: account.status, reason: account.status_reason };
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
  to: AccountStatus,
  reason: string | null,
): Promise<void> {
  const { id: accountId, status: from } = account;
  const day = today(context);
  await insertStatusChange(tx, { accountId, from, to, reason, actorUserId: actor.userId, day });
  await audit(tx, actor, {
    action: 'account.status',
    resource: 'account',
    resourceId: accountId,
    before: { status: from, reason: account.status_reason },
    after: { status: to, reason },
  });
}
