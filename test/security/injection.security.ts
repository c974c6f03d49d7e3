import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../tools/simulator/traffic.ts';
import { report } from '../acceptance/process.ts';
import {
  committedDescription,
  examplesOfMedia,
  type Operation,
  resolve,
} from '../support/api-description.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { newAccount, newCustomer, pay, useService } from '../support/harness.ts';
import { expectNoInternals, type Reply, refusalOf, type Sent, send } from './wire.ts';

/**
 * Generated requests: every operation of the API description, first with every wrong value of the lists below in each field and
 * parameter, and then with random wrong values in many of them. SECURITY_SEED repeats a run.
 */
const SEED = Number(process.env.SECURITY_SEED ?? Date.now() % 2 ** 31);
const AT_ONCE = 8;
const FEWEST_REQUESTS = 10_000;

const service = useService({ TEST_CLOCK: 'off' });
const random = createRandom(SEED);
const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
const counts = { sent: 0, accepted: 0, refused: 0 };
let ids: Record<string, number> = {};
let victim: number;

const { document, operations } = committedDescription();
/** The first call would end the session of the attacker. The second exists only with TEST_CLOCK=on. */
const LEFT_OUT = ['POST /api/auth/logout', 'PUT /api/test/clock'];
const attacked = operations.filter(({ name }) => !LEFT_OUT.includes(name));

beforeAll(async () => {
  const account = await newAccount(service);
  const payment = await pay(service, account.id, 10);
  const invoice = await service.call('POST', '/invoices', {
    accountId: account.id,
    items: [{ description: 'A', quantity: 1, unitPrice: 1 }],
  });
  const employee = await service.call('POST', '/employees', { name: 'A' });
  await service.signInAs('viewer');
  const users = await service.call('GET', '/users?sort=id:desc&limit=1');
  victim = users.body.data[0].id;
  ids = {
    accounts: account.id,
    payments: payment.id,
    invoices: invoice.body.data.id,
    employees: employee.body.data.id,
    customers: (await newCustomer(service)).id,
    users: victim,
  };
});

afterAll(() => {
  report(
    `seed ${SEED}: ${counts.sent} generated requests, ${counts.accepted} accepted, ${counts.refused} refused, 0 of 5xx`,
  );
});

type Schema = {
  type?: string | string[];
  $ref?: string;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: unknown;
  [key: string]: unknown;
};

function deref(schema: Schema): Schema {
  if (schema.$ref) return deref(resolve(document, schema.$ref) as Schema);
  const first = schema.anyOf?.find(({ type }) => type !== 'null');
  return first ? deref(first) : schema;
}

/** JSON as text, so that a number can be one that JavaScript has no value for. */
class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function toJson(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, part]) => part !== undefined);
    return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${toJson(part)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

const TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\u202eevil\u202c',
  '\u200b',
  '\ufeff',
  '\u2028',
  'é'.repeat(300),
  '𝕊👍🏽',
  'x'.repeat(10_000),
  "' or 1=1 --",
  "'; drop table users; --",
  '" or ""="',
  '\\',
  '%_%',
  '$' + '{jndi:ldap://127.0.0.1/a}',
  '{{7*7}}#{7*7}<%= 7*7 %>',
  '<script>alert(1)</script>',
  '=cmd|calc!A1',
  '../../../../etc/passwd',
  'a\r\nX-Injected: 1',
  '\u001b[31mred',
  'null',
  'true',
  '0',
  '-1',
  'NaN',
  '1e309',
  '2026-02-30',
  '9999-12-31',
  '0000-00-00',
  '2026-13',
  '__proto__',
  'constructor',
];

const NUMBERS: unknown[] = [
  0,
  -1,
  0.1,
  1.005,
  1e21,
  -1e308,
  2 ** 31,
  2 ** 53,
  new Raw('9007199254740993'),
  new Raw('-0'),
  new Raw('1e309'),
  new Raw('-1e400'),
  new Raw('0.1e-400'),
  new Raw('9'.repeat(400)),
  new Raw('1.00000000000000000001'),
];

