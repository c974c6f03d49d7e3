/**
 * Shows which filters and sorts have no index, and which indexes are never used. First requests every list over HTTP: in every
 * order, with all values of each enumeration, and with one value of each other field except metadata. PostgreSQL explains the
 * statements of these requests. Then sends most other GET requests, and changes that open accounts or move money. Prints the
 * indexes that were never scanned.
 *
 *   npm run build && node bench/studies/indexes.mjs [--payments=200000 | --database=URL] [--slow=50] [--all]
 *
 * --database: the URL of a database that bench/lib/load.mjs has filled. It must have no users and no connections. The study works
 * with a copy of it, in which it registers the first user, and drops the copy afterwards.
 * --slow: the number of milliseconds above which an answer is slow. --all: prints every answer.
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import { formatAccountNumber } from '../../dist/accounts/account-number-rules.js';
import { readConfig } from '../../dist/config/config.js';
import { startService } from '../../dist/service.js';
import { createDatabase, createEmptyDatabase, fill, SEARCHED_NAME, sizes } from '../lib/load.mjs';
import { table } from '../lib/report.mjs';

const text = { type: 'string' };
const { values: options } = parseArgs({
  options: { payments: text, database: text, slow: text, all: { type: 'boolean' } },
});
const SLOW_MS = Number(options.slow ?? 50);
/** A filter is narrow if it matches at most this share of the rows. It should not read a whole table. */
const NARROW = 0.01;
/** A table is large if it has more rows than this. Only for large tables is it a problem if a statement reads all rows. */
const LARGE_TABLE = 10_000;

const sentStatements = [];
recordStatements();
const { url, drop } = await databaseToUse();
const database = new pg.Client({ connectionString: url });
await database.connect();
let service;

try {
  // The loader writes no audit entries. Add one for each payment.
  await database.query(`
    insert into audit_entries overriding system value
    select id, null::bigint, 'mobilemoney', 'payment.record', 'payment', id, null::jsonb,
      jsonb_build_object('accountId', account_id, 'amountMinor', amount_minor, 'paymentMethodId', payment_method_id,
        'transactionRef', transaction_ref, 'valueDate', payment_date),
      gen_random_uuid()::text, created_at
    from payments order by id`);
  await database.query(
    `select setval(pg_get_serial_sequence('audit_entries', 'id'), max(id)) from audit_entries`,
  );
  await database.query('vacuum analyze');
  await database.query('select pg_stat_reset()');
  const large = await largeTables();
  service = await start();
  const user = {
    email: 'bench@example.com',
    password: 'a long enough password',
    firstName: 'B',
    lastName: 'M',
  };
  const { data } = (await call('POST', '/api/auth/register', user)).body;
  const token = data.accessToken;
  const { body: description } = await call('GET', '/api-docs/openapi.json');

  const answers = [];
  for (const list of listsOf(description)) answers.push(...(await askAll(list, token, large)));
  const slowFilters = answers.filter(
    ({ asked, ms, seqScans, isNarrow }) =>
      asked.startsWith('filter') && isNarrow && (ms > SLOW_MS || seqScans.length > 0),
  );
  console.log(`${answers.length} answers. Narrow filters that are slow or read a large table as a whole:\n`);
  console.log(
    table(
      ['list', 'asked for', 'rows', 'ms', 'read as a whole'],
      (options.all ? answers : slowFilters).map(({ path, asked, total, ms, seqScans }) => [
        ...[path, asked, total.toLocaleString('en'), ms.toFixed(1), seqScans.join(', ')],
      ]),
    ),
  );
  console.log('\nOrders that read a large table as a whole:\n');
  const orders = answers.filter(({ asked, seqScans }) => asked.startsWith('sort') && seqScans.length > 0);
  const ordersOf = (list) => orders.filter(({ path }) => path === list);
  console.log(
    table(
      ['list', 'orders', 'ms, without an order', 'ms, the slowest'],
      [...new Set(orders.map(({ path }) => path))].map((path) => [
        path,
        [...new Set(ordersOf(path).map(({ asked }) => asked.replace(/^sort=|:.*/g, '')))].join(', '),
        answers.find((answer) => answer.path === path).ms.toFixed(1),
        Math.max(...ordersOf(path).map(({ ms }) => ms)).toFixed(1),
      ]),
    ),
  );

  await service.stop();
  // Otherwise PostgreSQL would read small tables as a whole, and report their indexes as never scanned.
  await database.query(`alter database "${new URL(url).pathname.slice(1)}" set enable_seqscan = off`);
  await database.query('update pay_plans set auto_suspend = true where id = 1');
  service = await start();
  await sendOtherRequests(description, token);
  const { rows } = await database.query(`
    select s.relname as "table", s.indexrelname as index, pg_relation_size(s.indexrelid) / 1024 as kb
    from pg_stat_user_indexes s join pg_index i using (indexrelid)
    where s.idx_scan = 0 and not i.indisunique order by pg_relation_size(s.indexrelid) desc, 1, 2`);
  console.log(`
Indexes that were never scanned and are not unique:
`);
  console.log(
    table(
      ['table', 'index', 'kB'],
      rows.map((row) => [row.table, row.index, row.kb]),
    ),
  );
} finally {
  await service?.stop();
  await database.end();
  await drop();
}

