import { type AccountBooks, balanceOf } from '../../accounts/ledger/money-on-account-rules.ts';
import { type Actor, amountOf, type Currency } from '../../core/context.ts';
import { type AppError, unconfirmed } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { mayDo } from '../../rights.ts';
import { isAboveCeiling } from '../cash/rules.ts';
import type { PaymentRow } from '../rules.ts';

// Finds what is unusual about a payment that staff record. The payment is posted nevertheless, unless its request asks for checks. No
// check stops a payment because of the ceiling of cash.

/** The meaning of each code. The sentences name no amounts, because a caller may not be allowed to read the account. */
export const PAYMENT_WARNINGS = {
  above_balance: 'The amount is above what is left to pay, and the rest becomes credit.',
  same_payment: 'The account already has a payment of this amount on this day.',
  cash_above_ceiling:
    'The cash in your hand, of this payment method, is above the ceiling of the company. Hand cash over.',
} as const;
export type PaymentWarningCode = keyof typeof PAYMENT_WARNINGS;
export const PAYMENT_WARNING_CODES = Object.keys(PAYMENT_WARNINGS) as PaymentWarningCode[];

/** The largest number of payments that a warning names. */
export const MAX_NAMED_PAYMENTS = 10;

export interface PaymentWarning {
  code: PaymentWarningCode;
  message: string;
  /** The payments that are alike, the newest first. Empty if the caller may not read payments. */
  paymentIds: number[];
}

/** What a user has seen and confirmed, as the request contains it. Amounts are in units of the currency. */
export interface Confirmation {
  codes: readonly PaymentWarningCode[];
  balance: number;
  credit?: number;
}

export type AlikePayment = Pick<
  PaymentRow,
  'id' | 'account_id' | 'amount_minor' | 'payment_date' | 'reference_key'
>;

/** A payment that is posted before this one in the same batch. */
export type EarlierPayment = AlikePayment & Pick<PaymentRow, 'created_by' | 'payment_method_id'>;

/** The fields of a manual payment on which warnings depend. */
interface ManualFields {
  actor: Actor;
  accountId: number;
  amountMinor: Minor;
  transactionRef: string | null;
  paymentDate: PlainDate;
}

/**
 * @param books - the books of the account just before the payment, with the price after an early payoff that the payment earns.
 * @param stored - unreversed payments of the account with the same amount and day, and no other reference, the newest first.
 * @param earlier - the payments that are posted before this one in the same batch, on any account.
 */
export function findWarnings(
  manual: ManualFields,
  books: AccountBooks,
  stored: readonly AlikePayment[],
  earlier: readonly AlikePayment[],
): PaymentWarning[] {
  const { actor, accountId, amountMinor } = manual;
  const onAccount = earlier.filter((one) => one.account_id === accountId);
  const alike = [...onAccount.filter((one) => isAlike(manual, one)).reverse(), ...stored];
  const codes: PaymentWarningCode[] = [
    ...(amountMinor > balanceOf(books) ? (['above_balance'] as const) : []),
    ...(alike.length > 0 ? (['same_payment'] as const) : []),
  ];
  const named = mayDo(actor, 'payments:read') ? alike.slice(0, MAX_NAMED_PAYMENTS).map(({ id }) => id) : [];
  return codes.map((code) => ({
    code,
    message: PAYMENT_WARNINGS[code],
    paymentIds: code === 'same_payment' ? named : [],
  }));
}

/**
 * @returns the error of a request whose warnings nobody has confirmed. A confirmation is for one state of the account: if another
 *   payment was posted since, the balance or the credit differs, and the user has to look again.
 */
export function refuseUnconfirmed(
  { actor, confirmation }: { actor: Actor; confirmation?: Confirmation | null },
  { warnings, books }: { warnings: readonly PaymentWarning[]; books: AccountBooks },
  currency: Currency,
): AppError | undefined {
  if (confirmation === undefined || warnings.length === 0) return undefined;
  const balance = amountOf(balanceOf(books), currency);
  const credit = amountOf(books.creditMinor, currency);
  const isConfirmed =
    confirmation !== null &&
    warnings.every(({ code }) => confirmation.codes.includes(code)) &&
    confirmation.balance === balance &&
    (confirmation.credit ?? 0) === credit;
  if (isConfirmed) return undefined;
  return unconfirmed(warnings, mayDo(actor, 'accounts:read') ? { balance, credit } : {});
}

/**
 * Warns if the cash of one payment method in the hand of the recorder is above the ceiling after the payment, also if it was above it
 * before. It needs no confirmation, because the money was received already.
 *
 * @param inHandMinor - before the batch. Undefined if the payment is not cash, or its recorder has not counted within a month.
 */
export function findCashWarnings(
  {
    actor,
    paymentMethodId,
    amountMinor,
  }: Pick<ManualFields, 'actor' | 'amountMinor'> & { paymentMethodId: number },
  inHandMinor: Minor | undefined,
  earlier: readonly EarlierPayment[],
  settings: { cashCeilingMinor: Minor | undefined },
): PaymentWarning[] {
  if (inHandMinor === undefined) return [];
  const ofBatch = earlier
    .filter((one) => one.created_by === actor.userId && one.payment_method_id === paymentMethodId)
    .reduce((sum, one) => sum + BigInt(one.amount_minor), 0n);
  if (!isAboveCeiling(inHandMinor + ofBatch + amountMinor, settings)) return [];
  const code = 'cash_above_ceiling';
  return [{ code, message: PAYMENT_WARNINGS[code], paymentIds: [] }];
}

function isAlike(manual: ManualFields, other: AlikePayment): boolean {
  const reference = manual.transactionRef === null ? null : referenceKey(manual.transactionRef);
  return (
    BigInt(other.amount_minor) === manual.amountMinor &&
    other.payment_date === manual.paymentDate &&
    (reference === null || other.reference_key === null || other.reference_key === reference)
  );
}