const OTHERS: unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [1],
  [[[[]]]],
  [null],
  { a: 1 },
  new Raw('{"__proto__":{"polluted":1}}'),
  new Raw('{"constructor":{"prototype":{"polluted":1}}}'),
  { toString: 'x', valueOf: 'y', length: -1 },
  new Raw('[{"__proto__":{"polluted":1}}]'),
];

const VALUES: unknown[] = [...TEXTS, ...NUMBERS, ...OTHERS];

/** Fields that nobody may set from outside. */
const ASSIGNED = {
  id: 1,
  role: 'admin',
  isAdmin: true,
  userId: 1,
  createdBy: 1,
  createdAt: '2020-01-01T00:00:00.000Z',
  paid: 1_000_000,
  balance: 0,
  total: 0,
  amountMinor: 1,
  passwordHash: 'x',
  password_hash: 'x',
  kycStatus: 'verified',
  reconciliationDate: '2026-01-01',
  source: 'webhook',
  provider: 'mobilemoney',
  accountNumber: 'ACC10000012',
};

interface Place {
  /** Keys and indices down to the field, as in ['items', 0, 'quantity']. */
  keys: (string | number)[];
  schema: Schema;
}

/** Every field of a body at every depth; of a list, those of its first element. */
function placesOf(schema: Schema, keys: Place['keys'] = []): Place[] {
  const whole = deref(schema);
  const here = keys.length > 0 ? [{ keys, schema: whole }] : [];
  const below = Object.entries(whole.properties ?? {}).flatMap(([name, part]) =>
    placesOf(part, [...keys, name]),
  );
  const elements = whole.items ? placesOf(whole.items, [...keys, 0]) : [];
  return [...here, ...below, ...elements];
}

function withValue(body: unknown, keys: Place['keys'], value: unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  if (typeof key === 'number') {
    const list = Array.isArray(body) ? [...body] : [];
    list[key] = withValue(list[key], rest, value);
    return list;
  }
  const record = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  return { ...record, [key]: withValue(record[key], rest, value) };
}

