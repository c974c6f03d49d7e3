import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { AccountStatus, LedgerEvent, StatusCause } from '../core/database/tables.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { invalidField, notFound } from '../core/http/errors.ts';
import { compareDates, type PlainDate } from '../core/values/dates.ts';
import { findEmployee } from '../employees/store.ts';
import { type Posted, post, postAll } from '../ledger/commands.ts';
import type { AccountRow, Posting, PostingRows } from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import { findPayPlanRow } from '../pay-plans/store.ts';
import { findProduct } from '../products/store.ts';
import { checkMove, describeLateness, isBeyondGrace, isToComplete } from './rules.ts';
import type { Terms } from './schedule.ts';
import type { AccountChanges, NewAccount } from './schema.ts';
import {
  findCause,
  findCompletion,
  insertAccount,
  insertStatusChange,
  latenessOf,
  laterMoneyDate,
  lockAccountsToActivate,
  lockAccountsToSuspend,
  updateAccount,
} from './store.ts';

/** Opens an account: copies the pay plan's terms, and books the sale. */
export async function openAccount(context: Context, actor: Actor, body: NewAccount): Promise<AccountRow> {
  const day = today(context);
  const terms = await termsFor(context, body, day);
  const employeeId = await employeeFor(context, actor, body);
  const status = compareDates(terms.activationDate, day) <= 0 ? 'active' : 'pending';
  return inTransaction(context.db, async (tx) => {
    const account = await insertAccount(tx, {
      customerId: body.customerId,
      productId: body.productId,
      payplanId: body.payplanId,
      employeeId,
      status,
      terms,
    });
    const opened = await post(tx, new Map([[account.id, account]]), {
      event: 'account_opened',
      valueDate: day,
      movements: [{ accountId: account.id, movement: { kind: 'open' } }],
      contra: [],
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
    return opened.get(account.id) ?? account;
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
    const account = (await lockAccounts(tx, [id])).get(id);
    if (!account) throw notFound('account', id);
    const { status: to, reason } = body;
    if (to === undefined) throw invalidField('status', 'is required: a reason explains a change of status');
    if (to === account.status) return account;
    checkMove(account.status, to, reason);
    const moved = await moveAccount(tx, context, actor, account, { to, reason: reason ?? null });
    return followPayments(tx, context, moved);
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
        const { activation_date: date } = account;
        const active = await moveAccount(tx, context, SYSTEM, account, { to: 'active', reason: null, date });
        await followPayments(tx, context, active, { date: await laterMoneyDate(tx, account.id, date) });
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

/**
 * Posts money events to accounts that the transaction has locked, and does what follows from what is paid then: an
 * account completes or is no longer complete, and a suspension for non-payment ends.
 *
 * @returns for each posting why it was refused, and the accounts as they are now.
 */
export async function postAllToAccounts(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, AccountRow>,
  postings: readonly Posting[],
  further?: PostingRows,
): Promise<Posted> {
  const posted = await postAll(tx, accounts, postings, further);
  for (const account of posted.accounts.values()) {
    if (!mayMove(account, today(context))) continue;
    const event = postings.findLast(({ movements }) =>
      movements.some((one) => one.accountId === account.id),
    )?.event;
    const settled = await followPayments(tx, context, account, { event });
    posted.accounts.set(account.id, settled);
  }
  return posted;
}

/** Posts one money event, as `postAllToAccounts`. @throws AppError where its account refuses it. */
export async function postToAccounts(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, AccountRow>,
  posting: Posting,
): Promise<Posted['accounts']> {
  const { refusals, accounts: changed } = await postAllToAccounts(tx, context, accounts, [posting]);
  if (refusals[0]) throw refusals[0];
  return changed;
}

/** Whether what is paid may ask for another status. */
function mayMove(account: AccountRow, day: PlainDate): boolean {
  const [paid, total] = [BigInt(account.paid_minor), BigInt(account.total_minor)];
  return (
    isToComplete(account.status, paid, total) ||
    (account.status === 'completed' && paid < total) ||
    (account.status === 'suspended' && !isBeyondGrace(latenessOf(account), day))
  );
}

/**
 * @param event the money event that changed what is paid, for the reason of a move.
 * @param date the business day of a completion; default: today.
 */
async function followPayments(
  tx: Tx,
  context: Context,
  account: AccountRow,
  { event, date = today(context) }: { event?: LedgerEvent | undefined; date?: PlainDate } = {},
): Promise<AccountRow> {
  const { status, reason, cause } = await statusAfter(tx, account, event);
  if (status === account.status) return reactivateIfPaid(tx, context, account);
  const moved = await updateAccount(tx, account.id, { status, reason });
  await recordMove(tx, context, SYSTEM, account, { to: status, reason, cause, date });
  return reactivateIfPaid(tx, context, moved);
}

async function termsFor(context: Context, body: NewAccount, day: PlainDate): Promise<Terms> {
  const product = await findProduct(context.db, body.productId);
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
  const movement = MONEY_MOVES[to];
  if (movement) {
    await post(tx, new Map([[account.id, account]]), {
      event: movement.event,
      valueDate: day,
      movements: [{ accountId: account.id, movement: { kind: movement.kind } }],
      contra: [],
    });
  }
  const moved = await updateAccount(tx, account.id, {
    status: to,
    reason,
    ...(to === 'active' && actor.userId !== null && { reprievedOn: day }),
    ...(to === 'written_off' && { writtenOffOn: day }),
  });
  await recordMove(tx, context, actor, account, move);
  return moved;
}

/** The statuses that are a money event, too. */
const MONEY_MOVES: { [S in AccountStatus]?: { event: LedgerEvent; kind: 'cancel' | 'write_off' } } = {
  cancelled: { event: 'account_cancelled', kind: 'cancel' },
  written_off: { event: 'account_written_off', kind: 'write_off' },
};

/** Ends a suspension that the lateness policy began, once the account is within its days of grace again. */
async function reactivateIfPaid(tx: Tx, context: Context, account: AccountRow): Promise<AccountRow> {
  const day = today(context);
  if (account.status !== 'suspended' || isBeyondGrace(latenessOf(account), day)) return account;
  if ((await findCause(tx, account.id)) !== 'non_payment') return account;
  const reason = `paid: ${describeLateness(latenessOf(account), day)}`;
  return moveAccount(tx, context, SYSTEM, account, { to: 'active', reason, cause: 'payment' });
}

/** The status that follows from what is paid: completed, or what it was before it was completed. */
async function statusAfter(tx: Tx, account: AccountRow, event?: LedgerEvent) {
  const [paidMinor, total] = [BigInt(account.paid_minor), BigInt(account.total_minor)];
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
