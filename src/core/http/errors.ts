import type { RawBuilder } from 'kysely';
import { type Static, type TSchema, Type } from 'typebox';
import { Choice } from './fields.ts';

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

/** The values of `details.resource`, and of `resource` in the audit trail. */
export const RESOURCES = [
  'account',
  'api_key',
  'approval',
  'balance_gap',
  'bulk_deferral',
  'cash_count',
  'cash_handover',
  'cash_settlement',
  'call',
  'commission',
  'commission_rule',
  'configuration',
  'customer',
  'employee',
  'identity',
  'identity_provider',
  'import',
  'invitation',
  'invoice',
  'list',
  'note',
  'notification',
  'payment',
  'payment_method',
  'payment_request',
  'payplan',
  'product',
  'promise',
  'proof',
  'provider',
  'provider_statement',
  'reconciliation',
  'refund',
  'request',
  'status_query',
  'user',
  'webhook_delivery',
  'webhook_endpoint',
] as const;
export type Resource = (typeof RESOURCES)[number];

const REFERRED_FIELD = Type.String({ description: 'The field of the request that contains the id.' });

/** The fields of `details` for each code. The API description and the type of AppError are derived from this table. */
export const ERROR_DETAILS = {
  AUTH_FAILED: Type.Object({
    provider: Type.Optional(Type.String({ description: 'The identity provider.' })),
    reason: Type.Optional(Type.String({ description: 'The OAuth error code of the provider, or "other".' })),
  }),
  UNAUTHORIZED: Type.Object({}),
  FORBIDDEN: Type.Object({
    permission: Type.Optional(
      Type.String({ description: 'The permission that the user or the API key lacks.' }),
    ),
    roles: Type.Optional(Type.Array(Type.String(), { description: 'The roles with this permission.' })),
    address: Type.Optional(
      Type.String({ description: 'The address of the client, which is not in the networks of the API key.' }),
    ),
  }),
  NOT_FOUND: Type.Object({
    resource: Type.Optional(Choice('Resource', RESOURCES)),
    field: Type.Optional(REFERRED_FIELD),
    id: Type.Optional(
      Type.Union([Type.Integer(), Type.String()], { description: 'The id that does not exist.' }),
    ),
    firstId: Type.Optional(
      Type.Integer({
        description: 'If the requested events were deleted: the id of the oldest event that is kept.',
      }),
    ),
    missing: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The settings that are needed to add the identity provider.',
      }),
    ),
  }),
  VALIDATION_ERROR: Type.Object({
    fields: Type.Optional(
      Type.Array(
        Type.Object(
          {
            path: Type.String({ description: 'The path of the field, such as salesData[0].amount.' }),
            message: Type.String({
              description:
                'What is wrong with the value, or what is allowed, as the end of a sentence that starts with the field: `is required`.',
            }),
          },
          { title: 'FieldProblem' },
        ),
        { description: 'The wrong fields of the request, at most 20.' },
      ),
    ),
    from: Type.Optional(
      Type.String({ description: 'For a change of status that is not allowed: the current status.' }),
    ),
    to: Type.Optional(Type.String({ description: 'The requested status.' })),
    allowed: Type.Optional(Type.Array(Type.String(), { description: 'The allowed statuses.' })),
    warnings: Type.Optional(
      Type.Array(
        Type.Object(
          {
            code: Type.String(),
            message: Type.String(),
            paymentIds: Type.Optional(Type.Array(Type.Integer())),
          },
          { title: 'Warning' },
        ),
        { description: 'With status 409: the warnings that `confirmation` has to name.' },
      ),
    ),
    balance: Type.Optional(
      Type.Number({
        description:
          'With `warnings` about an account: its balance now. Absent if the caller may not read accounts.',
      }),
    ),
    credit: Type.Optional(Type.Number({ description: 'The credit of the account now.' })),
  }),
  DUPLICATE_ENTRY: Type.Object({
    resource: Choice('Resource', RESOURCES),
    field: Type.String({ description: 'The field whose value another resource already has.' }),
    id: Type.Optional(
      Type.Integer({ description: 'The id of the resource that has the value, if the caller may read it.' }),
    ),
  }),
  RATE_LIMITED: Type.Object({
    limit: Type.Optional(Type.Integer({ description: 'The number of requests allowed in a window.' })),
    remaining: Type.Optional(Type.Integer()),
    resetSeconds: Type.Optional(Type.Integer({ description: 'Seconds until the window ends.' })),
  }),
  INTERNAL_ERROR: Type.Object({}),
} satisfies Record<ErrorCode, TSchema>;

type ErrorDetails = { [Code in ErrorCode]: Static<(typeof ERROR_DETAILS)[Code]> };

/** An invalid field of a request: its path as the caller wrote it, and the rule for its value. */
export interface FieldProblem {
  path: string;
  message: string;
}

interface AppErrorOptions<Code extends ErrorCode> {
  details?: ErrorDetails[Code];
  status?: number;
  retryAfterSeconds?: number;
  existing?: ExistingRow;
  cause?: unknown;
}

