import type { CallKind, CallResult } from '../../core/database/tables.ts';
import { invalidField } from '../../core/http/errors.ts';
import { addDays, compareDates, type PlainDate } from '../../core/values/dates.ts';

export const CALL_KINDS = ['call', 'visit'] as const satisfies CallKind[];
/** The officer did not speak with the customer. All other results are contacts. */
export const ATTEMPTS = ['no_answer', 'wrong_number'] as const satisfies CallResult[];
export const CONTACTS = ['reached', 'promise', 'dispute', 'other'] as const satisfies CallResult[];
export const CALL_RESULTS = [...ATTEMPTS, ...CONTACTS] as const satisfies CallResult[];

export const LEASE_MINUTES = 15;
/** A call can be put off by at most this many days. */
export const MAX_DAYS_TO_NEXT_CALL = 30;
/** One attempt more on a day gives a warning. */
const MAX_ATTEMPTS_OF_DAY = 3;
const FIRST_HOUR = 8;
/** The first hour in which customers are no longer called. */
const END_HOUR = 19;

export const CALL_WARNINGS = {
  fourth_attempt: `This number was already tried ${MAX_ATTEMPTS_OF_DAY} times or more today.`,
  outside_hours: `Customers are called from ${FIRST_HOUR}:00 to ${END_HOUR}:00.`,
} as const;
export type CallWarningCode = keyof typeof CALL_WARNINGS;
export const CALL_WARNING_CODES = Object.keys(CALL_WARNINGS) as CallWarningCode[];

/**
 * What is unusual about an attempt. It is saved nevertheless.
 * @param attemptsBefore - the attempts on the same number on this day.
 * @param hour - the hour of the day in the time zone of the business.
 */
export function warningsOf({ attemptsBefore, hour }: { attemptsBefore: number; hour: number }) {
  const codes: CallWarningCode[] = [];
  if (attemptsBefore >= MAX_ATTEMPTS_OF_DAY) codes.push('fourth_attempt');
  if (hour < FIRST_HOUR || hour >= END_HOUR) codes.push('outside_hours');
  return codes.map((code) => ({ code, message: CALL_WARNINGS[code] }));
}

export function isAttempt(result: CallResult): boolean {
  return (ATTEMPTS as readonly CallResult[]).includes(result);
}

/** The hour of the day in a time zone, 0 to 23. */
export function hourIn(instant: Date, timeZone: string): number {
  return Number(
    new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' }).format(instant),
  );
}

interface CallFields {
  kind: CallKind;
  result: CallResult;
  nextCallOn: PlainDate | undefined;
  hasPromise: boolean;
  hasNote: boolean;
}

/** Checks the fields that depend on the result. @throws AppError VALIDATION_ERROR with the field. */
export function checkCall({ kind, result, nextCallOn, hasPromise, hasNote }: CallFields, today: PlainDate) {
  if (kind === 'visit' && result === 'wrong_number') {
    throw invalidField('result', 'must not be wrong_number for a visit');
  }
  if (hasPromise !== (result === 'promise')) {
    throw invalidField(
      'promise',
      hasPromise ? 'is only allowed for the result promise' : 'is required for the result promise',
    );
  }
  if (result === 'dispute' && !hasNote) {
    throw invalidField('note', 'is required for a dispute: say what the customer disputes');
  }
  const needsNext = result === 'reached' || result === 'other';
  if (needsNext !== (nextCallOn !== undefined)) {
    throw invalidField(
      'nextCallOn',
      needsNext
        ? `is required for the result ${result}`
        : 'is only allowed for the results reached and other',
    );
  }
  const latest = addDays(today, MAX_DAYS_TO_NEXT_CALL);
  if (nextCallOn && (compareDates(nextCallOn, today) < 0 || compareDates(nextCallOn, latest) > 0)) {
    throw invalidField('nextCallOn', `must be from ${today} to ${latest}`);
  }
}

/** Why a user must not mark a call as saved by mistake. Undefined: the user may. */
export function refusalOfMistake(
  call: { createdBy: number; calledOn: PlainDate; isMistake: boolean; isPromiseReplaced: boolean },
  { userId, today }: { userId: number | null; today: PlainDate },
): string | undefined {
  if (call.createdBy !== userId) return 'Only the user who saved a call can mark it as a mistake.';
  if (call.calledOn !== today)
    return 'A call can be marked as a mistake only on the day on which it was saved.';
  if (call.isMistake) return 'The call is already marked as a mistake.';
  if (call.isPromiseReplaced)
    return 'A later promise replaces the promise of this call. Mark the later call as a mistake first.';
  return undefined;
}
