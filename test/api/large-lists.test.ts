import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type RawBuilder, sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { creditMoveList } from '../../src/accounts/credit/schema.ts';
import { accountList, statusChangeList } from '../../src/accounts/schema.ts';
import { employeeList } from '../../src/catalogue/employees/schema.ts';
import { payPlanList } from '../../src/catalogue/pay-plans/schema.ts';
import { paymentMethodList } from '../../src/catalogue/payment-methods/schema.ts';
import { configurationList, productList } from '../../src/catalogue/products/schema.ts';
import { auditList } from '../../src/changes/audit/schema.ts';
import { webhookDeliveryList } from '../../src/changes/webhook-endpoints/delivery-schema.ts';
import { webhookEndpointList } from '../../src/changes/webhook-endpoints/schema.ts';
import { callListList } from '../../src/collections/call-list/schema.ts';
import { callList } from '../../src/collections/calls/schema.ts';
import { promiseList } from '../../src/collections/promises/schema.ts';
import { commissionList, ruleList, unclaimedSaleList } from '../../src/commissions/schema.ts';
import { today } from '../../src/core/context.ts';
import type { NamedField } from '../../src/core/lists/fields.ts';
import { orderOf } from '../../src/core/lists/sql.ts';
import { kycList } from '../../src/customers/kyc/schema.ts';
import { noteList } from '../../src/customers/notes/schema.ts';
import { customerList } from '../../src/customers/schema.ts';
import { invoiceList } from '../../src/documents/invoices/schema.ts';
import { balanceGapList } from '../../src/mobile-money/lost-notifications/schema.ts';
import { requestList } from '../../src/mobile-money/payment-requests/schema.ts';
import {
  providerStatementLineList,
  providerStatementList,
} from '../../src/mobile-money/provider-statements/schema.ts';
import { statusQueryList } from '../../src/mobile-money/status-queries/schema.ts';
import { cashCountList, handoverList, settlementList } from '../../src/payments/cash/schema.ts';
import { notificationList } from '../../src/payments/notifications/schema.ts';
import { reconciliationList } from '../../src/payments/reconciliations/schema.ts';
import { paymentList, unmatchedList } from '../../src/payments/schema.ts';
import { importDifferenceList, importList, importProblemList } from '../../src/portfolio/import/schema.ts';
import { apiKeyList } from '../../src/staff/api-keys/schema.ts';
import { approvalList } from '../../src/staff/approvals/schema.ts';
import { invitationList } from '../../src/staff/users/invitation-schema.ts';
import { userList } from '../../src/staff/users/schema.ts';
import {
  newAccount,
  newCustomer,
  pay,
  reverse,
  setToday,
  statementsOf,
  useService,
} from '../support/harness.ts';

/** Lists of large tables, and the position of rows without a value. */
const service = useService();

const SOURCE = join(import.meta.dirname, '../../src');
const ROWS = 50_000;
const TODAY = '2026-06-15';

interface List {
  fields: NamedField[];
}

function isList(value: unknown): value is List {
  return typeof value === 'object' && value !== null && 'fields' in value && 'query' in value;
}

const compiled = (part: RawBuilder<unknown>) => part.compile(service.context.db).sql;

