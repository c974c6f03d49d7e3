import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Config } from '../../config.ts';
import type { NotificationOutcome } from '../../core/database/tables.ts';
import type { FieldProblem } from '../../core/http/errors.ts';

/**
 * A payment provider that posts notifications to this service: what its calls look like, and what it expects in return.
 * One file describes one provider, and one line of registry.ts makes its routes. Nothing outside that file knows the names
 * of its fields.
 */
export interface PaymentProvider {
  /** In the path: /webhooks/payments/<name>; and the `provider` of payments and notifications. */
  readonly name: string;
  /** The code of the payment method that its payments have; every catalogue has it. */
  readonly methodCode: string;
  /** What it calls the two fields that no payment can do without; named in refusals. */
  readonly fieldNames: { transactionId: string; amount: string };
  /**
   * Whether money whose account is not known is accepted, to be assigned by staff. False where a refusal gives the
   * money back to the payer.
   */
  readonly acceptsUnmatched: boolean;
  /** What a call must be, for the refusal of others: 'a JSON object'. */
  readonly format: string;
  /** @throws AppError UNAUTHORIZED or FORBIDDEN for a call that is not the provider's. */
  authenticate(request: FastifyRequest, config: Config): void;
  /** Reads a call, which may be anything. @returns undefined where nothing can be read. */
  read(body: Buffer): SentPayment | undefined;
  /**
   * The moment of a time as `read` gives it; absent for a provider whose calls name no time.
   * @returns undefined for one that cannot be read.
   */
  readTime?(text: string): Date | undefined;
  /** The answer to a notification that is stored. */
  accept(sent: SentPayment, result: NotificationResult): ProviderAnswer;
  /** The answer to a notification that is not posted. */
  refuse(sent: SentPayment | undefined, refusal: Refusal): ProviderAnswer;
  /** Where it asks before the money moves, at …/validation. */
  readonly validation?: {
    /** What it waits for, in milliseconds. */
    deadlineMs: number;
    answer(verdict: Verdict, accountNumber: string | null): ProviderAnswer;
    readonly description: RouteDescription;
  };
  readonly description: RouteDescription;
}

/** What a call says, as text; null for what it does not say. */
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

/** What became of a notification: `pending` for one that is stored and will be tried again. */
export interface NotificationResult {
  outcome: NotificationOutcome | 'pending';
  paymentId: number | null;
}

export type Verdict = 'accepted' | 'wrong_account' | 'wrong_amount' | 'wrong_short_code';

/** Why a notification is not posted: it cannot be read, or a provider that wants to know so is told why. */
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

/** What a body holds, as the API description shows it. */
interface Content {
  contentType: string;
  schema: TSchema;
}

/** What the API description says of a route. */
export interface RouteDescription {
  operationId: string;
  summary: string;
  description: string;
  body: Content;
  /** With status 200. */
  answer: Content;
}
