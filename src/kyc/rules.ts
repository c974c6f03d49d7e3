import { type FieldProblem, invalid } from '../core/errors.ts';
import type { KycDocument } from './schema.ts';

const MAX_DOCUMENT_BYTES = 2048;

/** @throws AppError VALIDATION_ERROR naming each document that is too large or expires before it was issued. */
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
  if (problems.length > 0) throw invalid(problems);
}
