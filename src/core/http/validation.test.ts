import { type TSchema, Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config/config.ts';
import { systemClock } from '../values/dates.ts';
import { AppError } from './errors.ts';
import {
  AmountAboveZero,
  DateText,
  Email,
  EntryDate,
  Id,
  Metadata,
  Nullable,
  Text,
  Timestamp,
} from './fields.ts';
import { createValidatorCompiler } from './validation.ts';

function companyOf(code: string, decimals: number) {
  return { config: readConfig({ CURRENCY: code }), currency: { code, decimals }, clock: systemClock };
}

const compileKes = createValidatorCompiler(companyOf('KES', 2));
const compileUgx = createValidatorCompiler(companyOf('UGX', 0));

/** The value that a handler would receive, or the problems by path. */
function check(schema: TSchema, given: unknown, httpPart = 'body', compile = compileKes): unknown {
  const result = compile({ schema, httpPart })(given);
  if ('value' in result) return result.value;
  if (!(result.error instanceof AppError)) throw result.error;
  const { fields } = result.error.details as { fields: { path: string; message: string }[] };
  return Object.fromEntries(fields.map(({ path, message }) => [path, message]));
}

function isAccepted(schema: TSchema, value: unknown, compile = compileKes): boolean {
  return !('error' in compile({ schema: Type.Object({ x: schema }), httpPart: 'body' })({ x: value }));
}

describe('a body', () => {
  const Body = Type.Object({ id: Id, name: Text(5), note: Type.Optional(Nullable(Text(5))) });

  it('is passed on unchanged', () => {
    const body = { id: 1, name: 'Amina', note: null };
    expect(check(Body, body)).toBe(body);
  });

  it.each(['5', null, true, [5], 5.5, 0, -1, 2 ** 53])(
    'is refused with the id %j, because values are not converted to numbers',
    (id) => {
      expect(check(Body, { id, name: 'A' })).toHaveProperty('id');
    },
  );

  it('is refused with an error that names every wrong field and its rule', () => {
    expect(check(Body, { id: 'x', name: '', nmae: 1 })).toEqual({
      id: 'must be an integer',
      name: 'must not be empty',
      nmae: 'is not a known field; allowed: id, name, note',
    });
    expect(check(Body, undefined)).toEqual({ id: 'is required', name: 'is required' });
    expect(check(Body, [])).toEqual({ body: 'must be an object' });
  });

  it('is refused with paths such as items[0].quantity for fields in lists and objects', () => {
    const Nested = Type.Object({ items: Type.Array(Type.Object({ quantity: Type.Integer() })) });
    expect(check(Nested, { items: [{ quantity: 1 }, { quantity: 'x', size: 1 }] })).toEqual({
      'items[1].quantity': 'must be an integer',
      'items[1].size': 'is not a known field; allowed: quantity',
    });
  });

  it('with a __proto__ key is refused like one with any other unknown field', () => {
    const body: unknown = JSON.parse('{"id":1,"name":"A","__proto__":{"admin":true}}');
    expect(check(Body, body)).toHaveProperty(['__proto__']);
  });

  it('with 21 wrong fields is refused with an error that names twenty of them and says that there are more', () => {
    const Items = Type.Array(Type.Object({ quantity: Type.Integer() }), { maxItems: 100 });
    const items = Array.from({ length: 21 }, () => ({ quantity: 'x' }));
    const refused = compileKes({ schema: Items, httpPart: 'body' })(items) as { error: AppError };
    expect(refused.error.details.fields).toHaveLength(20);
    expect(refused.error.message).toMatch(/^More than 20 fields are wrong. The first: \[0\]/);
    const twenty = compileKes({ schema: Items, httpPart: 'body' })(items.slice(1)) as { error: AppError };
    expect(twenty.error.message).toMatch(/^20 fields are wrong: /);
  });

  it.each([
    ['unknown fields', Type.Object({ id: Type.Optional(Id), metadata: Type.Optional(Metadata) }), 'body', 2],
    ['keys of metadata', Metadata, 'body', 20],
    ['keys of nested metadata', Type.Object({ metadata: Nullable(Metadata) }), 'metadata', 20],
  ])('with too many %s is refused with one problem, their number', (_what, schema, path, limit) => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`bad key ${i}`, 1]));
    const body = path === 'body' ? many : { [path]: many };
    expect(check(schema, body)).toEqual({ [path]: `must have at most ${limit} keys` });
  });

  it('with too many items is refused with one problem, their number', () => {
    const Items = Type.Object({ items: Type.Array(Type.Integer(), { maxItems: 2 }) });
    expect(check(Items, { items: ['x', 'y', 'z'] })).toEqual({
      items: expect.stringContaining('2 items'),
    });
  });
});

