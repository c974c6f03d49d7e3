import type { Notification } from '../posting/rules.ts';
import type { NotificationRow } from '../rules.ts';

/**
 * The notification that a row stores.
 * @param methodCode the payment method of its provider.
 * @throws Error for a notification that could not be read.
 */
export function notificationOf(row: NotificationRow, methodCode: string): Notification {
  const { trans_id: transId, amount_minor: amount, content_hash: contentHash } = row;
  if (transId === null || amount === null || contentHash === null) {
    throw new Error(`Notification ${row.id} was never readable.`);
  }
  return {
    provider: row.provider,
    methodCode,
    mustMatch: false, // It was accepted.
    source: row.source,
    providerStatementId: row.provider_statement_id,
    rawBody: row.raw_body,
    transId,
    amountMinor: BigInt(amount),
    contentHash,
    transTime: new Date(row.trans_time ?? row.received_at),
    businessShortCode: row.business_short_code,
    billRef: row.bill_ref,
    payer: row.payer,
    payerName: row.payer_name,
    flags: row.flags,
    stored: { id: row.id, outcome: row.outcome },
    acceptedPaymentId: null,
  };
}
