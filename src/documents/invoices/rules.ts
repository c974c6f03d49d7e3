import type { InvoiceStatus } from '../../core/database/tables.ts';
import { type AppError, illegalMove } from '../../core/http/errors.ts';
import {
  divideHalfUp,
  grouped,
  type Minor,
  maxAmountMinor,
  minorFromNumber,
  minorToText,
} from '../../core/values/money.ts';

/** The statuses of an invoice, and the statuses that can follow each of them. */
const MOVES: Record<InvoiceStatus, readonly InvoiceStatus[]> = {
  issued: ['void'],
  void: [],
};
export const INVOICE_STATUSES = Object.keys(MOVES) as InvoiceStatus[];

export function statusesBefore(to: InvoiceStatus): InvoiceStatus[] {
  return INVOICE_STATUSES.filter((from) => MOVES[from].includes(to));
}

export function illegalInvoiceMove(from: InvoiceStatus, to: InvoiceStatus): AppError {
  return illegalMove('An invoice', from, to, MOVES[from]);
}

/** A quantity is a `bigint` number of thousandths, to avoid float arithmetic. */
export const QUANTITY_DECIMALS = 3;
const THOUSAND = 1_000n;

export interface Line {
  description: string;
  quantityMilli: bigint;
  unitPriceMinor: Minor;
  lineTotalMinor: Minor;
}

/** @throws RangeError for more than three decimals. The schema of the request already refuses these. */
export function readQuantity(quantity: number): bigint {
  const milli = minorFromNumber(quantity, QUANTITY_DECIMALS);
  if (milli === undefined) throw new RangeError(`${quantity} is not a quantity with at most 3 decimals`);
  return milli;
}

/** The total is quantity × unit price, rounded half up to minor units. */
export function lineOf(description: string, quantityMilli: bigint, unitPriceMinor: Minor): Line {
  const lineTotalMinor = divideHalfUp(quantityMilli * unitPriceMinor, THOUSAND);
  return { description, quantityMilli, unitPriceMinor, lineTotalMinor };
}

/** @returns undefined for a total above the largest amount. */
export function invoiceTotal(lines: Line[], currencyDecimals: number): Minor | undefined {
  const total = lines.reduce((sum, { lineTotalMinor }) => sum + lineTotalMinor, 0n);
  return total <= maxAmountMinor(currencyDecimals) ? total : undefined;
}

/** Formats a quantity: 2500n is '2.5', a million units are '1,000,000'. */
export function printedQuantity(milli: bigint): string {
  return grouped(minorToText(milli, QUANTITY_DECIMALS).replace(/\.?0+$/, ''));
}
