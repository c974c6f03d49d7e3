import type { VerificationStatus } from '../core/database/tables.ts';
import { type FieldProblem, invalid } from '../core/http/errors.ts';
import type { KycDocument } from './schema.ts';

const MAX_DOCUMENT_BYTES = 2048;
/** The limit for all documents of one record. It keeps the pages of the history small: a page has up to a hundred records. */
const MAX_DOCUMENTS_BYTES = 16 * 1024;

/** The statuses of a KYC record. Only a user with the permission kyc:decide can record a decision. */
const STATUSES: Record<VerificationStatus, { isDecision: boolean }> = {
  pending: { isDecision: false },
  verified: { isDecision: true },
  rejected: { isDecision: true },
  expired: { isDecision: true },
};

export function isDecision(status: VerificationStatus): boolean {
  return STATUSES[status].isDecision;
}

/**
 * Returns the customer's status after a new record. If the user is not allowed to decide, an existing status stays, because the
 * new record must not hide a rejection or undo a verification.
 *
 * @param current - the status before the new record. Null for a customer without records.
 */
export function customerStatus(
  current: VerificationStatus | null,
  recorded: VerificationStatus,
  mayDecide: boolean,
): VerificationStatus {
  return mayDecide ? recorded : (current ?? recorded);
}

/**
 * @throws AppError VALIDATION_ERROR with each document that is too large or that expires before it was issued, and with the field
 * `documents` if all documents together are too large.
 */
export function checkDocuments(documents: readonly KycDocument[]): void {
  const problems: FieldProblem[] = [];
  documents.forEach((document, index) => {
    const path = `documents[${index}]`;
    if (Buffer.byteLength(JSON.stringify(document)) > MAX_DOCUMENT_BYTES) {
      problems.push({ path, message: `must have at most ${MAX_DOCUMENT_BYTES} bytes` });
    }
    if (typeof document === 'string') return;
    const { issuedAt, expiresAt } = document;
    if (typeof issuedAt === 'string' && typeof expiresAt === 'string' && expiresAt < issuedAt) {
      problems.push({ path: `${path}.expiresAt`, message: 'must not be before issuedAt' });
    }
  });
  if (Buffer.byteLength(JSON.stringify(documents)) > MAX_DOCUMENTS_BYTES) {
    problems.push({ path: 'documents', message: `must have at most ${MAX_DOCUMENTS_BYTES} bytes in total` });
  }
  if (problems.length > 0) throw invalid(problems);
}
