import type { components } from './generated/api.ts';

/** The base class of all errors that this package defines. */
export class ClientError extends Error {}

type Problem = components['schemas']['Error']['error'];
export type ErrorCode = Problem['code'];
/** The `details` of an error code. */
export type ErrorDetails<Code extends ErrorCode = ErrorCode> = Extract<Problem, { code: Code }>['details'];

/** An error answer of the service, or an answer that is not from the service. */
export class AnswerError extends ClientError {
  readonly status: number;
  /** The id of the request in the log and in the audit trail of the service. */
  readonly requestId: string | undefined;
  /** The seconds of Retry-After. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, facts: AnswerFacts) {
    super(message);
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

type AnswerFacts = Pick<AnswerError, 'status' | 'requestId' | 'retryAfterSeconds'>;

/** The service answered with an error. `code` is the reason, and determines the fields of `details`. */
export class ApiError extends AnswerError {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails, facts: AnswerFacts) {
    super(message, facts);
    this.code = code;
    this.details = details;
  }

  /** Narrows `details`: `if (error.is('VALIDATION_ERROR')) error.details.fields`. */
  is<Code extends ErrorCode>(code: Code): this is ApiErrorOf<Code> {
    return this.code === code;
  }
}

export type ApiErrorOf<Code extends ErrorCode> = ApiError & { code: Code; details: ErrorDetails<Code> };

/** An answer that is not from the service, such as the error page or the sign-in page of a proxy. `status` can be 200. */
export class UnexpectedAnswerError extends AnswerError {
  override readonly name = 'UnexpectedAnswerError';
  /** The first 1,000 characters of the answer. */
  readonly body: string;

  constructor(url: string, body: string, facts: AnswerFacts) {
    super(`${url} answered ${facts.status}, but not in the format of the service.`, facts);
    this.body = body.slice(0, 1_000);
  }
}

/** No answer came: the connection failed or the time limit passed. The service may have done the work. */
export class ConnectionError extends ClientError {
  override readonly name = 'ConnectionError';
}

/** A webhook to refuse: a header is missing or repeated, the timestamp is too far from now, or no signature is valid. */
export class WebhookVerificationError extends ClientError {
  override readonly name = 'WebhookVerificationError';
}
