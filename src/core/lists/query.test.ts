import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config/config.ts';
import type { Context } from '../context.ts';
import type { Db } from '../database/db.ts';
import { AppError } from '../http/errors.ts';
import { createValidatorCompiler } from '../http/validation.ts';
import { defineList, type ListPlan, parseQueryString } from './query.ts';
import { likeLiteral } from './sql.ts';

const context: Context = {
  db: undefined as unknown as Db, // parsing a query needs no database
  clock: { now: () => new Date('2026-03-02T09:00:00Z') },
  config: readConfig({}),
  currency: { code: 'KES', decimals: 2 },
  secret: 'unused',
};

const list = defineList(
  {
    id: { kind: 'id', column: 'id' },
    name: { kind: 'text', column: 'name' },
    amount: { kind: 'money', column: 'amount' },
    day: { kind: 'date', column: 'day' },
    active: { kind: 'boolean', column: 'active' },
    colour: { kind: 'enum', column: 'colour', values: ['red', 'green'] },
    createdAt: { kind: 'timestamp', column: 'created_at' },
  },
  { search: Type.Optional(Type.String()) },
);

const validate = createValidatorCompiler(context)({ schema: list.query, httpPart: 'querystring' });

/** Parses a query string as the server does. Returns the plan, or the problems by path. */
function read(queryString: string) {
  const checked = validate(parseQueryString(queryString));
  if ('error' in checked) return { problems: problemsOf(checked.error) };
  return { plan: checked.value as ListPlan & { search?: string } };
}

function problemsOf(error: unknown): Record<string, string> {
  if (!(error instanceof AppError)) throw error;
  const { fields } = error.details as { fields: { path: string; message: string }[] };
  return Object.fromEntries(fields.map(({ path, message }) => [path, message]));
}

describe('parseQueryString', () => {
  it('groups the filters of one field and reads a filter without an operator as eq', () => {
    expect(parseQueryString('filter[a][gte]=1&filter[a][lt]=5&filter[b]=x&page=2')).toEqual({
      'filter[a]': { gte: '1', lt: '5' },
      'filter[b]': { eq: 'x' },
      page: '2',
    });
  });

  it('decodes escapes and plus signs in names and values', () => {
    expect(parseQueryString('filter%5Ba%5D%5Beq%5D=a%26b+c&search=%E1%8B%88')).toEqual({
      'filter[a]': { eq: 'a&b c' },
      search: 'ወ',
    });
  });

  it('turns a repeated parameter into a list, which no schema accepts', () => {
    expect(parseQueryString('page=1&page=2&filter[a]=1&filter[a][eq]=2')).toEqual({
      page: ['1', '2'],
      'filter[a]': { eq: ['1', '2'] },
    });
  });

  it.each(['__proto__', 'constructor', 'filter[__proto__][x]', 'filter[a][__proto__]'])(
    'reads %s as an ordinary name',
    (name) => {
      const query = parseQueryString(`${name}=1`);
      expect(Object.getPrototypeOf(query)).toBeNull();
      expect(Object.keys(query)).toHaveLength(1);
      expect(({} as Record<string, unknown>).x).toBeUndefined();
    },
  );

  it('keeps the name of a parameter that only resembles a filter', () => {
    expect(parseQueryString('filter[a][b][c]=1&filter=2')).toEqual({ 'filter[a][b][c]': '1', filter: '2' });
  });
});

describe('likeLiteral', () => {
  it('escapes %, _ and \\', () => {
    expect(likeLiteral('50%_\\x')).toBe('50\\%\\_\\\\x');
  });
});

describe('defineList', () => {
  it('defaults to the first page of twenty rows', () => {
    expect(read('').plan).toMatchObject({ page: 1, limit: 20, filters: [], isPlain: true });
    expect(read('page=3&limit=100').plan).toMatchObject({ page: 3, limit: 100 });
  });

  it('gives the handler typed filter values and the other parameters', () => {
    const { plan } = read('filter[amount][gte]=1.50&filter[amount][lt]=9&filter[active]=true&search=a');
    expect(plan).toMatchObject({ search: 'a', isPlain: false });
    expect(plan?.filters.map(({ field, operator, values }) => [field.name, operator, values])).toEqual([
      ['amount', 'gte', [150n]],
      ['amount', 'lt', [900n]],
      ['active', 'eq', [true]],
    ]);
  });

  it.each(['page=0', 'page=-1', 'page=x', 'limit=0', 'limit=101', 'page=1&page=2', 'limit='])(
    'refuses %s',
    (query) => {
      expect(Object.keys(read(query).problems ?? {})).toEqual([query.split('=', 1)[0]]);
    },
  );

  it('names an unknown field or operator, and lists the allowed names', () => {
    const { problems = {} } = read('filter[nmae]=x&filter[active][gt]=true&filter[name][like]=x');
    expect(problems['filter[nmae]']).toContain('filter[name]');
    expect(problems['filter[active][gt]']).toBe('is not a known field; allowed: eq, ne, isnull');
    expect(problems['filter[name][like]']).toContain('contains, startswith, isnull');
  });

  it.each([
    ['filter[id][eq]', '1.5'],
    ['filter[id][in]', '1,x'],
    ['filter[id][gt]', '99999999999999999'],
    ['filter[amount][eq]', '1.005'],
    ['filter[amount][eq]', '1e3'],
    ['filter[amount][eq]', '9'.repeat(30)],
    ['filter[day][gte]', '2026-02-30'],
    ['filter[active][eq]', '1'],
    ['filter[colour][eq]', 'blue'],
    ['filter[colour][in]', 'red,blue'],
    ['filter[createdAt][lt]', '2026-02-30'],
    ['filter[createdAt][lt]', '2026-02-30T00:00:00Z'],
    ['filter[createdAt][lt]', '2026-02-28T00:00:00'],
    ['filter[name][isnull]', 'yes'],
  ])('refuses %s with the value "%s", and names the filter', (path, value) => {
    expect(Object.keys(read(`${path}=${value}`).problems ?? {})).toEqual([path]);
  });

  it('names all wrong filters and sort keys at once', () => {
    const { problems } = read('filter[id]=x&filter[day][lt]=y&sort=nmae:asc');
    expect(Object.keys(problems ?? {}).sort()).toEqual(['filter[day][lt]', 'filter[id][eq]', 'sort']);
  });

  it.each(['nmae:asc', 'name:up', 'name:asc:desc', ',', 'constructor:asc', 'id,id,id,id,id,id'])(
    'refuses sort=%s',
    (sort) => {
      expect(Object.keys(read(`sort=${sort}`).problems ?? {})).toEqual(['sort']);
    },
  );

  it('accepts at most a hundred values for the operator in', () => {
    const values = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join(',');
    expect(read(`filter[id][in]=${values(100)}`).plan?.filters[0]?.values).toHaveLength(100);
    expect(read(`filter[id][in]=${values(101)}`).problems).toEqual({
      'filter[id][in]': 'must have at most 100 values',
    });
  });
});
