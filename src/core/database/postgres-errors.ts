import pg from 'pg';
import { AppError, unavailable } from '../http/errors.ts';

/** Another transaction made a conflicting change first. Run the failed transaction again, so that it sees this change. */
export class LostRace extends Error {}

/**
 * The answer to a commit was lost, so it is unknown whether the transaction was committed. Find this out before you repeat the
 * transaction.
 */
export class CommitUnknown extends Error {}

/** Whether a failed transaction certainly changed nothing. */
export function changedNothing(error: unknown): boolean {
  return !(error instanceof CommitUnknown);
}

/** PostgreSQL's five-character error code. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The name of the violated unique constraint or index; undefined for any other error. */
export function violatedUnique(error: unknown): string | undefined {
  return violated(error, '23505');
}

export function violatedCheck(error: unknown): string | undefined {
  return violated(error, '23514');
}

export function violatedForeignKey(error: unknown): string | undefined {
  return violated(error, '23503');
}

function violated(error: unknown, state: string): string | undefined {
  return error instanceof pg.DatabaseError && error.code === state ? error.constraint : undefined;
}

/** Whether PostgreSQL canceled a statement that exceeded its time-out. */
export function isTimeout(error: unknown): boolean {
  return sqlState(error) === '57014';
}

/**
 * Whether a connection can no longer use its named statements. A new connection can use them. Possible causes: a newer version of
 * the service has changed a table that a statement reads; a table or index was dropped while a statement waited for it; a
 * restored backup has another OID for the type of a parameter; PostgreSQL refused to prepare a statement.
 */
export function isStale(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code, message } = error;
  if (code === 'XX000')
    return /^(could not open relation with OID|cache lookup failed for type)/.test(message);
  return code === '26000' || code === '42P05' || (code === '0A000' && message.includes('cached plan'));
}

/** Whether a new run of the transaction can succeed, after a lost race, deadlock, serialization failure or stale statement. */
export function isRetryable(error: unknown): boolean {
  const code = sqlState(error);
  return error instanceof LostRace || code === '40001' || code === '40P01' || isStale(error);
}

// The connection failed. The server is stopping, starting or read-only, or has too many connections or a full disk. A lock, a
// statement or an idle transaction timed out. A deadlock or a serialization failure ended the transaction.
const UNAVAILABLE_STATES = /^(08|53|57P|58)|^(40001|40P01|55P03|57014|25P03|25006)$/;
/**
 * A database, schema, table, column, type or function does not exist: the database was not migrated, is being restored or
 * belongs to another version. No request can cause this, because no name in a statement comes from a request.
 */
const NOT_MIGRATED_STATES = /^(3D000|3F000|42P01|42703|42704|42883)$/;
// The connection cannot be made, or breaks.
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
// Errors of pg and pg-pool that have no code.
const UNAVAILABLE_MESSAGES = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool',
]);

/**
 * @returns the error itself if it is an AppError. A 503 if the database cannot be reached, is not migrated or did not answer in
 *   time, or if the transaction must run again. Undefined for any other error.
 */
export function asUnavailable(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (error instanceof LostRace || isStale(error)) return unavailable(error, 1);
  if (error instanceof CommitUnknown) return unavailable(error);
  const state = sqlState(error);
  if (state !== undefined) {
    return UNAVAILABLE_STATES.test(state) || NOT_MIGRATED_STATES.test(state) ? unavailable(error) : undefined;
  }
  return isLostConnection(error) ? unavailable(error) : undefined;
}

function isLostConnection(error: unknown): boolean {
  // If a host name has several addresses, the connection fails once for each address.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isLostConnection);
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined) return UNAVAILABLE_MESSAGES.has(error.message);
  // ENOENT of `connect` means that the socket's file is missing.
  return UNAVAILABLE_CODES.has(code) || (code === 'ENOENT' && syscall === 'connect');
}
