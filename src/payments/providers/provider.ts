import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Config } from '../../config.ts';
import type { NotificationOutcome } from '../../core/database/tables.ts';
import type { FieldProblem } from '../../core/http/errors.ts';

/**
 * A payment provider that posts notifications: how its calls are read and answered. One file describes one provider, and one line
 * of registry.ts registers its routes. No other file knows the names of its fields.
 */
export interface PaymentProvider {
  /** The `provider` of payments and notifications, and the last part of the path: /webhooks/payments/<name>. */
  readonly name: string;
  /** The code of the payment method of its payments. */
  readonly methodCode: string;
  /** Its names of the two required fields, for error messages. */
  readonly fieldNames: { transactionId: string; amount: string };
  /**
   * Whether payments without a matching account are accepted, to be assigned by staff. False if the provider returns refused
   * payments to the payer.
   */
  readonly acceptsUnmatched: boolean;
  /** The format of a call, for error messages: 'a JSON object'. */
  readonly format: string;
  /** @throws AppError UNAUTHORIZED or FORBIDDEN for a call of another sender. */
  authenticate(request: FastifyRequest, config: Config): void;
  /** Reads the body of a call. @returns undefined if it is unreadable. */
  read(body: Buffer): SentPayment | undefined;
  /**
   * Parses the time that `read` returns. Absent for a provider whose calls have no time.
   * @returns undefined for an unreadable time.
   */
  readTime?(text: string): Date | undefined;
  /** The answer to a notification that is stored. */
  accept(sent: SentPayment, result: NotificationResult): ProviderAnswer;
  /** The answer to a notification that is not posted. */
  refuse(sent: SentPayment | undefined, refusal: Refusal): ProviderAnswer;
  /** For a provider that validates a payment before the money moves, at …/validation. */
  readonly validation?: {
    /** Milliseconds until a late answer is useless. */
    deadlineMs: number;
    answer(verdict: Verdict, accountNumber: string | null): ProviderAnswer;
    readonly description: RouteDescription;
  };
  readonly description: RouteDescription;
}

/** The fields of a call as text; null for missing fields. */
export interface SentPayment {
  transactionId: string | null;
  /** A decimal in units of the currency. */
  amount: string | null;
  time: string | null;
  /** The number of the business that is paid. */
  businessShortCode: string | null;
  /** The account that the payer typed. */
  reference: string | null;
  /** The payer's number: plain, local, masked, or the SHA-256 of its digits. */
  payer: string | null;
  payerName: string | null;
}

/** The result of a notification: `pending` if it is stored and will be retried. */
export interface NotificationResult {
  outcome: NotificationOutcome | 'pending';
  paymentId: number | null;
}

export type Verdict = 'accepted' | 'wrong_account' | 'wrong_amount' | 'wrong_short_code';

/** Why a notification is refused. */
export type Refusal =
  | { reason: 'unreadable'; problems: FieldProblem[] }
  | { reason: Exclude<Verdict, 'accepted'> };

export interface ProviderAnswer {
  /** Default: 200. */
  status?: number;
  contentType: string;
  /** An object is sent as JSON. */
  body: object | string;
}

/** The content of a body, for the API description. */
interface Content {
  contentType: string;
  schema: TSchema;
}

/** A route in the API description. */
export interface RouteDescription {
  operationId: string;
  summary: string;
  description: string;
  body: Content;
  /** With status 200. */
  answer: Content;
}
