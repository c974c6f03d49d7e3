import { mayDo } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import type { Actor, Context } from '../core/context.ts';
import { inTransaction } from '../core/db.ts';
import { AppError, notFound } from '../core/errors.ts';
import { lockCustomer, setKycStatus } from '../customers/store.ts';
import { checkDocuments } from './rules.ts';
import type { KycUpdate } from './schema.ts';
import { insertKycRecord } from './store.ts';

/** Adds a record to the customer's KYC history; only who may decide sets another status than pending. */
export async function updateKyc(context: Context, actor: Actor, customerId: number, body: KycUpdate) {
  if (body.verificationStatus !== 'pending' && !mayDo(actor.role, 'kyc:decide')) {
    throw new AppError('FORBIDDEN', `Your role (${actor.role}) may submit KYC as pending only.`, {
      details: { permission: 'kyc:decide' },
    });
  }
  const documents = body.documents ?? [];
  checkDocuments(documents);
  return inTransaction(context.db, async (tx) => {
    const { verificationType, verificationStatus } = body;
    const customer = await lockCustomer(tx, customerId);
    if (!customer) throw notFound('customer', customerId);
    await setKycStatus(tx, customerId, verificationStatus);
    const record = { customerId, verificationType, verificationStatus, documents, createdBy: actor.userId };
    const inserted = await insertKycRecord(tx, record, actor.name);
    // The documents hold personal data: the record keeps them, the audit trail says that there is one.
    await audit(tx, actor, {
      action: 'customer.kyc',
      resource: 'customer',
      resourceId: customerId,
      before: { kycStatus: customer.kycStatus },
      after: { kycStatus: verificationStatus, kycRecordId: inserted.id, verificationType },
    });
    return inserted;
  });
}
