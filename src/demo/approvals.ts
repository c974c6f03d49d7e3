import { changeAccount } from '../accounts/commands.ts';
import { APPROVABLE_ACTIONS } from '../approvable-actions.ts';
import { approve, reject } from '../approvals/commands.ts';
import type { DoneOrRequested } from '../approvals/rules.ts';
import { type Actor, amountOf, type Context, SYSTEM } from '../core/context.ts';
import type { Db } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { refundCredit } from '../credit/commands.ts';
import { reversePayment } from '../payments/reversal-commands.ts';
import { addUser } from '../users/commands.ts';

/** Two people of the company: one requests what needs approval, the other decides. */
export interface Staff {
  finance: Actor;
  manager: Actor;
}

/** Adds users without a password. They cannot sign in until an admin gives them one. */
export function addStaff({ db }: Context, actor: Actor): Promise<Staff> {
  return inTransaction(db, async (tx) => {
    const add = async (role: 'finance' | 'manager', firstName: string, lastName: string): Promise<Actor> => {
      const email = `${firstName}.${lastName}@example.com`.toLowerCase();
      const user = await addUser(tx, actor, { email, firstName, lastName, role, passwordHash: null });
      return { ...SYSTEM, userId: user.id, name: user.email, role };
    };
    return {
      finance: await add('finance', 'Joyce', 'Wairimu'),
      manager: await add('manager', 'Daniel', 'Kibet'),
    };
  });
}

/** Of two requests, the manager approves one and rejects the other. @returns the account whose payment was reversed. */
export async function decideRequests(
  context: Context,
  { finance, manager }: Staff,
): Promise<{ accountId: number; amount: number } | undefined> {
  const [payment] = await findManualPayments(context.db);
  const refund = await requestRefund(context, finance, 'The customer asked for the money');
  if (refund !== undefined)
    await reject(context, manager, refund.id, 'The customer is buying a second lamp with this credit.');
  if (!payment) return undefined;
  const reversal = requestedOf(await reversePayment(context, finance, payment.id, 'Entered twice'));
  await approve(context, APPROVABLE_ACTIONS, manager, reversal.id);
  return { accountId: payment.accountId, amount: amountOf(payment.amountMinor, context.currency) };
}

/** Leaves requests without a decision. @returns the accounts that they concern. */
export async function leaveRequests(context: Context, { finance, manager }: Staff): Promise<number[]> {
  const { db } = context;
  const accountIds: number[] = [];
  const [payment] = await findManualPayments(db);
  if (payment) {
    await reversePayment(context, finance, payment.id, 'Recorded for the wrong customer');
    accountIds.push(payment.accountId);
  }
  const refund = await requestRefund(context, finance, 'The last instalment was paid twice');
  if (refund !== undefined) accountIds.push(refund.accountId);
  const lost = await db
    .selectFrom('accounts')
    .select('id')
    .where('status', '=', 'repossessed')
    .orderBy('receivable_minor', 'desc')
    .orderBy('id')
    .executeTakeFirst();
  if (lost) {
    await changeAccount(context, manager, lost.id, {
      status: 'written_off',
      reason: 'The battery is broken, so the system cannot be sold again',
    });
    accountIds.push(lost.id);
  }
  return accountIds;
}

/** Requests a refund of the whole credit of the account that has the most. */
async function requestRefund(context: Context, actor: Actor, reason: string) {
  const account = await context.db
    .selectFrom('accounts')
    .select(['id', 'credit_minor'])
    .where('credit_minor', '>', 0)
    .where('status', '=', 'completed')
    .orderBy('credit_minor', 'desc')
    .orderBy('id')
    .executeTakeFirst();
  if (!account) return undefined;
  const amount = amountOf(account.credit_minor, context.currency);
  const { id } = requestedOf(await refundCredit(context, actor, account.id, { amount, reason }));
  return { id, accountId: account.id };
}

/** The latest payments that staff recorded, and that the provider does not know. */
function findManualPayments(db: Db) {
  return db
    .selectFrom('payments as p')
    .innerJoin('payment_methods as m', 'm.id', 'p.payment_method_id')
    .innerJoin('accounts as a', 'a.id', 'p.account_id')
    .select(['p.id', 'p.amount_minor as amountMinor', 'a.id as accountId'])
    .where('m.code', '=', 'cash')
    .where('p.status', '=', 'matched')
    .where('a.status', '=', 'active')
    .orderBy('p.id', 'desc')
    .limit(1)
    .execute();
}

function requestedOf(result: DoneOrRequested<unknown>) {
  if (!('requested' in result)) throw new Error('A demo action needed no approval.');
  return result.requested;
}