describe('a part of the address', () => {
  const Query = Type.Object({
    page: Type.Optional(Type.Integer({ minimum: 1 })),
    active: Type.Optional(Type.Boolean()),
    search: Type.Optional(Type.String({ format: 'query-text' })),
  });

  it('is converted to a number or a flag', () => {
    expect(check(Query, { page: '12', active: 'true', search: '12' }, 'querystring')).toEqual({
      page: 12,
      active: true,
      search: '12',
    });
  });

  it.each(['', ' 1', '1 ', '01', '+1', '1.0', '1e3', '0x1', '١', '99999999999999999'])(
    'is not a number if it is written "%s"',
    (page) => {
      expect(check(Query, { page }, 'querystring')).toEqual({ page: 'must be an integer' });
    },
  );

  it.each(['TRUE', '1', 'yes', ''])('is not a flag if it is written "%s"', (active) => {
    expect(check(Query, { active }, 'querystring')).toEqual({ active: 'must be a boolean' });
  });

  it('that is repeated is refused with its name', () => {
    expect(check(Query, { page: ['1', '2'] }, 'querystring')).toHaveProperty('page');
  });
});

describe('the formats', () => {
  it.each(['ወልደ', 'O’Brien', ' a ', '👍'])('accept the text "%s"', (text) => {
    expect(isAccepted(Text(50), text)).toBe(true);
  });

  it.each([' ', '\u00a0', 'a\nb', 'a\0', '\u202e\u0085', '\ud800'])('refuse the text %j', (text) => {
    expect(isAccepted(Text(50), text)).toBe(false);
  });

  it.each(['2024-02-29', '1900-01-01', '2999-12-31'])('accept the date %s', (text) => {
    expect(isAccepted(DateText, text)).toBe(true);
  });

  it.each(['2023-02-29', '2024-2-9', '2024-02-29T00:00:00Z', '1899-12-31', '29.02.2024', ''])(
    'refuse the date "%s"',
    (text) => {
      expect(isAccepted(DateText, text)).toBe(false);
    },
  );

  it.each(['1999-12-31', '0202-01-05', '1926-01-05', '2023-02-29'])(
    'refuse %s as the date of an entry',
    (text) => {
      expect(isAccepted(EntryDate, text)).toBe(false);
      expect(isAccepted(EntryDate, '2000-01-01')).toBe(true);
    },
  );

  it.each(['2026-11-01T10:15Z', '2026-11-01T10:15:30.123+03:00'])('accept the timestamp %s', (text) => {
    expect(isAccepted(Timestamp, text)).toBe(true);
  });

  it.each(['5', '2026-11-01', '2026-11-01T10:15:30', '2026-02-30T10:15Z', '+275760-09-13T00:00:00.000Z'])(
    'refuse the timestamp %s',
    (text) => {
      expect(isAccepted(Timestamp, text)).toBe(false);
    },
  );

  it.each(['a@b.co', "o'brien+x@mail.example.com", 'ñ@xn--exmple-cua.com'])(
    'accept the e-mail address %s',
    (text) => {
      expect(isAccepted(Email, text)).toBe(true);
    },
  );

  it.each(['a', 'a@b', '@b.co', 'a@b.', 'a b@c.de', 'a@b..c', 'a@b,c.de', 'a@@b.co', 'a\u200bb@c.de'])(
    'refuse the e-mail address %s',
    (text) => {
      expect(isAccepted(Email, text)).toBe(false);
    },
  );
});

describe('an amount', () => {
  it.each([0.01, 1, 1234.5, 999_999_999_999.99])('can be %d in KES', (amount) => {
    expect(isAccepted(AmountAboveZero, amount)).toBe(true);
  });

  it.each([0, -1, 0.001, 1.005, 0.1 + 0.2, 1_000_000_000_000, 1e21, '1', null])(
    'cannot be %j in KES',
    (amount) => {
      expect(isAccepted(AmountAboveZero, amount)).toBe(false);
    },
  );

  it('has no decimals in a currency without decimals', () => {
    expect(isAccepted(AmountAboveZero, 1500, compileUgx)).toBe(true);
    expect(isAccepted(AmountAboveZero, 1500.5, compileUgx)).toBe(false);
  });

  it('has a message with the limit and the decimals', () => {
    expect(check(Type.Object({ amount: AmountAboveZero }), { amount: 1.005 })).toEqual({
      amount: 'must be at most 999999999999.99, with no more than 2 decimals (KES)',
    });
  });
});
