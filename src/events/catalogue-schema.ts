import { type Static, type TSchema, Type } from 'typebox';
import { Id, Nullable } from '../core/http/fields.ts';

/** The fields of events: ids, amounts, dates and statuses. Events never contain a name, phone number, e-mail or national id. */
const FIELDS = {
  accountCount: Type.Integer(),
  accountId: Nullable(Id),
  action: Type.String({ description: 'What needs approval, such as `reverse_payment`.' }),
  activationDate: date('The first day of the account.'),
  active: Type.Boolean(),
  amountMinor: amount('The amount of the payment, credit transfer, refund or request.'),
  breakCount: Type.Integer({
    description: 'The number of lines of the statement that differ from the books.',
  }),
  category: Nullable(
    Type.String({ description: 'The product category of the rule; null for the default rule.' }),
  ),
  cause: Nullable(
    Type.String({
      description:
        '`non_payment` for an automatic suspension because of late payment, `payment` if a payment ended such a suspension, otherwise null.',
    }),
  ),
  changedFields: Type.Array(Type.String(), { description: 'The names of the fields that were sent.' }),
  configurationId: Id,
  conflictingPaymentId: Nullable(Id),
  creditMinor: amount('The credit of the account.'),
  creditMoveId: Id,
  customerCount: Type.Integer(),
  customerId: Id,
  differenceCount: Type.Integer({
    description: 'The number of account figures that differ from those of the source system.',
  }),
  differenceMinor: amount(
    'The change of the balance that no notification explains. Negative if the balance fell.',
  ),
  disabledReason: Type.String({ description: '`gone` or `failing`.' }),
  dueDate: Nullable(date('The day on which the invoice is due.')),
  employeeId: Nullable(Id),
  endReason: Type.String({ description: 'Why the request ended, such as `cancelled`.' }),
  errorCount: Type.Integer(),
  checkCount: Type.Integer(),
  failedChecks: Type.Array(Type.String(), { description: 'The names of the checks with violations.' }),
  fromAccountId: Id,
  isDefault: Type.Boolean(),
  kycRecordId: Id,
  kycStatus: Nullable(Type.String({ description: 'The KYC status of the customer.' })),
  lastHeardAt: Type.String({ description: 'When the provider last posted a notification.' }),
  lineCount: Type.Integer(),
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
  period: Type.String({ description: 'The month of the commission, YYYY-MM.' }),
  previousCreditMinor: amount('The credit before the change.'),
  previousNextDueDate: Nullable(date('The next due date before the change.')),
  previousStatus: Type.String(),
  priceMinor: Nullable(amount('The price.')),
  productId: Nullable(Id),
  provider: Type.String({ description: 'The name of the payment provider.' }),
  providerStatementId: Nullable(Id),
  purpose: Type.String(),
  rateBasisPoints: Type.Integer(),
  reconciliationDate: date('The day on which the money is known to have arrived.'),
  reconciliationId: Id,
  role: Nullable(Type.String()),
  ruleVersion: Type.Integer(),
  shortCode: Type.String({ description: 'The number of the business that is paid.' }),
  source: Type.String({ description: '`manual`, `webhook`, `import` or `pull`.' }),
  status: Type.String(),
  toAccountId: Id,
  totalMinor: amount('The total.'),
  userId: Nullable(Id),
  verificationStatus: Type.String(),
  verificationType: Type.String(),
  violationCount: Type.Integer({ description: 'The violations of all checks together.' }),
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
  /** Increased when a field is removed or changes its meaning. A new field does not change the version. */
  version: number;
  /** When the event occurs, as a sentence. */
  when: string;
  data: readonly Field[];
  /** The event is a consequence of another change and has no audit entry of its own. */
  isDerived?: true;
}

const STATUS_DATA = ['previousStatus', 'status', 'cause'] as const;
const APPROVAL_DATA = ['action', 'accountId', 'paymentId', 'amountMinor'] as const;
const STATUS_QUERY_DATA = ['paymentId', 'notificationId', 'provider'] as const;
const PAYMENT_DATA = ['accountId', 'amountMinor'] as const;

