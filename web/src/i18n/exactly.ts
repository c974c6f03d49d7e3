import { settings } from '../api/settings.ts';

/** Calculates in minor units, because 0.1 + 0.2 is not exactly 0.3. Example: `exactly((minor) => minor(0.1) + minor(0.2))`. */
export function exactly(calculate: (minor: (amount: number) => number) => number): number {
  const factor = 10 ** settings().currencyDecimals;
  return calculate((amount) => Math.round(amount * factor)) / factor;
}
