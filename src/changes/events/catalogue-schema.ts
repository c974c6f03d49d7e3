import { type Static, type TSchema, Type } from 'typebox';
import { Id, Nullable } from '../../core/http/fields.ts';

/** The fields of events. They never contain the name, phone number, e-mail or national id of a person. */
const FIELDS = {
  accountCount: Type.Integer(),
  accountId: Nullable(Id),
  action: Type.String({ description: 'What needs approval, such as `reverse_payment`.' }),
  activationDate: date('The first day of the account.'),
  active: Type.Boolean(),
  amountMinor: amount('The amount of the payment, notification, credit transfer, refund or request.'),
  breakCount: Type.Integer({
    description: 'The number of lines of the statement that differ from the books.',
  }),
  bulkDeferralId: Nullable(Id),
  category: Nullable(
    Type.String({ description: 'The product category of the rule; null for the default rule.' }),
  ),
  cause: Nullable(
    Type.String({
      description:
        '`non_payment` for an automatic suspension because of late payment, `payment` if a payment ended such a suspension, otherwise null.',
    }),
  ),
  changedCount: Type.Integer(),
  changedFields: Type.Array(Type.String(), { description: 'The names of the fields in the request.' }),
  configurationId: Id,
  conflictingPaymentId: Nullable(Id),
  correctedAmountMinor: amount('The right amount of the payment.'),
  correctedByPaymentId: Id,
  countedMinor: amount('The cash that was counted.'),
  creditMinor: amount('The credit of the account.'),
  creditMoveId: Id,
  customerCount: Type.Integer(),
  customerId: Id,
  differenceCount: Type.Integer({
    description: 'The number of account figures that differ from those of the source system.',
  }),
  differenceMinor: amount(
    'The change of the short code’s balance that no notification explains. Negative if the balance fell.',
  ),
  differenceOfCountMinor: amount('The counted cash less the expected cash.'),
  disabledReason: Type.String({ description: '`gone` or `failing`.' }),
  dueDate: Nullable(date('The day on which the invoice is due.')),
  employeeId: Nullable(Id),
  endReason: Type.String({ description: 'Why the payment request ended, such as `cancelled`.' }),
  errorCount: Type.Integer(),
  changeId: Id,
  checkCount: Type.Integer(),
  expectedMinor: amount('The cash that the holder should have had.'),
  failedChecks: Type.Array(Type.String(), { description: 'The names of the checks with violations.' }),
  fromAccountId: Id,
  isDefault: Type.Boolean(),
  kycRecordId: Id,
  kycStatus: Nullable(Type.String({ description: 'The KYC status of the customer.' })),
  kind: Type.String({
    description: '`call` or `visit`. Of a change of a plan: its kind, such as `deferral`.',
  }),
  lastHeardAt: Type.String({ description: 'When the provider last posted a notification.' }),
  lineCount: Type.Integer(),
  list: Type.String({ description: 'The name of the list, such as `payments`.' }),
  matchMethod: Nullable(Type.String({ description: 'How the account was found.' })),
  nextDueDate: Nullable(
    date(
      'The account is paid until the day before this date. Null if the account is paid in full or closed.',
    ),
  ),
  notificationId: Nullable(Id),
  number: Type.String({ description: 'The number of the invoice.' }),
  paymentCount: Type.Integer(),
  paymentDate: date('The business day of the payment.'),
  paymentId: Nullable(Id),
  paymentMethodId: Id,
  payplanId: Id,
  planVersion: Type.Integer({ description: 'The number of changes of the account’s terms.' }),
  period: Type.String({ description: 'The month of the commission, YYYY-MM.' }),
  previousCreditMinor: amount('The credit before the change.'),
  previousNextDueDate: Nullable(date('The next due date before the change.')),
  previousStatus: Type.String(),
  previousTotalMinor: amount('The price before the change.'),
  priceMinor: Nullable(amount('The price.')),
  productId: Nullable(Id),
  promiseDate: date('The last day on which the customer can keep the promise.'),
  promiseId: Nullable(Id),
  provider: Type.String({ description: 'The name of the payment provider.' }),
  providerStatementId: Nullable(Id),
  purpose: Type.String(),
  rateBasisPoints: Type.Integer(),
  reconciliationDate: date('The date of the reconciliation.'),
  reconciliationId: Id,
  receivedMinor: amount('The cash that the receiver counted.'),
  result: Type.String({ description: 'The result of the call, such as `no_answer`.' }),
  role: Nullable(Type.String()),
  rowCount: Type.Integer(),
  ruleVersion: Type.Integer(),
  shortCode: Type.String({ description: 'The number of the business that customers pay.' }),
  skippedCount: Type.Integer(),
  source: Type.String({ description: '`manual`, `webhook`, `import` or `pull`.' }),
  status: Type.String(),
  toAccountId: Id,
  toUserId: Id,
  totalMinor: amount('The total.'),
  userId: Nullable(Id),
  verificationStatus: Type.String(),
  verificationType: Type.String(),
  violationCount: Type.Integer({ description: 'The number of violations of all checks together.' }),
  warningCount: Type.Integer(),
} satisfies Record<string, TSchema>;

