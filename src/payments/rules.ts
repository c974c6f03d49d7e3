import { type AccountRow, booksOf } from '../accounts/ledger/rules.ts';
import { isStatusIn } from '../accounts/status/rules.ts';
import { type Actor, SYSTEM } from '../core/context.ts';
import type { NotificationOutcome, PaymentStatus, Row } from '../core/database/tables.ts';
import { type AppError, type FieldProblem, illegalMove } from '../core/http/errors.ts';
import { type Minor, maxMinor } from '../core/values/money.ts';

export type PaymentRow = Row<'payments'>;
export type NotificationRow = Row<'notifications'>;

/** The result of a notification. `pending`: the notification is stored, and the service will retry it. */
export interface NotificationResult {
  outcome: NotificationOutcome | 'pending';
  paymentId: number | null;
}

/** Why a readable payment is refused. */
export type RefusalReason = 'wrong_account' | 'wrong_amount' | 'wrong_short_code';

export type Verdict = 'accepted' | RefusalReason;

export type Refusal = { reason: 'unreadable'; problems: FieldProblem[] } | { reason: RefusalReason };

/** The actor of the changes that a provider causes. */
export function providerActor(provider: string): Actor {
  return { ...SYSTEM, name: `provider ${provider}` };
}

/** For each status of a payment: the statuses to which the payment can change. */
export const PAYMENT_STATUSES: Record<PaymentStatus, { next: readonly PaymentStatus[] }> = {
  matched: { next: ['unmatched', 'reversed'] },
  unmatched: { next: ['matched', 'reversed'] },
  reversed: { next: [] },
};

export function refusedMove({ status }: Pick<PaymentRow, 'status'>, to: PaymentStatus): AppError {
  return illegalMove('A payment', status, to, PAYMENT_STATUSES[status].next);
}

/**
 * The amount that is compared with APPROVAL_LIMIT when a payment is taken from its account. If the account is written off or
 * cancelled, the amount is at least the sum that is unpaid afterwards. Without this rule, staff could record payments, write off
 * the small unpaid rest without approval, and then reverse the payments one by one.
 * @param othersMinor - the sum of the other payments that are taken from the account in the same database transaction.
 */
export function amountToApprove(
  { amount_minor }: Pick<PaymentRow, 'amount_minor'>,
  account: AccountRow | undefined,
  othersMinor: Minor = 0n,
): Minor {
  const amountMinor = BigInt(amount_minor);
  if (!account || !isStatusIn(account.status, 'closed')) return amountMinor;
  const { totalMinor, paidMinor } = booksOf(account);
  return maxMinor(amountMinor, totalMinor - paidMinor + othersMinor + amountMinor);
}
