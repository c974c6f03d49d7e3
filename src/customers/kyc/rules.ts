import type { VerificationStatus, VerificationType } from '../../core/database/tables.ts';
import { type AppError, type FieldProblem, invalid, unconfirmed } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { nationalIdKey } from '../rules.ts';
import { KYC_WARNINGS, type KycDocument } from './schema.ts';

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

/** The documents on which a verification is based. */
interface Verification {
  verificationType: VerificationType;
  documents: readonly KycDocument[];
  /** Whether an earlier record contains the documents. */
  areEarlier: boolean;
  confirmed: readonly string[];
}

/**
 * @returns the error of a verification by a document that is no longer valid, or of one that nobody has confirmed although the
 *   number of the identity document is not that of the customer.
 */
export function refuseVerification(
  { verificationType, documents, areEarlier, confirmed }: Verification,
  { nationalId }: { nationalId: string | null },
  day: PlainDate,
): AppError | undefined {
  const expired = documents.flatMap((document, index) => {
    if (typeof document === 'string' || !isExpired(document, day)) return [];
    const message = `must be later than today (${day}), because the document must still be valid`;
    return [{ path: `documents[${index}].expiresAt`, message }];
  });
  if (expired.length > 0 && areEarlier) {
    const message = 'must contain a valid document, because a document of the earlier record has expired';
    return invalid([{ path: 'documents', message }]);
  }
  if (expired.length > 0) return invalid(expired);
  const differs = documents.some((document) => hasOtherNumber(document, verificationType, nationalId));
  if (!differs || confirmed.includes('different_number')) return undefined;
  return unconfirmed([{ code: 'different_number', message: KYC_WARNINGS.different_number }]);
}

/** A document is no longer valid from the day `expiresAt` on. */
function isExpired({ expiresAt }: Exclude<KycDocument, string>, day: PlainDate): boolean {
  return typeof expiresAt === 'string' && expiresAt <= day;
}

/** Verifications of these types prove the national id. Other documents, such as a passport, have a number of their own. */
const PROVE_NATIONAL_ID: readonly string[] = ['national_id', 'alien_id'] satisfies VerificationType[];

function hasOtherNumber(
  document: KycDocument,
  verificationType: VerificationType,
  nationalId: string | null,
): boolean {
  if (typeof document === 'string' || nationalId === null || typeof document.number !== 'string')
    return false;
  if (!isIdentity(document.type ?? verificationType, verificationType)) return false;
  return nationalIdKey(document.number) !== nationalIdKey(nationalId);
}

/**
 * Whether a type, which can be any text, means the identity card: `national_id`, `ID card`. A side, such as `front`, is a side of the
 * document that the verification needs.
 */
function isIdentity(type: unknown, verificationType: VerificationType): boolean {
  const words = String(type)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
  if (PROVE_NATIONAL_ID.includes(words.join('_'))) return true;
  if (['voter', 'passport', 'tax', 'driving', 'business'].some((word) => words.includes(word))) return false;
  const isSide = words.includes('front') || words.includes('back');
  if (isSide && PROVE_NATIONAL_ID.includes(verificationType)) return true;
  return words.includes('id') || words.includes('identity');
}
