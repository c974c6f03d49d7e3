import {
  AppError,
  bodyTooLarge,
  duplicate,
  type ErrorCode,
  gone,
  internalError,
  invalidField,
  notFound,
  unavailable,
  unconfirmed,
} from '../../core/http/errors.ts';
import { changedSince } from '../../core/http/etags.ts';
import { StillRunning, usedWithAnotherBody } from '../../core/http/idempotency.ts';
import { limited } from '../../core/http/rate-limit.ts';

/** The error answers of the API, by component name: an example error, and its meaning. */
const ERRORS = {
  ValidationError: [
    invalidField('limit', 'must be at most 100'),
    'details.fields names every wrong field. A change of status that is not allowed has details {from, to, allowed} instead.',
  ],
  Unauthorized: [
    new AppError('UNAUTHORIZED', 'Send the header "Authorization: Bearer <access token or API key>".'),
    'The token or API key is missing or not valid.',
  ],
  AuthFailed: [
    new AppError('AUTH_FAILED', 'The e-mail or the password is wrong.'),
    'The user’s identity could not be verified.',
  ],
  Forbidden: [
    new AppError('FORBIDDEN', 'Your role (viewer) may not do this.', {
      details: { permission: 'accounts:create', roles: ['admin', 'manager', 'agent'] },
    }),
    'The role or the API key lacks the permission, the key may not be used from this address, the request comes from a page of another origin, or the settings of the service forbid it.',
  ],
  NotFound: [
    notFound('account', 4711),
    'The path or the body refers to something that does not exist. The error has details {resource, field, id}.',
  ],
  Gone: [
    gone('after', 'events before 4711 were deleted after 30 days', 4711),
    'The events after the requested id were deleted; details.firstId is the first event that still exists.',
  ],
  DuplicateEntry: [
    duplicate('customer', 'email', 1),
    'Another resource already has the value of details.field. details.id is the id of that resource, if the caller may read it.',
  ],
  Unconfirmed: [
    unconfirmed(
      [
        {
          code: 'above_balance',
          message: 'The amount is above what is left to pay, and the rest becomes credit.',
          paymentIds: [],
        },
      ],
      { balance: 20_400, credit: 0 },
    ),
    'The request is unusual, and nothing was done. To do it nevertheless, send it again with a `confirmation`, which details.fields describes.',
  ],
  KeyInUse: [
    new StillRunning(undefined),
    'The first request with this Idempotency-Key is still running: try again after Retry-After.',
  ],
  Changed: [
    changedSince(),
    'If-Match is not the current ETag: read the resource again. Or this request changes nothing that has an ETag.',
  ],
  BodyTooLarge: [
    bodyTooLarge(1_048_576),
    'The body is larger than 1 MiB (sign-in: 16 KiB, call of a payment provider: 64 KiB, bulk call: 4 MiB, provider statement: 64 MiB, file of an import: 1 GiB).',
  ],
  UnsupportedType: [
    new AppError('VALIDATION_ERROR', 'Send the body with Content-Type: application/json.', { status: 415 }),
    'The Content-Type is not application/json (provider statement and file of an import: text/csv).',
  ],
  KeyReused: [usedWithAnotherBody(), 'The Idempotency-Key was used with another body.'],
  RateLimited: [
    limited({ isExceeded: true, limit: 100, remaining: 0, resetSeconds: 42 }, 60),
    'Too many requests, too many calls that still run, or too many answers that the caller has not read: try again after Retry-After.',
  ],
  InternalError: [internalError(), 'A defect of the service.'],
  Unavailable: [
    unavailable(undefined),
    'The service is overloaded, or its database is down: try again after Retry-After.',
  ],
} satisfies Record<string, [AppError, string]>;

export type ErrorName = keyof typeof ERRORS;

/** The error for each code that a route may declare in `config.errors`. */
export const NAME_OF: Record<ErrorCode, ErrorName> = {
  AUTH_FAILED: 'AuthFailed',
  UNAUTHORIZED: 'Unauthorized',
  FORBIDDEN: 'Forbidden',
  NOT_FOUND: 'NotFound',
  VALIDATION_ERROR: 'ValidationError',
  DUPLICATE_ENTRY: 'DuplicateEntry',
  RATE_LIMITED: 'RateLimited',
  INTERNAL_ERROR: 'InternalError',
};

interface ErrorResponse {
  /** The name of the component. Errors with the same status share one component, such as `DuplicateEntryOrKeyInUse`. */
  name: string;
  status: number;
  response: object;
}

/** One response for each status of these errors. */
export function errorResponses(names: ErrorName[]): ErrorResponse[] {
  const byStatus = new Map<number, ErrorName[]>();
  for (const name of new Set(names)) {
    const { status } = ERRORS[name][0];
    byStatus.set(status, [...(byStatus.get(status) ?? []), name]);
  }
  return [...byStatus].map(([status, sharing]) => ({
    name: sharing.join('Or'),
    status,
    response: responseOf(sharing, status),
  }));
}

function responseOf(names: ErrorName[], status: number): object {
  const retryAfter = names.some((name) => ERRORS[name][0].retryAfterSeconds !== undefined);
  return {
    description: names.map((name) => `${ERRORS[name][0].code}: ${ERRORS[name][1]}`).join(' '),
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/RequestId' },
      ...(status === 401 && { 'WWW-Authenticate': { $ref: '#/components/headers/Challenge' } }),
      ...(retryAfter && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(names.map((name) => [name, { value: bodyOf(ERRORS[name][0]) }])),
      },
    },
  };
}

function bodyOf({ code, message, details }: AppError): object {
  return { success: false, error: { code, message, details } };
}
