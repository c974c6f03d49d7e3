import { type KyselyPlugin, type RawBuilder, RawNode, sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { accountList, statusChangeList } from '../../src/accounts/schema.ts';
import { auditList } from '../../src/audit/schema.ts';
import { commissionList, ruleList } from '../../src/commissions/schema.ts';
import { today } from '../../src/core/context.ts';
import { type ListDefinition, type ListPlan, parseQueryString } from '../../src/core/lists/query.ts';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { creditMoveList } from '../../src/credit/schema.ts';
import { customerList } from '../../src/customers/schema.ts';
import { employeeList } from '../../src/employees/schema.ts';
import { invoiceList } from '../../src/invoices/schema.ts';
import { kycList } from '../../src/kyc/schema.ts';
import { payPlanList } from '../../src/pay-plans/schema.ts';
import { paymentMethodList } from '../../src/payment-methods/schema.ts';
import { notificationList } from '../../src/payments/notifications/schema.ts';
import { paymentList } from '../../src/payments/schema.ts';
import { configurationList, productList } from '../../src/products/schema.ts';
import { providerStatementLineList, providerStatementList } from '../../src/provider-statements/schema.ts';
import { reconciliationList } from '../../src/reconciliations/schema.ts';
import { summarizeAccounts } from '../../src/reports/summary-store.ts';
import { userList } from '../../src/users/schema.ts';
import { newAccount, newCustomer, pay, reverse, setToday, statementsOf, useService } from '../harness.ts';

/** How PostgreSQL finds what lists ask for, once a table is large. */
const service = useService();

const ROWS = 50_000;
const TODAY = '2026-06-15';

type List = ListDefinition<Record<never, never>>;

const read = (list: List, query: string): ListPlan =>
  list.read(parseQueryString(query) as Parameters<List['read']>[0], service.context);

const compiled = (part: RawBuilder<unknown>) => part.compile(service.context.db).sql;

async function explain(query: RawBuilder<unknown>): Promise<string> {
  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${query}`.execute(service.context.db);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

describe('a field that may have no value', () => {
  /** Each list with its table, then those that lend it a column. */
  const LISTS: [List, ...string[]][] = [
    [accountList, 'accounts'],
    [statusChangeList, 'account_status_changes'],
    [auditList, 'audit_entries'],
    [commissionList, 'commissions'],
    [creditMoveList, 'credit_moves'],
    [ruleList, 'commission_rules'],
    [customerList, 'customers'],
    [employeeList, 'employees'],
    [invoiceList, 'invoices'],
    [kycList, 'kyc_records'],
    [payPlanList, 'pay_plans'],
    [paymentMethodList, 'payment_methods'],
    [paymentList, 'payments'],
    [notificationList, 'notifications'],
    [productList, 'products'],
    [configurationList, 'product_configurations'],
    [reconciliationList, 'reconciliations'],
    [providerStatementList, 'provider_statements'],
    [providerStatementLineList, 'provider_statement_lines', 'provider_statements'],
    [userList, 'users'],
  ];

  it.each(LISTS.map(([list, ...tables]) => ({ list, tables, table: tables[0] })))(
    'is marked as one, and no other is: $table',
    async ({ list, tables, table }) => {
      const { rows } = await sql<{ column_name: string; is_nullable: string }>`
      select column_name, is_nullable from information_schema.columns
      where table_schema = 'public' and table_name = any(${tables})
      order by array_position(${tables}, table_name::text) desc`.execute(service.context.db);
      const nullable = new Map(rows.map((row) => [row.column_name, row.is_nullable === 'YES']));
      let columns = 0;
      for (const parameter of Object.keys(list.query.properties)) {
        const field = /^filter\[(\w+)\]$/.exec(parameter)?.[1];
        if (!field) continue;
        const [key = ''] = compiled(read(list, `sort=${field}:desc`).orderBy).split(', ');
        const column = /^"\w+"\."(\w+)"/.exec(key)?.[1];
        if (column === undefined) continue; // an expression, which knows its own nulls
        columns += 1;
        expect(nullable.has(column), `${table}.${column}`).toBe(true);
        expect(key.endsWith(' nulls last'), `${table}.${column}`).toBe(nullable.get(column));
      }
      expect(columns).toBeGreaterThan(1);
    },
  );
});

describe('among 50,000 accounts', () => {
  beforeAll(async () => {
    setToday(service, TODAY);
    const { db } = service.context;
    const { customerId } = await newAccount(service);
    await sql`
      insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
        instalment_minor, instalment_count, frequency, grace_days, receivable_minor, paid_minor, created_at)
      select ${customerId}, 1, 2, ${TODAY}::date + 13 - (n / 100 % 55),
        (case when n % 50 = 0 then 'pending' else 'active' end)::account_status,
        0, 1000, 100, 'weekly', 7, 100000,
        case when n % 10 <> 0 then 0 else 100000 end,
        now() - make_interval(mins => n)
      from generate_series(1, ${ROWS}) as n`.execute(db);
    await sql`vacuum analyze accounts`.execute(db);
  }, 60_000);

  const page = ({ conditions, orderBy }: ListPlan) => {
    const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
    return sql`select a.* from accounts a ${where} order by ${orderBy} limit 20`;
  };
  const count = ({ conditions }: ListPlan) =>
    sql`select count(*) from accounts a where ${sql.join(conditions, sql` and `)}`;

  it.each(['', 'sort=createdAt:asc', 'sort=createdAt:desc'])(
    'a page in the order of their making is read from the index, not sorted (%s)',
    async (query) => {
      const plan = await explain(page(read(accountList, query)));
      expect(plan).toContain('accounts_created');
      expect(plan).not.toContain('Sort');
    },
  );

  it('a page of one status is read from its index, not sorted', async () => {
    const plan = await explain(page(read(accountList, 'filter[status]=suspended')));
    expect(plan).toContain('accounts_status_created');
    expect(plan).not.toContain('Sort');
  });

  it('the active ones are counted in an index that holds no others', async () => {
    const status = sql<boolean>`a.status = ${sql.lit('active')}`;
    const plan = await explain(count({ ...read(accountList, ''), conditions: [status] }));
    expect(plan).toContain('Index Only Scan using accounts_grace');
  });

  it('their number is exact, whether there are few to count or many', async () => {
    const totalOf = async (query: string) =>
      (await service.call('GET', `/accounts?${query}`)).body.pagination.total;
    expect(await totalOf('')).toBe(ROWS + 1);
    expect(await totalOf('page=2000')).toBe(ROWS + 1);
    expect(await totalOf('status=pending')).toBe(ROWS / 50);
    expect(await totalOf('filter[status]=pending&sort=id:asc')).toBe(ROWS / 50);
    expect(await totalOf('status=suspended')).toBe(0);
  });

  it.each(['', 'status=pending', 'customerId=1', 'customerId=1&limit=100&sort=id:asc'])(
    'a first page is planned once, not for each call (%s)',
    async (query) => {
      const sent = await statementsOf(() => service.call('GET', `/accounts?${query}`));
      const page = sent.find(({ text }) => text.includes('json_agg'));
      expect(page?.name).toBeDefined();
      const values = (page?.values ?? []).join(', ');
      await service.context.db.connection().execute(async (db) => {
        await sql.raw(`prepare asked as ${page?.text}`).execute(db);
        try {
          // PostgreSQL makes a plan for the values at hand five times before it may keep one for any.
          for (let i = 0; i < 7; i += 1)
            await sql.raw(`execute asked ${values && `(${values})`}`).execute(db);
          const { rows } = await sql`
            select generic_plans > 0 as kept from pg_prepared_statements where name = 'asked'`.execute(db);
          expect(rows).toEqual([{ kept: true }]);
        } finally {
          await sql`deallocate asked`.execute(db);
        }
      });
    },
  );

  it('a summary of this month is shared by several processes', async () => {
    const plans: string[] = [];
    /** Has the statements that are written as SQL explained instead. */
    const explaining: KyselyPlugin = {
      transformQuery: ({ node }) =>
        RawNode.is(node)
          ? RawNode.create(
              [`explain ${node.sqlFragments[0]}`, ...node.sqlFragments.slice(1)],
              node.parameters,
            )
          : node,
      transformResult: async ({ result }) => {
        const lines = result.rows.flatMap((row) => (row['QUERY PLAN'] ? [String(row['QUERY PLAN'])] : []));
        if (lines.length > 0) plans.push(lines.join('\n'));
        return lines.length > 0 ? { ...result, rows: [] } : result;
      },
    };
    await service.context.db.transaction().execute(async (tx) => {
      await sql`set local min_parallel_table_scan_size = 0`.execute(tx);
      await sql`set local parallel_setup_cost = 0`.execute(tx);
      await sql`set local parallel_tuple_cost = 0`.execute(tx);
      const period = { startDate: '2026-06-01' as PlainDate, endDate: '2026-06-30' as PlainDate };
      await summarizeAccounts(tx.withPlugin(explaining), service.context, period);
    });
    expect(plans).toContainEqual(expect.stringMatching(/^Finalize[\s\S]+Parallel Seq Scan on accounts/));
  });

  it('the order of what is due next is that of an index', async () => {
    const plan = await explain(page(read(accountList, 'sort=nextDueDate:asc')));
    expect(plan).toContain('accounts_next_due');
    expect(plan).not.toContain('Sort');
  });

  it.each([
    'filter[daysPastDue][gt]=30',
    'filter[daysPastDue][gte]=31',
    'filter[daysPastDue]=31',
    'filter[daysPastDue][gt]=30&filter[daysPastDue][lte]=60',
    'filter[nextDueDate][lt]=2026-05-16',
  ])('the late ones are found by index (%s)', async (query) => {
    const plan = await explain(count(read(accountList, query)));
    expect(plan).toMatch(/Index (Only )?Scan (using|on) accounts_next_due/);
    expect(plan).toContain('Index Cond: (next_due_date');
  });

  it('a filter by days past due says what the rows say', async () => {
    const customer = await newCustomer(service);
    for (const [days, status] of [
      [-3, 'active'],
      [0, 'active'],
      [1, 'active'],
      [30, 'active'],
      [31, 'active'],
      [31, 'pending'],
      [400, 'active'],
      [null, 'cancelled'],
    ] as const) {
      const { id } = await newAccount(service, { customerId: customer.id });
      await sql`
        update accounts set status = ${status}, activation_date = ${today(service.context)}::date - ${days ?? 0}::integer
        where id = ${id}`.execute(service.context.db);
    }
    // The formula that the rows' own figure has, as position in schedule.ts says it.
    const shown = [0, 0, 1, 30, 31, 0, 400, 0];
    const operators: Record<string, (a: number, b: number) => boolean> = {
      eq: (a, b) => a === b,
      ne: (a, b) => a !== b,
      gt: (a, b) => a > b,
      gte: (a, b) => a >= b,
      lt: (a, b) => a < b,
      lte: (a, b) => a <= b,
    };
    for (const value of [-9_007_199_254_740_991, -1, 0, 1, 30, 31, 400, 9_007_199_254_740_991]) {
      for (const [operator, holds] of Object.entries(operators)) {
        const query = `customerId=${customer.id}&filter[daysPastDue][${operator}]=${value}`;
        const answer = await service.call('GET', `/accounts?${query}`);
        const expected = shown.filter((days) => holds(days, value)).length;
        expect(answer.body.pagination.total, query).toBe(expected);
      }
    }
  });
});

describe('among 50,000 payments, their notifications, customers and an audit', () => {
  beforeAll(async () => {
    const { db } = service.context;
    const { id: accountId } = await newAccount(service);
    for (const statement of [
      sql`insert into payments (amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status,
          source, provider, provider_trans_id)
        select 100, 1, 'PLAN' || n, 'PLAN' || n, '2026-06-15', 'unmatched', 'webhook', 'mobilemoney', 'PLAN' || n
        from generate_series(1, ${ROWS}) n`,
      sql`insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, status, outcome, payment_id)
        select 'mobilemoney', '{}', provider_trans_id, '', 100, 'processed', 'unmatched', id from payments
        where provider_trans_id like 'PLAN%'`,
      sql`insert into customers (first_name, last_name, phone, phone_sha256, search_text, email, email_key, national_id,
          national_id_key)
        select 'A', 'B', '+2547', '', '', 'Plan' || n || '@example.com', 'plan' || n || '@example.com', 'P-' || n, 'P' || n
        from generate_series(1, ${ROWS}) n`,
      sql`insert into users (email, email_key, first_name, last_name, role)
        select 'Plan' || n || '@example.com', 'plan' || n || '@example.com', 'A', 'B', 'viewer'
        from generate_series(1, ${ROWS}) n`,
      sql`insert into credit_moves (account_id, amount_minor, reason, payment_method_id, transaction_ref, reference_key,
          value_date)
        select ${accountId}::bigint, 100, 'A', 1, 'Plan ' || n, 'PLAN' || n, '2026-06-15' from generate_series(1, ${ROWS}) n`,
      sql`insert into audit_entries (actor, action, resource, resource_id)
        select 'provider', 'payment.record', 'payment', n from generate_series(1, ${ROWS}) n`,
    ]) {
      await statement.execute(db);
    }
    await sql`analyze payments, notifications, customers, audit_entries, accounts, users, credit_moves`.execute(
      db,
    );
  }, 60_000);

  const FOUND: [List, string, string, string][] = [
    [paymentList, 'payments p', 'filter[transactionRef]=PLAN7', 'payments_transaction_ref_unique'],
    [paymentList, 'payments p', 'filter[transactionRef][in]=PLAN7,PLAN8', 'payments_transaction_ref_unique'],
    [paymentList, 'payments p', 'filter[status]=reversed', 'payments_reversed'],
    [paymentList, 'payments p', 'filter[reconciliationId]=7', 'payments_pkey'],
    [paymentList, 'payments p', 'filter[reconciliationId][in]=7,8', 'payments_pkey'],
    [paymentList, 'payments p', 'filter[matchMethod]=learned', 'payments_match_method'],
    [notificationList, 'notifications n', 'filter[transactionRef]=PLAN7', 'notifications_content_unique'],
    [notificationList, 'notifications n', 'filter[outcome]=differs', 'notifications_differs'],
    [notificationList, 'notifications n', 'filter[outcome]=conflict', 'notifications_conflict'],
    [notificationList, 'notifications n', 'filter[status]=rejected', 'notifications_rejected'],
    [customerList, 'customers c', 'filter[email]=Plan7@example.com', 'customers_email_unique'],
    [customerList, 'customers c', 'filter[nationalId]=P-7', 'customers_national_id_unique'],
    [userList, 'users u', 'filter[email]=Plan7@example.com', 'users_email_unique'],
    [
      creditMoveList,
      'credit_moves m',
      'filter[transactionRef][in]=Plan 7,plan8',
      'credit_moves_reference_unique',
    ],
    [accountList, 'accounts a', 'filter[credit][gt]=0', 'accounts_credit'],
    [auditList, 'audit_entries a', 'filter[userId]=7', 'audit_entries_user'],
    [auditList, 'audit_entries a', 'filter[resource]=payment&filter[resourceId]=7', 'audit_entries_resource'],
  ];

  it.each(FOUND.map(([list, from, query, index]) => ({ list, from, query, index })))(
    '$query is found by $index',
    async ({ list, from, query, index }) => {
      // The statement of the page: the service sends its values beside it, planned for these alone.
      const { conditions, orderBy } = read(list, query);
      const plan = await explain(
        sql`select * from ${sql.raw(from)} where ${sql.join(conditions, sql` and `)} order by ${orderBy} limit 20`,
      );
      expect(plan, query).toContain(index);
      expect(plan, query).not.toContain(`Seq Scan on ${from}`);
    },
  );

  it('finds a payment by its reference however it is spelt, reversed or not', async () => {
    const { id } = await newAccount(service);
    const paid = await pay(service, id, 10, { transactionRef: 'Spelt So' });
    const found = async (reference: string) =>
      (
        await service.call('GET', `/payments?filter[transactionRef]=${encodeURIComponent(reference)}`)
      ).body.data.map((row: { id: number }) => row.id);
    expect(await found('Spelt So')).toEqual([paid.id]);
    expect(await found('SPELTSO')).toEqual([paid.id]);
    await reverse(service, paid.id);
    expect(await found('Spelt So')).toEqual([paid.id]);
    const others = await service.call('GET', '/payments?filter[transactionRef][nin]=Spelt So&limit=1');
    expect(others.body.pagination.total).toBe(ROWS);
  });
});
