import { type TSchema, Type } from 'typebox';
import { EARLIEST_ENTRY, type PlainDate } from '../values/dates.ts';

/** Field types that resources share. validation.ts defines their formats (`text`, …) and their keywords (`x-amount`, …). */

/** The maximum is 2^53 − 1: every integer up to it is exact as a JSON number. */
export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const IdParams = Type.Object({ id: { ...Id, examples: [1] } });

/** Text with at least one visible character, no control characters, and well-formed Unicode. */
export function Text(maxLength: number, options: { description?: string; example?: string } = {}) {
  return Type.String({ minLength: 1, maxLength, format: 'text', ...options });
}

/** The reference of a transaction. */
export const Reference = Type.String({ minLength: 1, maxLength: 100, format: 'reference' });

/** Text that logs and histories show. It has no invisible characters, such as those that change the direction of text. */
export function Label(maxLength: number, options: { description?: string } = {}) {
  return Type.String({ minLength: 1, maxLength, format: 'external-id', ...options });
}

export const DateText = CalendarDate({ format: 'calendar-date', description: 'YYYY-MM-DD' });

/** The date of an entry, such as a payment. */
export const EntryDate = CalendarDate({
  format: 'entry-date',
  description: `YYYY-MM-DD, from ${EARLIEST_ENTRY}.`,
});

/** Text that is a PlainDate after validation. */
export function CalendarDate(options: {
  format: 'calendar-date' | 'entry-date' | 'past-date';
  description: string;
  examples?: string[];
}) {
  return Type.Unsafe<PlainDate>(Type.String(options));
}

/** A time in UTC, ISO 8601. */
export const Timestamp = Type.String({ format: 'date-time' });

/** An amount in an answer: a JSON number in units of the currency. */
export const Money = Type.Number({ description: 'In units of the currency.' });

/**
 * An amount in a body: above 0, at most `maxAmountMinor`, with no more decimals than the currency has. Use `readAmount` to
 * convert it after validation.
 */
export const AmountAboveZero = Type.Number({
  exclusiveMinimum: 0,
  'x-amount': true,
  description: 'In units of the currency, with no more decimals than the currency has.',
});

/** Like AmountAboveZero, but 0 is allowed. */
export const AmountFromZero = Type.Number({
  minimum: 0,
  'x-amount': true,
  description: 'In units of the currency, with no more decimals than the currency has.',
});

/** A number above 0 whose shortest decimal text has at most this many decimals. */
export function DecimalAboveZero(decimals: number, maximum: number) {
  return Type.Number({
    exclusiveMinimum: 0,
    maximum,
    'x-decimals': decimals,
    description: `With at most ${decimals} decimals.`,
  });
}

/**
 * One of a closed list of values.
 * @param title - the name of the list in the API description. A `description` in the options describes the field, not the list.
 */
export function Choice<const Value extends string>(
  title: string,
  values: readonly Value[],
  options: { description?: string; default?: Value; examples?: Value[] } = {},
) {
  return Type.Unsafe<Value>(Type.Enum([...values], { title, ...options }));
}

/** The languages of documents for customers. */
export const LANGUAGES = ['en', 'sw'] as const;
export type Language = (typeof LANGUAGES)[number];

/** For a query that returns texts for a customer. */
export const CustomerTextLanguage = Type.Optional(
  Choice('DocumentLanguage', LANGUAGES, {
    description:
      'The language of the texts: English or Swahili. Default: the language of the customer, or else of the company (`DOCUMENT_LANGUAGE`). ' +
      'Texts that people have entered are not translated.',
    examples: ['sw'],
  }),
);

/** For a query that returns a document. */
export const DocumentLanguage = Type.Optional(
  Choice('DocumentLanguage', LANGUAGES, {
    default: 'en',
    description:
      'The language of the document: English or Swahili. Texts that people have entered are not translated.',
    examples: ['sw'],
  }),
);

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** For a query: one or more of the values, separated by commas. Use `choicesOf` to parse the text. */
export function Choices<T extends string>(values: readonly T[], description: string) {
  return Type.Unsafe<ChoiceText<T>>({
    type: 'string',
    maxLength: 200,
    'x-choices': values,
    description,
    examples: values.slice(0, 1),
  });
}

/** Text with one or more values of T, separated by commas. */
export type ChoiceText<T extends string> = string & { readonly choices?: T };

export function choicesOf<T extends string>(text: ChoiceText<T> | undefined): ReadonlySet<T> {
  return new Set(text?.split(',').map((value) => value.trim() as T));
}

/** A key such as `region`. */
export const METADATA_KEY = {
  pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,39}$',
  description: 'must be a letter, followed by up to 39 letters, digits, "_", "-" or "."',
};
export const METADATA_VALUE = { type: 'string', maxLength: 500, format: 'query-text' };

/** A JSON value that is neither a list nor an object, with text of at most `maxLength` characters. */
export function ScalarValue(maxLength: number) {
  return {
    type: ['string', 'number', 'boolean', 'null'],
    // A larger integer is not exact as a number of JavaScript.
    minimum: -Number.MAX_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    maxLength,
    format: 'query-text',
  };
}

/** Text that another system stores with a resource. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 20,
  propertyNames: METADATA_KEY,
  additionalProperties: METADATA_VALUE,
  description: 'Your own text values by key. At most 20 keys, and at most 500 characters in each value.',
});

export const Email = Type.String({ minLength: 3, maxLength: 254, format: 'mail-address' });

export const PASSWORD_MIN = 8;
const PASSWORD_MAX = 128;
/** Any characters are allowed, because length makes a password hard to guess. */
export const NewPassword = Type.String({ minLength: PASSWORD_MIN, maxLength: PASSWORD_MAX });