const pathOf = (keys: Place['keys']) =>
  keys.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`),
    '',
  );

/** Whether the value certainly violates the type of the schema. Other values may be right or wrong. */
function hasWrongType(schema: Schema, value: unknown, nullable: boolean): boolean {
  const type = typeof schema.type === 'string' ? schema.type : undefined;
  if (type === undefined) return false;
  if (value instanceof Raw) return type === 'string' && /^[-\d]/.test(value.text);
  if (value === null) return !nullable;
  const is = Array.isArray(value) ? 'array' : typeof value;
  if (type === 'integer') return is !== 'number' || !Number.isInteger(value);
  return is !== type;
}

function isNullable(schema: Schema | undefined): boolean {
  if (!schema) return false;
  if (schema.$ref) return isNullable(resolve(document, schema.$ref) as Schema);
  return (
    (Array.isArray(schema.type) && schema.type.includes('null')) ||
    (schema.anyOf ?? []).some(({ type }) => type === 'null') ||
    (Array.isArray(schema.enum) && schema.enum.includes(null))
  );
}

function isNullableAt(schema: Schema, keys: Place['keys']): boolean {
  let part: Schema | undefined = schema;
  for (const key of keys) {
    const whole: Schema = deref(part ?? {});
    part = typeof key === 'number' ? whole.items : whole.properties?.[key];
  }
  return isNullable(part);
}

function addressOf({ path }: Operation): string {
  const resource = /^\/api\/([\w-]+)/.exec(path)?.[1] ?? '';
  return path.replace('{provider}', 'nobody').replace(/\{\w+\}/g, String(ids[resource] ?? 1));
}

function rightBody({ body }: Operation): Record<string, unknown> {
  const [example] = body ? examplesOfMedia(body) : [];
  return { ...(example as Record<string, unknown> | undefined) };
}

interface Attack extends Sent {
  operation: Operation;
  /** The fields that are or may be wrong. A validation error names one of them. */
  fields?: string[];
  /** Whether the request certainly gets 400. */
  certain?: boolean;
}

function ask(attack: Attack): Promise<Reply> {
  return send(service.origin, { token: service.adminToken, ...attack, method: attack.operation.method });
}

async function expectRefusedOrDone(attack: Attack): Promise<void> {
  const reply = await ask(attack);
  const { operation, path, body = '', fields, certain } = attack;
  const what = `${operation.method} ${path.slice(0, 300)} ${body.toString().slice(0, 300)} → ${reply.status} ${reply.text.slice(0, 600)}`;
  counts.sent += 1;
  expect(reply.status, what).toBeLessThan(500);
  expect(({} as { polluted?: unknown }).polluted, what).toBeUndefined();
  expect(reply.headers['x-injected'], what).toBeUndefined();
  const contentType = reply.headers['content-type'] ?? null;
  const isJson = contentType?.includes('json');
  const problem = committedDescription().problemOfAnswer({
    method: operation.method,
    path: operation.path.replaceAll(/[{}]/g, ''),
    status: reply.status,
    contentType,
    body: isJson ? JSON.parse(reply.text) : undefined,
  });
  if (reply.status < 400) expect(problem, what).toBeUndefined();
  const refusal = reply.status < 400 ? refusalOfItem(operation, reply) : refusalOf(reply);
  if (!refusal) {
    counts.accepted += 1;
    if (certain) throw new Error(`Accepted: ${what}`);
    return;
  }
  counts.refused += 1;
  const { code, details } = refusal;
  expectNoInternals(reply.text, `${decoded(path)} ${body}`);
  const isBulk = operation.path.endsWith('/bulk');
  if (certain) {
    const statuses = isBulk ? [200, 400] : [400];
    expect(statuses, what).toContain(reply.status);
    expect(code, what).toBe('VALIDATION_ERROR');
  }
  if ((reply.status === 400 || reply.status === 200) && details.fields && fields) {
    // A rule about several fields has the path of the body, and names the fields in its message.
    const isNamed = details.fields.some(({ path: name, message }) =>
      name === 'body'
        ? fields.some((field) => message.includes(field.replace(/\[\d+\].*/, '')))
        : fields.some((field) => name.startsWith(field) || field.startsWith(name)),
    );
    if (!isNamed) throw new Error(`None of ${fields.join(', ').slice(0, 200)} is named: ${what}`);
  } else if (certain) {
    throw new Error(`No field is named: ${what}`);
  }
}

/** A bulk call answers 200 with the refusal of each item. The paths of its fields start at the item. */
function refusalOfItem(operation: Operation, reply: Reply): ReturnType<typeof refusalOf> | undefined {
  if (!operation.path.endsWith('/bulk')) return undefined;
  const { items } = JSON.parse(reply.text).data as {
    items: { index: number; error?: ReturnType<typeof refusalOf> }[];
  };
  const item = items.find(({ error }) => error);
  if (!item?.error) return undefined;
  const { code, details } = item.error;
  const fields = details.fields?.map(({ path, ...rest }) => ({
    ...rest,
    path: path === 'body' ? `items[${item.index}]` : `items[${item.index}].${path}`,
  }));
  return { ...item.error, code, details: { ...details, ...(fields && { fields }) } };
}

/** The decoded path, as far as it can be decoded. */
function decoded(path: string): string {
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

/** A valid example may still be refused because of the data, such as a credit that is too small. */
async function fieldsRefusedAnyway(operation: Operation): Promise<string[]> {
  const reply = await ask(withBody(operation, rightBody(operation)));
  if (reply.status !== 400) return [];
  return (refusalOf(reply).details.fields ?? []).map(({ path }) => path);
}

async function attack(attacks: readonly Attack[], most = AT_ONCE): Promise<void> {
  let next = 0;
  // A caller may have two bulk calls in progress.
  const atOnce = attacks.some(({ operation }) => operation.path.endsWith('/bulk')) ? 1 : most;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < attacks.length) await expectRefusedOrDone(attacks[next++] as Attack);
    }),
  );
}

function withBody(operation: Operation, body: unknown, rest: Partial<Attack> = {}): Attack {
  return { operation, path: addressOf(operation), body: toJson(body), ...rest };
}

const writes = attacked.filter(({ body }) => body !== undefined);
const isWebhook = ({ path }: Operation) => path.includes('/webhooks/');

describe('a body', () => {
  it.each(writes)('$name, with every kind of wrong value in each field', async (operation) => {
    const schema = operation.body?.schema as Schema;
    const right = rightBody(operation);
    const refusedAnyway = await fieldsRefusedAnyway(operation);
    const attacks = placesOf(schema).flatMap(({ keys, schema: part }) =>
      VALUES.map((value) => {
        // The provider's gateway may send numbers instead of texts. The service reads both.
        const certain = !isWebhook(operation) && hasWrongType(part, value, isNullableAt(schema, keys));
        const fields = [pathOf(keys), ...(certain ? [] : refusedAnyway)];
        return withBody(operation, withValue(right, keys, value), { fields, certain });
      }),
    );
    await attack(attacks);
  });

  it.each(writes)('$name, with fields that callers must not set, at every depth', async (operation) => {
    const schema = operation.body?.schema as Schema;
    const right = rightBody(operation);
    const objects = [{ keys: [] as Place['keys'], schema: deref(schema) }, ...placesOf(schema)].filter(
      (place) => place.schema.properties && place.schema.additionalProperties === false,
    );
    const attacks = objects.flatMap(({ keys, schema: part }) =>
      [
        ...Object.entries(ASSIGNED),
        ['constructor', { prototype: { polluted: 1 } }] as const,
        ['', 1] as const,
      ]
        .filter(([name]) => !(name in (part.properties ?? {})) || name === 'constructor')
        .map(([name, value]) =>
          withBody(operation, withValue(right, [...keys, name], value), {
            fields: [name === '' && keys.length === 0 ? '""' : pathOf([...keys, name])],
            certain: true,
          }),
        ),
    );
    await attack(attacks);
    for (const { keys } of objects) {
      const inner = keys.reduce<unknown>((part, key) => (part as Record<string, unknown>)?.[key], right);
      const polluted = new Raw(
        toJson(inner ?? {})
          .replace(/^\{/, '{"__proto__":{"polluted":1},')
          .replace(',}', '}'),
      );
      const body = withValue(right, keys, polluted);
      await attack([withBody(operation, body, { fields: [pathOf([...keys, '__proto__'])], certain: true })]);
    }
  });

  it.each(writes)('$name, with a body that is not an object or not text', async (operation) => {
    const bodies: (string | Buffer)[] = [
      ...['null', '[]', '"text"', '5', 'true', '', '{}', '{', 'undefined', '{"a":1}{"b":2}', '\u0000'],
      Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x28, 0x22, 0x7d]), // no UTF-8 in a value
      Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]), // UTF-16
      Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]), // a surrogate in the bytes
      Buffer.from([0xf0, 0x9f, 0x92]), // a character that was cut off
    ];
    await attack(bodies.map((body) => ({ operation, path: addressOf(operation), body })));
  });
});

describe('an address', () => {
  const hostile = [
    ...TEXTS.filter((text) => text.isWellFormed()).map(encodeURIComponent),
    ...[
      '%00',
      '%ff',
      '%c3%28',
      '%ed%a0%80',
      '%zz',
      '%',
      '%2e%2e%2f',
      '%252e',
      "'",
      '1;drop',
      '1%20or%201=1',
      '1e3',
    ],
    ...[
      '0x10',
      encodeURIComponent('٣'),
      '9'.repeat(190),
      '[]',
      '{}',
      '1,2',
      '+1',
      '-0',
      '1.0',
      'NaN',
      '__proto__',
      'constructor',
    ],
  ];

  it.each(attacked)('$name, with every kind of wrong value in each parameter', async (operation) => {
    const inPath = operation.parameters
      .filter((parameter) => parameter.in === 'path')
      .flatMap(({ name }) =>
        hostile
          .filter((text) => text !== '' && text.length < 8_000)
          .map((text) => ({
            operation,
            path: operation.path.replace(`{${name}}`, text).replaceAll(/\{\w+\}/g, '1'),
            ...(operation.body && { body: toJson(rightBody(operation)) }),
          })),
      );
    const inQuery = operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .flatMap(({ name }) => {
        const key = encodeURIComponent(name);
        const values = hostile.filter((text) => text.length < 8_000);
        return values.map((text) => ({
          operation,
          path: `${addressOf(operation)}?${key}=${text}`,
          fields: [name],
        }));
      });
    await attack([...inPath, ...inQuery]);
  });

  const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains', 'startswith', 'isnull'];
  const lists = attacked.filter(({ parameters }) => parameters.some(({ name }) => name === 'sort'));

  it.each(lists)('$name, with random values for every filter and operator', async (operation) => {
    const filters = operation.parameters.map(({ name }) => name).filter((name) => name.startsWith('filter['));
    const attacks = filters.flatMap((filter) =>
      OPERATORS.flatMap((operator) =>
        Array.from({ length: 3 }, () => {
          const path = `${addressOf(operation)}?${encodeURIComponent(`${filter}[${operator}]`)}=${pick(hostile).slice(0, 4_000)}`;
          return { operation, path, fields: [filter] };
        }),
      ),
    );
    await attack(attacks);
  });

  it.each(lists)('$name, with unknown query keys and sorts', async (operation) => {
    const keys = [
      ...['filter', 'filter[]', 'filter[][]', 'filter[id][]', 'filter[id][eq][x]', 'filter[id', 'filter]id['],
      ...[
        'filter[__proto__][polluted]',
        'filter[constructor][prototype]',
        '__proto__',
        '__proto__[polluted]',
      ],
      ...['constructor[prototype][polluted]', 'filter[id]; drop table users', "filter[id'--][eq]", 'sort[]'],
      ...[
        'page[]',
        'limit[$gt]',
        'filter[password_hash]',
        'filter[passwordHash][startswith]',
        '',
        '\0',
        '𝕊',
        'a.b',
      ],
    ];
    const sorts = [
      ...[
        'password_hash:asc',
        'passwordHash',
        'id;drop',
        'id:asc;--',
        '(select 1)',
        'id:asc,',
        ',',
        ':',
        'id::asc',
      ],
      ...[
        '__proto__',
        'constructor:asc',
        'toString',
        'id:ASC',
        '1',
        'random()',
        "id:asc' --",
        'id:desc nulls first',
      ],
    ];
    const unknown = keys.map((key) => ({
      operation,
      path: `${addressOf(operation)}?${encodeURIComponent(key)}=1`,
      certain: true,
      fields: [''],
    }));
    const unsorted = sorts.map((sort) => ({
      operation,
      path: `${addressOf(operation)}?sort=${encodeURIComponent(sort)}`,
      certain: true,
      fields: ['sort'],
    }));
    const doubled = [
      'page=1&page=2',
      'sort=id&sort=id',
      'filter[id]=1&filter[id]=2',
      'filter[id][eq]=1&filter[id]=1',
    ];
    const twice = doubled.map((query) => ({ operation, path: `${addressOf(operation)}?${query}` }));
    await attack([...unknown, ...unsorted, ...twice]);
  });
});

describe('headers', () => {
  it.each(attacked)('$name, with hostile values', async (operation) => {
    const hostile: Record<string, string>[] = [
      { 'x-request-id': "' or 1=1" },
      { 'x-request-id': '\u00ff'.repeat(64) },
      { 'idempotency-key': 'x'.repeat(256) },
      { 'idempotency-key': `\u00fc${random(1e9)}` },
      { 'idempotency-key': `'; drop table users; -- ${random(1e9)}` },
      { 'content-type': 'application/json; charset=utf-7' },
      { 'content-type': 'application/json/../../x' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': '\u00ff' },
      { 'content-encoding': 'gzip' },
      { accept: 'text/html' },
      { host: 'evil.example' },
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'javascript' },
      { cookie: 'ams_sign_in=%01; __proto__=1; =; ;;' },
      { 'if-none-match': '*' },
      { range: 'bytes=0-1,5-' },
      { expect: 'something' },
      { upgrade: 'h2c', connection: 'upgrade' },
      { origin: 'null' },
      { traceparent: '00-0-0-00' },
    ];
    const body = operation.body && toJson(rightBody(operation));
    await attack(
      hostile.map((headers) => ({ operation, path: addressOf(operation), headers, ...(body && { body }) })),
    );
  });
});

