import { formatAccountNumber } from '../accounts/account-number.ts';
import { auditRow } from '../core/audit.ts';
import type { ItemResult } from '../core/batching.ts';
import { type Actor, type Currency, SYSTEM } from '../core/context.ts';
import { businessDay, type PlainDate } from '../core/dates.ts';
import { AppError, invalidField, notFound } from '../core/errors.ts';
import { answerRow, type IdempotencyKey, type KeptAnswer } from '../core/idempotency.ts';
import type { Minor } from '../core/money.ts';
import type { MatchMethod, NotificationOutcome, PaymentSource, Row } from '../core/tables.ts';
import type { AccountRow, Posting, PostingRows } from '../ledger/rules.ts';
import { accountFull, booksOf, hasRoomFor } from '../ledger/rules.ts';
import { learnedReason, type Match } from './matching/rules.ts';
import {
  ACCOUNT_FULL,
  decideManual,
  decideReport,
  type KnownNotification,
  type KnownPayment,
  type KnownTransaction,
  type ManualReceipt,
  type Meant,
  type Outcome,
  type ReportedReceipt,
} from './receipt-rules.ts';
import { type PaymentRow, referenceKey } from './rules.ts';

// What is to be written for each receipt of a batch, and what a receipt answers that writes nothing.

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
  | { refusal: 'wrong_account' | 'wrong_amount' };

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
  payment: NewPayment;
  /** Null for a payment that staff record. */
  report: ReportedReceipt | null;
  flags: string[];
  keep?: KeepAnswer;
  /** A reversed payment of the provider's gives its transaction to this one. */
  takesOver?: { from: PaymentRow; notification: KnownNotification };
}

export interface NewPayment {
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
export function refusal(reason: 'wrong_account' | 'wrong_amount'): Plan {
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
      matchMethod: takesOver ? 'hand_entry' : null,
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
function methodOf(match: Match): Pick<NewPayment, 'matchMethod' | 'matchReason'> {
  if (match.accountId === null) return { matchMethod: null, matchReason: null };
  if (match.method !== 'learned') return { matchMethod: match.method, matchReason: null };
  const { accountId, method: matchMethod, assignedOn } = match;
  return { matchMethod, matchReason: learnedReason(formatAccountNumber(accountId), assignedOn) };
}

/** Who does what a provider's report leads to. */
export function reporterOf({ provider }: ReportedReceipt): Actor {
  return { ...SYSTEM, name: `provider ${provider}` };
}

/** The money event of a new payment, with all rows that belong to it. */
export function postingOf(
  { payment, report, flags, keep }: PaymentPlan,
  paymentId: number,
  now: Date,
): Posting {
  const { accountId, amountMinor, paymentMethodId, paymentDate: valueDate } = payment;
  const { transactionRef } = payment;
  const row = paymentRowOf(payment, paymentId, now);
  return {
    event: 'payment_received',
    valueDate,
    paymentId,
    movements: accountId === null ? [] : [{ accountId, movement: { kind: 'money_in', amountMinor } }],
    contra: [
      { ledgerAccount: 'clearing', amountMinor, paymentMethodId },
      ...(accountId === null ? [{ ledgerAccount: 'unmatched' as const, amountMinor: -amountMinor }] : []),
    ],
    rows: {
      payments: [{ ...row, reversed_at: null, created_at: now, updated_at: now }],
      audit_entries: [
        auditRow(payment.actor, {
          action: 'payment.record',
          resource: 'payment',
          resourceId: paymentId,
          after: { accountId, amountMinor, paymentMethodId, transactionRef, valueDate },
        }),
      ],
      ...(report && rowsOf(report, postedOutcome(payment, paymentId, flags), now)),
      ...(keep && { idempotency_keys: [answerRow(keep.key, keep.status, keep.answerOf(row))] }),
    },
  };
}

/** The row of a report that is new; one that is stored already is updated instead. */
export function rowsOf(report: ReportedReceipt, outcome: Outcome, now: Date): PostingRows {
  return report.stored ? {} : { notifications: [notificationRow(report, outcome, now)] };
}

export function postedOutcome({ accountId }: NewPayment, paymentId: number, flags: string[]): Outcome {
  return { outcome: accountId === null ? 'unmatched' : 'matched', paymentId, conflictPaymentId: null, flags };
}

/** The payment as it is read back. */
export function paymentRowOf(payment: NewPayment, id: number, now: Date): PaymentRow {
  const { transactionRef, provider } = payment;
  return {
    id,
    account_id: payment.accountId,
    amount_minor: Number(payment.amountMinor),
    payment_method_id: payment.paymentMethodId,
    transaction_ref: transactionRef,
    reference_key: transactionRef === null ? null : referenceKey(transactionRef),
    payment_date: payment.paymentDate,
    status: payment.accountId === null ? 'unmatched' : 'matched',
    source: payment.source,
    match_method: payment.matchMethod,
    match_reason: payment.matchReason,
    provider: provider?.name ?? null,
    provider_trans_id: provider?.transId ?? null,
    reversed_at: null,
    reversal_reason: null,
    reconciliation_id: null,
    reconciliation_date: null,
    created_by: payment.actor.userId,
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
  };
}

/** The row of a report that was processed at once. */
function notificationRow(
  report: ReportedReceipt,
  { outcome, paymentId, conflictPaymentId, flags }: Outcome,
  processedAt: Date,
): NonNullable<PostingRows['notifications']>[number] {
  return {
    provider: report.provider,
    source: report.source,
    provider_statement_id: report.providerStatementId,
    raw_body: report.rawBody,
    trans_id: report.transId,
    content_hash: report.contentHash,
    amount_minor: Number(report.amountMinor),
    trans_time: report.transTime,
    business_short_code: report.businessShortCode,
    bill_ref: report.billRef,
    payer: report.payer,
    payer_name: report.payerName,
    flags,
    status: 'processed',
    outcome,
    payment_id: paymentId,
    conflict_payment_id: conflictPaymentId,
    attempts: 1,
    processed_at: processedAt,
  };
}
