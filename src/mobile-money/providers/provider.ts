import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Config, Currency } from '../../core/context.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { ProviderName } from '../../payments/provider-name-rules.ts';
import type { NotificationResult, Refusal, Verdict } from '../../payments/rules.ts';

/**
 * Describes how to read and answer the calls of one payment provider. Each provider has its own files in this folder, and a line
 * in registry.ts and in payments/provider-name-rules.ts.
 */
export interface PaymentProvider {
  /** The value of `provider` in payments and notifications, and the last part of the path /webhooks/payments/<name>. */
  readonly name: ProviderName;
  /** The provider's names of the two required fields, for error messages. */
  readonly fieldNames: { transactionId: string; amount: string };
  /**
   * Whether payments without a matching account are accepted, so that staff assign them. False if the provider returns the money
   * of refused payments to the payer.
   */
  readonly acceptsUnmatched: boolean;
  /** The format of a call, for error messages. Example: 'a JSON object'. */
  readonly format: string;
  /** @throws AppError UNAUTHORIZED or FORBIDDEN if the provider did not send the call. */
  authenticate(request: FastifyRequest, config: Config): void;
  /** Reads the body of a call. @returns undefined if it is unreadable. */
  read(body: Buffer): SentPayment | undefined;
  /** The IANA zone of the times in calls and statements. Absent for a provider whose calls have no time. */
  timeZone?(config: Config): string;
  /**
   * Parses the time that `read` returns. Absent for a provider whose calls have no time.
   * @param timeZone - an IANA name. Undefined: the zone of the provider's own API.
   * @returns undefined for an unreadable time.
   */
  readTime?(text: string, timeZone?: string): Date | undefined;
  /**
   * Reads from the body of a call the balance that the business has after the payment, as a decimal. Absent for a provider whose
   * calls have no balance.
   */
  readBalance?(body: Buffer): string | null;
  /** The answer to an accepted notification. */
  accept(sent: SentPayment, result: NotificationResult): ProviderAnswer;
  /** The answer to an unreadable or refused notification. */
  refuse(sent: SentPayment | undefined, refusal: Refusal): ProviderAnswer;
  /** Absent for a provider whose statements are not imported. */
  readonly statement?: StatementReader;
  /** Only for a provider that calls …/validation before the money moves, to ask whether to accept the payment. */
  readonly validation?: {
    answer(verdict: Verdict, accountNumber: string | null): ProviderAnswer;
    readonly description: RouteDescription;
  };
  /**
   * Opens the provider's API. Absent for a provider that has no API.
   * @returns undefined if the settings do not turn the API on.
   */
  openApi?(config: Config): ProviderApi | undefined;
  /** The short codes (business numbers) whose payments the service pulls. Absent for a provider that cannot list its payments. */
  pulledShortCodes?(config: Config): readonly string[];
  /** Absent for a provider that does not answer status queries. */
  readonly statusAnswers?: StatusAnswers;
  /** Absent for a provider that cannot ask a phone to pay. */
  readonly requester?: PaymentRequester;
  readonly description: RouteDescription;
}

/** Calls of the service to a provider. Every call throws a ProviderApiError if it has no result. */
export interface ProviderApi {
  /** Undefined if the settings do not turn pulling on. */
  readonly pull: PullSource | undefined;
  /** Undefined if the settings do not turn status queries on. */
  readonly status: StatusSource | undefined;
}

/** Asks about one transaction. The provider accepts the query, and posts the answer later. */
export interface StatusSource {
  /**
   * Sends the query. Sending it twice only causes a second answer.
   * @param transaction.answerUrl - the address to which the provider posts its answer.
   * @returns the provider's id of the query. Null if it sent none.
   */
  ask(
    transaction: { transactionRef: string; answerUrl: string },
    signal: AbortSignal,
  ): Promise<string | null>;
}

/** Receives the answers that a provider posts some time after a query or a request of the service. */
export interface AnswerReceiver<Answer> {
  /** Whether the settings turn these queries or requests on. */
  isOn(config: Config): boolean;
  /** The base URL at which the provider reaches this service, without a slash at its end. */
  callbackUrl(config: Config): string;
  /** Reads an answer. @returns undefined if it is unreadable. */
  read(body: Buffer): Answer | undefined;
  readonly description: RouteDescription;
  /**
   * The HTTP response to every readable call. A call that fits no query or request gets this response, too, because a repeat
   * would not help.
   */
  readonly acknowledgement: ProviderAnswer;
}

export type StatusAnswers = AnswerReceiver<StatusAnswer>;

export interface StatusAnswer {
  transactionRef: string | null;
  /** Null if the provider did not describe the transaction. */
  transaction: DescribedTransaction | null;
  /** Whether the provider says that there is no such transaction. */
  doesNotExist: boolean;
  message: string | null;
}