function start() {
  return startService(
    readConfig({
      ...{ NODE_ENV: 'test', PORT: '0', HOST: '127.0.0.1', DATABASE_URL: url, LOG_LEVEL: 'silent' },
      ...{ RATE_LIMIT_AUTH: '0', RATE_LIMIT_BULK: '0', RATE_LIMIT_GENERAL: '0', RATE_LIMIT_WEBHOOK: '0' },
    }),
  );
}

/** Records every statement of the service, and its values. This works because the service runs in this process. */
function recordStatements() {
  const query = pg.Client.prototype.query;
  pg.Client.prototype.query = function recorded(...given) {
    const [config] = given;
    if (typeof config?.text === 'string') sentStatements.push({ text: config.text, values: config.values });
    return query.apply(this, given);
  };
}

async function databaseToUse() {
  if (!options.database) {
    const made = await createDatabase('indexes');
    await fill(made.url, sizes({ payments: Number(options.payments ?? 200_000) }));
    return made;
  }
  const server = new URL(options.database);
  const template = server.pathname.slice(1);
  server.pathname = '/postgres'; // Connects to another database: PostgreSQL copies no database that has a connection.
  return createEmptyDatabase('indexes', `template ${template}`, server.href);
}

async function largeTables() {
  const { rows } = await database.query(
    `select relname from pg_class where relkind = 'r' and reltuples > ${LARGE_TABLE}`,
  );
  return new Set(rows.map(({ relname }) => relname));
}

/** Every list of the API description, with its filters. `withParent` puts a fixed id into the path of a list. */
function listsOf({ paths }) {
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const filters = (get?.parameters ?? []).flatMap(({ name, description }) => {
      const field = /^filter\[(\w+)\]$/.exec(name)?.[1];
      const values = /Values: (.*)\./.exec(description ?? '')?.[1].split(', ');
      return field && field !== 'metadata' ? [{ field, values }] : [];
    });
    return filters.length > 0 ? [{ path: withParent(path), filters }] : [];
  });
}

function withParent(path) {
  return path.replace(/\{\w+\}/, /accounts|customers/.test(path) ? '777' : '1');
}

async function askAll({ path, filters }, token, large) {
  const whole = await ask(path, '', token, large);
  if (whole.status !== 200) {
    console.log(`${path} answers ${whole.status}, so its filters are not requested.`);
    return [];
  }
  const answers = [whole];
  for (const { field, values } of filters) {
    const [ascending, descending] = [
      await ask(path, `sort=${field}:asc`, token, large),
      await ask(path, `sort=${field}:desc`, token, large),
    ];
    answers.push(ascending, descending);
    const some = [...descending.rows, ...ascending.rows]
      .map((row) => row[field])
      .filter((value) => value !== null);
    for (const value of values ?? some.slice(-1)) {
      answers.push(await ask(path, `filter[${field}]=${encodeURIComponent(value)}`, token, large));
    }
  }
  return answers.map((answer) => ({ ...answer, isNarrow: answer.total <= whole.total * NARROW }));
}

/** Sends the request twice. @returns the shorter time, and the large tables that the second request reads as a whole. */
async function ask(path, query, token, large) {
  const takes = [];
  let answer;
  for (let i = 0; i < 2; i += 1) {
    sentStatements.length = 0;
    const start = performance.now();
    answer = await call('GET', `${path}?${query}`, undefined, token);
    takes.push(performance.now() - start);
  }
  const statements = sentStatements.filter(({ text }) => /^\s*(\/\*.*?\*\/)?\s*(select|with)/i.test(text));
  const seqScans = new Set();
  for (const statement of statements) {
    for (const name of await seqScansOf(statement)) if (large.has(name)) seqScans.add(name);
  }
  const { data, pagination } = answer.body;
  return {
    ...{ path, asked: decodeURIComponent(query) || 'nothing', status: answer.status, ms: Math.min(...takes) },
    ...{ total: pagination?.total ?? 0, rows: data ?? [], seqScans: [...seqScans] },
  };
}

async function seqScansOf({ text: statement, values }) {
  const { rows } = await database.query({ text: `explain (format json) ${statement}`, values });
  const found = [];
  const walk = (node) => {
    if (node['Node Type'] === 'Seq Scan') found.push(node['Relation Name']);
    for (const child of node.Plans ?? []) walk(child);
  };
  walk(rows[0]['QUERY PLAN'][0].Plan);
  return found;
}

