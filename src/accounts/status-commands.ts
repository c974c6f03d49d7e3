import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { AccountStatus, LedgerEvent, StatusCause } from '../core/database/tables.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { post } from '../ledger/commands.ts';
import type { AccountRow } from '../ledger/rules.ts';
import { describeLateness, isBeyondGrace } from './lateness-rules.ts';
import { findCause, findCompletion, insertStatusChange } from './status-change-store.ts';
import { isStatusIn, isToComplete, moneyEventOf } from './status-rules.ts';
import { updateStatus } from './store.ts';

interface StatusMove {
  to: AccountStatus;
  reason: string | null;
  cause?: StatusCause | null;
  /** The business day of the move; default: today. */
  date?: PlainDate;
}

/** Moves a locked account to another status, with the money event of that status. */
export async function moveAccount(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  move: StatusMove,
): Promise<AccountRow> {
  const { to, reason, date: day = today(context) } = move;
  const event = moneyEventOf(to);
  if (event) {
    const kind = event === 'account_cancelled' ? 'cancel' : 'write_off';
    await post(tx, new Map([[account.id, account]]), {
      event,
      valueDate: day,
      movements: [{ accountId: account.id, movement: { kind } }],
      contra: [],
    });
  }
  const moved = await updateStatus(tx, account.id, {
    status: to,
    status_reason: reason,
    ...(isStatusIn(to, 'suspendedWhenLate') && actor.userId !== null && { reprieved_on: day }),
    ...(event === 'account_written_off' && { written_off_on: day }),
  });
  await recordMove(tx, context, actor, account, move);
  return moved;
}

/**
 * Makes the moves that follow from what is paid: an account completes or is no longer complete, and a suspension
 * for non-payment ends. Reads and writes nothing where no move follows.
 *
 * @param event the money event that changed what is paid, for the reason of a move.
 * @param date the business day of a completion; default: today.
 */
export async function followPayments(
  tx: Tx,
  context: Context,
  account: AccountRow,
  { event, date }: { event?: LedgerEvent | undefined; date?: PlainDate } = {},
): Promise<AccountRow> {
  const move = await moveAfterPayments(tx, account, event);
  if (!move) return reactivateIfPaid(tx, context, account);
  const moved = await updateStatus(tx, account.id, { status: move.to, status_reason: move.reason });
  await recordMove(tx, context, SYSTEM, account, { ...move, ...(date && { date }) });
  return reactivateIfPaid(tx, context, moved);
}

/** Completes an account that is paid in full, or returns it to the status that it had before it was completed. */
async function moveAfterPayments(
  tx: Tx,
  account: AccountRow,
  event: LedgerEvent | undefined,
): Promise<StatusMove | undefined> {
  const [paidMinor, totalMinor] = [BigInt(account.paid_minor), BigInt(account.total_minor)];
  if (isToComplete(account.status, paidMinor, totalMinor)) return { to: 'completed', reason: 'paid in full' };
  if (account.status !== 'completed' || paidMinor >= totalMinor) return undefined;
  const completion = await findCompletion(tx, account.id);
  const reason = event === 'payment_unassigned' ? 'a payment was unassigned' : 'a payment was reversed';
  return { to: completion?.from_status ?? 'active', reason, cause: completion?.cause ?? null };
}

/** Ends a suspension by the lateness policy once the account is within its days of grace again. */
async function reactivateIfPaid(tx: Tx, context: Context, account: AccountRow): Promise<AccountRow> {
  if (account.status !== 'suspended') return account;
  const day = today(context);
  if (isBeyondGrace(account, day)) return account;
  if ((await findCause(tx, account.id)) !== 'non_payment') return account;
  const reason = `paid: ${describeLateness(account, day)}`;
  return moveAccount(tx, context, SYSTEM, account, { to: 'active', reason, cause: 'payment' });
}

async function recordMove(
  tx: Tx,
  context: Context,
  actor: Actor,
  { id, status: from, status_reason }: AccountRow,
  { to, reason, cause = null, date = today(context) }: StatusMove,
): Promise<void> {
  await insertStatusChange(tx, {
    account_id: id,
    from_status: from,
    to_status: to,
    reason,
    cause,
    actor_user_id: actor.userId,
    changed_on: date,
  });
  await audit(tx, actor, {
    action: 'account.status',
    resource: 'account',
    resourceId: id,
    before: { status: from, reason: status_reason },
    after: { status: to, reason },
  });
}
