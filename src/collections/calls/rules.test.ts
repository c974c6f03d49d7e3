import { describe, expect, it } from 'vitest';
import type { CallResult } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import {
  CALL_KINDS,
  CALL_RESULTS,
  CALL_WARNING_CODES,
  CALL_WARNINGS,
  checkCall,
  hourIn,
  isAttempt,
  refusalOfMistake,
  warningsOf,
} from './rules.ts';

const day = (text: string) => text as PlainDate;
const TODAY = day('2026-11-18');

describe('a call', () => {
  it('is a contact if the officer spoke with the customer, else an attempt', () => {
    expect(CALL_RESULTS.map((result) => [result, isAttempt(result)])).toEqual([
      ['no_answer', true],
      ['wrong_number', true],
      ['reached', false],
      ['promise', false],
      ['dispute', false],
      ['other', false],
    ]);
  });
});

describe('the warnings of an attempt', () => {
  const codes = (attemptsBefore: number, hour: number) =>
    warningsOf({ attemptsBefore, hour }).map(({ code }) => code);

  it('are none in the hours of calls, up to the third attempt of the day', () => {
    for (const hour of [8, 12, 18]) expect(codes(2, hour)).toEqual([]);
  });

  it('say that the number was tried three times before', () => {
    expect(codes(3, 12)).toEqual(['fourth_attempt']);
    expect(codes(4, 12)).toEqual(['fourth_attempt']);
  });

  it('say that it is too early or too late to call', () => {
    for (const hour of [0, 7, 19, 23]) expect(codes(0, hour)).toEqual(['outside_hours']);
  });

  it('are all that apply, each with its sentence', () => {
    expect(warningsOf({ attemptsBefore: 3, hour: 20 })).toEqual(
      CALL_WARNING_CODES.map((code) => ({ code, message: CALL_WARNINGS[code] })),
    );
    expect(CALL_WARNING_CODES).toHaveLength(2);
  });
});

describe('the hour of a call', () => {
  it.each([
    ['2026-11-18T05:59:59.999Z', 'Africa/Nairobi', 8],
    ['2026-11-18T06:00:00.000Z', 'Africa/Nairobi', 9],
    ['2026-11-18T21:00:00.000Z', 'Africa/Nairobi', 0],
    ['2026-11-18T20:59:00.000Z', 'Africa/Nairobi', 23],
    ['2026-11-18T12:00:00.000Z', 'UTC', 12],
  ])('at %s in %s is %i', (instant, timeZone, hour) => {
    expect(hourIn(new Date(instant), timeZone)).toBe(hour);
  });
});

describe('the fields of a call', () => {
  const NEEDS_NEXT: CallResult[] = ['reached', 'other'];
  /** A call with all that its result needs. */
  const check = (result: CallResult, fields: Partial<Parameters<typeof checkCall>[0]> = {}) =>
    checkCall(
      {
        kind: 'call',
        result,
        nextCallOn: NEEDS_NEXT.includes(result) ? TODAY : undefined,
        hasPromise: result === 'promise',
        hasNote: result === 'dispute',
        ...fields,
      },
      TODAY,
    );
  const refused = (path: string) =>
    expect.objectContaining({
      code: 'VALIDATION_ERROR',
      details: { fields: [expect.objectContaining({ path })] },
    });

  it.each(CALL_RESULTS)('are accepted with all that the result %s needs', (result) => {
    expect(() => check(result)).not.toThrow();
    // A note is allowed with every result.
    expect(() => check(result, { hasNote: true })).not.toThrow();
  });

  it('of a visit cannot have a wrong number as the result', () => {
    expect(() => check('wrong_number', { kind: 'visit' })).toThrow(refused('result'));
    for (const result of CALL_RESULTS.filter((one) => one !== 'wrong_number'))
      expect(() => check(result, { kind: 'visit' })).not.toThrow();
    expect(CALL_KINDS).toEqual(['call', 'visit']);
  });

  it.each(CALL_RESULTS)('have a promise if, and only if, one was made: %s', (result) => {
    expect(() => check(result, { hasPromise: result !== 'promise' })).toThrow(refused('promise'));
  });

  it('of a dispute say what the customer disputes', () => {
    expect(() => check('dispute', { hasNote: false })).toThrow(refused('note'));
  });

  it.each(CALL_RESULTS)('have a next day if, and only if, nothing else says when to call: %s', (result) => {
    const nextCallOn = NEEDS_NEXT.includes(result) ? undefined : TODAY;
    expect(() => check(result, { nextCallOn })).toThrow(refused('nextCallOn'));
  });

  it.each<[string, boolean]>([
    ['2026-11-17', false],
    ['2026-11-18', true],
    ['2026-12-18', true],
    ['2026-12-19', false],
  ])('put the next call off by at most 30 days: %s, %s', (date, isAccepted) => {
    const saved = expect(() => check('reached', { nextCallOn: day(date) }));
    if (isAccepted) saved.not.toThrow();
    else saved.toThrow(refused('nextCallOn'));
  });
});

describe('a call that was saved by mistake', () => {
  const call = { createdBy: 5, calledOn: TODAY, isMistake: false, isPromiseReplaced: false };
  const by = { userId: 5, today: TODAY };

  it('can be marked by the user who saved it, on the same day', () => {
    expect(refusalOfMistake(call, by)).toBeUndefined();
  });

  it.each<[string, Partial<typeof call>, Partial<{ userId: number | null; today: PlainDate }>, string]>([
    ['by another user', {}, { userId: 6 }, 'Only the user who saved'],
    ['by an API key', {}, { userId: null }, 'Only the user who saved'],
    ['on a later day', {}, { today: day('2026-11-19') }, 'only on the day'],
    ['a second time', { isMistake: true }, {}, 'already marked'],
    ['after a later promise has replaced its promise', { isPromiseReplaced: true }, {}, 'later call'],
  ])('cannot be marked %s', (_, fields, actor, reason) => {
    expect(refusalOfMistake({ ...call, ...fields }, { ...by, ...actor })).toContain(reason);
  });
});
