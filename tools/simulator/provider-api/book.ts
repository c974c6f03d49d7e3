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

const EAST_AFRICA_MS = 3 * 3_600_000;

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
        // Notifications mask the number. Other answers of the provider show it.
        MSISDN: `${payment.payer.slice(0, 4)}****${payment.payer.slice(-3)}`,
        FirstName: 'WANJIRU',
      };
    },
    withdraw(amountMinor) {
      balanceMinor -= amountMinor;
    },
  };
}

export function money(amountMinor: bigint): string {
  const digits = String(amountMinor).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** yyyyMMddHHmmss */
export function eastAfricaDigits(time: Date): string {
  return eastAfricaIso(time).replace(/\D/g, '');
}

/** YYYY-MM-DDTHH:mm:ss */
export function eastAfricaIso(time: Date): string {
  return new Date(time.getTime() + EAST_AFRICA_MS).toISOString().slice(0, 19);
}

/** Reads YYYY-MM-DD HH:mm:ss. */
export function parseEastAfrica(text: string): Date {
  return new Date(new Date(`${text.replace(' ', 'T')}Z`).getTime() - EAST_AFRICA_MS);
}