/** A transaction as the provider describes it. */
export interface DescribedTransaction {
  /** In the words of the provider. */
  status: string | null;
  /** Whether the status means that the money has moved. */
  isCompleted: boolean;
  /** A decimal number in units of the currency. */
  amount: string | null;
  /** The payer's number: international, masked, or the SHA-256 of its digits in hex. */
  payer: string | null;
  payerName: string | null;
  /** The number of the business that was paid. */
  receiver: string | null;
  completedAt: Date | null;
  /** The kind of transaction, in the words of the provider. */
  reason: string | null;
}

/** Lists the payments that the provider has recorded. */
export interface PullSource {
  /** How far back the provider lists payments. */
  readonly historyMs: number;
  /** The longest window that one query can have. */
  readonly longestWindowMs: number;
  /** Registers a short code, so that the provider lists its payments. Repeats have no effect. */
  register(shortCode: string, signal: AbortSignal): Promise<void>;
  /** Reads rows of a window. The offset counts rows or, at some providers that name a number of pages, pages. */
  readPage(window: PullWindow, offset: number, signal: AbortSignal): Promise<PulledPage>;
}

export interface PullWindow {
  shortCode: string;
  from: Date;
  to: Date;
}

export interface PulledPage {
  /** The transaction ids of all rows. A row without an id has its text instead. Empty if the offset is after the last row. */
  rowIds: string[];
  /** All rows as text. Two pages with the same content mean that the offset has no effect. */
  content: string;
  /** The rows that are payments, or may be payments. */
  payments: PulledPayment[];
  /** The number of pages of the window. Null if the provider does not name it. */
  pagesInPeriod: number | null;
  /** The number of rows of the window. Null if the provider does not name it. */
  rowsInPeriod: number | null;
}

export interface PulledPayment {
  sent: SentPayment;
  /** Why it is not certain that the row is a payment. Null if it is one. */
  doubt: string | null;
  /** Undefined for an unreadable time. */
  time: Date | undefined;
  /** The row as the provider sent it. */
  raw: string;
}

/** Asks the phones of customers to pay. The provider posts the answer after the customer has paid or refused. */
export interface PaymentRequester extends AnswerReceiver<RequestAnswer> {
  /** The fields of a request that the provider would not accept, with the reasons. */
  problemsOf(request: Pick<PaymentToRequest, 'phone' | 'amountMinor'>, currency: Currency): FieldProblem[];
  /** The short code that is paid. */
  shortCode(config: Config): string;
  /** The calls of one connection share an access token. */
  connect(config: Config, currency: Currency): RequestConnection;
}

export interface RequestConnection {
  /** Sends the request once. Never rejects. */
  send(request: PaymentToRequest, now: Date): Promise<SendResult>;
  /** Asks for the outcome of a request that the provider has accepted. Never rejects. */
  findResult(requestId: string, now: Date): Promise<RequestResult>;
}

export interface PaymentToRequest {
  phone: string;
  amountMinor: Minor;
  accountNumber: string;
  /** The address to which the provider posts its answer. */
  answerUrl: string;
}

/** `not_sent`: the provider has certainly not processed the request. `unknown`: the provider may have processed it. */
export type SendResult =
  | { outcome: 'sent'; requestId: string; merchantRequestId: string | null }
  | { outcome: 'refused'; reason: EndReason; message: string }
  | { outcome: 'not_sent' | 'unknown'; message: string };

/** The outcome that the provider reports. `waiting`: the customer has not answered. `unknown`: the provider reported none. */
export type RequestResult =
  | { outcome: 'paid'; message: string | null }
  | { outcome: 'ended'; reason: EndReason; message: string | null }
  | { outcome: 'waiting'; message: string | null }
  | { outcome: 'unknown'; message: string | null };

/** Why a request ended without a payment. `refused` and `not_sent` are about the request, and the others about the customer. */
export type EndReason =
  | 'cancelled'
  | 'insufficient_funds'
  | 'wrong_pin'
  | 'phone_busy'
  | 'refused'
  | 'no_answer'
  | 'not_sent';

/** The answer that a provider posts, usually after the customer has paid or refused. */
export interface RequestAnswer {
  /** The provider's id of the request. */
  requestId: string | null;
  merchantRequestId: string | null;
  /** `waiting`: the provider has no outcome yet. */
  result: Exclude<RequestResult, { outcome: 'unknown' }>;
  /** The id of the transaction. */
  receipt: string | null;
  /** A decimal number in units of the currency. */
  amount: string | null;
  time: string | null;
  payer: string | null;
}

