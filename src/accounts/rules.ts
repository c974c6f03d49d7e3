import type { AccountStatus } from '../core/database/tables.ts';
import { illegalMove, invalidField } from '../core/http/errors.ts';
import { daysBetween, type PlainDate } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';

/** The moves that staff may make; `completed` is set and undone by the system alone. */
const MOVES: Record<AccountStatus, readonly AccountStatus[]> = {
  pending: ['active', 'suspended', 'cancelled'],
  active: ['suspended', 'defaulted', 'cancelled'],
  suspended: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
  defaulted: ['active', 'repossessed', 'written_off'],
  repossessed: ['active', 'written_off'],
  completed: [],
  written_off: [],
  cancelled: [],
};

const NEEDS_REASON: ReadonlySet<AccountStatus> = new Set([
  'defaulted',
  'repossessed',
  'written_off',
  'cancelled',
]);
/** Statuses in which nothing falls due any more. */
const CLOSED: ReadonlySet<AccountStatus> = new Set(['cancelled', 'written_off']);
/** Statuses from which an account completes when it is paid in full. */
export const COMPLETES: ReadonlySet<AccountStatus> = new Set([
  'active',
  'suspended',
  'defaulted',
  'written_off',
]);

/** Statuses in which a payment may still be expected: what matching by anything but the number looks at. */
export const OPEN_STATUSES = [
  'pending',
  'active',
  'suspended',
  'defaulted',
] as const satisfies AccountStatus[];

/** @throws AppError VALIDATION_ERROR with `{from, to, allowed}`, or naming a missing reason. */
export function checkMove(from: AccountStatus, to: AccountStatus, reason: string | undefined): void {
  const allowed = MOVES[from];
  if (!allowed.includes(to)) throw illegalMove('An account', from, to, allowed);
  if (NEEDS_REASON.has(to) && reason === undefined) throw invalidField('reason', `is required for ${to}`);
}

export function isClosed(status: AccountStatus): boolean {
  return CLOSED.has(status);
}

/** Whether an account in this status, with this paid, is to be completed now. */
export function isToComplete(status: AccountStatus, paidMinor: Minor, totalMinor: Minor): boolean {
  return paidMinor >= totalMinor && COMPLETES.has(status);
}

/** What the lateness policy asks of an account. */
export interface Lateness {
  /** Of the first item that is not fully paid; null when all are. */
  nextDueDate: PlainDate | null;
  graceDays: number;
}

export function isBeyondGrace({ nextDueDate, graceDays }: Lateness, today: PlainDate): boolean {
  return nextDueDate !== null && daysBetween(nextDueDate, today) > graceDays;
}

/** "12 days past due, 7 days of grace": why the lateness policy moves an account. */
export function describeLateness({ nextDueDate, graceDays }: Lateness, today: PlainDate): string {
  const daysPastDue = nextDueDate === null ? 0 : Math.max(0, daysBetween(nextDueDate, today));
  const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
  return `${days(daysPastDue)} past due, ${days(graceDays)} of grace`;
}