describe('a file', () => {
  const HEAD = ['Receipt No.', 'Completion Time', 'Details', 'Transaction Status', 'Paid In', 'A/C No.'];
  const ROW = ['SKB0000001', '02-11-2026 10:15:30', 'Pay Bill', 'Completed', '400.00', 'ACC10000012'];
  const uploads = operations.filter(({ name }) => name.endsWith('POST /api/reconciliations/statements'));
  const csv = (rows: string[][]) =>
    rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n');

  it.each(uploads)(
    '$name, with every kind of wrong cell, and with files of other types',
    async (operation) => {
      const withCell = (index: number, text: string) =>
        csv([HEAD, ROW.with(index, text), ROW.with(0, `SKC${random(1e7)}`)]);
      const bodies: (string | Buffer)[] = [
        ...ROW.flatMap((_cell, index) => TEXTS.map((text) => withCell(index, text))),
        ...TEXTS.map((text) =>
          csv([
            [text, ...HEAD],
            ['x', ...ROW],
          ]),
        ),
        ...['', '\0', '\ufeff', ',', '"', '""', '\r', '\r\n\r\n', 'a,b\r\n1', '{"a":1}', '=cmd|calc!A1'],
        csv([HEAD, ...Array.from({ length: 2_000 }, () => ROW)]),
        csv([[...HEAD, ...Array.from({ length: 1_000 }, (_, n) => `c${n}`)], ROW]),
        csv([
          [...HEAD, ...HEAD],
          [...ROW, ...ROW],
        ]),
        Buffer.concat([Buffer.from(csv([HEAD, ROW])), Buffer.from([0xc3, 0x28, 0xff, 0xfe])]),
        Buffer.from(csv([HEAD, ROW]), 'utf16le'),
      ];
      const headers = { 'content-type': 'text/csv' };
      // No more than two uploads are read at once.
      await attack(
        bodies.map((body) => ({ operation, path: addressOf(operation), body, headers })),
        1,
      );
    },
  );
});

