import type { Db } from './database/db.ts';
import type { UserRole } from './database/tables.ts';
import { invalidField } from './http/errors.ts';
import type { TimeLimits } from './time-limits.ts';
import { businessDay, type Clock, type PlainDate } from './values/dates.ts';
import { exactNumber, type Minor, minorFromNumber, minorToNumber } from './values/money.ts';

/** The settings that the code in src/core reads. `config/` adds all other settings. */
export interface Config {
  readonly LOG_LEVEL: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';
  readonly BUSINESS_TIMEZONE: string;
  readonly PHONE_REGION: string;
  readonly RATE_LIMIT_API_KEY: number;
  readonly RATE_LIMIT_AUTH: number;
  readonly RATE_LIMIT_BROWSER: number;
  readonly RATE_LIMIT_BULK: number;
  readonly RATE_LIMIT_GENERAL: number;
  readonly RATE_LIMIT_PAGES: number;
  readonly RATE_LIMIT_WEBHOOK: number;
  readonly production: boolean;
  readonly trustedProxies: string[] | undefined;
  readonly corsOrigins: readonly string[];
  readonly limits: TimeLimits;
}

/** The dependencies of commands and routes. Created once at the start of the service, of a CLI command or of a test. */
export interface Context {
  readonly db: Db;
  readonly clock: Clock;
  readonly config: Config;
  readonly currency: Currency;
  /** Signs access tokens. Also the HMAC key for session tokens and hashes of request bodies. All instances share this secret. */
  readonly secret: string;
}

/** The currency of the books and the number of its decimals. */
export interface Currency {
  readonly code: string;
  readonly decimals: number;
}

/** Who performs an action: a signed-in user, an API key or the system. Only users have a userId. */
export interface Actor {
  readonly userId: number | null;
  readonly name: string;
  readonly role: UserRole | 'api_key' | 'system';
  readonly employeeId: number | null;
  readonly requestId: string | null;
  /** Set if the user is signed in by a session cookie, as in the console. */
  readonly isBrowser?: boolean;
  /** Only for the role api_key. */
  readonly apiKey?: ApiKeyActor;
  /** Set while the service runs an action that the actor has approved. Audit entries then name the requester and the approver. */
  readonly approval?: { readonly id: number; readonly requestedBy: string };
}

interface ApiKeyActor {
  readonly id: number;
  /** The permissions of the API key, see rights.ts. */
  readonly permissions: readonly string[];
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
 * Like `amountOf`, for a sum that can be too large for an exact JSON number.
 * @param remedy - the request parameter that can make the sum smaller, and advice for its value.
 * @throws AppError VALIDATION_ERROR with the advice, if no JSON number is exactly the sum.
 */
export function totalOf(minor: Minor, currency: Currency, remedy: { path: string; advice: string }): number {
  const total = exactNumber(minor, currency.decimals);
  if (total !== undefined) return total;
  throw invalidField(remedy.path, `gives a total that is too large for an exact number; ${remedy.advice}`);
}

/**
 * Converts an amount that validation has accepted (keyword `x-amount`).
 * @throws RangeError for any other number.
 */
export function readAmount(value: number, { decimals }: Currency): Minor {
  const minor = minorFromNumber(value, decimals);
  if (minor === undefined) throw new RangeError(`${value} is not an amount with ${decimals} decimals`);
  return minor;
}