/** Reads the statement that the provider exports as CSV. */
export interface StatementReader {
  /** The columns that a header must have. */
  readonly requiredColumns: readonly string[];
  /** @returns the delimiter of the header; undefined for any other line. */
  findDelimiter(line: string, currency: Currency): Delimiter | undefined;
  /** @returns undefined for a record that is not the header; the problem of a header with amounts in another unit. */
  readHead(cells: readonly string[], currency: Currency): Head | { problem: string } | undefined;
  /** Reads a line before the header. */
  readPreamble(cells: readonly string[], rules: LineRules): StatementPreamble;
  /** Reads one record after the header. An unreadable record becomes a line with the reason, because it may be a payment. */
  readLine(head: Head, cells: readonly string[], rules: LineRules): StatementLine;
  /** Keeps a record that `readLine` has read as an unreadable line, for a reason that only other lines show. */
  asUnreadable(line: StatementLine, cells: readonly string[], problem: string): StatementLine;
  /** The cell with the time of the transaction, as it is in the file. */
  timeCell(head: Head, cells: readonly string[]): string;
}

/** The order of day and month in dates such as 03/04/2026. */
export const DATE_ORDERS = ['day_first', 'month_first'] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];

export interface StatementPeriod {
  start: PlainDate;
  end: PlainDate;
}

export type Delimiter = ',' | ';' | '\t';

export interface Head {
  /** The position of each column that the file has. */
  readonly columns: Readonly<Partial<Record<string, number>>>;
  /** The number of columns up to the last one with a name. */
  readonly width: number;
}

/** What a line above the header states about the statement. */
export interface StatementPreamble {
  organisation?: string;
  shortCode?: string;
  period?: StatementPeriod;
  openingBalanceMinor?: Minor;
  closingBalanceMinor?: Minor;
  paidInMinor?: Minor;
  /** Not negative. */
  withdrawnMinor?: Minor;
}

/** One transaction of the statement. */
export interface StatementLine {
  /** Whether a customer paid, and the transaction was completed. The books must then have an equal payment. */
  isPayment: boolean;
  /** Whether the transaction was completed, and took back the payment `linkedReceipt`. */
  isReversal: boolean;
  /**
   * Whether `linkedReceipt` is not certain, because the details name it, or because it is the receipt of the line. Then the line only
   * takes back an earlier payment of the same amount.
   */
  isInferred: boolean;
  /** Whether the transaction moved money between accounts of the organisation. Not certain if the books have its receipt. */
  isOwnTransfer: boolean;
  /** Whether the money has moved. False for an unreadable line. */
  isCompleted: boolean;
  result: 'other' | 'unreadable' | null;
  problem: string | null;
  receipt: string | null;
  completedAt: Date | null;
  /** Negative for a withdrawal. */
  amountMinor: Minor | null;
  /** The balance after the transaction. Null if the file shows none, or if it is not an amount. */
  balanceMinor: Minor | null;
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
  /** The business time zone. */
  timeZone: string;
  /** The IANA zone of the times in the file. Undefined: the zone of the provider's own API. */
  providerTimeZone?: string | undefined;
  today: PlainDate;
  dateOrder: DateOrder;
  /** The organisation that the file names. */
  organisation: string | null;
  /** The short codes of the organisation. */
  ownShortCodes: readonly string[];
}

/** The fields of a call as text; null for missing fields. */
export interface SentPayment {
  transactionId: string | null;
  /** A decimal number in units of the currency. */
  amount: string | null;
  time: string | null;
  /** The number of the business that is paid. */
  businessShortCode: string | null;
  /** The reference that the payer typed. */
  reference: string | null;
  /** The payer's number: international, local, masked, or the SHA-256 of its digits in hex. */
  payer: string | null;
  payerName: string | null;
}

export interface ProviderAnswer {
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
  /** The answer with status 200. */
  answer: Content;
}

/**
 * Why a call of a provider's API has no result.
 * - not_sent: there was no access token or no connection, so the operation was not called.
 * - unauthorized: the provider refuses the credentials of the settings.
 * - busy: the provider did not process the call, because there were too many calls.
 * - refused: the provider refused the call.
 * - no_answer: it is unknown whether the provider processed the call.
 * - too_large: the answer is larger than the service reads.
 */
export type ProviderApiProblem = 'not_sent' | 'unauthorized' | 'busy' | 'refused' | 'no_answer' | 'too_large';

/** A call takes at most 30 s to get an access token and 60 s to get an answer. It is repeated at most once, with a new token. */
export const LONGEST_CALL_SECONDS = 180;

/** The message names the operation and the provider's reason, and never contains a credential. */
export class ProviderApiError extends Error {
  readonly problem: ProviderApiProblem;
  /** How long the provider asks callers to wait. */
  readonly retryAfterSeconds: number | null;
  /** The HTTP status of the answer. Null without an answer, or if `problem` says enough. */
  readonly status: number | null;

  constructor(
    problem: ProviderApiProblem,
    message: string,
    retryAfterSeconds: number | null = null,
    status: number | null = null,
  ) {
    super(message);
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
    this.status = status;
  }
}
