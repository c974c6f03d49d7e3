import { isStatusIn } from '../account-status/rules.ts';
import { type Actor, SYSTEM } from '../core/context.ts';
import type { PaymentStatus, Row } from '../core/database/tables.ts';
import { type AppError, illegalMove } from '../core/http/errors.ts';
import { type Minor, maxMinor } from '../core/values/money.ts';
import { type AccountRow, booksOf } from '../ledger/rules.ts';

export type PaymentRow = Row<'payments'>;
export type NotificationRow = Row<'notifications'>;

/** The actor of the changes that a provider causes. */
export function providerActor(provider: string): Actor {
  return { ...SYSTEM, name: `provider ${provider}` };
}

/** Each status of a payment, with the statuses that it can change to. */
export const PAYMENT_STATUSES: Record<PaymentStatus, { next: readonly PaymentStatus[] }> = {
  matched: { next: ['unmatched', 'reversed'] },
  unmatched: { next: ['matched', 'reversed'] },
  reversed: { next: [] },
};

export function refusedMove({ status }: PaymentRow, to: PaymentStatus): AppError {
  return illegalMove('A payment', status, to, PAYMENT_STATUSES[status].next);
}

/**
 * The amount to compare with the approval limit when a payment is taken from its account. If the account is written off or
 * cancelled, this is at least the amount that is unpaid afterwards. Otherwise staff could record payments, write off the small rest
 * without approval, and then reverse the payments one by one.
 * @param othersMinor - the sum of other payments that are taken from the account at the same time.
 */
export function amountToApprove(
  { amount_minor }: PaymentRow,
  account: AccountRow | undefined,
  othersMinor: Minor = 0n,
): Minor {
  const amountMinor = BigInt(amount_minor);
  if (!account || !isStatusIn(account.status, 'closed')) return amountMinor;
  const { totalMinor, paidMinor } = booksOf(account);
  return maxMinor(amountMinor, totalMinor - paidMinor + othersMinor + amountMinor);
}
