import { event, eventRow } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { AccountStatus, LedgerEvent, Row, StatusCause } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { eventOfMove, isStatusIn, isToComplete, moneyEventOf } from './rules.ts';
import { findCause, findCompletion, insertStatusChanges, updateStatus } from './store.ts';
import { describeLateness, isBeyondGrace } from './suspension-rules.ts';

type AccountRow = Row<'accounts'>;

export interface StatusChange {
  to: AccountStatus;
  reason: string | null;
  cause?: StatusCause | null;
  /** The business day of the change; default: today. */
  date?: PlainDate;
}

/** Changes the status of an account that the transaction has locked, and records the change. */
export async function changeStatus(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  { to, reason, cause = null, date = today(context) }: StatusChange,
): Promise<AccountRow> {
  const { id, status: from, status_reason, event_count: version, next_due_date: dueDate } = account;
  const subject = { resource: 'account' as const, resourceId: id };
  const data = { previousStatus: from, status: to, cause };
  // A closed account has no next due date.
  const removesDueDate = isStatusIn(to, 'closed') && dueDate !== null;
  const dueDateEvent = event(
    'account.paid_until_changed',
    { nextDueDate: null, previousNextDueDate: dueDate },
    { id, version: version + 2 },
  );
  const changed = await updateStatus(tx, id, {
    status: to,
    status_reason: reason,
    event_count: version + (removesDueDate ? 2 : 1),
    ...(isStatusIn(to, 'suspendedWhenLate') && actor.role !== 'system' && { reprieved_on: date }),
    // If a recovered account goes back from completed to written off, it keeps the date of the original write-off.
    ...(moneyEventOf(to) === 'account_written_off' && from !== 'completed' && { written_off_on: date }),
  });
  const row = { account_id: id, from_status: from, to_status: to, reason, cause };
  await insertStatusChanges(tx, actor, date, [row]);
  await audit(
    tx,
    actor,
    {
      action: 'account.status',
      ...subject,
      before: { status: from, reason: status_reason },
      after: { status: to, reason },
      event: event(eventOfMove(from, to), data, { id, version: version + 1 }),
    },
    removesDueDate ? [eventRow(actor, subject, dueDateEvent)] : [],
  );
  return changed;
}

/**
 * Changes the status of an account if its paid amount requires this: completes or reopens the account, or reactivates it after a
 * suspension for non-payment. If the status stays the same, nothing is written.
 *
 * @param event - the money event that changed the paid amount. It decides the reason if a completed account is reopened.
 * @param date - the business day of a completion; default: today.
 */
export async function adjustStatusToPaidAmount(
  tx: Tx,
  context: Context,
  account: AccountRow,
  { event, date }: { event?: LedgerEvent | undefined; date?: PlainDate } = {},
): Promise<AccountRow> {
  const change = await statusAfterPayment(tx, account, event);
  if (!change) return reactivateIfWithinGrace(tx, context, account);
  const changed = await changeStatus(tx, context, SYSTEM, account, { ...change, ...(date && { date }) });
  return reactivateIfWithinGrace(tx, context, changed);
}

/** @returns the change to completed, or back to the status before the completion; undefined if the status stays the same. */
async function statusAfterPayment(
  tx: Tx,
  { id, status, paid_minor, total_minor }: AccountRow,
  event: LedgerEvent | undefined,
): Promise<StatusChange | undefined> {
  const [paidMinor, totalMinor] = [BigInt(paid_minor), BigInt(total_minor)];
  if (isToComplete(status, paidMinor, totalMinor)) return { to: 'completed', reason: 'paid in full' };
  if (status !== 'completed' || paidMinor >= totalMinor) return undefined;
  const completion = await findCompletion(tx, id);
  const reason = event === 'payment_unassigned' ? 'a payment was unassigned' : 'a payment was reversed';
  return { to: completion?.from_status ?? 'active', reason, cause: completion?.cause ?? null };
}

/** Reactivates an account that the suspension policy suspended, if the account is within its days of grace again. */
async function reactivateIfWithinGrace(tx: Tx, context: Context, account: AccountRow): Promise<AccountRow> {
  if (account.status !== 'suspended') return account;
  const day = today(context);
  if (isBeyondGrace(account, day)) return account;
  if ((await findCause(tx, account.id)) !== 'non_payment') return account;
  const reason = `paid: ${describeLateness(account, day)}`;
  return changeStatus(tx, context, SYSTEM, account, { to: 'active', reason, cause: 'payment' });
}