describe('by chance', () => {
  it('several wrong fields together', async () => {
    const wild = (depth: number): unknown => {
      const choice = random(depth > 0 ? 8 : 6);
      if (choice < 3) return pick(TEXTS);
      if (choice < 5) return pick(NUMBERS);
      if (choice < 6) return pick(OTHERS);
      const parts = Array.from({ length: random(4) }, () => wild(depth - 1));
      if (choice < 7) return parts;
      const names = ['__proto__', 'constructor', 'a', '', 'length', 'toJSON', 'id', '\0', '\ud800'];
      return new Raw(`{${parts.map((part) => `${JSON.stringify(pick(names))}:${toJson(part)}`).join(',')}}`);
    };
    const attacks: Attack[] = [];
    while (counts.sent + attacks.length < FEWEST_REQUESTS || attacks.length < 2_000) {
      const operation = pick(writes);
      const places = placesOf(operation.body?.schema as Schema).filter(({ keys }) => keys.length > 0);
      let body: unknown = rightBody(operation);
      for (let n = random(4); n >= 0 && places.length > 0; n--) {
        body = withValue(body, pick(places).keys, wild(4));
      }
      attacks.push(withBody(operation, body));
    }
    await attack(attacks);
    expect(counts.sent).toBeGreaterThanOrEqual(FEWEST_REQUESTS);
  });
});

describe('afterwards', () => {
  it('the process runs, all tables exist, no role was raised, and the books balance', async () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect((await service.call('GET', '/auth/me')).body.data.role).toBe('admin');
    await expectBooksToBalance(service.context);
    for (const path of ['/customers', '/accounts', '/payments', '/invoices', '/users', '/audit']) {
      expect((await service.call('GET', path)).status, path).toBe(200);
    }
  });
});
