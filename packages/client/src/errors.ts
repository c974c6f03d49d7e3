import type { components } from './generated/api.ts';

/** The base class of all errors of this package. */
export class ClientError extends Error {}

type Problem = components['schemas']['Error']['error'];
export type ErrorCode = Problem['code'];
/** The `details` of an error code. */
export type ErrorDetails<Code extends ErrorCode = ErrorCode> = Extract<Problem, { code: Code }>['details'];

/** Facts of an answer that is not a success. */
export interface AnswerFacts {
  status: number;
  /** The id of the request in the log and in the audit trail of the service. */
  requestId: string | undefined;
  /** The seconds of Retry-After. */
  retryAfterSeconds: number | undefined;
}

/** The service refused the request. `code` is the reason, and determines the fields of `details`. */
export class ApiError extends ClientError implements AnswerFacts {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails, facts: AnswerFacts) {
    super(message);
    this.code = code;
    this.details = details;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }

  /** Narrows `details`: `if (error.is('VALIDATION_ERROR')) error.details.fields`. */
  is<Code extends ErrorCode>(code: Code): this is ApiErrorOf<Code> {
    return this.code === code;
  }
}

export type ApiErrorOf<Code extends ErrorCode> = ApiError & { code: Code; details: ErrorDetails<Code> };

/** An answer that is not from the service, such as the error page of a proxy. */
export class UnexpectedAnswerError extends ClientError implements AnswerFacts {
  override readonly name = 'UnexpectedAnswerError';
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The first 1,000 characters of the answer. */
  readonly body: string;

  constructor(url: string, body: string, facts: AnswerFacts) {
    super(`${url} answered ${facts.status} without the envelope of the service.`);
    this.body = body.slice(0, 1_000);
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

/** No answer came: the connection failed or the time-out passed. The service may have done the work. */
export class ConnectionError extends ClientError {
  override readonly name = 'ConnectionError';
}

/** A webhook whose signature is missing, wrong or too old. */
export class WebhookVerificationError extends ClientError {
  override readonly name = 'WebhookVerificationError';
}
