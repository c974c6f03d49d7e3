import { type Static, type TSchema, Type } from 'typebox';
import { Id, Nullable } from '../core/http/fields.ts';

/** The fields of events: ids, amounts, dates and statuses. Events never contain a name, phone number, e-mail or national id. */
const FIELDS = {
  accountId: Nullable(Id),
  activationDate: date('The first day of the account.'),
  active: Type.Boolean(),
  amountMinor: amount('The amount of the payment, credit transfer or refund.'),
  breakCount: Type.Integer({
    description: 'The number of lines of the statement that differ from the books.',
  }),
  category: Nullable(
    Type.String({ description: 'The product category of the rule; null for the default rule.' }),
  ),
  cause: Nullable(
    Type.String({ description: '`non_payment` or `payment` for a change by the lateness policy.' }),
  ),
  changedFields: Type.Array(Type.String(), { description: 'The names of the fields that were sent.' }),
  configurationId: Id,
  conflictingPaymentId: Nullable(Id),
  creditMinor: amount('The credit of the account.'),
  creditMoveId: Id,
  customerId: Id,
  disabledReason: Type.String({ description: '`gone` or `failing`.' }),
  dueDate: Nullable(date('The day on which the invoice is due.')),
  employeeId: Nullable(Id),
  fromAccountId: Id,
  isDefault: Type.Boolean(),
  kycRecordId: Id,
  kycStatus: Nullable(Type.String({ description: 'The KYC status of the customer.' })),
  lineCount: Type.Integer(),
  matchMethod: Nullable(Type.String({ description: 'How the account was found.' })),
  nextDueDate: Nullable(
    date(
      'The account is paid until the day before this date. Null if the account is paid in full or closed.',
    ),
  ),
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
  providerStatementId: Nullable(Id),
  purpose: Type.String(),
  rateBasisPoints: Type.Integer(),
  reconciliationDate: date('The day on which the money is known to have arrived.'),
  reconciliationId: Id,
  role: Nullable(Type.String()),
  ruleVersion: Type.Integer(),
  source: Type.String({ description: '`manual`, `webhook` or `import`.' }),
  status: Type.String(),
  toAccountId: Id,
  totalMinor: amount('The total.'),
  userId: Nullable(Id),
  verificationStatus: Type.String(),
  verificationType: Type.String(),
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
    when: 'The account of a payment that a provider reported was found.',
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
    when: 'A user can sign in through an identity provider.',
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
