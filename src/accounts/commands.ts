import { changeStatus, followPayment, type StatusChange } from '../account-status/commands.ts';
import { describeLateness } from '../account-status/lateness-rules.ts';
import { checkMove, moneyEventOf, statusOn } from '../account-status/rules.ts';
import { insertStatusChange } from '../account-status/store.ts';
import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { invalidField, notFound } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { findEmployee } from '../employees/store.ts';
import { post } from '../ledger/commands.ts';
import type { AccountRow } from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import { findPayPlanRow } from '../pay-plans/store.ts';
import { findProduct } from '../products/store.ts';
import { lockAccountsToSuspend } from './lateness-store.ts';
import type { AccountChanges, NewAccount } from './schema.ts';
import { insertAccount, laterMoneyDate, lockAccountsToActivate } from './store.ts';

/** Opens an account: copies the terms of the pay plan and posts the sale. */
export async function openAccount(context: Context, actor: Actor, body: NewAccount): Promise<AccountRow> {
  const day = today(context);
  const terms = await termsFor(context, body, day);
  const employeeId = await employeeFor(context, actor, body);
  const status = statusOn('pending', terms.activation_date, day);
  return inTransaction(context.db, async (tx) => {
    const account = await insertAccount(tx, {
      customer_id: body.customerId,
      product_id: body.productId,
      payplan_id: body.payplanId,
      employee_id: employeeId,
      status,
      ...terms,
    });
    const opened = await post(tx, context, new Map([[account.id, account]]), {
      event: 'account_opened',
      valueDate: day,
      movements: [{ accountId: account.id, movement: { kind: 'open' } }],
      contra: [],
    });
    await insertStatusChange(tx, {
      account_id: account.id,
      from_status: null,
      to_status: status,
      reason: null,
      cause: null,
      actor_user_id: actor.userId,
      changed_on: day,
    });
    await audit(tx, actor, {
      action: 'account.open',
      resource: 'account',
      resourceId: account.id,
      after: { ...body, status },
    });
    return opened.get(account.id) ?? account;
  });
}

/** Moves an account to another status. Does nothing if it already has that status. */
export async function changeAccount(
  context: Context,
  actor: Actor,
  id: number,
  body: AccountChanges,
): Promise<AccountRow> {
  return inTransaction(context.db, async (tx) => {
    const account = (await lockAccounts(tx, [id])).get(id);
    if (!account) throw notFound('account', id);
    const { status: to, reason } = body;
    if (to === undefined)
      throw invalidField('status', 'is required, because a reason explains a change of status');
    if (to === account.status) return account;
    checkMove(account.status, to, reason);
    const moved = await moveAccount(tx, context, actor, account, { to, reason: reason ?? null });
    return followPayment(tx, context, moved);
  });
}

/**
 * Activates the pending accounts whose activation date has come, one batch per transaction. The change of status
 * has the activation date even when the job runs days later, because instalments fall due from that date.
 *
 * @param signal stops it between two batches.
 * @returns the number of activated accounts.
 */
export async function activateDueAccounts(context: Context, signal: AbortSignal): Promise<number> {
  const batchSize = 200;
  let activated = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const accounts = await lockAccountsToActivate(tx, today(context), batchSize);
      for (const account of accounts) {
        const { activation_date: date } = account;
        const active = await moveAccount(tx, context, SYSTEM, account, { to: 'active', reason: null, date });
        await followPayment(tx, context, active, { date: await laterMoneyDate(tx, account.id, date) });
      }
      return accounts.length;
    });
    activated += batch;
    if (batch < batchSize) break;
  }
  return activated;
}

/**
 * Suspends accounts beyond their days of grace whose pay plans suspend late accounts, one batch per transaction.
 *
 * @param signal stops it between two batches.
 * @param onBatch called after each commit with the number of accounts suspended so far.
 * @returns the number of suspended accounts.
 */
export async function suspendLateAccounts(
  context: Context,
  signal: AbortSignal,
  onBatch: (suspended: number) => void = () => {},
): Promise<number> {
  const batchSize = 200;
  let suspended = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const day = today(context);
      const accounts = await lockAccountsToSuspend(tx, day, batchSize);
      for (const account of accounts) {
        const reason = describeLateness(account, day);
        await moveAccount(tx, context, SYSTEM, account, { to: 'suspended', reason, cause: 'non_payment' });
      }
      return accounts.length;
    });
    // A short batch is not the last one: it leaves out accounts that other transactions hold.
    if (batch === 0) break;
    suspended += batch;
    onBatch(suspended);
  }
  return suspended;
}

/** The columns of the terms, from the pay plan. */
async function termsFor(context: Context, body: NewAccount, day: PlainDate) {
  const product = await findProduct(context.db, body.productId);
  if (!product) throw notFound('product', body.productId, 'productId');
  const plan = await findPayPlanRow(context.db, body.payplanId);
  if (!plan) throw notFound('payplan', body.payplanId, 'payplanId');
  if (!product.active) throw invalidField('productId', 'must refer to an active product');
  if (!plan.active) throw invalidField('payplanId', 'must refer to an active pay plan');
  if (plan.product_id !== null && plan.product_id !== body.productId) {
    throw invalidField('payplanId', `is only for product ${plan.product_id}`);
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

/** The employee who earns the commission: the one in the body, or the caller if that is an active employee. */
async function employeeFor({ db }: Context, actor: Actor, body: NewAccount): Promise<number | null> {
  const employeeId = body.employeeId ?? actor.employeeId;
  if (employeeId === null) return null;
  const employee = await findEmployee(db, employeeId);
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
  const event = moneyEventOf(change.to);
  if (event) {
    const kind = event === 'account_cancelled' ? 'cancel' : 'write_off';
    await post(tx, context, new Map([[account.id, account]]), {
      event,
      valueDate: change.date ?? today(context),
      movements: [{ accountId: account.id, movement: { kind } }],
      contra: [],
    });
  }
  return changeStatus(tx, context, actor, account, change);
}