/** Sends the GET requests that return no list (except sign-in), and changes. Then requests each list again. */
async function sendOtherRequests({ paths }, token) {
  const date = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const period = `startDate=${date(-60)}&endDate=${date(0)}`;
  for (const [path, { get }] of Object.entries(paths)) {
    if (get && !get.parameters?.some(({ name }) => name === 'sort') && !path.includes('/auth/')) {
      await call(
        'GET',
        `${withParent(path)}${path.includes('/reports/') ? `?${period}` : ''}`,
        undefined,
        token,
      );
    }
  }
  const post = (path, body) => call('POST', `/api${path}`, body, token);
  const put = (path, body) => call('PUT', `/api${path}`, body, token);
  const get = (path) => call('GET', `/api${path}`, undefined, token);
  const notify = (TransID, BillRefNumber, MSISDN) =>
    call('POST', '/api/webhooks/payments/mobilemoney', {
      ...{ TransactionType: 'Pay Bill', TransID, TransTime: '20260105101530', TransAmount: '10.00' },
      ...{ BusinessShortCode: '600638', BillRefNumber, MSISDN },
    });

  for (const path of [
    ...[`/customers?search=${SEARCHED_NAME}`, '/accounts?status=repossessed', '/accounts?customerId=77'],
    ...[
      `/accounts?accountNumber=${formatAccountNumber(777)}`,
      '/payments/unmatched',
      '/accounts/777/quote?amount=100',
    ],
    ...[
      '/reports/accounts/summary',
      `/reports/accounts/summary?startDate=${date(-200)}&endDate=${date(-170)}`,
    ],
    ...[`/reports/payments?${period}&format=csv`, '/reports/proof', `/reports/proof?date=${date(-100)}`],
    ...[
      '/accounts/777/statement',
      '/accounts/777/statement?format=csv',
      '/accounts?filter[daysPastDue][gt]=90',
    ],
  ]) {
    await get(path);
  }
  const { body: paid } = await post('/payments', {
    ...{ accountId: 777, amount: 10, paymentMethodId: 2, transactionRef: 'BENCH1' },
  });
  await post(`/payments/${paid.data.id}/reverse`, { reason: 'bench' });
  await notify('BENCH2', formatAccountNumber(778), '254700000077');
  await notify('BENCH3', '0700000077', '254700000077');
  await notify('BENCH4', 'nobody', '2547*****077');
  await notify('BENCH4', 'nobody', '2547*****077');
  await notify('BENCH5', 'nobody', '254711111111');
  await post('/payments', { accountId: 777, amount: 11, paymentMethodId: 2, transactionRef: 'BENCH6' });
  await notify('BENCH6', formatAccountNumber(777), '254700000077'); // a conflict: the manual payment has another amount
  const { body: worklist } = await get('/payments/unmatched?limit=5');
  await post(`/payments/${worklist.data[0].id}/assign`, { accountId: 779 });
  await notify('BENCH7', 'nobody', '254711111111');
  await post(`/payments/${worklist.data[0].id}/unassign`, { reason: 'bench' });
  await post('/payments/reconcile', { paymentIds: [11, 12, 13] });
  await put('/accounts/780', { status: 'suspended' });
  await put('/accounts/780', { status: 'written_off', reason: 'bench' });
  await put('/accounts/781', { status: 'cancelled', reason: 'bench' });
  await post('/accounts/781/credit/transfer', { toAccountId: 782, amount: 10, reason: 'bench' });
  await post('/accounts/781/credit/refund', { amount: 10, paymentMethodId: 2, reason: 'bench' });
  await post('/employees', { name: 'Bench' });
  await post('/accounts', { customerId: 77, productId: 1, payplanId: 1, employeeId: 1 });
  await post('/accounts', { customerId: 77, productId: 1, payplanId: 1, activationDate: date(3) });
  await post('/commissions/calculate', { employeeId: 1, period: date(0).slice(0, 7) });
  await post('/customers', {
    firstName: 'Be',
    lastName: 'Nch',
    phone: '+254722000000',
    email: 'be@example.com',
  });
  await post('/auth/login', { email: 'bench@example.com', password: 'a long enough password' });
  for (const { path } of listsOf({ paths })) await call('GET', path, undefined, token);
  await get('/reports/proof');
}

async function call(method, path, body, token) {
  const response = await fetch(`${service.address}${path}`, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const isJson = response.headers.get('content-type')?.includes('json');
  const text = await response.text();
  if (response.status >= 500) throw new Error(`${method} ${path}: ${text.slice(0, 300)}`);
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}