/** A query for the id of the row that already has the duplicate value. */
type ExistingRow = RawBuilder<{ id: number }>;

/** The error that routes, commands and stores throw on purpose. For all other errors, see `knownError` in server.ts. */
export class AppError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly status: number;
  readonly details: Record<string, unknown>;
  readonly retryAfterSeconds: number | undefined;
  /** `inTransaction` and `inSavepoint` run this query after the rollback. The row's id becomes `details.id`. */
  readonly existing: ExistingRow | undefined;

  constructor(code: Code, message: string, options: AppErrorOptions<Code> = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? ERROR_STATUS[code];
    this.details = { ...options.details };
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.existing = options.existing;
  }
}

/** The maximum number of problems that an error lists. Otherwise an answer could be much longer than its request. */
export const MAX_PROBLEMS = 20;

export function invalid(problems: readonly FieldProblem[]): AppError {
  const fields = problems.slice(0, MAX_PROBLEMS);
  const count =
    problems.length > fields.length
      ? `More than ${MAX_PROBLEMS} fields are wrong. The first`
      : `${fields.length} fields are wrong`;
  const message =
    fields.length === 1 && fields[0]
      ? `${fields[0].path}: ${fields[0].message}`
      : `${count}: ${fields.map((field) => field.path).join(', ')}`;
  return new AppError('VALIDATION_ERROR', message, { details: { fields } });
}

export function invalidField(path: string, message: string): AppError {
  return invalid([{ path, message }]);
}

/**
 * For a request that is unusual, and that a person has to confirm. Nothing was done.
 * @param account - what the confirmation has to repeat besides the codes. Amounts are in units of the currency.
 */
export function unconfirmed(
  warnings: readonly { code: string; message: string; paymentIds?: number[] }[],
  account: { balance?: number; credit?: number } = {},
): AppError {
  const toRepeat = [
    `the codes ${warnings.map(({ code }) => code).join(' and ')}`,
    ...Object.entries(account).map(([name, amount]) => `the ${name} ${amount}`),
  ].join(', ');
  const sentences = warnings.map(({ message }) => message).join(' ');
  return new AppError('VALIDATION_ERROR', `${sentences} Confirm this, or correct the request.`, {
    status: 409,
    details: {
      fields: [{ path: 'confirmation', message: `must name ${toRepeat}` }],
      warnings: [...warnings],
      ...account,
    },
  });
}

/** For a change that the current status does not allow. @param what - the subject of the message, such as 'An account'. */
export function illegalMove(what: string, from: string, to: string, allowed: readonly string[]): AppError {
  return new AppError('VALIDATION_ERROR', `${what} cannot go from ${from} to ${to}.`, {
    details: { from, to, allowed: [...allowed] },
  });
}

/**
 * @param field - the field of the request that refers to the missing resource. For a resource in the path: `id` or `externalId`.
 */
export function notFound(resource: Resource, id: unknown, field = 'id'): AppError {
  const name = field === 'externalId' ? 'external id' : 'id';
  return new AppError('NOT_FOUND', `There is no ${inWords(resource)} with ${name} ${id}.`, {
    details: { resource, field, id: id as number | string }, // Some callers have the wider type of a column: bigint | number.
  });
}

/**
 * @param existing - the id of the row that already has the value, or a query for this id. Pass it only if the caller is allowed
 *   to read the row.
 */
export function duplicate(resource: Resource, field: string, existing?: number | ExistingRow): AppError {
  return new AppError('DUPLICATE_ENTRY', `Another ${inWords(resource)} already has this ${field}.`, {
    details: { resource, field, ...(typeof existing === 'number' && { id: existing }) },
    ...(typeof existing === 'object' && { existing }),
  });
}

/** For a position in the event feed whose next events were deleted. @param field - the field with the position. */
export function gone(field: string, message: string, firstId: number): AppError {
  return new AppError('NOT_FOUND', `${field}: ${message}`, { status: 410, details: { field, firstId } });
}

export function internalError(): AppError {
  return new AppError('INTERNAL_ERROR', 'An internal error occurred.');
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
 * A 503 for a cause that is not the caller's own, such as a limit that all callers together have reached.
 * @param reason - a sentence. The message continues with the time to retry.
 */
export function busy(reason: string, retryAfterSeconds: number): AppError {
  const message = `${reason} Retry in ${retryAfterSeconds} s.`;
  return new AppError('INTERNAL_ERROR', message, { status: 503, retryAfterSeconds });
}

/** A 429 for a limit that the caller alone has reached. For `reason`, see `busy`. */
export function busyByCaller(reason: string, retryAfterSeconds: number): AppError {
  return new AppError('RATE_LIMITED', `${reason} Retry in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}

export function bodyTooLarge(limitBytes: number): AppError {
  return new AppError('VALIDATION_ERROR', `The body must have at most ${limitBytes} bytes.`, { status: 413 });
}

export function unreachable(value: never): never {
  throw new Error(`Unexpected value: ${String(value)}`);
}

/** The error code of a failed system call or library, if there is one. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function inWords(resource: Resource): string {
  return resource.replaceAll('_', ' ').replace('api', 'API');
}
