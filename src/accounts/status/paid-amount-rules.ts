import { auditRow, type ChangeRow, event, eventRow } from '../../changes/events/change-rules.ts';
import type { Actor } from '../../core/context.ts';
import type { RowsOf } from '../../core/database/rows.ts';
import type { AccountStatus, LedgerEvent, Row, StatusCause } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { isBeyondGrace } from '../schedule/rules.ts';
import { describeLateness } from './lateness-wording-rules.ts';
import { eventOfMove, isStatusIn, isToComplete, isToReopen } from './rules.ts';

// Decides which change of status the paid amount of an account requires, and makes the rows of a change.

type AccountRow = Row<'accounts'>;
type StatusChangeRow = NonNullable<RowsOf<'account_status_changes'>['account_status_changes']>[number];

export interface StatusChange {
  to: AccountStatus;
  reason: string | null;
  cause?: StatusCause | null;
  /** The business day of the change; default: today. */
  date?: PlainDate;
}

/** What the earlier changes of an account say about its present status. */
export interface StatusHistory {
  /** Why the suspension policy changed the account to its present status. Null if something else changed the status. */
  cause: StatusCause | null;
  /** The status before the latest completion, and the cause of that status. Undefined if the account was never completed. */
  completedFrom: { status: AccountStatus; cause: StatusCause | null } | undefined;
}

/** Whether the changes that a paid amount requires depend on the `StatusHistory` of an account. */
export function needsHistory(status: AccountStatus): boolean {
  return isStatusIn(status, 'reactivatedWhenPaid') || isStatusIn(status, 'paidInFull');
}

/**
 * The changes of status that the paid amount and the terms of an account require: the account is completed or reopened, or is
 * reactivated after a suspension for non-payment.
 * @param event - the money event that changed the paid amount or the terms. It decides the reasons.
 */
export function changesForPaidAmount(
  account: AccountRow,
  history: StatusHistory | undefined,
  event: LedgerEvent | undefined,
  today: PlainDate,
): StatusChange[] {
  const change = changeForTotal(account, history, event);
  const { status, cause } = change
    ? { status: change.to, cause: change.cause }
    : { status: account.status, cause: history?.cause };
  if (!isStatusIn(status, 'reactivatedWhenPaid') || cause !== 'non_payment' || isBeyondGrace(account, today))
    return change ? [change] : [];
  const lateness = describeLateness(account, today);
  const reactivation: StatusChange =
    event && isPlanEvent(event)
      ? { to: 'active', reason: `plan changed: ${lateness}` }
      : { to: 'active', reason: `paid: ${lateness}`, cause: 'payment' };
  return [...(change ? [change] : []), reactivation];
}

const PLAN_EVENTS: readonly LedgerEvent[] = ['price_discounted', 'price_corrected', 'price_raised'];

/** Whether the event changed the terms of the account. */
function isPlanEvent(event: LedgerEvent): boolean {
  return PLAN_EVENTS.includes(event);
}

/** @returns the change to completed, or back to the status before the completion; undefined if the status stays the same. */
function changeForTotal(
  { status, paid_minor, total_minor }: AccountRow,
  history: StatusHistory | undefined,
  event: LedgerEvent | undefined,
): StatusChange | undefined {
  const [paidMinor, totalMinor] = [BigInt(paid_minor), BigInt(total_minor)];
  if (isToComplete(status, paidMinor, totalMinor)) return { to: 'completed', reason: 'paid in full' };
  if (!isToReopen(status, paidMinor, totalMinor)) return undefined;
  const cause = history?.completedFrom?.cause ?? null;
  return { to: statusBeforeCompletion(history), reason: reopeningReason(event), cause };
}

/** The status that a completed account gets if it is no longer paid in full. */
export function statusBeforeCompletion(history: StatusHistory | undefined): AccountStatus {
  return history?.completedFrom?.status ?? 'active';
}

function reopeningReason(event: LedgerEvent | undefined): string {
  if (event === 'payment_unassigned') return 'a payment was unassigned';
  return event && isPlanEvent(event) ? 'the plan was changed' : 'a payment was reversed';
}

/** The row that records a change of status. */
export function statusRow(
  actor: Actor,
  date: PlainDate,
  change: Omit<StatusChangeRow, 'actor_user_id' | 'api_key_id' | 'changed_on'>,
): StatusChangeRow {
  return { ...change, actor_user_id: actor.userId, api_key_id: actor.apiKey?.id ?? null, changed_on: date };
}

/** The account after a change of its status, and the rows that record the change. */
export function rowsOfChange(
  actor: Actor,
  account: AccountRow,
  { to, reason, cause = null, date }: StatusChange & { date: PlainDate },
): { account: AccountRow; row: StatusChangeRow; changes: ChangeRow[] } {
  const { id, status: from, event_count: version, next_due_date: dueDate } = account;
  const subject = { resource: 'account' as const, resourceId: id };
  const data = { previousStatus: from, status: to, cause };
  const change = auditRow(actor, {
    action: 'account.status',
    ...subject,
    before: { status: from, reason: account.status_reason },
    after: { status: to, reason },
    event: event(eventOfMove(from, to), data, { id, version: version + 1 }),
  });
  // A closed account has no next due date.
  const removesDueDate = isStatusIn(to, 'closed') && dueDate !== null;
  const dates = { nextDueDate: null, previousNextDueDate: dueDate };
  const dueDateEvent = event('account.paid_until_changed', dates, { id, version: version + 2 });
  return {
    account: {
      ...account,
      status: to,
      status_reason: reason,
      event_count: version + (removesDueDate ? 2 : 1),
      next_due_date: removesDueDate ? null : dueDate,
    },
    row: statusRow(actor, date, { account_id: id, from_status: from, to_status: to, reason, cause }),
    changes: [change, ...(removesDueDate ? [eventRow(actor, subject, dueDateEvent)] : [])],
  };
}
