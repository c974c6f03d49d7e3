import type { Actor, Context } from '../core/context.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { AppError, notFound } from '../core/http/errors.ts';
import { lockCustomer, setKycStatus } from '../customers/store.ts';
import { event } from '../events/change-rules.ts';
import { audit } from '../events/change-store.ts';
import { mayDo } from '../rights.ts';
import { checkDocuments, customerStatus, isDecision } from './rules.ts';
import type { KycUpdate } from './schema.ts';
import { insertKycRecord } from './store.ts';

/**
 * Adds a record to the customer's KYC history.
 *
 * @throws AppError FORBIDDEN for a decision without the permission kyc:decide, NOT_FOUND for an unknown customer.
 */
export async function updateKyc(context: Context, actor: Actor, customerId: number, body: KycUpdate) {
  const mayDecide = mayDo(actor, 'kyc:decide');
  if (isDecision(body.verificationStatus) && !mayDecide) {
    throw new AppError(
      'FORBIDDEN',
      'Without the permission kyc:decide, KYC can only be submitted as pending.',
      {
        details: { permission: 'kyc:decide' },
      },
    );
  }
  const documents = body.documents ?? [];
  checkDocuments(documents);
  return inTransaction(context.db, async (tx) => {
    const { verificationType, verificationStatus } = body;
    const customer = await lockCustomer(tx, customerId);
    if (!customer) throw notFound('customer', customerId);
    const kycStatus = customerStatus(customer.kycStatus, verificationStatus, mayDecide);
    const kycReviewPending = verificationStatus === 'pending';
    await setKycStatus(tx, customerId, { kycStatus, kycReviewPending });
    const record = { customerId, verificationType, verificationStatus, documents, createdBy: actor.userId };
    const inserted = await insertKycRecord(tx, record);
    const data = { kycRecordId: inserted.id, verificationType, kycStatus };
    // The audit trail does not repeat the documents, because they contain personal data.
    await audit(tx, actor, {
      action: 'customer.kyc',
      resource: 'customer',
      resourceId: customerId,
      before: { kycStatus: customer.kycStatus, kycReviewPending: customer.kycReviewPending },
      after: { kycStatus, kycReviewPending, kycRecordId: inserted.id, verificationType },
      event: isDecision(verificationStatus)
        ? event('kyc.decided', { ...data, verificationStatus })
        : event('kyc.submitted', data),
    });
    return inserted;
  });
}
