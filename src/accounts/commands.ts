import { findEmployee } from '../catalogue/employees/store.ts';
import { findPayPlanRow } from '../catalogue/pay-plans/store.ts';
import { findProduct } from '../catalogue/products/store.ts';
import { auditRow, event, type NewEvent } from '../changes/events/change-rules.ts';
import { audit } from '../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM, today } from '../core/context.ts';
import { settleAll } from '../core/database/batching.ts';
import type { Db, Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { invalidField, notFound } from '../core/http/errors.ts';
import { type ExternalValues, externalFieldsOf } from '../core/http/external-ids.ts';
import { refuseSpreadsheetChange } from '../core/http/validation.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { type ApprovableAction, requestApproval } from '../staff/approvals/commands.ts';
import { type ApprovalRow, accountIdOf, type DoneOrRequested } from '../staff/approvals/rules.ts';
import { post, postAll } from './ledger/commands.ts';
import type { AccountRow } from './ledger/rules.ts';
import { lockAccounts } from './ledger/store.ts';
import type { AccountChanges, NewAccount } from './schema.ts';
import { type StatusChange, statusRow } from './status/change-rules.ts';
import { adjustStatusToPaidAmount, changeStatus, changeStatuses } from './status/commands.ts';
import { checkStatusMove, isToComplete, moneyEventOf, statusOn } from './status/rules.ts';
import { insertStatusChanges } from './status/store.ts';
import { insertAccount, laterMoneyDate, lockAccountsToActivate, updateExternalFields } from './store.ts';

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
  const opened = await postAll(
    tx,
    context,
    new Map(accounts.map((account) => [account.id, account])),
    events,
  );
  const refusal = opened.refusals.find((one) => one !== undefined);
  if (refusal) throw refusal;
  await insertStatusChanges(
    tx,
    accounts.map(({ id, status }) =>
      statusRow(actor, day, { account_id: id, from_status: null, to_status: status }),
    ),
  );
  return accounts.map((account) => opened.accounts.get(account.id) ?? account);
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

/**
 * Changes the external fields and the status of an account. A status that the account already has changes nothing. A write-off or
 * cancellation of a balance above the approval limit is sent for approval instead; the body must then have no external fields.
 */
export async function changeAccount(
  context: Context,
  actor: Actor,
  id: number,
  body: AccountChanges,
): Promise<DoneOrRequested<AccountRow>> {
  return inTransaction(context.db, async (tx) => {
    const found = (await lockAccounts(tx, [id])).get(id);
    if (!found) throw notFound('account', id);
    refuseSpreadsheetChange('externalId', body.externalId, found.external_id);
    const { status: to = found.status, reason } = body;
    if (body.status === undefined && reason !== undefined)
      throw invalidField(
        'status',
        'is required if a reason is given, because the reason explains the change of status',
      );
    if (to !== found.status) {
      checkStatusMove(found.status, to, reason);
      const requested = await requestApprovalOfLoss(tx, context, actor, found, body);
      if (requested) return { requested };
    }
    const account = await changeExternalFields(tx, actor, found, externalFieldsOf(body));
    if (to === account.status) return { done: account };
    const moved = await moveAccount(tx, context, actor, account, { to, reason: reason ?? null });
    return { done: await adjustStatusToPaidAmount(tx, context, moved) };
  });
}

/** Requests approval for a write-off or cancellation of a balance above the limit. @returns undefined if none is needed. */
async function requestApprovalOfLoss(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  body: AccountChanges,
): Promise<ApprovalRow | undefined> {
  const moneyEvent = body.status && moneyEventOf(body.status);
  if (!moneyEvent) return undefined;
  const { externalId, metadata, ...change } = body;
  const requested = await requestApproval(tx, context, actor, {
    action: moneyEvent === 'account_written_off' ? 'write_off_account' : 'cancel_account',
    accountId: account.id,
    paymentId: null,
    toAccountId: null,
    amountMinor: BigInt(account.receivable_minor),
    reason: body.reason ?? '',
    body: change,
    isRepeatable: true,
  });
  // Refuse external fields: the approver decides only about the balance, and others can change the fields before the decision.
  if (requested && (externalId !== undefined || metadata !== undefined))
    throw invalidField(
      externalId === undefined ? 'metadata' : 'externalId',
      `cannot change in the same request as the status, because the status ${body.status} needs approval; send this field in a separate request`,
    );
  return requested;
}

/** The actions on accounts that can need approval. */
export const ACCOUNT_ACTIONS = {
  write_off_account: { lock: lockAccountOf, execute: executeChange },
  cancel_account: { lock: lockAccountOf, execute: executeChange },
} as const satisfies Record<string, ApprovableAction>;

async function lockAccountOf(tx: Tx, _context: Context, request: ApprovalRow): Promise<void> {
  await lockAccounts(tx, [accountIdOf(request)]);
}

async function executeChange(context: Context, actor: Actor, request: ApprovalRow): Promise<null> {
  await changeAccount(context, actor, accountIdOf(request), request.body as AccountChanges);
  return null;
}

async function changeExternalFields(
  tx: Tx,
  actor: Actor,
  account: AccountRow,
  changes: ExternalValues,
): Promise<AccountRow> {
  if (Object.keys(changes).length === 0) return account;
  const changed = await updateExternalFields(tx, account.id, changes);
  await audit(tx, actor, {
    action: 'account.change',
    resource: 'account',
    resourceId: account.id,
    before: { externalId: account.external_id, metadata: account.metadata },
    after: changes,
    event: event('account.updated', { changedFields: Object.keys(changes) }),
  });
  return changed;
}

/**
 * Activates the pending accounts whose activation date has come, one batch per transaction. The date of the status change is the
 * activation date, even if the job runs days later, because the due dates of the instalments are counted from that date.
 *
 * @param signal - stops the job between two batches.
 * @returns the number of activated accounts.
 */
export async function activateDueAccounts(context: Context, signal: AbortSignal): Promise<number> {
  const batchSize = 200;
  let activated = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const accounts = await lockAccountsToActivate(tx, today(context), batchSize);
      const changes = accounts.map((account) => ({
        account,
        to: 'active' as const,
        reason: null,
        date: account.activation_date,
      }));
      for (const account of await changeStatuses(tx, context, SYSTEM, changes)) {
        if (!isToComplete(account.status, BigInt(account.paid_minor), BigInt(account.total_minor))) continue;
        const date = await laterMoneyDate(tx, account.id, account.activation_date);
        await adjustStatusToPaidAmount(tx, context, account, { date });
      }
      return accounts.length;
    });
    activated += batch;
    if (batch < batchSize) break;
  }
  return activated;
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
  return {
    deposit_minor: plan.deposit_minor,
    instalment_minor: plan.instalment_minor,
    instalment_count: plan.instalment_count,
    frequency: plan.frequency,
    grace_days: plan.grace_days,
    activation_date: body.activationDate ?? day,
  };
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

/** Changes the status, and posts the money event that belongs to the new status. */
async function moveAccount(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  change: StatusChange,
): Promise<AccountRow> {
  const moneyEvent = moneyEventOf(change.to);
  if (!moneyEvent) return changeStatus(tx, context, actor, account, change);
  const kind = moneyEvent === 'account_cancelled' ? 'cancel' : 'write_off';
  const posted = await post(tx, context, new Map([[account.id, account]]), {
    event: moneyEvent,
    actor,
    valueDate: change.date ?? today(context),
    movements: [{ accountId: account.id, movement: { kind } }],
    contra: [],
  });
  return changeStatus(tx, context, actor, posted.get(account.id) ?? account, change);
}
