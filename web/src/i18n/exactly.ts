import { settings } from '../api/settings.ts';

/** Calculates an amount in minor units, because sums of decimal numbers are not exact. */
export function exactly(calculate: (minor: (amount: number) => number) => number): number {
  const factor = 10 ** settings().currencyDecimals;
  return calculate((amount) => Math.round(amount * factor)) / factor;
}