/** Every type of event. The subject of an event is not repeated in its data. */
export const EVENTS = {
  'payment.received': {
    version: 1,
    when: 'Staff recorded a payment, or a provider reported one.',
    data: [...PAYMENT_DATA, 'paymentMethodId', 'paymentDate', 'source', 'status'],
  },
  'payment.matched': {
    version: 1,
    when: 'The account was found for a payment that a provider had reported.',
    data: [...PAYMENT_DATA, 'matchMethod'],
    isDerived: true,
  },
  'payment.unmatched': {
    version: 1,
    when: 'A payment that a provider reported matches no account. The payment is now in the worklist.',
    data: ['amountMinor', 'paymentMethodId', 'paymentDate'],
    isDerived: true,
  },
  'payment.assigned': {
    version: 1,
    when: 'Staff assigned an unmatched payment to an account.',
    data: PAYMENT_DATA,
  },
  'payment.unassigned': {
    version: 1,
    when: 'Staff unassigned a payment from its account. The payment is in the worklist again.',
    data: PAYMENT_DATA,
  },
  'payment.reversed': { version: 1, when: 'Staff reversed a payment.', data: PAYMENT_DATA },
  'payment.linked': {
    version: 1,
    when: 'A manual payment was linked to the transaction that a provider reported.',
    data: PAYMENT_DATA,
  },
  'payment.reconciled': {
    version: 1,
    when: 'The money of a payment is known to have arrived.',
    data: ['amountMinor', 'reconciliationId', 'reconciliationDate'],
    isDerived: true,
  },
  'payment.updated': {
    version: 1,
    when: 'The external id or the metadata of a payment was changed.',
    data: ['changedFields'],
  },
  'payment_request.created': {
    version: 1,
    when: 'Staff asked a phone to pay for an account. The request is not sent yet.',
    data: PAYMENT_DATA,
  },
  'payment_request.sent': {
    version: 1,
    when: 'The provider accepted a payment request. The customer is asked.',
    data: PAYMENT_DATA,
  },
  'payment_request.unknown': {
    version: 1,
    when: 'The provider did not say what happened to a payment request. If the provider gave the request an id, the service asks for the outcome.',
    data: PAYMENT_DATA,
  },
  'payment_request.paid': {
    version: 1,
    when: 'The provider reported that the customer paid, or the only payment that fits the request was found. This can follow `payment_request.declined` or `payment_request.expired`.',
    data: PAYMENT_DATA,
  },
  'payment_request.payment_found': {
    version: 1,
    when: 'The payment of a paid request was posted.',
    data: [...PAYMENT_DATA, 'paymentId'],
  },
  'payment_request.declined': {
    version: 1,
    when: 'The provider reported that the customer did not pay, or refused the request.',
    data: [...PAYMENT_DATA, 'endReason'],
  },
  'payment_request.expired': {
    version: 1,
    when: 'The provider reported that the customer did not answer, or the request could not be sent.',
    data: [...PAYMENT_DATA, 'endReason'],
  },
  'status_query.created': {
    version: 1,
    when: 'Staff asked the provider about the transaction of a payment or a notification. The status query is not sent yet.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.answered': {
    version: 1,
    when: 'The provider described the transaction. This can follow every other outcome of the query.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.not_found': {
    version: 1,
    when: 'The provider says that the transaction does not exist. This can follow `status_query.unanswered` or `status_query.failed`.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.failed': {
    version: 1,
    when: 'The provider could not say anything about the transaction, or the query could not be sent.',
    data: STATUS_QUERY_DATA,
  },
  'status_query.unanswered': {
    version: 1,
    when: 'The provider did not answer within ten minutes.',
    data: STATUS_QUERY_DATA,
  },
  'reconciliation.created': {
    version: 1,
    when: 'A batch of payments was reconciled.',
    data: ['reconciliationDate', 'paymentCount', 'totalMinor', 'providerStatementId'],
  },
  'account.opened': {
    version: 1,
    when: 'An account was opened. If its first day has come, its status is already `active`.',
    data: ['customerId', 'productId', 'payplanId', 'employeeId', 'activationDate', 'status', 'totalMinor'],
  },
  'account.activated': { version: 1, when: 'A pending account became active.', data: STATUS_DATA },
  'account.suspended': { version: 1, when: 'An account was suspended.', data: STATUS_DATA },
  'account.reactivated': {
    version: 1,
    when: 'A suspended, defaulted or repossessed account became active.',
    data: STATUS_DATA,
  },
  'account.defaulted': { version: 1, when: 'An account defaulted.', data: STATUS_DATA },
  'account.repossessed': {
    version: 1,
    when: 'The product of an account was repossessed.',
    data: STATUS_DATA,
  },
  'account.written_off': { version: 1, when: 'The debt of an account was written off.', data: STATUS_DATA },
  'account.cancelled': { version: 1, when: 'The sale of an account was undone.', data: STATUS_DATA },
  'account.completed': { version: 1, when: 'An account was paid in full.', data: STATUS_DATA },
  'account.reopened': {
    version: 1,
    when: 'A completed account is no longer paid in full, and has its earlier status again.',
    data: STATUS_DATA,
  },
  'account.paid_until_changed': {
    version: 1,
    when: 'The next due date of an account changed. The account is paid until the day before this date.',
    data: ['nextDueDate', 'previousNextDueDate'],
    isDerived: true,
  },
  'account.credit_changed': {
    version: 1,
    when: 'The credit of an account changed.',
    data: ['creditMinor', 'previousCreditMinor'],
    isDerived: true,
  },
  'account.updated': {
    version: 1,
    when: 'The external id or the metadata of an account was changed.',
    data: ['changedFields'],
  },
  'credit.transferred': {
    version: 1,
    when: 'Credit was transferred from this account to another account.',
    data: ['creditMoveId', 'toAccountId', 'amountMinor'],
  },
  'credit.received': {
    version: 1,
    when: 'This account received credit from another account.',
    data: ['creditMoveId', 'fromAccountId', 'amountMinor'],
  },
  'credit.refunded': {
    version: 1,
    when: 'Credit was paid back to the customer.',
    data: ['creditMoveId', 'paymentMethodId', 'amountMinor'],
  },
  'customer.created': { version: 1, when: 'A customer was created.', data: [] },
  'customer.updated': { version: 1, when: 'A customer was changed.', data: ['changedFields'] },
  'kyc.submitted': {
    version: 1,
    when: 'KYC documents of a customer were submitted for a decision.',
    data: ['kycRecordId', 'verificationType', 'kycStatus'],
  },
  'kyc.decided': {
    version: 1,
    when: 'The KYC of a customer was decided.',
    data: ['kycRecordId', 'verificationType', 'verificationStatus', 'kycStatus'],
  },
  'invoice.issued': {
    version: 1,
    when: 'An invoice was issued.',
    data: ['accountId', 'number', 'totalMinor', 'dueDate'],
  },
  'invoice.voided': { version: 1, when: 'An invoice was voided.', data: ['accountId'] },
  'commission.calculated': {
    version: 1,
    when: 'The commission of an employee was calculated, or calculated again.',
    data: ['employeeId', 'period', 'totalMinor'],
  },
  'commission.approved': {
    version: 1,
    when: 'A commission was approved.',
    data: ['employeeId', 'period', 'totalMinor'],
  },
  'commission.paid': {
    version: 1,
    when: 'A commission was paid.',
    data: ['employeeId', 'period', 'totalMinor'],
  },
  'commission_rule.created': {
    version: 1,
    when: 'A rule of commissions was added.',
    data: ['category', 'ruleVersion', 'rateBasisPoints'],
  },
  'notification.conflict': {
    version: 1,
    when: 'A provider reported a transaction that contradicts a manual payment. Staff decide.',
    data: ['conflictingPaymentId', 'amountMinor'],
    isDerived: true,
  },
  'notification.resolved': {
    version: 1,
    when: 'Staff resolved a conflict. The notification was linked to the payment, or posted if no payment was chosen.',
    data: ['paymentId'],
  },
  'provider.silent': {
    version: 1,
    when: 'A payment provider has posted no notification for longer than usual at this time of the week.',
    data: ['provider', 'lastHeardAt'],
    isDerived: true,
  },
  'provider.heard_again': {
    version: 1,
    when: 'A silent payment provider has posted a notification.',
    data: ['provider', 'lastHeardAt'],
    isDerived: true,
  },
  'balance_gap.found': {
    version: 1,
    when: 'The running balance of a short code has a gap: a notification was lost, or money left the short code.',
    data: ['provider', 'shortCode', 'differenceMinor'],
    isDerived: true,
  },
  'statement.received': {
    version: 1,
    when: 'A statement of a provider was uploaded.',
    data: ['lineCount'],
  },
  'statement.matching_started': {
    version: 1,
    when: 'Staff started to match a statement again.',
    data: ['previousStatus'],
  },
  'statement.importing_started': {
    version: 1,
    when: 'Staff started to import the missing payments of a statement.',
    data: ['previousStatus'],
  },
  'statement.reconciling_started': {
    version: 1,
    when: 'Staff started to reconcile the matched payments of a statement.',
    data: ['previousStatus'],
  },
  'statement.break_found': {
    version: 1,
    when: 'A statement was matched, and some of its lines differ from the books.',
    data: ['breakCount'],
    isDerived: true,
  },
  'proof.failed': {
    version: 1,
    when: 'The checks of the books found violations, and the list of failing checks differs from the last run.',
    data: ['violationCount', 'failedChecks'],
    isDerived: true,
  },
  'proof.passed': {
    version: 1,
    when: 'All checks of the books pass. Published if the last run found violations, is more than 26 hours old, or does not exist.',
    data: ['checkCount'],
    isDerived: true,
  },
  'import.checking_started': {
    version: 1,
    when: 'A user started to check the files of a portfolio import.',
    data: ['previousStatus'],
  },
  'import.checked': {
    version: 1,
    when: 'The files of a portfolio import were checked. Nothing was written to the books.',
    data: ['errorCount', 'warningCount', 'differenceCount'],
  },
  'import.running_started': {
    version: 1,
    when: 'A user started to write a portfolio import to the books.',
    data: ['previousStatus'],
  },
  'import.completed': {
    version: 1,
    when: 'A portfolio was imported. Its customers, accounts and payments have no events of their own.',
    data: ['customerCount', 'accountCount', 'paymentCount'],
  },
  'import.undoing_started': {
    version: 1,
    when: 'A user started to undo a portfolio import.',
    data: ['previousStatus'],
  },
  'import.undone': { version: 1, when: 'A portfolio import was undone. All its rows are gone.', data: [] },
  'import.failed': {
    version: 1,
    when: 'The check, the run or the undo of a portfolio import failed, and changed nothing.',
    data: ['previousStatus'],
  },
  'import.files_deleted': {
    version: 1,
    when: 'The files of a portfolio import were deleted, because nobody worked on it for 30 days.',
    data: [],
  },
  'product.created': { version: 1, when: 'A product was created.', data: ['priceMinor', 'active'] },
  'product.updated': { version: 1, when: 'A product was changed.', data: ['changedFields'] },
  'product.configuration_created': {
    version: 1,
    when: 'A product got another configuration.',
    data: ['configurationId', 'priceMinor', 'isDefault'],
  },
  'product.configuration_updated': {
    version: 1,
    when: 'A configuration is no longer the default of its product.',
    data: ['configurationId', 'isDefault'],
  },
  'payplan.created': { version: 1, when: 'A pay plan was created.', data: ['productId', 'active'] },
  'payplan.updated': { version: 1, when: 'A pay plan was changed.', data: ['changedFields'] },
  'payment_method.created': { version: 1, when: 'A payment method was created.', data: ['active'] },
  'payment_method.updated': {
    version: 1,
    when: 'A payment method was changed.',
    data: ['changedFields'],
  },
  'employee.created': { version: 1, when: 'An employee was created.', data: ['active'] },
  'employee.updated': { version: 1, when: 'An employee was changed.', data: ['changedFields'] },
  'user.created': { version: 1, when: 'A user was created.', data: ['role', 'employeeId'] },
  'user.updated': { version: 1, when: 'An admin changed a user.', data: ['changedFields'] },
  'user.password_changed': { version: 1, when: 'A user changed their password.', data: [] },
  'user.identity_linked': {
    version: 1,
    when: 'An identity of a provider was linked to a user, who can now sign in with it.',
    data: [],
  },
  'session.ended': { version: 1, when: 'A session of a user was ended.', data: [] },
  'api_key.created': { version: 1, when: 'An API key was created.', data: ['role'] },
  'api_key.updated': { version: 1, when: 'An API key was changed.', data: ['changedFields'] },
  'api_key.rotated': { version: 1, when: 'An API key got a new secret.', data: [] },
  'api_key.revoked': { version: 1, when: 'An API key was revoked.', data: [] },
  'invitation.created': {
    version: 1,
    when: 'A person was invited.',
    data: ['purpose', 'role', 'employeeId', 'userId'],
  },
  'invitation.revoked': { version: 1, when: 'An invitation was revoked or replaced.', data: [] },
  'webhook_endpoint.created': { version: 1, when: 'A webhook endpoint was added.', data: [] },
  'webhook_endpoint.updated': {
    version: 1,
    when: 'A webhook endpoint was changed, enabled or disabled by a user.',
    data: ['changedFields'],
  },
  'webhook_endpoint.deleted': { version: 1, when: 'A webhook endpoint was deleted.', data: [] },
  'webhook_endpoint.disabled': {
    version: 1,
    when: 'A webhook endpoint was disabled because it answered 410 or failed for three days.',
    data: ['disabledReason'],
  },
  'webhook_endpoint.secret_rotated': {
    version: 1,
    when: 'A webhook endpoint got a new secret.',
    data: [],
  },
  'webhook_endpoint.resend_requested': {
    version: 1,
    when: 'A user asked to deliver events to a webhook endpoint again.',
    data: [],
  },
  'approval.requested': {
    version: 1,
    when: 'A user or an API key asked for an action that a second user has to approve.',
    data: APPROVAL_DATA,
  },
  'approval.approved': {
    version: 1,
    when: 'A second user approved a request. The events of the action have their own types.',
    data: APPROVAL_DATA,
  },
  'approval.rejected': { version: 1, when: 'A second user rejected a request.', data: APPROVAL_DATA },
  'approval.withdrawn': { version: 1, when: 'The requester withdrew a request.', data: APPROVAL_DATA },
  'approval.obsolete': {
    version: 1,
    when: 'A request ended because a fact that its requester saw has changed.',
    data: APPROVAL_DATA,
  },
  'invitation.accepted': { version: 1, when: 'An invitation was accepted.', data: ['userId'] },
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof EVENTS;

export const EVENT_TYPES = Object.keys(EVENTS) as EventType[];

/** The types without audit entries. */
export const DERIVED_TYPES = EVENT_TYPES.filter((type) => (EVENTS[type] as EventKind).isDerived);

/** An amount is in minor units. Every other field has its form in the API. */
type FieldValue<F extends Field> = F extends `${string}Minor`
  ? number | bigint | Extract<Static<(typeof FIELDS)[F]>, null>
  : Static<(typeof FIELDS)[F]>;

export type EventData<T extends EventType> = { [F in (typeof EVENTS)[T]['data'][number]]: FieldValue<F> };

/** The stored fields of an event type, with their schemas. */
export function fieldsOf(type: EventType): [Field, TSchema][] {
  return EVENTS[type].data.map((field) => [field, FIELDS[field]]);
}
