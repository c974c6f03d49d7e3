import { bookOnAccount, settleAccount } from '../accounts/commands.ts';
import { bookCreditOut, bookMoneyIn } from '../accounts/rules.ts';
import { type AccountRow, booksOf, lockAccount } from '../accounts/store.ts';
import { audit } from '../core/audit.ts';
import { type Actor, type Context, readAmount, today } from '../core/context.ts';
import { inTransaction, type Tx } from '../core/db.ts';
import { invalidField, notFound } from '../core/errors.ts';
import { findPaymentMethodRow, getMobileMoneyId } from '../payment-methods/store.ts';
import { checkRoom } from '../payments/booking.ts';
import type { CreditRefund, CreditTransfer } from './schema.ts';
import { type CreditMoveRow, insertCreditMove, type NewCreditMoveRow } from './store.ts';

/** Gives credit of one account to another, where it pays what is owed as a payment would. */
export async function transferCredit(
  context: Context,
  actor: Actor,
  id: number,
  body: CreditTransfer,
): Promise<CreditMoveRow> {
  const { toAccountId, reason } = body;
  if (toAccountId === id) throw invalidField('toAccountId', 'must be another account');
  const amountMinor = readAmount(body.amount, context.currency);
  const valueDate = today(context);
  return inTransaction(context.db, async (tx) => {
    const [giver, receiver] = await lockBoth(tx, id, toAccountId);
    const given = bookCreditOut(booksOf(giver), amountMinor);
    checkRoom(receiver, amountMinor, 'amount');
    const move = await insertMove(tx, actor, {
      accountId: id,
      toAccountId,
      paymentMethodId: null,
      transactionRef: null,
      amountMinor,
      reason,
      valueDate,
    });
    await bookOnAccount(tx, context, receiver, {
      event: 'credit_transferred',
      paymentId: null,
      creditMoveId: move.id,
      valueDate,
      booking: bookMoneyIn(booksOf(receiver), amountMinor),
      contra: { ledgerAccount: 'customer_credit', amountMinor, accountId: id },
    });
    await settleAccount(tx, context, giver, { booking: given, event: 'credit_transferred', valueDate });
    return move;
  });
}

/** Gives credit back to the customer; the money has left by the payment method. */
export async function refundCredit(
  context: Context,
  actor: Actor,
  id: number,
  body: CreditRefund,
): Promise<CreditMoveRow> {
  const amountMinor = readAmount(body.amount, context.currency);
  const valueDate = today(context);
  const paymentMethodId = body.paymentMethodId ?? (await getMobileMoneyId(context.db));
  const method = await findPaymentMethodRow(context.db, paymentMethodId);
  if (!method) throw notFound('payment_method', paymentMethodId, 'paymentMethodId');
  if (!method.active) throw invalidField('paymentMethodId', 'must be a payment method that is active');
  return inTransaction(context.db, async (tx) => {
    const account = await lockAccount(tx, id);
    if (!account) throw notFound('account', id);
    const booking = bookCreditOut(booksOf(account), amountMinor);
    const move = await insertMove(tx, actor, {
      accountId: id,
      toAccountId: null,
      paymentMethodId,
      transactionRef: body.transactionRef?.trim() ?? null,
      amountMinor,
      reason: body.reason,
      valueDate,
    });
    await bookOnAccount(tx, context, account, {
      event: 'credit_refunded',
      paymentId: null,
      creditMoveId: move.id,
      valueDate,
      booking,
      contra: { ledgerAccount: 'clearing', amountMinor: -amountMinor, paymentMethodId },
    });
    return move;
  });
}

/** Accounts are locked by ids ascending, so that transfers both ways wait for each other in turn. */
async function lockBoth(tx: Tx, id: number, toAccountId: number): Promise<[AccountRow, AccountRow]> {
  const accounts = new Map<number, AccountRow>();
  for (const accountId of [id, toAccountId].sort((a, b) => a - b)) {
    const account = await lockAccount(tx, accountId);
    if (account) accounts.set(accountId, account);
  }
  const [giver, receiver] = [accounts.get(id), accounts.get(toAccountId)];
  if (!giver) throw notFound('account', id);
  if (!receiver) throw notFound('account', toAccountId, 'toAccountId');
  return [giver, receiver];
}

async function insertMove(
  tx: Tx,
  actor: Actor,
  fields: Omit<NewCreditMoveRow, 'createdBy'>,
): Promise<CreditMoveRow> {
  const move = await insertCreditMove(tx, { ...fields, createdBy: actor.userId });
  const { accountId, toAccountId, ...after } = fields;
  await audit(tx, actor, {
    action: toAccountId === null ? 'credit.refund' : 'credit.transfer',
    resource: 'account',
    resourceId: accountId,
    after: { creditMoveId: move.id, toAccountId, ...after },
  });
  if (toAccountId !== null) {
    await audit(tx, actor, {
      action: 'credit.receive',
      resource: 'account',
      resourceId: toAccountId,
      after: { creditMoveId: move.id, fromAccountId: accountId, ...after },
    });
  }
  return move;
}
