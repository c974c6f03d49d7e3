import type { RawBuilder } from 'kysely';

/** The error codes of the API, with their default HTTP status. */
export const ERROR_STATUS = {
  AUTH_FAILED: 401,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  VALIDATION_ERROR: 400,
  DUPLICATE_ENTRY: 409,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** An invalid field of a request: its path as the caller wrote it, and what is allowed. */
export interface FieldProblem {
  path: string;
  message: string;
}

interface AppErrorOptions {
  details?: Record<string, unknown> & { resource?: Resource };
  status?: number;
  retryAfterSeconds?: number;
  existing?: ExistingRow;
  cause?: unknown;
}

/** A query for the row that already has the value. */
export type ExistingRow = RawBuilder<{ id: number }>;

/** The error that routes, commands and stores throw on purpose. Any other error is a defect. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: Record<string, unknown>;
  readonly retryAfterSeconds: number | undefined;
  /** `inTransaction` runs this after the failed transaction. The row's id becomes `details.id`. */
  readonly existing: ExistingRow | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? ERROR_STATUS[code];
    this.details = options.details ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.existing = options.existing;
  }
}

export function invalid(fields: FieldProblem[]): AppError {
  const message =
    fields.length === 1 && fields[0]
      ? `${fields[0].path}: ${fields[0].message}`
      : `${fields.length} fields are wrong: ${fields.map((field) => field.path).join(', ')}`;
  return new AppError('VALIDATION_ERROR', message, { details: { fields } });
}

export function invalidField(path: string, message: string): AppError {
  return invalid([{ path, message }]);
}

/** For a change that the current status does not allow. @param what the subject of the sentence: 'An account'. */
export function illegalMove(what: string, from: string, to: string, allowed: readonly string[]): AppError {
  return new AppError('VALIDATION_ERROR', `${what} cannot go from ${from} to ${to}.`, {
    details: { from, to, allowed },
  });
}

/** The values of `details.resource`, and of `resource` in the audit trail. */
export type Resource =
  | 'account'
  | 'commission'
  | 'commission_rule'
  | 'configuration'
  | 'customer'
  | 'employee'
  | 'identity'
  | 'identity_provider'
  | 'invitation'
  | 'invoice'
  | 'notification'
  | 'payment'
  | 'payment_method'
  | 'payplan'
  | 'product'
  | 'provider_statement'
  | 'reconciliation'
  | 'refund'
  | 'request'
  | 'user';

/** @param field the request's field that refers to the missing resource; `id` for the path. */
export function notFound(resource: Resource, id: unknown, field = 'id'): AppError {
  return new AppError('NOT_FOUND', `There is no ${inWords(resource)} with id ${id}.`, {
    details: { resource, field, id },
  });
}

/**
 * @param existing the id of the row that already has the value, or a query for it. Pass it only if the caller may read
 *   that row.
 */
export function duplicate(resource: Resource, field: string, existing?: number | ExistingRow): AppError {
  return new AppError('DUPLICATE_ENTRY', `Another ${inWords(resource)} already has this ${field}.`, {
    details: { resource, field, ...(typeof existing === 'number' && { id: existing }) },
    ...(typeof existing === 'object' && { existing }),
  });
}

/** A dependency of the service is down or slow. The caller should retry later. */
export function unavailable(cause: unknown, retryAfterSeconds = 2): AppError {
  return new AppError('INTERNAL_ERROR', 'The service is temporarily unavailable. Retry later.', {
    status: 503,
    retryAfterSeconds,
    cause,
  });
}

/**
 * All callers together have used up a shared resource.
 * @param reason a sentence; the time to retry is appended.
 */
export function busy(reason: string, retryAfterSeconds: number): AppError {
  const message = `${reason} Retry in ${retryAfterSeconds} s.`;
  return new AppError('INTERNAL_ERROR', message, { status: 503, retryAfterSeconds });
}

/** The caller has used up its own share of a resource; see `busy`. */
export function busyByCaller(reason: string, retryAfterSeconds: number): AppError {
  return new AppError('RATE_LIMITED', `${reason} Retry in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}

export function unreachable(value: never): never {
  throw new Error(`Unexpected value: ${String(value)}`);
}

/** The error code of a failed system call or library; undefined without one. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function inWords(resource: Resource): string {
  return resource.replaceAll('_', ' ');
}
