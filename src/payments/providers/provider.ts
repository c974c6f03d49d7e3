import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Config, Currency } from '../../core/context.ts';
import type { NotificationOutcome } from '../../core/database/tables.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';

/**
 * Describes how to read and answer the calls of one payment provider. Each provider has one file, and one line in registry.ts that
 * registers its routes. No other file uses the provider's field names.
 */
export interface PaymentProvider {
  /** The field `provider` of payments and notifications, and the last part of the path /webhooks/payments/<name>. */
  readonly name: string;
  /** The code of the payment method that the provider's payments have. */
  readonly methodCode: string;
  /** The provider's names of the two required fields, for error messages. */
  readonly fieldNames: { transactionId: string; amount: string };
  /**
   * Whether payments without a matching account are accepted, so that staff assign them. False if the provider returns refused
   * payments to the payer.
   */
  readonly acceptsUnmatched: boolean;
  /** The format of a call, for error messages. Example: 'a JSON object'. */
  readonly format: string;
  /** @throws AppError UNAUTHORIZED or FORBIDDEN if the provider did not send the call. */
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
  /** Absent for a provider whose statements are not imported. */
  readonly statement?: StatementReader;
  /** Only for a provider that validates a payment before the money moves, at …/validation. */
  readonly validation?: {
    /** Milliseconds until a late answer is useless. */
    deadlineMs: number;
    answer(verdict: Verdict, accountNumber: string | null): ProviderAnswer;
    readonly description: RouteDescription;
  };
  readonly description: RouteDescription;
}

/** Reads the statement that the provider exports as CSV. */
export interface StatementReader {
  /** The columns that every header has. */
  readonly requiredColumns: readonly string[];
  /** @returns the delimiter of the header; undefined for any other line. */
  findDelimiter(line: string): Delimiter | undefined;
  /** @returns undefined for a record that is not the header. */
  readHead(cells: readonly string[]): Head | undefined;
  /** Reads a line before the header. */
  readPreamble(cells: readonly string[]): { organisation?: string; shortCode?: string };
  /** Reads one record after the header. A record that cannot be read is kept with the reason, because it may hold money. */
  readLine(head: Head, cells: readonly string[], rules: LineRules): StatementLine;
}

export type Delimiter = ',' | ';' | '\t';
/** The position of each column that the file has. */
export type Head = Partial<Record<string, number>>;

/** One transaction of the statement. */
export interface StatementLine {
  /** The transaction was completed and paid money in. The books must have an equal payment. */
  isPayment: boolean;
  /** The transaction was completed and withdrew the payment in `linkedReceipt`. */
  isReversal: boolean;
  result: 'other' | 'unreadable' | null;
  problem: string | null;
  receipt: string | null;
  completedAt: Date | null;
  /** Negative for a withdrawal. */
  amountMinor: Minor | null;
  reference: string | null;
  payer: string | null;
  payerName: string | null;
  status: string | null;
  details: string | null;
  linkedReceipt: string | null;
}

export interface LineRules {
  currency: Currency;
  delimiter: Delimiter;
  timeZone: string;
  today: PlainDate;
}

/** The fields of a call as text; null for missing fields. */
export interface SentPayment {
  transactionId: string | null;
  /** A decimal number in units of the currency. */
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

export interface RouteDescription {
  operationId: string;
  summary: string;
  description: string;
  body: Content;
  /** With status 200. */
  answer: Content;
}
