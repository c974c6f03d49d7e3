import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config.ts';
import type { Context } from '../context.ts';
import type { Db } from '../database/db.ts';
import { AppError } from '../http/errors.ts';
import { createValidatorCompiler } from '../http/validation.ts';
import { column, defineList, likeLiteral, parseQueryString } from './query.ts';

const context: Context = {
  db: undefined as unknown as Db, // reading a query asks no database
  clock: { now: () => new Date('2026-03-02T09:00:00Z') },
  config: readConfig({}),
  currency: { code: 'KES', decimals: 2 },
  secret: 'of no use here',
};

const list = defineList(
  {
    id: { kind: 'id', column: column('id') },
    name: { kind: 'text', column: column('name') },
    amount: { kind: 'money', column: column('amount') },
    day: { kind: 'date', column: column('day') },
    active: { kind: 'boolean', column: column('active') },
    colour: { kind: 'enum', column: column('colour'), values: ['red', 'green'] },
    createdAt: { kind: 'timestamp', column: column('created_at') },
  },
  { search: Type.Optional(Type.String()) },
);

const validate = createValidatorCompiler(context)({ schema: list.query, httpPart: 'querystring' });

/** Reads a query string as a request does; the problems by path. */
function read(queryString: string) {
  const checked = validate(parseQueryString(queryString));
  if ('error' in checked) return { problems: problemsOf(checked.error) };
  try {
    return { plan: list.read(checked.value as Parameters<typeof list.read>[0], context) };
  } catch (error) {
    return { problems: problemsOf(error) };
  }
}

function problemsOf(error: unknown): Record<string, string> {
  if (!(error instanceof AppError)) throw error;
  const { fields } = error.details as { fields: { path: string; message: string }[] };
  return Object.fromEntries(fields.map(({ path, message }) => [path, message]));
}

describe('parseQueryString', () => {
  it('gathers the tests of one field, and reads one without operator as eq', () => {
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

  it('makes a list of what comes twice, so that no schema accepts it', () => {
    expect(parseQueryString('page=1&page=2&filter[a]=1&filter[a][eq]=2')).toEqual({
      page: ['1', '2'],
      'filter[a]': { eq: ['1', '2'] },
    });
  });

  it.each(['__proto__', 'constructor', 'filter[__proto__][x]', 'filter[a][__proto__]'])(
    'takes %s for a name like any other',
    (name) => {
      const query = parseQueryString(`${name}=1`);
      expect(Object.getPrototypeOf(query)).toBeNull();
      expect(Object.keys(query)).toHaveLength(1);
      expect(({} as Record<string, unknown>).x).toBeUndefined();
    },
  );

  it('leaves what only looks like a filter a name of its own', () => {
    expect(parseQueryString('filter[a][b][c]=1&filter=2')).toEqual({ 'filter[a][b][c]': '1', filter: '2' });
  });
});

describe('likeLiteral', () => {
  it('lets %, _ and \\ stand for themselves', () => {
    expect(likeLiteral('50%_\\x')).toBe('50\\%\\_\\\\x');
  });
});

describe('a list query', () => {
  it('without anything is the first page of twenty', () => {
    expect(read('').plan).toMatchObject({ page: 1, limit: 20, conditions: [] });
    expect(read('page=3&limit=100').plan).toMatchObject({ page: 3, limit: 100 });
  });

  it('makes a condition of each test', () => {
    expect(
      read('filter[amount][gte]=1.50&filter[amount][lt]=9&filter[active]=true').plan?.conditions,
    ).toHaveLength(3);
  });

  it.each(['page=0', 'page=-1', 'page=x', 'limit=0', 'limit=101', 'page=1&page=2', 'limit='])(
    'with %s is refused',
    (query) => {
      expect(Object.keys(read(query).problems ?? {})).toEqual([query.split('=', 1)[0]]);
    },
  );

  it('names an unknown field and an unknown operator, with those that are allowed', () => {
    const { problems = {} } = read('filter[nmae]=x&filter[active][gt]=true&filter[name][like]=x');
    expect(problems['filter[nmae]']).toContain('filter[name]');
    expect(problems['filter[active][gt]']).toBe('is not known here; allowed: eq, ne, isnull');
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
  ])('names %s when it is "%s"', (path, value) => {
    expect(Object.keys(read(`${path}=${value}`).problems ?? {})).toEqual([path]);
  });

  it('names every wrong test and sort at once', () => {
    const { problems } = read('filter[id]=x&filter[day][lt]=y&sort=nmae:asc');
    expect(Object.keys(problems ?? {}).sort()).toEqual(['filter[day][lt]', 'filter[id][eq]', 'sort']);
  });

  it.each(['nmae:asc', 'name:up', 'name:asc:desc', ',', 'constructor:asc', 'id,id,id,id,id,id'])(
    'with sort=%s is refused',
    (sort) => {
      expect(Object.keys(read(`sort=${sort}`).problems ?? {})).toEqual(['sort']);
    },
  );

  it('takes at most a hundred values for in', () => {
    const values = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join(',');
    expect(read(`filter[id][in]=${values(100)}`).plan?.conditions).toHaveLength(1);
    expect(read(`filter[id][in]=${values(101)}`).problems).toEqual({
      'filter[id][in]': 'must hold at most 100 values',
    });
  });
});
