import type { VerificationStatus } from '../core/database/tables.ts';
import { type FieldProblem, invalid } from '../core/http/errors.ts';
import type { KycDocument } from './schema.ts';

const MAX_DOCUMENT_BYTES = 2048;
/** Of one record: a page of the history has a hundred. */
const MAX_DOCUMENTS_BYTES = 16 * 1024;

/**
 * The status that a customer shows after a new record. A decision always shows. A submission shows only while there is
 * no decision, because it must not hide a rejection or undo a verification.
 *
 * @param shown the customer's status so far; null without any record.
 * @param mayDecide whether the record's author may decide.
 */
export function shownStatus(
  shown: VerificationStatus | null,
  recorded: VerificationStatus,
  mayDecide: boolean,
): VerificationStatus {
  return mayDecide ? recorded : (shown ?? recorded);
}

/**
 * @throws AppError VALIDATION_ERROR naming each document that is too large or expires before it was issued, and all of
 *   them where they are too large together.
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
    problems.push({ path: 'documents', message: `must have at most ${MAX_DOCUMENTS_BYTES} bytes together` });
  }
  if (problems.length > 0) throw invalid(problems);
}
