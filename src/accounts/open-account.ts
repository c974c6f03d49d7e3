import { findEmployee } from '../catalogue/employees/store.ts';
import { runsOfSale, shapeOf } from '../catalogue/pay-plans/rules.ts';
import { findPayPlanRow } from '../catalogue/pay-plans/store.ts';
import { findProduct } from '../catalogue/products/store.ts';
import { auditRow, event, type NewEvent } from '../changes/events/change-rules.ts';
import { type Actor, type Context, today } from '../core/context.ts';
import { settleAll } from '../core/database/batching.ts';
import type { Db, Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { invalidField, notFound } from '../core/http/errors.ts';
import { externalFieldsOf } from '../core/http/external-ids.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { post } from './ledger/commands.ts';
import type { AccountRow } from './ledger/rules.ts';
import { termColumns, termsOfRuns } from './schedule/rules.ts';
import type { NewAccount } from './schema.ts';
import { statusRow } from './status/paid-amount-rules.ts';
import { statusOn } from './status/rules.ts';
import { insertStatusChanges } from './status/store.ts';
import { insertAccount } from './store.ts';

/** Opens an account: copies the terms of the pay plan and posts the sale. */
export async function openAccount(context: Context, actor: Actor, body: NewAccount): Promise<AccountRow> {
  const opening = await openingFor(catalogueOf(context.db), actor, body, today(context));
  const [account] = await inTransaction(context.db, (tx) => openAll(tx, context, actor, [opening]));
  if (!account) throw new Error('Opening an account returned no account.');
  return account;
}

/** Opens accounts in one transaction. If one is refused, none is opened. */
export function openAccounts(context: Context, actor: Actor, bodies: readonly NewAccount[]) {
  const day = today(context);
  return inTransaction(context.db, async (tx) => {
    const catalogue = catalogueOf(tx);
    const openings = await settleAll(bodies.map((body) => openingFor(catalogue, actor, body, day)));
    return openAll(tx, context, actor, openings);
  });
}

type Opening = Awaited<ReturnType<typeof openingFor>>;

/** The row of a new account, and its audited fields. */
async function openingFor(catalogue: Catalogue, actor: Actor, body: NewAccount, day: PlainDate) {
  const { externalId = null, metadata } = externalFieldsOf(body);
  const terms = await termsFor(catalogue, body, day);
  const employeeId = await employeeFor(catalogue, actor, body);
  const status = statusOn('pending', terms.activation_date, day);
  return {
    row: {
      customer_id: body.customerId,
      product_id: body.productId,
      payplan_id: body.payplanId,
      employee_id: employeeId,
      status,
      external_id: externalId,
      ...(metadata && { metadata }),
      ...terms,
    },
    audited: { ...body, ...externalFieldsOf(body), status },
  };
}

async function openAll(
  tx: Tx,
  context: Context,
  actor: Actor,
  openings: readonly Opening[],
): Promise<AccountRow[]> {
  const day = today(context);
  const accounts = await settleAll(openings.map(({ row }) => insertAccount(tx, row)));
  const events = accounts.map((account, at) => ({
    event: 'account_opened' as const,
    actor,
    valueDate: day,
    movements: [{ accountId: account.id, movement: { kind: 'open' as const } }],
    contra: [],
    rows: {
      changes: [
        auditRow(actor, {
          action: 'account.open',
          resource: 'account',
          resourceId: account.id,
          after: openings[at]?.audited ?? {},
          event: openedEvent(account),
        }),
      ],
    },
  }));
  const opened = await post(
    tx,
    context,
    new Map(accounts.map((account) => [account.id, { ...account, early_payoff: null }])),
    ...events,
  );
  await insertStatusChanges(
    tx,
    accounts.map(({ id, status }) =>
      statusRow(actor, day, { account_id: id, from_status: null, to_status: status }),
    ),
  );
  return accounts.map((account) => opened.get(account.id) ?? account);
}

function openedEvent(account: AccountRow): NewEvent {
  const data = {
    customerId: account.customer_id,
    productId: account.product_id,
    payplanId: account.payplan_id,
    employeeId: account.employee_id,
    activationDate: account.activation_date,
    status: account.status,
    totalMinor: Number(account.total_minor),
  };
  return event('account.opened', data, { id: account.id });
}

/** Reads the products, pay plans and employees that new accounts refer to. Each one is read only once. */
type Catalogue = ReturnType<typeof catalogueOf>;

function catalogueOf(db: Db | Tx) {
  return {
    product: readOnce((id) => findProduct(db, id)),
    payPlan: readOnce((id) => findPayPlanRow(db, id)),
    employee: readOnce((id) => findEmployee(db, id)),
  };
}

function readOnce<T>(find: (id: number) => Promise<T>): (id: number) => Promise<T> {
  const found = new Map<number, Promise<T>>();
  return (id) => {
    const known = found.get(id) ?? find(id);
    found.set(id, known);
    return known;
  };
}

/** Copies the terms of the pay plan to columns of the account. */
async function termsFor(catalogue: Catalogue, body: NewAccount, day: PlainDate) {
  const product = await catalogue.product(body.productId);
  if (!product) throw notFound('product', body.productId, 'productId');
  const plan = await catalogue.payPlan(body.payplanId);
  if (!plan) throw notFound('payplan', body.payplanId, 'payplanId');
  if (!product.active) throw invalidField('productId', 'must refer to an active product');
  if (!plan.active) throw invalidField('payplanId', 'must refer to an active pay plan');
  if (plan.product_id !== null && plan.product_id !== body.productId) {
    throw invalidField(
      'payplanId',
      `must refer to a pay plan for this product; this pay plan is for product ${plan.product_id}`,
    );
  }
  const activationDate = body.activationDate ?? day;
  const shape = shapeOf(plan);
  const account = { ...shape, graceDays: plan.grace_days, activationDate };
  return termColumns(termsOfRuns(account, runsOfSale(shape, activationDate, body.firstDueDate)));
}

/** The employee who earns the commission: the one in the body, or else the employee of the caller, if this employee is active. */
async function employeeFor(catalogue: Catalogue, actor: Actor, body: NewAccount): Promise<number | null> {
  const employeeId = body.employeeId ?? actor.employeeId;
  if (employeeId === null) return null;
  const employee = await catalogue.employee(employeeId);
  // The foreign key of the account refuses an unknown employee.
  if (!employee || employee.active) return employeeId;
  if (body.employeeId === undefined) return null;
  throw invalidField('employeeId', 'must refer to an active employee');
}
