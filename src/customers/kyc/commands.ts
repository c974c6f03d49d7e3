import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { VerificationStatus, VerificationType } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, notFound } from '../../core/http/errors.ts';
import { refuseSpreadsheetChange } from '../../core/http/validation.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { classifySpreadsheetChange } from '../../core/values/spreadsheet-change.ts';
import { mayDo } from '../../rights.ts';
import { lockCustomer, setKycStatus } from '../store.ts';
import { checkDocuments, customerStatus, isDecision, refuseVerification } from './rules.ts';
import type { KycDocument, KycUpdate } from './schema.ts';
import {
  findCustomersWithExpired,
  findDocumentNumbers,
  findDocuments,
  findExpiredVerification,
  hasExpiredOn,
  insertKycRecord,
  saveExpiredOn,
} from './store.ts';

/**
 * Adds a record to the customer's KYC history.
 *
 * @throws AppError FORBIDDEN for a decision without the permission kyc:decide, NOT_FOUND for an unknown customer, VALIDATION_ERROR
 *   for a document number that a spreadsheet has changed, for a verification by an expired document, and with status 409 for one by
 *   a document with another number that is not confirmed.
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
    await refuseChangedNumbers(tx, customerId, documents);
    if (verificationStatus === 'verified') {
      const areEarlier = documents.length === 0;
      const refused = refuseVerification(
        {
          verificationType,
          documents: areEarlier ? await findDocuments(tx, customerId, verificationType) : documents,
          areEarlier,
          confirmed: body.confirmation?.codes ?? [],
        },
        customer,
        today(context),
      );
      if (refused) throw refused;
    }
    return addRecord(tx, actor, customer, {
      verificationType,
      verificationStatus,
      documents,
      kycStatus: customerStatus(customer.kycStatus, verificationStatus, mayDecide),
      kycReviewPending: verificationStatus === 'pending',
    });
  });
}

/**
 * Refuses a document number that a spreadsheet has changed, unless an earlier version stored it for this customer.
 * @throws AppError VALIDATION_ERROR.
 */
async function refuseChangedNumbers(
  tx: Tx,
  customerId: number,
  documents: readonly KycDocument[],
): Promise<void> {
  const numbers = documents.map((document) => (typeof document === 'string' ? null : document.number));
  const isChanged = (number: unknown) => typeof number === 'string' && classifySpreadsheetChange(number);
  if (!numbers.some(isChanged)) return;
  const stored = await findDocumentNumbers(tx, customerId);
  for (const [index, number] of numbers.entries()) {
    if (typeof number === 'string' && !stored.includes(number))
      refuseSpreadsheetChange(`documents[${index}].number`, number, null);
  }
}

const EXPIRY_BATCH = 200;

/**
 * Sets the status `expired` of verified customers whose documents are no longer valid. Runs once on each business day. Each batch
 * is one transaction.
 * @param signal - stops the job between two batches. The next run continues.
 * @returns the number of customers.
 */
export async function expireDocuments(context: Context, signal: AbortSignal): Promise<number> {
  const day = today(context);
  if (await hasExpiredOn(context.db, day)) return 0;
  let expired = 0;
  let lastId = 0;
  while (!signal.aborted) {
    const ids = await findCustomersWithExpired(context.db, day, lastId, EXPIRY_BATCH);
    if (ids.length === 0) {
      await saveExpiredOn(context.db, day);
      break;
    }
    expired += await inTransaction(context.db, async (tx) => {
      let count = 0;
      for (const id of ids) if (await expireVerification(tx, id, day)) count += 1;
      return count;
    });
    lastId = ids.at(-1) ?? lastId;
  }
  return expired;
}

async function expireVerification(tx: Tx, customerId: number, day: PlainDate): Promise<boolean> {
  const customer = await lockCustomer(tx, customerId);
  if (customer?.kycStatus !== 'verified') return false;
  const verificationType = await findExpiredVerification(tx, customerId, day);
  if (verificationType === undefined) return false;
  await addRecord(tx, SYSTEM, customer, {
    verificationType,
    verificationStatus: 'expired',
    documents: [],
    kycStatus: 'expired',
    // Documents that were submitted before still wait for a decision.
    kycReviewPending: customer.kycReviewPending,
  });
  return true;
}

interface AddedRecord {
  verificationType: VerificationType;
  verificationStatus: VerificationStatus;
  documents: KycDocument[];
  /** The status of the customer after the record. */
  kycStatus: VerificationStatus;
  kycReviewPending: boolean;
}

async function addRecord(
  tx: Tx,
  actor: Actor,
  customer: NonNullable<Awaited<ReturnType<typeof lockCustomer>>>,
  { verificationType, verificationStatus, documents, kycStatus, kycReviewPending }: AddedRecord,
) {
  const customerId = customer.id;
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
}
