import { settings } from '../api/settings.ts';

/** Calculates in minor units, because floating-point sums of amounts are not exact. `minor` converts an amount to minor units. */
export function exactly(calculate: (minor: (amount: number) => number) => number): number {
  const factor = 10 ** settings().currencyDecimals;
  return calculate((amount) => Math.round(amount * factor)) / factor;
}
