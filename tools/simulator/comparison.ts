import { formatAmount, toMinor } from './formats.ts';
import type { Transaction } from './traffic.ts';

/** A transaction and the result of its delivery. */
export interface Sent {
  transaction: Transaction;
  /** Whether the service acknowledged the transaction. If not, the service may have one payment of it or none. */
  isAcknowledged: boolean;
  /** Whether the service refused the transaction, so that the payer gets the money back. */
  isReturned: boolean;
}

/** A payment as the API shows it. */
export interface ShownPayment {
  id: number;
  transactionRef: string | null;
  amount: number;
  status: string;
  accountId: number | null;
}

/** The paid amount of an account before and after the run, in minor units. */
export interface Growth {
  accountId: number;
  accountNumber: string;
  beforeMinor: bigint;
  afterMinor: bigint;
}

export interface Line {
  label: string;
  sent: string;
  shown: string;
}

export interface Comparison {
  lines: Line[];
  /** Each difference names its transaction or account. Empty if nothing differs. */
  differences: string[];
}

/** Compares the payments that the service shows with the transactions that were sent. */
export function compare(
  sent: readonly Sent[],
  payments: readonly ShownPayment[],
  growth: readonly Growth[],
  decimals: number,
): Comparison {
  const differences: string[] = [];
  const minor = ({ amount }: ShownPayment) => toMinor(amount, decimals);
  const money = (amountMinor: bigint) => formatAmount(amountMinor, decimals);
  const shownOf = new Map<string, ShownPayment[]>();
  for (const payment of payments) {
    const ref = payment.transactionRef ?? '';
    shownOf.set(ref, [...(shownOf.get(ref) ?? []), payment]);
  }

  const arrived: Transaction[] = [];
  for (const { transaction, isAcknowledged, isReturned } of sent) {
    const { transId, amountMinor, accountId, kind } = transaction;
    const shown = shownOf.get(transId) ?? [];
    const [payment] = shown;
    if (shown.length > 1) differences.push(`${transId}: ${shown.length} payments`);
    if (isReturned && (payment || accountId !== null))
      differences.push(
        `${transId}: refused, but ${payment ? 'there is a payment' : 'it should have been posted'} (${kind})`,
      );
    if (!payment) {
      if (isAcknowledged) differences.push(`${transId}: acknowledged, but there is no payment`);
      continue;
    }
    arrived.push(transaction);
    if (minor(payment) !== amountMinor)
      differences.push(`${transId}: sent ${money(amountMinor)}, shown ${money(minor(payment))}`);
    const expected = accountId === null ? 'unmatched' : `matched to account ${accountId}`;
    const actual = payment.status === 'matched' ? `matched to account ${payment.accountId}` : payment.status;
    if (actual !== expected) differences.push(`${transId}: should be ${expected} (${kind}), is ${actual}`);
  }
  const ids = new Set(sent.map(({ transaction }) => transaction.transId));
  for (const { id, transactionRef } of payments) {
    if (!ids.has(transactionRef ?? '')) differences.push(`payment ${id}: ${transactionRef} was never sent`);
  }

  for (const { accountId, accountNumber, beforeMinor, afterMinor } of growth) {
    const expected = total(arrived.filter((transaction) => transaction.accountId === accountId));
    if (afterMinor - beforeMinor !== expected)
      differences.push(
        `account ${accountNumber}: payments of ${money(expected)} were sent, but its paid amount grew by ${money(afterMinor - beforeMinor)}`,
      );
  }

  const matched = payments.filter(({ status }) => status === 'matched');
  const unmatched = payments.filter(({ status }) => status === 'unmatched');
  const toAccounts = arrived.filter(({ accountId }) => accountId !== null);
  const toNobody = arrived.filter(({ accountId }) => accountId === null);
  const shownTotal = (rows: readonly ShownPayment[]) => rows.reduce((sum, row) => sum + minor(row), 0n);
  const grown = growth.reduce((sum, { beforeMinor, afterMinor }) => sum + afterMinor - beforeMinor, 0n);
  return {
    differences,
    lines: [
      { label: 'transactions', sent: String(arrived.length), shown: String(payments.length) },
      { label: 'amount', sent: money(total(arrived)), shown: money(shownTotal(payments)) },
      { label: 'matched', sent: String(toAccounts.length), shown: String(matched.length) },
      { label: 'amount matched', sent: money(total(toAccounts)), shown: money(shownTotal(matched)) },
      { label: 'growth of paid amounts', sent: money(total(toAccounts)), shown: money(grown) },
      { label: 'unmatched', sent: String(toNobody.length), shown: String(unmatched.length) },
      { label: 'amount unmatched', sent: money(total(toNobody)), shown: money(shownTotal(unmatched)) },
    ],
  };
}

function total(transactions: readonly Transaction[]): bigint {
  return transactions.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}
