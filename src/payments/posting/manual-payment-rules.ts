import { accountFull, hasRoomFor } from '../../accounts/ledger/money-on-account-rules.ts';
import { booksToPay } from '../../accounts/ledger/payoff-rules.ts';
import { recordableFrom } from '../../catalogue/payment-methods/rules.ts';
import { type Actor, amountOf, type Currency } from '../../core/context.ts';
import { lockName } from '../../core/database/named-locks.ts';
import { AppError, duplicate, invalidField, notFound } from '../../core/http/errors.ts';
import { externalIdKey, NotTheSame } from '../../core/http/external-ids.ts';
import { answerRow, lockNameOf } from '../../core/http/idempotency.ts';
import { businessDay } from '../../core/values/dates.ts';
import { containedKeys, referenceKey } from '../../core/values/reference.ts';
import { mayDo } from '../../rights.ts';
import { paymentRow, recordedEvent } from '../money-event-rules.ts';
import type { PaymentRow } from '../rules.ts';
import { identityOf, isProbablySame } from './identity-rules.ts';
import {
  type Decision,
  type ExternalPayment,
  type KeepAnswer,
  type KnownNotification,
  type KnownPayment,
  type KnownTransaction,
  linkedOutcome,
  type ManualPayment,
  NOTIFICATION_OUTCOMES,
  OTHER_METHOD,
  type PaymentToPost,
  type PostedSoFar,
  type PostingReads,
  type PostingSettings,
  refuse,
} from './rules.ts';
import { findCashWarnings, findWarnings, refuseUnconfirmed } from './warning-rules.ts';

// Decides the effects of a payment that staff record.

export function manualPaymentToPost(manual: ManualPayment, keep?: KeepAnswer): PaymentToPost {
  const { transactionRef, externalId, accountId: namedAccountId } = manual;
  const reference = transactionRef === null ? null : referenceKey(transactionRef);
  const identity = identityOf(reference, containedKeys(transactionRef ?? ''));
  const locks = [
    ...identity.locks,
    ...(externalId === null ? [] : [lockName('payment external id', externalIdKey(externalId))]),
    ...(keep ? [lockNameOf(keep.key)] : []),
  ];
  return { manual, keep, ...identity, locks, interpretations: null, namedAccountId };
}

export function decideManual(
  manual: ManualPayment,
  keep: KeepAnswer | undefined,
  { newIds, known, methods, answer, sameExternalId, alike, cashInHandMinor }: PostingReads,
  earlier: PostedSoFar,
  settings: PostingSettings,
): Decision {
  const { currency, now } = settings;
  if (answer)
    return { result: answer instanceof AppError ? { error: answer } : { outcome: { replay: answer } } };
  // Checked before the account, so that a repeated call finds its payment even if the account has no room for another payment.
  if (sameExternalId) return refuse(externalIdError(manual, sameExternalId));
  const { actor, accountId, paymentMethodId, amountMinor } = manual;
  const method = methods.find((one) => one.id === paymentMethodId);
  if (!method) return refuse(notFound('payment_method', paymentMethodId, 'paymentMethodId'));
  if (!method.active)
    return refuse(invalidField('paymentMethodId', 'must refer to an active payment method'));
  const outsideLimits = agentLimitError(manual, method, methods, settings);
  if (outsideLimits) return refuse(outsideLimits);
  const valueDate = manual.paymentDate;
  const books = booksToPay(earlier.books, accountId, { actor, amountMinor, valueDate });
  if (!books) return refuse(notFound('account', accountId, 'accountId'));
  if (!hasRoomFor(books, amountMinor)) return refuse(accountFull('amount'));
  const reported = findReported(manual, known, currency);
  if (reported instanceof AppError) return refuse(reported);
  const similar = findReportedAlike(manual, known.similar);
  if (similar && !reported && !mayKeepBoth(manual)) return refuse(similarError(manual, similar));
  const unusual = findWarnings(manual, books, alike, earlier.payments);
  const unconfirmed = refuseUnconfirmed(manual, { warnings: unusual, books }, currency);
  if (unconfirmed) return refuse(unconfirmed);
  const warnings = [...unusual, ...findCashWarnings(manual, cashInHandMinor, earlier.payments, settings)];
  const payment = paymentRow(newIds.payment, now, {
    account_id: accountId,
    amount_minor: Number(amountMinor),
    payment_method_id: paymentMethodId,
    transaction_ref: manual.transactionRef,
    payment_date: manual.paymentDate,
    source: 'manual',
    match_method: reported ? 'manual_entry' : null,
    match_reason: null,
    provider: reported?.notification.provider ?? null,
    provider_trans_id: reported?.notification.trans_id ?? null,
    external_id: manual.externalId,
    metadata: manual.metadata,
    created_by: actor.userId,
    api_key_id: actor.apiKey?.id ?? null,
  });
  const answers = keep ? [answerRow(keep.key, keep.status, keep.answerOf(payment, warnings))] : [];
  const recorded: Decision = {
    result: { outcome: { payment, warnings } },
    event: recordedEvent(payment, actor, now),
    rows: { idempotency_keys: answers },
  };
  if (!reported) return recorded;
  const isOtherMethod = reported.payment.payment_method_id !== paymentMethodId;
  return {
    ...recorded,
    payments: [{ ...reported.payment, provider: null, provider_trans_id: null }],
    notifications: [
      { id: reported.notification.id, ...linkedOutcome(payment.id, isOtherMethod ? [OTHER_METHOD] : []) },
    ],
  };
}

