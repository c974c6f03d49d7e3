import { changeAccount } from '../accounts/change-account.ts';
import { refundCredit } from '../accounts/credit/commands.ts';
import { type Actor, amountOf, type Context, SYSTEM, today } from '../core/context.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { addDays } from '../core/values/dates.ts';
import { reversePayment } from '../payments/reverse-payment.ts';
import { approve, reject } from '../staff/approvals/commands.ts';
import type { DoneOrRequested } from '../staff/approvals/rules.ts';
import { addUser } from '../staff/users/commands.ts';
import { APPROVABLE_ACTIONS } from '../start/approvable-actions.ts';

const CASH_DAYS = 14;

/** The users who request actions and decide on the requests. */
export interface Staff {
  finance: Actor;
  manager: Actor;
}

/** Adds users without a password. These users cannot sign in until an admin sets a password. */
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

/** Requests two reversals. The manager approves the first and rejects the second. @returns the reversed payment, if there is one. */
export async function decideRequests(
  context: Context,
  { finance, manager }: Staff,
): Promise<{ accountId: number; amount: number } | undefined> {
  const [twice, wrong] = await findManualPayments(context);
  if (!twice || !wrong) return undefined;
  const first = requestedOf(await reversePayment(context, finance, twice.id, 'Entered twice'));
  const second = requestedOf(await reversePayment(context, finance, wrong.id, 'The amount is wrong'));
  await approve(context, APPROVABLE_ACTIONS, manager, first.id);
  await reject(context, manager, second.id, 'The receipt shows this amount.');
  return { accountId: twice.accountId, amount: amountOf(twice.amountMinor, context.currency) };
}

/** Makes requests on which nobody decides. @returns the accounts of the requests. */
export async function leaveRequests(context: Context, { finance, manager }: Staff): Promise<number[]> {
  const { db } = context;
  const accountIds: number[] = [];
  const [payment] = await findManualPayments(context);
  if (payment) {
    await reversePayment(context, finance, payment.id, 'Recorded for the wrong customer');
    accountIds.push(payment.accountId);
  }
  const refunded = await requestRefund(context, finance);
  if (refunded !== undefined) accountIds.push(refunded);
  const lost = await db
    .selectFrom('accounts')
    .select('id')
    .where('status', 'in', ['defaulted', 'repossessed'])
    .orderBy('receivable_minor', 'desc')
    .orderBy('id')
    .executeTakeFirst();
  if (lost) {
    await changeAccount(context, manager, lost.id, {
      status: 'written_off',
      reason: 'The customer has moved away, and the system was not found',
    });
    accountIds.push(lost.id);
  }
  return accountIds;
}

/** Requests a refund of the largest credit of a completed account. @returns the account. */
async function requestRefund(context: Context, actor: Actor): Promise<number | undefined> {
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
  await refundCredit(context, actor, account.id, { amount, reason: 'The last instalment was paid twice' });
  return account.id;
}

/** The two largest cash payments on active accounts in the last CASH_DAYS days. Leaves out payments with an approval request. */
function findManualPayments(context: Context) {
  return context.db
    .selectFrom('payments as p')
    .innerJoin('payment_methods as m', 'm.id', 'p.payment_method_id')
    .innerJoin('accounts as a', 'a.id', 'p.account_id')
    .select(['p.id', 'p.amount_minor as amountMinor', 'a.id as accountId'])
    .where('m.code', '=', 'cash')
    .where('p.status', '=', 'matched')
    .where('p.payment_date', '>', addDays(today(context), -CASH_DAYS))
    .where('a.status', '=', 'active')
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('approvals').select('id').whereRef('payment_id', '=', 'p.id'))),
    )
    .orderBy('p.amount_minor', 'desc')
    .orderBy('p.id')
    .limit(2)
    .execute();
}

function requestedOf(result: DoneOrRequested<unknown>) {
  if (!('requested' in result)) throw new Error('A demo action needed no approval.');
  return result.requested;
}
