import { settings } from '../api/settings.ts';

/** Converts amounts to minor units for a calculation and its result back, because sums of decimal numbers are not exact. */
export function exactly(calculate: (minor: (amount: number) => number) => number): number {
  const factor = 10 ** settings().currencyDecimals;
  return calculate((amount) => Math.round(amount * factor)) / factor;
}