describe('sorting by a field', () => {
  /** Each list with its table, then the tables that it joins. */
  const LISTS: [List, ...string[]][] = [
    [accountList, 'accounts'],
    [statusChangeList, 'account_status_changes'],
    [auditList, 'audit_entries'],
    [commissionList, 'commissions'],
    [creditMoveList, 'credit_moves'],
    [ruleList, 'commission_rules'],
    [unclaimedSaleList, 'accounts'],
    [customerList, 'customers'],
    [employeeList, 'employees'],
    [invoiceList, 'invoices'],
    [kycList, 'kyc_records'],
    [noteList, 'notes'],
    [payPlanList, 'pay_plans'],
    [paymentMethodList, 'payment_methods'],
    [paymentList, 'payments'],
    [unmatchedList, 'payments'],
    [notificationList, 'notifications'],
    [productList, 'products'],
    [configurationList, 'product_configurations'],
    [reconciliationList, 'reconciliations'],
    [providerStatementList, 'provider_statements'],
    [providerStatementLineList, 'provider_statement_lines', 'provider_statements'],
    [userList, 'users'],
    [invitationList, 'invitations'],
    [apiKeyList, 'api_keys'],
    [approvalList, 'approvals'],
    [cashCountList, 'cash_counts'],
    [handoverList, 'cash_handovers'],
    [settlementList, 'cash_settlements'],
    [callList, 'calls'],
    [callListList, 'accounts', 'call_states'],
    [promiseList, 'promises'],
    [statusQueryList, 'status_queries'],
    [balanceGapList, 'balance_gaps'],
    [requestList, 'payment_requests'],
    [importList, 'imports'],
    [importProblemList, 'import_problems', 'imports'],
    [importDifferenceList, 'import_differences', 'imports'],
    [webhookEndpointList, 'webhook_endpoints'],
    [webhookDeliveryList, 'webhook_deliveries'],
  ];

  it('is tested for every list of the source', async () => {
    const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
    const schemas = files.filter((file) => file.endsWith('schema.ts'));
    const modules = await Promise.all(schemas.map((file) => import(join(SOURCE, file))));
    const exported: [string, unknown][] = modules.flatMap((module) => Object.entries(module));
    const tested = new Set(LISTS.map(([list]) => list));
    const untested = exported.filter(([, value]) => isList(value) && !tested.has(value));
    expect(untested.map(([name]) => name)).toEqual([]);
  });

  it.each(LISTS.map(([list, ...tables]) => ({ list, tables, table: tables[0] })))(
    'puts rows without a value last, and only where the column is nullable: $table',
    async ({ list, tables, table }) => {
      const { rows } = await sql<{ column_name: string; is_nullable: string }>`
      select column_name, is_nullable from information_schema.columns
      where table_schema = 'public' and table_name = any(${tables})
      order by array_position(${tables}, table_name::text) desc`.execute(service.context.db);
      const nullable = new Map(rows.map((row) => [row.column_name, row.is_nullable === 'YES']));
      let columns = 0;
      for (const field of list.fields) {
        if (field.column === undefined) continue; // A computed field is null only on purpose.
        const order = [{ field, direction: 'desc' as const }];
        const key = compiled(orderOf({ order }, {}));
        const column = field.column.split('.')[1] ?? '';
        columns += 1;
        if (isOfPayment(field.column, table)) {
          expect(key.endsWith(' nulls last'), `${table}.${column}`).toBe(true);
          continue;
        }
        expect(nullable.has(column), `${table}.${column}`).toBe(true);
        expect(key.endsWith(' nulls last'), `${table}.${column}`).toBe(nullable.get(column));
      }
      expect(columns).toBeGreaterThan(1);
    },
  );
});

/** Whether a column of a statement line is one of its payment. A line need not have a payment. */
function isOfPayment(column: string, table: string | undefined): boolean {
  return table === 'provider_statement_lines' && column.startsWith('p.');
}

describe('a list of 50,000 accounts', () => {
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
  });

  it('answers the exact total, small or large', async () => {
    const totalOf = async (query: string) =>
      (await service.call('GET', `/accounts?${query}`)).body.pagination.total;
    const counted = sql<{ all: number; pending: number; suspended: number }>`
      select count(*)::int as all, (count(*) filter (where status = 'pending'))::int as pending,
        (count(*) filter (where status = 'suspended'))::int as suspended from accounts`;
    const { rows } = await counted.execute(service.context.db);
    const [{ all, pending, suspended } = expect.fail()] = rows;
    expect(all).toBeGreaterThan(ROWS);
    expect(pending).toBeGreaterThanOrEqual(ROWS / 50);
    expect(await totalOf('')).toBe(all);
    expect(await totalOf('page=2000')).toBe(all);
    expect(await totalOf('status=pending')).toBe(pending);
    expect(await totalOf('filter[status]=pending&sort=id:asc')).toBe(pending);
    expect(await totalOf('status=suspended')).toBe(suspended);
  });

  it.each(['createdAt:desc', 'createdAt:asc', 'id:asc'])(
    'reads an index from a cursor on, sorted by %s',
    async (sort) => {
      const { pagination } = (await service.call('GET', `/accounts?sort=${sort}&after=`)).body;
      const next = `/accounts?sort=${sort}&after=${pagination.nextCursor}`;
      const statements = await statementsOf(() => service.call('GET', next));
      const page = statements.find(({ text }) => text.includes('from accounts a'));
      const { rows } = await service.parts.pool.query(`explain ${page?.text}`, page?.values ?? []);
      const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Index Cond: \((ROW\()?(created_at, id\) [<>] ROW\(|id >)/);
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    },
  );

  it('filters by the days past due that its rows show', async () => {
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
    // The figures that the rows show, by the formula of `position` in schedule/rules.ts.
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

describe('a filter by transaction reference', () => {
  it('finds a payment in any spelling of its reference, also after a reversal', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 10, { transactionRef: 'Other' });
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
    expect(others.body.pagination.total).toBe(1);
  });
});
