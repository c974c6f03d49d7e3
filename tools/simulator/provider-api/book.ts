import { eastAfricaDigits, formatAmount, maskedNumber } from '../formats.ts';

/** The provider's book of one short code: the payments to it, and its balance. */

export interface BookedPayment {
  transId: string;
  amountMinor: bigint;
  time: Date;
  /** The account that the payer typed. */
  reference: string;
  /** The payer's number, digits only. */
  payer: string;
}

export interface Book {
  readonly shortCode: string;
  readonly payments: readonly BookedPayment[];
  /** Adds a payment, and returns the body of its notification. */
  pay(payment: BookedPayment): Record<string, string>;
  /** Money leaves the short code. The provider sends no notification of it. */
  withdraw(amountMinor: bigint): void;
}

/** Amounts have two decimals. */
export function openBook(shortCode: string, openingBalanceMinor = 0n): Book {
  const payments: BookedPayment[] = [];
  let balanceMinor = openingBalanceMinor;
  return {
    shortCode,
    payments,
    pay(payment) {
      payments.push(payment);
      balanceMinor += payment.amountMinor;
      return {
        TransactionType: 'Pay Bill',
        TransID: payment.transId,
        TransTime: eastAfricaDigits(payment.time),
        TransAmount: money(payment.amountMinor),
        BusinessShortCode: shortCode,
        BillRefNumber: payment.reference,
        InvoiceNumber: '',
        OrgAccountBalance: money(balanceMinor),
        ThirdPartyTransID: '',
        // Notifications mask the payer's number. All other messages of the provider show it.
        MSISDN: maskedNumber(payment.payer),
        FirstName: 'WANJIRU',
      };
    },
    withdraw(amountMinor) {
      balanceMinor -= amountMinor;
    },
  };
}

export function money(amountMinor: bigint): string {
  return formatAmount(amountMinor, 2);
}