type Field = keyof typeof FIELDS;

function amount(description: string) {
  return Type.Number({ description: `${description} In units of the currency.` });
}

function date(description: string) {
  return Type.String({ description: `${description} YYYY-MM-DD.` });
}

interface EventKind {
  /** Default: 1. Increased when a field is removed or changes its meaning. A new field does not change the version. */
  version?: number;
  /** When the event occurs, as a sentence. */
  when: string;
  data: readonly Field[];
  /** The event is a consequence of another change and has no audit entry of its own. */
  isDerived?: true;
}

const STATUS_DATA = ['previousStatus', 'status', 'cause'] as const;
const APPROVAL_DATA = ['action', 'accountId', 'paymentId', 'bulkDeferralId', 'amountMinor'] as const;
const STATUS_QUERY_DATA = ['paymentId', 'notificationId', 'provider'] as const;
/** `userId` is the holder of the cash. */
const CASH_DATA = ['userId', 'paymentMethodId'] as const;
const PAYMENT_DATA = ['accountId', 'amountMinor'] as const;

/** Every type of event. The data do not repeat the subject of the event, which is in `resource` and `resourceId`. */
export const EVENTS = {
  'payment.received': {
    when: 'Staff recorded a payment, or a provider reported one.',
    data: [...PAYMENT_DATA, 'paymentMethodId', 'paymentDate', 'source', 'status'],
  },
  'payment.matched': {
    when: 'The account was found for a payment that a provider had reported.',
    data: [...PAYMENT_DATA, 'matchMethod'],
    isDerived: true,
  },
  'payment.unmatched': {
    when: 'A payment that a provider reported matches no account. The payment is now in the list of unmatched payments.',
    data: ['amountMinor', 'paymentMethodId', 'paymentDate'],
    isDerived: true,
  },
  'payment.assigned': {
    when: 'An unmatched payment was assigned to an account: by staff, or because the provider reported more about it.',
    data: PAYMENT_DATA,
  },
  'payment.unassigned': {
    when: 'Staff unassigned a payment from its account. The payment is now in the list of unmatched payments.',
    data: PAYMENT_DATA,
  },
  'payment.reversed': { when: 'Staff reversed a payment.', data: PAYMENT_DATA },
  'payment.corrected': {
    when: 'Staff corrected the amount of a payment. It follows `payment.reversed` of the same payment, and `payment.received` of the payment with the right amount, which is `correctedByPaymentId`.',
    data: [...PAYMENT_DATA, 'correctedByPaymentId', 'correctedAmountMinor'],
  },
  'payment.linked': {
    when: 'A manual payment was linked to the transaction that a provider reported.',
    data: PAYMENT_DATA,
  },
  'payment.reconciled': {
    when: 'A payment was reconciled: its money is known to have arrived.',
    data: ['amountMinor', 'reconciliationId', 'reconciliationDate'],
    isDerived: true,
  },
  'payment.updated': {
    when: 'The external id or the metadata of a payment was changed.',
    data: ['changedFields'],
  },
  'payment_request.created': {
    when: 'Staff created a payment request for an account. The request is not sent yet.',
    data: PAYMENT_DATA,
  },
  'payment_request.sent': {
    when: 'The provider accepted a payment request, and asks the customer to pay.',
    data: PAYMENT_DATA,
  },
  'payment_request.unknown': {
    when: 'The provider did not say what happened to a payment request. If the provider gave the request an id, the service asks for the outcome.',
    data: PAYMENT_DATA,
  },
  'payment_request.paid': {
    when: 'The provider reported that the customer paid, or exactly one payment was found that fits the request. This can follow `payment_request.declined` or `payment_request.expired`. It can also follow `payment_request.paid`, if the provider then reports another transaction.',
    data: PAYMENT_DATA,
  },
  'payment_request.payment_found': {
    when: 'A payment request was paid, and now its payment has been posted.',
    data: [...PAYMENT_DATA, 'paymentId'],
  },
  'payment_request.declined': {
    when: 'The provider refused the request, or reported that the customer did not pay.',
    data: [...PAYMENT_DATA, 'endReason'],
  },
  'payment_request.expired': {
    when: 'The request could not be sent, or the provider reported that the customer did not answer.',
    data: [...PAYMENT_DATA, 'endReason'],
  },
  'status_query.created': {
    when: 'Staff asked the provider about the transaction of a payment or a notification. The status query is not sent yet.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.answered': {
    when: 'The provider described the transaction. This can follow every other outcome of the query.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.not_found': {
    when: 'The provider says that the transaction does not exist. This can follow `status_query.unanswered` or `status_query.failed`.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.failed': {
    when: 'The provider could not say anything about the transaction, or the query could not be sent.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.unanswered': {
    when: 'The provider did not answer within ten minutes.',
    data: STATUS_QUERY_DATA,
  },
  'reconciliation.created': {
    when: 'A batch of payments was reconciled.',
    data: ['reconciliationDate', 'paymentCount', 'totalMinor', 'providerStatementId'],
  },
  'account.opened': {
    when: 'An account was opened. If its activation date is not in the future, its status is already `active`.',
    data: ['customerId', 'productId', 'payplanId', 'employeeId', 'activationDate', 'status', 'totalMinor'],
  },
  'account.activated': { when: 'A pending account became active.', data: STATUS_DATA },
  'account.suspended': { when: 'An account was suspended.', data: STATUS_DATA },
  'account.reactivated': {
    when: 'A suspended, defaulted or repossessed account became active.',
    data: STATUS_DATA,
  },
  'account.defaulted': { when: 'An account defaulted.', data: STATUS_DATA },
  'account.repossessed': { when: 'The product of an account was repossessed.', data: STATUS_DATA },
  'account.written_off': { when: 'The debt of an account was written off.', data: STATUS_DATA },
  'account.cancelled': { when: 'The sale of an account was undone.', data: STATUS_DATA },
  'account.completed': { when: 'An account was paid in full.', data: STATUS_DATA },
  'account.reopened': {
    when: 'A completed account is no longer paid in full, and has its earlier status again.',
    data: STATUS_DATA,
  },
  'account.paid_until_changed': {
    when: 'The next due date of an account changed. The account is paid until the day before this date.',
    data: ['nextDueDate', 'previousNextDueDate'],
    isDerived: true,
  },
  'account.credit_changed': {
    when: 'The credit of an account changed.',
    data: ['creditMinor', 'previousCreditMinor'],
    isDerived: true,
  },
  'account.plan_changed': {
    when: 'The terms of an account were changed, also by an early payoff, or a change was undone. `planVersion` counts the changes of the account.',
    data: ['kind', 'changeId', 'planVersion', 'totalMinor', 'previousTotalMinor', 'nextDueDate'],
  },
  'bulk_deferral.started': {
    when: 'The deferral of many accounts was started. `account.plan_changed` follows for each account.',
    data: ['accountCount'],
  },
  'bulk_deferral.ended': {
    when: 'The deferral of many accounts ended. Skipped accounts had changed since the preview, or could not be changed, or a user stopped the deferral.',
    data: ['changedCount', 'skippedCount'],
  },
  'bulk_deferral.discarded': {
    when: 'A user discarded the preview of a deferral of many accounts.',
    data: [],
  },
  'bulk_deferral.undo_started': {
    when: 'A user started to undo the deferral of many accounts.',
    data: ['accountCount'],
  },
  'bulk_deferral.undo_ended': {
    when: 'The undo of the deferral of many accounts ended. Skipped accounts have later changes of their plan, or could not be changed.',
    data: ['changedCount', 'skippedCount'],
  },
  'account.updated': {
    when: 'The external id or the metadata of an account was changed.',
    data: ['changedFields'],
  },
  'account.assigned': {
    when: 'A manager assigned the account to a user who calls late customers, or ended the assignment.',
    data: ['userId'],
  },
  'call.recorded': {
    when: 'A user recorded a call or a visit.',
    data: ['accountId', 'kind', 'result', 'promiseId'],
  },
  'call.marked_mistake': {
    when: 'The user who recorded a call marked it as a mistake. It is not counted.',
    data: ['accountId'],
  },
  'call.note_hidden': { when: 'A manager hid the note of a call.', data: ['accountId'] },
  'call.dispute_closed': { when: 'A manager closed a dispute of a customer.', data: ['accountId'] },
  'promise.judged': {
    when: 'The date of a promise has passed. The status says whether the customer kept it.',
    data: ['accountId', 'amountMinor', 'promiseDate', 'status'],
    isDerived: true,
  },
  'promise.judgement_changed': {
    when: 'The status of a judged promise changed, for example because a payment was reversed or assigned.',
    data: ['accountId', 'amountMinor', 'promiseDate', 'previousStatus', 'status'],
    isDerived: true,
  },
  'credit.transferred': {
    when: 'Credit was transferred from this account to another account.',
    data: ['creditMoveId', 'toAccountId', 'amountMinor'],
  },
  'credit.received': {
    when: 'This account received credit from another account.',
    data: ['creditMoveId', 'fromAccountId', 'amountMinor'],
  },
  'credit.refunded': {
    when: 'Credit was paid back to the customer.',
    data: ['creditMoveId', 'paymentMethodId', 'amountMinor'],
  },
  'customer.created': { when: 'A customer was created.', data: [] },
  'customer.updated': { when: 'A customer was changed.', data: ['changedFields'] },
  'note.added': {
    when: 'A note about a customer was written. Events never contain the text of a note.',
    data: ['customerId', 'accountId'],
  },
  'note.updated': {
    when: 'The text of a note was corrected, or a note was pinned or unpinned.',
    data: ['customerId', 'changedFields'],
  },
  'note.hidden': {
    when: 'The text of a note was hidden from users who may not hide notes.',
    data: ['customerId'],
  },
  'kyc.submitted': {
    when: 'KYC documents of a customer were submitted for a decision.',
    data: ['kycRecordId', 'verificationType', 'kycStatus'],
  },
  'kyc.decided': {
    when: 'The KYC of a customer was decided.',
    data: ['kycRecordId', 'verificationType', 'verificationStatus', 'kycStatus'],
  },
  'invoice.issued': {
    when: 'An invoice was issued.',
    data: ['accountId', 'number', 'totalMinor', 'dueDate'],
  },
  'invoice.voided': { when: 'An invoice was voided.', data: ['accountId'] },
  'cash_count.saved': {
    when: 'A user counted the cash in hand. An opening count expects nothing.',
    data: [...CASH_DATA, 'countedMinor', 'expectedMinor', 'differenceOfCountMinor'],
  },
  'cash_count.explained': {
    when: 'A holder gave the reason of the difference of a cash count.',
    data: [...CASH_DATA, 'differenceOfCountMinor'],
  },
  'cash_count.confirmed': {
    when: 'Finance confirmed an opening count.',
    data: [...CASH_DATA, 'countedMinor'],
  },
  'cash_handover.started': {
    when: 'A user hands cash over to another user. The event has no amount, because the receiver counts first.',
    data: [...CASH_DATA, 'toUserId'],
  },
  'cash_handover.received': {
    when: 'The receiver of cash counted the same amount, and now has the cash.',
    data: [...CASH_DATA, 'toUserId', 'amountMinor'],
  },
  'cash_handover.unequal': {
    when: 'The receiver of cash counted another amount. Nothing has moved.',
    data: [...CASH_DATA, 'toUserId', 'amountMinor', 'receivedMinor'],
  },
  'cash_handover.withdrawn': {
    when: 'A hand-over ended before the receiver counted.',
    data: CASH_DATA,
  },
  'cash_handover.deposited': {
    when: 'A user took cash to the bank. Finance has not found it on the bank statement yet.',
    data: [...CASH_DATA, 'amountMinor'],
  },
  'cash_handover.confirmed': {
    when: 'Finance found a deposit of cash on the bank statement.',
    data: [...CASH_DATA, 'amountMinor'],
  },
  'cash_handover.rejected': {
    when: 'Finance rejected a deposit of cash. The holder has the cash again.',
    data: [...CASH_DATA, 'amountMinor'],
  },
  'cash_settlement.requested': {
    when: 'Finance asked a second person to settle differences of a holder, or to close the cash of a holder who left.',
    data: CASH_DATA,
  },
  'cash_settlement.confirmed': {
    when: 'A second person confirmed a settlement. The amount is the sum of the settled differences.',
    data: [...CASH_DATA, 'amountMinor'],
  },
  'cash_settlement.rejected': { when: 'A second person rejected a settlement.', data: CASH_DATA },
  'commission.calculated': {
    when: 'The commission of an employee was calculated, or calculated again.',
    data: ['employeeId', 'period', 'totalMinor'],
  },
  'commission.approved': { when: 'A commission was approved.', data: ['employeeId', 'period', 'totalMinor'] },
  'commission.paid': { when: 'A commission was paid.', data: ['employeeId', 'period', 'totalMinor'] },
  'commission_rule.created': {
    when: 'A rule of commissions was added.',
    data: ['category', 'ruleVersion', 'rateBasisPoints'],
  },
  'notification.conflict': {
    when: 'A provider reported a transaction that contradicts a manual payment. Staff must resolve the conflict.',
    data: ['conflictingPaymentId', 'amountMinor'],
    isDerived: true,
  },
  'notification.resolved': {
    when: 'Staff resolved a conflict. The notification was linked to the chosen manual payment, or posted if none was chosen.',
    data: ['paymentId'],
  },
  'provider.silent': {
    when: 'A payment provider has posted no notification for longer than usual at this time of the week.',
    data: ['provider', 'lastHeardAt'],
    isDerived: true,
  },
  'provider.heard_again': {
    when: 'A silent payment provider has posted a notification again.',
    data: ['provider', 'lastHeardAt'],
    isDerived: true,
  },
  'balance_gap.found': {
    when: 'The running balance of a short code has a gap: a notification was lost, or money left the short code.',
    data: ['provider', 'shortCode', 'differenceMinor'],
    isDerived: true,
  },
  'statement.received': { when: 'A statement of a provider was uploaded.', data: ['lineCount'] },
  'statement.matching_started': {
    when: 'Staff started to match a statement again.',
    data: ['previousStatus'],
  },
  'statement.importing_started': {
    when: 'Staff started to import the missing payments of a statement.',
    data: ['previousStatus'],
  },
  'statement.reconciling_started': {
    when: 'Staff started to reconcile the matched payments of a statement.',
    data: ['previousStatus'],
  },
  'statement.break_found': {
    when: 'A statement was matched, and some of its lines differ from the books.',
    data: ['breakCount'],
    isDerived: true,
  },
  'proof.failed': {
    when: 'The checks of the books found violations, and the list of failing checks differs from that of the previous run.',
    data: ['violationCount', 'failedChecks'],
    isDerived: true,
  },
  'proof.passed': {
    when: 'All checks of the books pass. Published if the previous run found violations, is more than 26 hours old, or does not exist.',
    data: ['checkCount'],
    isDerived: true,
  },
  'import.checking_started': {
    when: 'A user started to check the files of a portfolio import.',
    data: ['previousStatus'],
  },
  'import.checked': {
    when: 'The files of a portfolio import were checked. Nothing was written to the books.',
    data: ['errorCount', 'warningCount', 'differenceCount'],
  },
  'import.running_started': {
    when: 'A user started to write a portfolio import to the books.',
    data: ['previousStatus'],
  },
  'import.completed': {
    when: 'A portfolio was imported. Its customers, accounts and payments have no events of their own.',
    data: ['customerCount', 'accountCount', 'paymentCount'],
  },
  'import.undoing_started': { when: 'A user started to undo a portfolio import.', data: ['previousStatus'] },
  'import.undone': { when: 'A portfolio import was undone. All its rows were deleted.', data: [] },
  'import.failed': {
    when: 'The check, the run or the undo of a portfolio import failed, and changed nothing.',
    data: ['previousStatus'],
  },
  'import.files_deleted': {
    when: 'The files of a portfolio import were deleted, because nobody worked on it for 30 days.',
    data: [],
  },
  'list.exported': {
    when: 'A user or an API key downloaded all rows of a list that match a filter. The audit log has the query, also the text of a search.',
    data: ['list', 'rowCount'],
  },
  'product.created': { when: 'A product was created.', data: ['priceMinor', 'active'] },
  'product.updated': { when: 'A product was changed.', data: ['changedFields'] },
  'product.configuration_created': {
    when: 'A configuration was added to a product.',
    data: ['configurationId', 'priceMinor', 'isDefault'],
  },
  'product.configuration_updated': {
    when: 'A configuration is no longer the default of its product.',
    data: ['configurationId', 'isDefault'],
  },
  'payplan.created': { when: 'A pay plan was created.', data: ['productId', 'active'] },
  'payplan.updated': { when: 'A pay plan was changed.', data: ['changedFields'] },
  'payment_method.created': { when: 'A payment method was created.', data: ['active'] },
  'payment_method.updated': { when: 'A payment method was changed.', data: ['changedFields'] },
  'employee.created': { when: 'An employee was created.', data: ['active'] },
  'employee.updated': { when: 'An employee was changed.', data: ['changedFields'] },
  'user.created': { when: 'A user was created.', data: ['role', 'employeeId'] },
  'user.updated': { when: 'An admin changed a user.', data: ['changedFields'] },
  'user.password_changed': { when: 'A user changed their password.', data: [] },
  'user.identity_linked': {
    when: 'An identity from an identity provider was linked to a user, who can now sign in with it.',
    data: [],
  },
  'session.ended': { when: 'A session of a user was ended.', data: [] },
  'api_key.created': { when: 'An API key was created.', data: ['role'] },
  'api_key.updated': { when: 'An API key was changed.', data: ['changedFields'] },
  'api_key.rotated': { when: 'An API key got a new secret.', data: [] },
  'api_key.revoked': { when: 'An API key was revoked.', data: [] },
  'invitation.created': { when: 'A person was invited.', data: ['purpose', 'role', 'employeeId', 'userId'] },
  'invitation.revoked': { when: 'An invitation was revoked or replaced.', data: [] },
  'webhook_endpoint.created': { when: 'A webhook endpoint was added.', data: [] },
  'webhook_endpoint.updated': {
    when: 'A webhook endpoint was changed, enabled or disabled by a user.',
    data: ['changedFields'],
  },
  'webhook_endpoint.deleted': { when: 'A webhook endpoint was deleted.', data: [] },
  'webhook_endpoint.disabled': {
    when: 'A webhook endpoint was disabled because it answered 410 or failed for three days.',
    data: ['disabledReason'],
  },
  'webhook_endpoint.secret_rotated': { when: 'A webhook endpoint got a new secret.', data: [] },
  'webhook_endpoint.resend_requested': {
    when: 'A user asked to deliver events to a webhook endpoint again.',
    data: [],
  },
  'approval.requested': {
    when: 'A user or an API key asked for an action that a second user has to approve.',
    data: APPROVAL_DATA,
  },
  'approval.approved': {
    when: 'A second user approved a request. The events of the action have their own types.',
    data: APPROVAL_DATA,
  },
  'approval.rejected': { when: 'A second user rejected a request.', data: APPROVAL_DATA },
  'approval.withdrawn': { when: 'The requester withdrew a request.', data: APPROVAL_DATA },
  'approval.obsolete': {
    when: 'A request ended because a fact that its requester saw has changed.',
    data: APPROVAL_DATA,
  },
  'invitation.accepted': { when: 'An invitation was accepted.', data: ['userId'] },
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof EVENTS;

export const EVENT_TYPES = Object.keys(EVENTS) as EventType[];

/** The version of the data of an event type. */
export function versionOf(type: EventType): number {
  return (EVENTS[type] as EventKind).version ?? 1;
}

/** The types without audit entries. */
export const DERIVED_TYPES = EVENT_TYPES.filter((type) => (EVENTS[type] as EventKind).isDerived);

/** An amount is in minor units. Every other field has the same form as in the API. */
type FieldValue<F extends Field> = F extends `${string}Minor`
  ? number | bigint | Extract<Static<(typeof FIELDS)[F]>, null>
  : Static<(typeof FIELDS)[F]>;

export type EventData<T extends EventType> = { [F in (typeof EVENTS)[T]['data'][number]]: FieldValue<F> };

/** The stored fields of an event type, with their schemas. */
export function fieldsOf(type: EventType): [Field, TSchema][] {
  return EVENTS[type].data.map((field) => [field, FIELDS[field]]);
}
