import type { Config } from '../config.ts';
import type { Db } from './database/db.ts';
import type { UserRole } from './database/tables.ts';
import { invalidField } from './http/errors.ts';
import { businessDay, type Clock, type PlainDate } from './values/dates.ts';
import { exactNumber, type Minor, minorFromNumber, minorToNumber } from './values/money.ts';

/** What commands and routes work with. Created once per service, CLI command or test. */
export interface Context {
  readonly db: Db;
  readonly clock: Clock;
  readonly config: Config;
  readonly currency: Currency;
  /** The same in all instances. Signs access tokens and keys the stored hash of requests that hold a password. */
  readonly secret: string;
}

/** The currency of the books and the number of its decimals. */
export interface Currency {
  readonly code: string;
  readonly decimals: number;
}

/** Who acts: a signed-in user, or the system (userId null). */
export interface Actor {
  readonly userId: number | null;
  readonly name: string;
  readonly role: UserRole | 'system';
  readonly employeeId: number | null;
  readonly requestId: string | null;
}

export const SYSTEM: Actor = {
  userId: null,
  name: 'system',
  role: 'system',
  employeeId: null,
  requestId: null,
};

export function today({ clock, config }: Pick<Context, 'clock' | 'config'>): PlainDate {
  return businessDay(clock.now(), config.BUSINESS_TIMEZONE);
}

/** Converts minor units of an int8 column to the amount in a JSON answer. */
export function amountOf(minor: number | Minor, currency: Currency): number {
  return minorToNumber(minor, currency.decimals);
}

/**
 * Like amountOf, for a sum that may be too large for an exact JSON number.
 * @param remedy the request parameter that makes the sum smaller, and how.
 * @throws AppError VALIDATION_ERROR with the remedy; a sum never rounds.
 */
export function totalOf(minor: Minor, currency: Currency, remedy: { path: string; advice: string }): number {
  const total = exactNumber(minor, currency.decimals);
  if (total !== undefined) return total;
  throw invalidField(remedy.path, `gives a total too large for an exact number; ${remedy.advice}`);
}

/**
 * Reads an amount that passed the keyword `x-amount`.
 * @throws RangeError for any other.
 */
export function readAmount(value: number, { decimals }: Currency): Minor {
  const minor = minorFromNumber(value, decimals);
  if (minor === undefined) throw new RangeError(`${value} is no amount with ${decimals} decimals`);
  return minor;
}
