import type {
  AccountStatus,
  BulkDeferralProblem,
  BulkDeferralState,
  BulkDeferralStatus,
} from '../../core/database/tables.ts';
import { AppError, illegalMove } from '../../core/http/errors.ts';

export const BULK_DEFERRAL_MOVES = ['running', 'undoing', 'expired', 'done'] as const;
type Move = (typeof BULK_DEFERRAL_MOVES)[number];

/** The statuses of a bulk deferral: whether a job works on it, and the next statuses for which a user can ask. */
const STATUSES = {
  previewing: { hasJob: true, next: ['expired'] },
  draft: { hasJob: false, next: ['running', 'expired'] },
  expired: { hasJob: false, next: [] },
  running: { hasJob: true, next: ['done'] },
  done: { hasJob: false, next: ['undoing'] },
  undoing: { hasJob: true, next: [] },
  undone: { hasJob: false, next: [] },
  failed: { hasJob: false, next: [] },
} as const satisfies Record<BulkDeferralStatus, { hasJob: boolean; next: readonly Move[] }>;

export const BULK_DEFERRAL_STATUSES = Object.keys(STATUSES) as BulkDeferralStatus[];
export const STATUSES_WITH_JOB = BULK_DEFERRAL_STATUSES.filter((status) => STATUSES[status].hasJob);

export const BULK_DEFERRAL_STATES = [
  'selected',
  'refused',
  'waiting',
  'deferred',
  'skipped',
  'undone',
  'not_undone',
] as const satisfies readonly BulkDeferralState[];

export const BULK_DEFERRAL_PROBLEMS = [
  'status',
  'plan_changed',
  'money_posted',
  'not_possible',
  'later_change',
  'already_undone',
  'failed',
  'stopped',
] as const satisfies readonly BulkDeferralProblem[];

export type CountsByState = Partial<Record<BulkDeferralState, number>>;

/** The statuses for which a user can ask now. */
export function nextStatuses(
  status: BulkDeferralStatus,
  { hasWaiting, hasDeferred }: { hasWaiting: boolean; hasDeferred: boolean },
): Move[] {
  const isPossible = { running: hasWaiting, undoing: hasDeferred, expired: true, done: true };
  return STATUSES[status].next.filter((next) => isPossible[next]);
}

/** @throws AppError VALIDATION_ERROR if the status does not allow the work. */
export function checkMove(from: BulkDeferralStatus, to: Move): void {
  const allowed: readonly BulkDeferralStatus[] = STATUSES[from].next;
  if (!allowed.includes(to)) throw illegalMove('A bulk deferral', from, to, allowed);
}

/**
 * Whether a user can still ask for the status. False if it was reached, by an earlier call or without one.
 * @throws AppError VALIDATION_ERROR with status 409 if the work has gone another way since the user saw it.
 */
export function needsMove(from: BulkDeferralStatus, to: 'expired' | 'done'): boolean {
  if (from === to) return false;
  const allowed: readonly BulkDeferralStatus[] = STATUSES[from].next;
  if (allowed.includes(to)) return true;
  const message =
    to === 'expired'
      ? `The preview cannot be discarded any more: the bulk deferral is ${from}.`
      : `The bulk deferral cannot be stopped: it is ${from}.`;
  const details = { from, to, allowed: [...allowed] };
  throw new AppError('VALIDATION_ERROR', message, { status: 409, details });
}

/** Why an account was left out, as a code and as a text. */
export interface Problem {
  code: BulkDeferralProblem;
  text: string;
}

export const STOPPED: Problem = { code: 'stopped', text: 'the deferral was stopped' };

export function statusProblemOf(status: AccountStatus): Problem {
  return { code: 'status', text: `the account is ${status}` };
}

/** The problem of a change of a plan that was refused. */
export function problemOf(refusal: AppError): Problem {
  const { fields = [] } = refusal.details as { fields?: { path: string; message: string }[] };
  const text = fields.map(({ path, message }) => `${path} ${message}`).join('; ') || refusal.message;
  const has = (path: string) => fields.some((field) => field.path === path);
  if (has('confirm.version')) return { code: 'plan_changed', text: 'the plan has changed since the preview' };
  if (has('confirm.paid'))
    return {
      code: 'money_posted',
      text: 'the sum paid, which the effect depends on, has changed since the preview',
    };
  return { code: 'not_possible', text };
}

/**
 * Why a change cannot be undone: it is not the newest one.
 * @param inEffect - the ids of the changes of the account that are not undone, in their order.
 */
export function problemOfUndo(changeId: number | null, inEffect: readonly number[]): Problem | undefined {
  if (inEffect.at(-1) === changeId) return undefined;
  return inEffect.some((id) => id === changeId)
    ? { code: 'later_change', text: 'a later change of the plan would have to be undone first' }
    : { code: 'already_undone', text: 'the deferral of the account is already undone' };
}
