import {
  divideHalfUp,
  grouped,
  type Minor,
  maxAmountMinor,
  minorFromNumber,
  minorToText,
} from '../core/values/money.ts';

/** Quantities are counted in thousandths, a `bigint` like money: no float arithmetic on them either. */
export const QUANTITY_DECIMALS = 3;
const THOUSAND = 1_000n;

export interface Line {
  description: string;
  quantityMilli: bigint;
  unitPriceMinor: Minor;
  lineTotalMinor: Minor;
}

/** @throws RangeError for a quantity that the keyword `x-decimals` would not have let through. */
export function readQuantity(quantity: number): bigint {
  const milli = minorFromNumber(quantity, QUANTITY_DECIMALS);
  if (milli === undefined) throw new RangeError(`${quantity} is no quantity with 3 decimals`);
  return milli;
}

/** A line's total, quantity × unit price, is rounded half up to minor units. */
export function lineOf(description: string, quantityMilli: bigint, unitPriceMinor: Minor): Line {
  const lineTotalMinor = divideHalfUp(quantityMilli * unitPriceMinor, THOUSAND);
  return { description, quantityMilli, unitPriceMinor, lineTotalMinor };
}

/** @returns undefined for a total beyond the largest amount of one invoice. */
export function totalOf(lines: Line[], currencyDecimals: number): Minor | undefined {
  const total = lines.reduce((sum, { lineTotalMinor }) => sum + lineTotalMinor, 0n);
  return total <= maxAmountMinor(currencyDecimals) ? total : undefined;
}

/** For a reader: 2500 thousandths are 2.5, a million units are 1,000,000. */
export function printedQuantity(milli: bigint): string {
  return grouped(minorToText(milli, QUANTITY_DECIMALS).replace(/\.?0+$/, ''));
}
