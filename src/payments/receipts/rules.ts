import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { type Actor, amountOf, type Currency, SYSTEM } from '../../core/context.ts';
import type { ItemResult } from '../../core/database/batching.ts';
import type {
  MatchMethod,
  NotificationOutcome,
  PaymentSource,
  Row,
  UserRole,
} from '../../core/database/tables.ts';
import { AppError, duplicate, invalidField, notFound } from '../../core/http/errors.ts';
import type { IdempotencyKey, KeptAnswer } from '../../core/http/idempotency.ts';
import { businessDay, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { type AccountRow, accountFull, booksOf, hasRoomFor } from '../../ledger/rules.ts';
import { mayDo } from '../../rights.ts';
import { learnedReason, type Match } from '../matching/rules.ts';
import type { PaymentRow } from '../rules.ts';

// What a report of received money leads to, given what is known of its transaction. A provider transaction is paid once:
// it belongs to the payment that holds its id.

/** A payment that staff record by hand. */
interface ManualReceipt {
  actor: Actor;
  accountId: number;
  amountMinor: Minor;
  paymentMethodId: number;
  transactionRef: string | null;
  paymentDate: PlainDate;
}

/** What a provider reports: by a notification, or by a line of its statement. */
export interface ReportedReceipt {
  provider: string;
  /** The code of the payment method that the provider's payments have. */
  methodCode: string;
  /** It is refused where it does not find its account: the payer gets the money back. */
  mustMatch: boolean;
  source: PaymentSource;
  /** Of an import: the provider's statement that it came from. */
  providerStatementId: number | null;
  /** Word for word. */
  rawBody: string;
  /** As `referenceKey` gives it. */
  transId: string;
  amountMinor: Minor;
  /** Equal for two reports of a transaction exactly when they say the same. */
  contentHash: Buffer;
  transTime: Date;
  businessShortCode: string | null;
  /** What the payer typed. */
  billRef: string | null;
  /** The payer's number as the provider sent it. */
  payer: string | null;
  payerName: string | null;
  flags: string[];
  /** Its row, when it is stored already: it is processed again, or somebody decides about it. */
  stored: { id: number; outcome: NotificationOutcome | null } | null;
  /** The manual payment that staff say is the transaction, whatever account it is on. */
  acceptedPaymentId: number | null;
}

/**
 * A payment recorded by hand, with the role that the person who recorded it has today, null for the system, and the
 * customer of its account.
 */
export type KnownPayment = PaymentRow & { recorder_role: UserRole | null; customer_id: number | null };

export interface KnownNotification {
  id: number;
  provider: string;
  trans_id: string;
  status: 'pending' | 'processed' | 'rejected';
  outcome: NotificationOutcome | null;
  content_hash: Buffer | null;
  amount_minor: number;
  payment_id: number | null;
  conflict_payment_id: number | null;
}

/** All that the books hold under one reference: payments that stand or belong to a provider, and reports. */
export interface KnownTransaction {
  payments: KnownPayment[];
  notifications: KnownNotification[];
  /** The first provider's statement with a payment line for it. Read only where staff record the reference. */
  statementId: number | null;
}

export const NOTHING_KNOWN: KnownTransaction = { payments: [], notifications: [], statementId: null };

/** The money went to a short code that is none of the business's own. */
export const OTHER_SHORT_CODE = 'other_short_code';
/** The provider reports a transaction again whose payment was reversed. */
export const REPEATED_AFTER_REVERSAL = 'repeated_after_reversal';
/** The notification names another account, or suggests another customer, than the payment that was recorded by hand. */
const OTHER_ACCOUNT = 'other_account';
export const OTHER_METHOD = 'other_method';
const ACCOUNT_FULL = 'account_full';
/** Of a conflict that migration 0018 reopened: its manual payment was reversed while the notification stayed linked. */
const PAYMENT_REVERSED = 'payment_reversed';
const DIFFERS_FROM_FIRST = 'differs_from_first';
/** Flags that follow from the decision, as opposed to those of the reading. A further decision sets them again. */
const DECIDED_FLAGS: ReadonlySet<string> = new Set([
  ...[
    DIFFERS_FROM_FIRST,
    OTHER_ACCOUNT,
    OTHER_METHOD,
    ACCOUNT_FULL,
    REPEATED_AFTER_REVERSAL,
    PAYMENT_REVERSED,
  ],
]);

/** The outcomes of a notification that has, or claims, the payment of its transaction. */
const CLAIMS: ReadonlySet<NotificationOutcome | null> = new Set([
  ...(['matched', 'unmatched', 'linked', 'conflict'] as const),
]);

/** What recording a payment by hand leads to: it is refused, recorded, or takes a reversed transaction over. */
type ManualDecision =
  | { kind: 'refuse'; error: AppError }
  | { kind: 'record' }
  | { kind: 'take_over'; notification: KnownNotification; from: PaymentRow };

/**
 * A transaction that a provider has reported, by a notification or a line of its statement, is not recorded by hand. Only
 * one whose payment was reversed can be recorded again, by those who may assign money, with the reported amount, and
 * only while no other payment stands under the reference.
 */
function decideManual(
  { actor, amountMinor, paymentMethodId }: ManualReceipt,
  { payments, notifications, statementId }: KnownTransaction,
  currency: Currency,
): ManualDecision {
  const notification = notifications.find(({ outcome }) => CLAIMS.has(outcome));
  const isReported = notification !== undefined || statementId !== null;
  const taken = payments.find(
    ({ status, provider, payment_method_id: method }) =>
      status !== 'reversed' && (isReported || provider !== null || method === paymentMethodId),
  );
  if (taken) return { kind: 'refuse', error: duplicate('payment', 'transactionRef', taken.id) };
  if (!notification) {
    return statementId === null
      ? { kind: 'record' }
      : { kind: 'refuse', error: onStatement(actor, statementId) };
  }
  const { payment_id: paymentId, conflict_payment_id: conflictId } = notification;
  const from = payments.find(({ id, status }) => id === paymentId && status === 'reversed');
  if (!from || !mayDo(actor.role, 'payments:assign')) {
    return {
      kind: 'refuse',
      error: duplicate('payment', 'transactionRef', paymentId ?? conflictId ?? undefined),
    };
  }
  if (BigInt(notification.amount_minor) !== amountMinor) {
    const reported = amountOf(notification.amount_minor, currency);
    const message = `must be ${reported}, the amount that the provider reported for this transaction`;
    return { kind: 'refuse', error: invalidField('amount', message) };
  }
  return { kind: 'take_over', notification, from };
}

function onStatement({ role }: Actor, statementId: number): AppError {
  const message =
    'An uploaded statement of the provider reports this transaction. Ask finance to import it from there.';
  const id = mayDo(role, 'reconciliations:read') ? { id: statementId } : {};
  return new AppError('DUPLICATE_ENTRY', message, {
    details: { resource: 'provider_statement', field: 'transactionRef', ...id },
  });
}

/** The outcome of a report, as its notification stores it. */
export interface Outcome {
  outcome: NotificationOutcome;
  paymentId: number | null;
  conflictPaymentId: number | null;
  flags: string[];
}

/** What a report leads to. Only `post` adds a payment; `flags` are those of the notification. */
type ReportDecision =
  | { kind: 'repeat'; paymentId: number | null; isReversed: boolean }
  | {
      kind: 'note';
      outcome: 'repeated' | 'differs' | 'conflict';
      flags: string[];
      paymentId: number | null;
      conflictPaymentId: number | null;
    }
  | { kind: 'link'; payment: KnownPayment; flags: string[] }
  | { kind: 'post'; flags: string[] };

/** Whose money a report says it is. */
export interface Meant {
  match: Match;
  /** Where nothing matches: the customers whom the worklist would suggest by the reference or the payer's number. */
  suggestedCustomerIds: readonly number[];
}

/** @param methodId the method that the provider's payments have. */
function decideReport(
  receipt: ReportedReceipt,
  { payments, notifications }: KnownTransaction,
  meant: Meant,
  methodId: number,
): ReportDecision {
  const { provider, transId, amountMinor, stored, acceptedPaymentId } = receipt;
  const own = notifications.filter(
    (known) => known.provider === provider && known.trans_id === transId && known.id !== stored?.id,
  );
  const booked = payments.find((known) => known.provider === provider && known.provider_trans_id === transId);
  if (!stored && own.some(({ content_hash: hash }) => hash?.equals(receipt.contentHash))) {
    return { kind: 'repeat', paymentId: booked?.id ?? null, isReversed: booked?.status === 'reversed' };
  }
  const flags = receipt.flags.filter((flag) => !DECIDED_FLAGS.has(flag));
  if (booked?.status === 'reversed') flags.push(REPEATED_AFTER_REVERSAL);
  const note = (outcome: 'repeated' | 'differs' | 'conflict', conflictPaymentId: number | null = null) => ({
    kind: 'note' as const,
    outcome,
    flags,
    paymentId: booked?.id ?? null,
    conflictPaymentId,
  });
  if (booked && saysTheSame(receipt, booked)) return note('repeated');
  const isFirst = stored === null || stored.outcome === null;
  if (booked || (isFirst && own.some((known) => precedes(known, stored?.id)))) {
    flags.push(DIFFERS_FROM_FIRST);
    return note('differs');
  }

  const manual = payments
    .filter((known) => known.provider === null && known.status !== 'reversed')
    .sort((a, b) => Number(hasAmount(b, amountMinor)) - Number(hasAmount(a, amountMinor)) || a.id - b.id);
  const [payment, another] = manual;
  if (!payment) return { kind: 'post', flags };
  const pointsElsewhere = isMeantForAnother(payment, meant);
  if (pointsElsewhere) flags.push(OTHER_ACCOUNT);
  const conflicting = another ?? (hasAmount(payment, amountMinor) ? undefined : payment);
  if (conflicting) return note('conflict', conflicting.id);
  if (pointsElsewhere && payment.id !== acceptedPaymentId && !isAuthoritative(payment)) {
    return note('conflict', payment.id);
  }
  if (payment.payment_method_id !== methodId) flags.push(OTHER_METHOD);
  return { kind: 'link', payment, flags };
}

function hasAmount({ amount_minor: amount }: PaymentRow, amountMinor: Minor): boolean {
  return BigInt(amount) === amountMinor;
}

/** A statement and a notification spell the payer and the time differently; the amount decides. */
function saysTheSame({ source, amountMinor }: ReportedReceipt, booked: PaymentRow): boolean {
  const oneIsOfTheStatement = source === 'import' || booked.source === 'import';
  return oneIsOfTheStatement && hasAmount(booked, amountMinor);
}

/** Whether another notification of the transaction counts before this one: it led to something, or is to be tried first. */
function precedes({ id, status, outcome }: KnownNotification, storedId = Number.POSITIVE_INFINITY): boolean {
  return status === 'processed' ? outcome !== 'differs' : status === 'pending' && id < storedId;
}

/** Whether the payer meant another account than that of the payment, or another customer where no account is found. */
function isMeantForAnother(
  { account_id: accountId, customer_id: customerId }: KnownPayment,
  { match, suggestedCustomerIds }: Meant,
): boolean {
  if (accountId === null) return false;
  if (match.accountId !== null) return match.accountId !== accountId;
  return suggestedCustomerIds.length > 0 && !suggestedCustomerIds.some((id) => id === customerId);
}

/**
 * Whether the account of a manual payment counts more than the one that the payer named: whoever recorded it, or put it
 * there, may also assign money whose account is not known.
 */
function isAuthoritative({ recorder_role: role, match_method: method }: KnownPayment): boolean {
  return method === 'assigned' || role === null || mayDo(role, 'payments:assign');
}

/** Money that was received, as staff or a provider report it. */
export type Receipt = { manual: ManualReceipt; keep?: KeepAnswer } | { report: ReportedReceipt };

/** The answer to keep for repeats under the key of a request. */
export interface KeepAnswer {
  key: IdempotencyKey;
  status: number;
  answerOf(payment: PaymentRow): unknown;
}

/** What a receipt has led to: a payment, an answer that was given before, or what became of a report. */
export type Recorded =
  | { payment: PaymentRow }
  | { replay: KeptAnswer }
  | { outcome: NotificationOutcome; paymentId: number | null }
  | { refusal: RefusalReason };

/** Why a provider gives money back. */
type RefusalReason = 'wrong_account' | 'wrong_amount' | 'wrong_short_code';

/** What is known when a receipt is planned. `match` and the suggestions: of a report. */
export interface Facts extends Meant {
  /** What is known of its reference. */
  known: KnownTransaction;
  /** All of them. */
  methods: readonly Row<'payment_methods'>[];
  /** Of a manual payment: what was answered under its key before, or why the key cannot be used. */
  answer?: KeptAnswer | AppError;
  /** The account that a manual payment names, or that a match has found; undefined where it is not locked. */
  account: AccountRow | undefined;
}

export type Plan =
  | { kind: 'result'; result: ItemResult<Recorded> }
  | { kind: 'repeat'; report: ReportedReceipt; paymentId: number | null; isReversed: boolean }
  | { kind: 'note'; report: ReportedReceipt; outcome: Outcome }
  | LinkPlan
  | PaymentPlan;

/** A manual payment becomes the payment of a provider's transaction. */
export interface LinkPlan {
  kind: 'link';
  report: ReportedReceipt;
  payment: KnownPayment;
  outcome: Outcome;
}

export interface PaymentPlan {
  kind: 'payment';
  payment: PlannedPayment;
  /** Null for a payment that staff record. */
  report: ReportedReceipt | null;
  flags: string[];
  keep?: KeepAnswer;
  /** A reversed payment of the provider's gives its transaction to this one. */
  takesOver?: { from: PaymentRow; notification: KnownNotification };
}

export interface PlannedPayment {
  actor: Actor;
  /** Null where it is not known whose money it is. */
  accountId: number | null;
  amountMinor: Minor;
  paymentMethodId: number;
  transactionRef: string | null;
  paymentDate: PlainDate;
  source: PaymentSource;
  matchMethod: MatchMethod | null;
  matchReason: string | null;
  provider: { name: string; transId: string } | null;
}

function refused(error: AppError): Plan {
  return { kind: 'result', result: { error } };
}

/** A report that gives the money back to its payer. */
function refusal(reason: RefusalReason): Plan {
  return { kind: 'result', result: { outcome: { refusal: reason } } };
}

export function planManual(
  manual: ManualReceipt,
  keep: KeepAnswer | undefined,
  { known, methods, answer, account }: Facts,
  currency: Currency,
): Plan {
  if (answer instanceof AppError) return refused(answer);
  if (answer) return { kind: 'result', result: { outcome: { replay: answer } } };
  const { accountId, paymentMethodId, amountMinor } = manual;
  const method = methods.find((one) => one.id === paymentMethodId);
  if (!method) return refused(notFound('payment_method', paymentMethodId, 'paymentMethodId'));
  if (!method.active) {
    return refused(invalidField('paymentMethodId', 'must refer to an active payment method'));
  }
  if (!account) return refused(notFound('account', accountId, 'accountId'));
  if (!hasRoomFor(booksOf(account), amountMinor)) return refused(accountFull('amount'));
  const decision = decideManual(manual, known, currency);
  if (decision.kind === 'refuse') return refused(decision.error);
  const takesOver = decision.kind === 'take_over' ? decision : undefined;
  const transaction = takesOver && {
    name: takesOver.notification.provider,
    transId: takesOver.notification.trans_id,
  };
  return {
    kind: 'payment',
    payment: {
      ...manual,
      source: 'manual',
      matchMethod: takesOver ? 'manual_entry' : null,
      matchReason: null,
      provider: transaction ?? null,
    },
    report: null,
    flags: [],
    ...(keep && { keep }),
    ...(takesOver && { takesOver }),
  };
}

/** @param timeZone of the business, whose day the payment counts for. */
export function planReport(
  report: ReportedReceipt,
  { known, methods, account, ...meant }: Facts,
  timeZone: string,
): Plan {
  const method = methods.find(({ code }) => code === report.methodCode);
  if (!method) throw new Error(`The catalogue has no payment method ${report.methodCode}.`);
  const { match } = meant;
  const decision = decideReport(report, known, meant, method.id);
  switch (decision.kind) {
    case 'repeat':
      return { ...decision, report };
    case 'note':
      return { kind: 'note', report, outcome: decision };
    case 'link': {
      const { payment, flags } = decision;
      const outcome = { outcome: 'linked' as const, paymentId: payment.id, conflictPaymentId: null, flags };
      return { kind: 'link', report, payment, outcome };
    }
    case 'post': {
      const isFull = account !== undefined && !hasRoomFor(booksOf(account), report.amountMinor);
      if (report.mustMatch && report.flags.includes(OTHER_SHORT_CODE)) return refusal('wrong_short_code');
      if (report.mustMatch && (match.accountId === null || isFull)) {
        return refusal(match.accountId === null ? 'wrong_account' : 'wrong_amount');
      }
      const payment = {
        actor: reporterOf(report),
        accountId: match.accountId,
        amountMinor: report.amountMinor,
        paymentMethodId: method.id,
        transactionRef: report.transId,
        paymentDate: businessDay(report.transTime, timeZone),
        source: report.source,
        ...methodOf(match),
        provider: { name: report.provider, transId: report.transId },
      };
      const plan = { kind: 'payment' as const, payment, report, flags: decision.flags };
      return isFull ? withoutAccount(plan) : plan;
    }
  }
}

/** Money for an account that cannot take it waits in the worklist. */
export function withoutAccount(plan: PaymentPlan): PaymentPlan {
  const payment = { ...plan.payment, accountId: null, matchMethod: null, matchReason: null };
  return { ...plan, payment, flags: [...plan.flags, ACCOUNT_FULL] };
}

/** How an account was found, as the payment shows it. */
function methodOf(match: Match): Pick<PlannedPayment, 'matchMethod' | 'matchReason'> {
  if (match.accountId === null) return { matchMethod: null, matchReason: null };
  if (match.method !== 'learned') return { matchMethod: match.method, matchReason: null };
  const { accountId, method: matchMethod, assignedOn } = match;
  return { matchMethod, matchReason: learnedReason(formatAccountNumber(accountId), assignedOn) };
}

/** The actor of the audit rows of a provider's report. */
export function reporterOf({ provider }: ReportedReceipt): Actor {
  return { ...SYSTEM, name: `provider ${provider}` };
}
