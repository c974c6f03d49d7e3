/**
 * The order in which the examples of the API description can be sent, so that each example finds the resources to which it refers.
 */

/** The day of the examples. */
export const DAY = '2026-11-02';
/** A later day on which the unchanged examples must still work. */
export const LATER_DAY = '2029-05-31';

/**
 * The writes, and one read, in the order in which a newcomer could send them to a new service with the demo catalogue.
 * They create customer 1, account 1, payments 1 (manual), 2 and 3 (by notifications), invoice 1, commission 1.
 */
export const STORY = [
  'PUT /api/test/clock',
  'POST /api/auth/register',
  'POST /api/auth/login',
  'POST /api/auth/refresh',
  'POST /api/auth/session',
  'POST /api/auth/session/refresh',
  'POST /api/users',
  'PUT /api/users/{id}',
  'POST /api/users/invitations',
  'POST /api/users/{id}/invitations',
  'POST /api/api-keys',
  'PUT /api/api-keys/{id}',
  'POST /api/customers/check',
  'POST /api/customers',
  'PUT /api/customers/{id}',
  'PUT /api/customers/by-external-id/{externalId}',
  'PUT /api/customers/{id}/kyc',
  'POST /api/accounts',
  'POST /api/payments',
  'PUT /api/payments/{id}',
  'POST /api/webhooks/payments/mobilemoney/validation',
  'POST /api/webhooks/payments/mobilemoney',
  'POST /api/webhooks/payments/tigopesa',
  'GET /api/payments/unmatched',
  'POST /api/payments/{id}/assign',
  'POST /api/payments/{id}/status-queries',
  'POST /api/notifications/{id}/status-queries',
  'POST /api/accounts/{accountId}/payment-requests',
  'POST /api/payments/reconcile',
  'POST /api/reconciliations/statements',
  'POST /api/invoices',
  'POST /api/products',
  'PUT /api/products/{id}',
  'PUT /api/products/by-external-id/{externalId}',
  'POST /api/products/{id}/configurations',
  'POST /api/payplans',
  'PUT /api/payplans/{id}',
  'POST /api/payment-methods',
  'PUT /api/payment-methods/{id}',
  'POST /api/employees',
  'PUT /api/employees/{id}',
  'PUT /api/employees/by-external-id/{externalId}',
  'POST /api/commissions/rules',
  'POST /api/commissions/calculate',
  'PUT /api/commissions/payments/{id}',
  'POST /api/imports',
  'PUT /api/imports/{id}/files/{file}',
  'POST /api/imports/{id}/check',
  'POST /api/webhook-endpoints',
  'PUT /api/webhook-endpoints/{id}',
  'POST /api/webhook-endpoints/{id}/test',
  'POST /api/webhook-endpoints/{id}/resend',
];
/** Sent after all reads, because most of these calls change or end what the reads need. */
export const ENDINGS = [
  'POST /api/approvals/{id}/approve',
  'POST /api/approvals/{id}/reject',
  'POST /api/approvals/{id}/withdraw',
  'POST /api/customers/bulk',
  'POST /api/accounts/bulk',
  'POST /api/payments/bulk',
  'POST /api/payments/{id}/unassign',
  'POST /api/reconciliations/statements/{id}/match',
  'POST /api/reconciliations/statements/{id}/import',
  'POST /api/reconciliations/statements/{id}/reconcile',
  'PUT /api/accounts/{id}',
  'POST /api/accounts/{id}/credit/transfer',
  'POST /api/accounts/{id}/credit/refund',
  'GET /api/accounts/{id}/credit/moves',
  'GET /api/credit-moves',
  'POST /api/notifications/{id}/resolve',
  'POST /api/payments/{id}/receipt',
  'POST /api/payments/{id}/correct-amount',
  'POST /api/payments/{id}/reverse',
  'POST /api/invoices/{id}/void',
  'POST /api/webhooks/payments/mobilemoney/requests/{key}',
  'POST /api/webhooks/payments/mobilemoney/status/{key}',
  'POST /api/imports/{id}/run',
  'POST /api/imports/{id}/undo',
  'POST /api/users/invitations/{id}/revoke',
  'POST /api/api-keys/{id}/rotate',
  'POST /api/api-keys/{id}/revoke',
  'POST /api/webhook-endpoints/{id}/rotate-secret',
  'DELETE /api/webhook-endpoints/{id}',
  'PUT /api/auth/password',
  'DELETE /api/auth/session',
  'POST /api/auth/logout',
];
/** Between these two calls, a person signs in at a provider with a browser. */
export const BROWSER = ['GET /api/auth/{provider}', 'GET /api/auth/{provider}/callback'];
