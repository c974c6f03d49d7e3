import type { Config } from '../config.ts';
import { businessDay, type Clock, type PlainDate } from './dates.ts';
import type { Db } from './db.ts';
import type { FieldProblem } from './errors.ts';
import { type Minor, maxAmountMinor, minorFromNumber, minorToNumber, minorToText } from './money.ts';
import type { UserRole } from './tables.ts';

/** What commands and routes work with; made once, in server.ts or by a test, and passed in. */
export interface Context {
  readonly db: Db;
  readonly clock: Clock;
  readonly config: Config;
  readonly currency: Currency;
}

/** The one currency of the books and the number of its decimals. */
export interface Currency {
  readonly code: string;
  readonly decimals: number;
}

/** Who does something: a signed-in user, or the system itself (userId null). */
export interface Actor {
  readonly userId: number | null;
  readonly name: string;
  readonly role: UserRole | 'system';
  readonly employeeId: number | null;
  readonly requestId: string | null;
}

export const SYSTEM: Actor = { userId: null, name: 'system', role: 'system', employeeId: null, requestId: null };

export function today({ clock, config }: Pick<Context, 'clock' | 'config'>): PlainDate {
  return businessDay(clock.now(), config.BUSINESS_TIMEZONE);
}

/** Minor units as they come from an int8 column → the amount in a JSON answer. */
export function amountOf(minor: number | Minor, currency: Currency): number {
  return minorToNumber(BigInt(minor), currency.decimals);
}

/** Reads an amount of a request body; undefined when it is out of bounds or has too many decimals. */
export function readAmount(value: number, { decimals }: Currency, minimum: Minor = 1n): Minor | undefined {
  const minor = minorFromNumber(value, decimals);
  return minor !== undefined && minor >= minimum && minor <= maxAmountMinor(decimals) ? minor : undefined;
}

/** What to say of an amount that `readAmount` does not accept. */
export function amountProblem(path: string, { code, decimals }: Currency, minimum: Minor = 1n): FieldProblem {
  const least = minimum === 0n ? 'at least 0' : 'more than 0';
  const most = minorToText(maxAmountMinor(decimals), decimals);
  return { path, message: `must be ${least}, at most ${most}, with no more than ${decimals} decimals (${code})` };
}
