import { type TSchema, Type } from 'typebox';
import type { PlainDate } from '../values/dates.ts';

/**
 * The field types that every resource shares. Their formats (`text`, `calendar-date`, …) and the
 * keywords `x-amount` and `x-decimals` are defined once, in validation.ts.
 */

/** 2^53 − 1: the largest id that a JSON number carries exactly. */
export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const IdParams = Type.Object({ id: { ...Id, examples: [1] } });

/** Text of a person: at least one visible character, no control characters, well-formed Unicode. */
export function Text(maxLength: number, options: { description?: string; example?: string } = {}) {
  return Type.String({ minLength: 1, maxLength, format: 'text', ...options });
}

/** A calendar date of the business, YYYY-MM-DD. */
export const DateText = CalendarDate({ format: 'calendar-date', description: 'YYYY-MM-DD' });

/** A text whose format lets only calendar dates through, so that it is a PlainDate once it is validated. */
export function CalendarDate(options: {
  format: 'calendar-date' | 'past-date';
  description: string;
  examples?: string[];
}) {
  return Type.Unsafe<PlainDate>(Type.String(options));
}

/** A moment in UTC, ISO 8601. */
export const Timestamp = Type.String({ format: 'date-time' });

/** An amount of an answer: a JSON number in units of the currency. */
export const Money = Type.Number({ description: 'In units of the currency.' });

/**
 * An amount of a body: above 0, at most 999,999,999,999.99, with no more decimals than the currency has.
 * The keyword is checked by validation.ts, so that `readAmount` finds only what it can read.
 */
export const AmountAboveZero = Type.Number({
  exclusiveMinimum: 0,
  'x-amount': true,
  description: 'In units of the currency, with no more decimals than it has.',
});

/** As AmountAboveZero, but 0 is allowed. */
export const AmountFromZero = Type.Number({
  minimum: 0,
  'x-amount': true,
  description: 'In units of the currency, with no more decimals than it has.',
});

/** A number above 0 with at most that many decimals, counted in its shortest decimal text. */
export function DecimalAboveZero(decimals: number, maximum: number) {
  return Type.Number({
    exclusiveMinimum: 0,
    maximum,
    'x-decimals': decimals,
    description: `With at most ${decimals} decimals.`,
  });
}

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

export const Email = Type.String({ minLength: 3, maxLength: 254, format: 'mail-address' });

export const PASSWORD_MIN = 8;
const PASSWORD_MAX = 128;
/** Any characters: length is what makes a password hard to guess. */
export const NewPassword = Type.String({ minLength: PASSWORD_MIN, maxLength: PASSWORD_MAX });
