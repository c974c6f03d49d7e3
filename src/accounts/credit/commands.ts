import { findPaymentMethodRow, getMethodId, MOBILE_MONEY } from '../../catalogue/payment-methods/store.ts';
import { auditRow, type ChangeRow, event } from '../../changes/events/change-rules.ts';
import { type Actor, type Context, readAmount, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { invalidField, notFound } from '../../core/http/errors.ts';
import { type ApprovableAction, requestApproval } from '../../staff/approvals/commands.ts';
import { type ApprovalRow, accountIdOf, type DoneOrRequested } from '../../staff/approvals/rules.ts';
import { post } from '../ledger/commands.ts';
import { accountFull, checkCredit, hasRoomFor } from '../ledger/money-on-account-rules.ts';
import type { AccountRow } from '../ledger/rules.ts';
import { booksOf } from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import type { CreditRefund, CreditTransfer } from './schema.ts';
import { type CreditMoveRow, insertCreditMove, type NewCreditMoveRow, sumMovedCredit } from './store.ts';

/**
 * Transfers credit to another account. The other account receives the credit like a payment. If the sum of the credit that leaves
 * account `id` today would exceed the approval limit, the transfer is sent for approval instead.
 */
export async function transferCredit(
  context: Context,
  actor: Actor,
  id: number,
  body: CreditTransfer,
): Promise<DoneOrRequested<CreditMoveRow>> {
  const { toAccountId, reason } = body;
  if (toAccountId === id) throw invalidField('toAccountId', 'must be another account');
  const amountMinor = readAmount(body.amount, context.currency);
  const valueDate = today(context);
  return inTransaction(context.db, async (tx) => {
    // Lock both accounts at once, so that transfers in opposite directions do not deadlock.
    const accounts = await lockAccounts(tx, [id, toAccountId]);
    const giver = getLocked(accounts, id, 'id');
    const receiver = getLocked(accounts, toAccountId, 'toAccountId');
    checkCredit(booksOf(giver), amountMinor);
    if (!hasRoomFor(booksOf(receiver), amountMinor)) throw accountFull('amount');
    const requested = await requestApproval(tx, context, actor, {
      action: 'transfer_credit',
      accountId: id,
      paymentId: null,
      toAccountId,
      amountMinor,
      countedMinor: amountMinor + (await sumMovedCredit(tx, id, valueDate)),
      reason,
      body,
    });
    if (requested) return { requested };
    const { move, changes } = await insertMove(tx, actor, {
      accountId: id,
      toAccountId,
      paymentMethodId: null,
      transactionRef: null,
      amountMinor,
      reason,
      valueDate,
    });
    await post(tx, context, accounts, {
      event: 'credit_transferred',
      actor,
      creditMoveId: move.id,
      valueDate,
      movements: [
        { accountId: toAccountId, movement: { kind: 'money_in', amountMinor } },
        { accountId: id, movement: { kind: 'credit_out', amountMinor } },
      ],
      contra: [],
      rows: { changes },
    });
    return { done: move };
  });
}

/**
 * Records credit that was paid back to the customer by a payment method. If the sum of the credit that leaves the account today
 * would exceed the approval limit, the refund is sent for approval instead.
 */
export async function refundCredit(
  context: Context,
  actor: Actor,
  id: number,
  body: CreditRefund,
): Promise<DoneOrRequested<CreditMoveRow>> {
  const amountMinor = readAmount(body.amount, context.currency);
  const valueDate = today(context);
  const paymentMethodId = body.paymentMethodId ?? (await getMethodId(context.db, MOBILE_MONEY));
  const method = await findPaymentMethodRow(context.db, paymentMethodId);
  if (!method) throw notFound('payment_method', paymentMethodId, 'paymentMethodId');
  if (!method.active) throw invalidField('paymentMethodId', 'must refer to an active payment method');
  return inTransaction(context.db, async (tx) => {
    const accounts = await lockAccounts(tx, [id]);
    checkCredit(booksOf(getLocked(accounts, id, 'id')), amountMinor);
    const requested = await requestApproval(tx, context, actor, {
      action: 'refund_credit',
      accountId: id,
      paymentId: null,
      toAccountId: null,
      amountMinor,
      countedMinor: amountMinor + (await sumMovedCredit(tx, id, valueDate)),
      reason: body.reason,
      body: { ...body, paymentMethodId },
    });
    if (requested) return { requested };
    const { move, changes } = await insertMove(tx, actor, {
      accountId: id,
      toAccountId: null,
      paymentMethodId,
      transactionRef: body.transactionRef?.trim() ?? null,
      amountMinor,
      reason: body.reason,
      valueDate,
    });
    await post(tx, context, accounts, {
      event: 'credit_refunded',
      actor,
      creditMoveId: move.id,
      valueDate,
      movements: [{ accountId: id, movement: { kind: 'credit_out', amountMinor } }],
      contra: [{ ledgerAccount: 'clearing', amountMinor: -amountMinor, paymentMethodId }],
      rows: { changes },
    });
    return { done: move };
  });
}

/** The actions on credit that can need approval. */
export const CREDIT_ACTIONS = {
  transfer_credit: {
    lock,
    execute: async (context, actor, request) =>
      moveIdOf(await transferCredit(context, actor, accountIdOf(request), request.body as CreditTransfer)),
  },
  refund_credit: {
    lock,
    execute: async (context, actor, request) =>
      moveIdOf(await refundCredit(context, actor, accountIdOf(request), request.body as CreditRefund)),
  },
} as const satisfies Record<string, ApprovableAction>;

async function lock(tx: Tx, _context: Context, request: ApprovalRow): Promise<void> {
  const { to_account_id: toAccountId } = request;
  await lockAccounts(tx, [accountIdOf(request), ...(toAccountId === null ? [] : [toAccountId])]);
}

function moveIdOf(outcome: DoneOrRequested<CreditMoveRow>): number {
  if ('requested' in outcome) throw new Error('The approved action requested approval again.');
  return outcome.done.id;
}

function getLocked(accounts: ReadonlyMap<number, AccountRow>, id: number, field: string): AccountRow {
  const account = accounts.get(id);
  if (!account) throw notFound('account', id, field);
  return account;
}

/** Inserts a transfer or refund of credit. @returns the inserted row and the changes to post. */
async function insertMove(
  tx: Tx,
  actor: Actor,
  fields: Omit<NewCreditMoveRow, 'createdBy'>,
): Promise<{ move: CreditMoveRow; changes: ChangeRow[] }> {
  const move = await insertCreditMove(tx, { ...fields, createdBy: actor.userId });
  const { accountId, toAccountId, ...rest } = fields;
  const { amountMinor, paymentMethodId } = fields;
  const after = { creditMoveId: move.id, ...rest };
  const creditMoveId = move.id;
  const ofGiver = { resource: 'account', resourceId: accountId, after: { ...after, toAccountId } } as const;
  if (toAccountId === null) {
    if (paymentMethodId === null) throw new Error('The refund has no payment method.');
    const refund = event(
      'credit.refunded',
      { creditMoveId, paymentMethodId, amountMinor },
      { id: accountId },
    );
    return { move, changes: [auditRow(actor, { ...ofGiver, action: 'credit.refund', event: refund })] };
  }
  const transfer = event('credit.transferred', { creditMoveId, toAccountId, amountMinor }, { id: accountId });
  const receipt = event(
    'credit.received',
    { creditMoveId, fromAccountId: accountId, amountMinor },
    { id: toAccountId },
  );
  const changes = [
    auditRow(actor, { ...ofGiver, action: 'credit.transfer', event: transfer }),
    auditRow(actor, {
      action: 'credit.receive',
      resource: 'account',
      resourceId: toAccountId,
      after: { ...after, fromAccountId: accountId },
      event: receipt,
    }),
  ];
  return { move, changes };
}