/** The error if an agent may not record the payment, with what an agent may record. */
function agentLimitError(
  { actor, paymentDate }: ManualPayment,
  method: PostingReads['methods'][number],
  methods: PostingReads['methods'],
  { now, timeZone, agentBackdatingDays }: PostingSettings,
): AppError | undefined {
  if (actor.role !== 'agent') return undefined;
  const limits = { today: businessDay(now, timeZone), agentBackdatingDays };
  const from = recordableFrom(actor, method, limits);
  if (from === null) {
    const allowed = methods.filter((one) => recordableFrom(actor, one, limits) !== null);
    const names = allowed.map(({ id, name }) => `${id} (${name})`).join(', ');
    const reason = `agents record only cash; possible ${allowed.length === 0 ? 'are none' : `are ${names}`}`;
    return invalidField('paymentMethodId', `must refer to a payment method for cash: ${reason}`);
  }
  if (paymentDate >= from) return undefined;
  return invalidField(
    'paymentDate',
    `must not be before ${from}: agents can record payments of today and of the ${agentBackdatingDays} days before`,
  );
}

/** In a bulk call, the error `duplicate` marks the item as existing, and `NotTheSame` makes the item fail. */
function externalIdError(
  { accountId, amountMinor, paymentMethodId }: ManualPayment,
  { id, account_id, amount_minor, payment_method_id, status }: ExternalPayment,
): AppError {
  const differences = [
    ...(account_id === accountId ? [] : ['has another account']),
    ...(BigInt(amount_minor) === amountMinor ? [] : ['has another amount']),
    ...(payment_method_id === paymentMethodId ? [] : ['has another payment method']),
    ...(status === 'reversed' ? ['was reversed'] : []),
  ];
  if (differences.length === 0) return duplicate('payment', 'externalId', id);
  return new NotTheSame('payment', id, differences.join(', '));
}

/**
 * Decides whether staff can record a transaction that a provider may have reported, by a notification or on a statement. A
 * reported transaction is refused. Exception: if its payment was reversed, and no unreversed payment has the reference, staff who
 * may assign payments can record the transaction again with the reported amount.
 *
 * @returns undefined if no provider has reported the transaction, or an error if it is refused. In the case of the exception,
 *   returns the reversed payment and its notification: the manual payment takes over their transaction.
 */
function findReported(
  { actor, amountMinor, paymentMethodId }: ManualPayment,
  { payments, notifications, statementId }: KnownTransaction,
  currency: Currency,
): { notification: KnownNotification; payment: PaymentRow } | AppError | undefined {
  const notification = notifications.find(
    ({ outcome }) =>
      outcome === 'conflict' || (outcome !== null && NOTIFICATION_OUTCOMES[outcome].hasPayment),
  );
  const isReported = notification !== undefined || statementId !== null;
  const existing = payments.find(
    ({ status, provider, payment_method_id: method }) =>
      status !== 'reversed' && (isReported || provider !== null || method === paymentMethodId),
  );
  if (existing) return duplicate('payment', 'transactionRef', existing.id);
  if (!notification) return statementId === null ? undefined : onStatementError(actor, statementId);
  const { payment_id: paymentId, conflict_payment_id: conflictId } = notification;
  const payment = payments.find(({ id }) => id === paymentId); // Reversed, because it is not `existing`.
  if (!payment || !mayDo(actor, 'payments:assign')) {
    return duplicate('payment', 'transactionRef', paymentId ?? conflictId ?? undefined);
  }
  if (BigInt(notification.amount_minor) !== amountMinor) {
    const reported = amountOf(notification.amount_minor, currency);
    return invalidField(
      'amount',
      `must be ${reported}, the amount that the provider reported for this transaction`,
    );
  }
  return { notification, payment };
}

/** The payment of a provider that is probably the manual payment. @param similar - payments with similar references. */
export function findReportedAlike(
  manual: Pick<ManualPayment, 'amountMinor' | 'paymentDate'>,
  similar: readonly KnownPayment[],
): KnownPayment | undefined {
  return similar.find(({ provider, ...one }) => provider !== null && isProbablySame(manual, one));
}

function mayKeepBoth({ actor, bothAreReal }: ManualPayment): boolean {
  return bothAreReal && mayDo(actor, 'payments:assign');
}

function similarError({ actor }: ManualPayment, { id, provider_trans_id: transId }: KnownPayment): AppError {
  const message =
    `The provider has reported ${transId}, a payment of the same amount. The reference contains this id, differs from it only in ` +
    'O and 0, or in I and 1, or is another id in the report. ' +
    (mayDo(actor, 'payments:assign')
      ? 'If both payments are real, send bothAreReal: true.'
      : 'If both payments are real, ask finance to record this payment.');
  return new AppError('DUPLICATE_ENTRY', message, {
    details: { resource: 'payment', field: 'transactionRef', id },
  });
}

function onStatementError(actor: Actor, statementId: number): AppError {
  const message =
    'An uploaded statement of the provider reports this transaction. Ask finance to import the payment from the statement.';
  const id = mayDo(actor, 'reconciliations:read') ? { id: statementId } : {};
  return new AppError('DUPLICATE_ENTRY', message, {
    details: { resource: 'provider_statement', field: 'transactionRef', ...id },
  });
}
