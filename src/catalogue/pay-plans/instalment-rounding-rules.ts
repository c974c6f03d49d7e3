import type { Minor } from '../../core/values/money.ts';

// The amounts of instalments, and their rounding: the last instalment takes the rest.

/** `minor` rounded up to a multiple of the unit. */
export function roundedUp(minor: Minor, unitMinor: Minor): Minor {
  return ((minor + unitMinor - 1n) / unitMinor) * unitMinor;
}

/** The smallest amount of which `count` instalments pay a sum. */
export function instalmentsShare(sumMinor: Minor, count: number): Minor {
  return (sumMinor + BigInt(count) - 1n) / BigInt(count);
}

/** The number of instalments of an amount that pay a sum. The last can be lower. */
export function instalmentsFor(sumMinor: Minor, instalmentMinor: Minor): number {
  return Number((sumMinor + instalmentMinor - 1n) / instalmentMinor);
}

/** Amounts of dues in their order, neighbours of one amount together. */
export type Amounts = { count: number; amountMinor: Minor }[];

/** A sum in instalments, of which the last takes the rest. */
export function instalmentsOf(sumMinor: Minor, instalmentMinor: Minor): Amounts {
  return [
    { count: Number(sumMinor / instalmentMinor), amountMinor: instalmentMinor },
    { count: sumMinor % instalmentMinor > 0n ? 1 : 0, amountMinor: sumMinor % instalmentMinor },
  ].filter(({ count }) => count > 0);
}

interface PlanAmounts {
  /** Null: all instalments are equal. */
  priceMinor: Minor | null;
  depositMinor: Minor;
  instalmentMinor: Minor;
  instalmentCount: number;
}

/** The instalments in their order, neighbours of one amount together. */
export function amountsOf({
  priceMinor,
  depositMinor,
  instalmentMinor,
  instalmentCount,
}: PlanAmounts): Amounts {
  if (priceMinor === null) return [{ count: instalmentCount, amountMinor: instalmentMinor }];
  return instalmentsOf(priceMinor - depositMinor, instalmentMinor);
}

export const WHOLE_SHARE = 10_000;

export interface RoundedSum {
  sumMinor: Minor;
  roundingMinor: Minor;
}

/** The instalment of an entry, except the last instalment. */
export function harvestShare(
  { sumMinor, roundingMinor }: RoundedSum,
  cycles: number,
  { shareBasisPoints }: { shareBasisPoints: number },
): Minor {
  const wholeUnits = (sumMinor * BigInt(shareBasisPoints)) / (BigInt(WHOLE_SHARE * cycles) * roundingMinor);
  return wholeUnits * roundingMinor;
}
