import { foldCase, foldVisible } from './case-folding.ts';
import { withoutQuotes } from './quoted-text.ts';

/**
 * Transaction references with the same key are the same reference. The key ignores invisible characters, blanks, letter case and
 * width, and quotes around the reference, because staff copy references from messages and spreadsheets, or type them in lower
 * case. The database function without_quotes removes the quotes from keys that earlier versions write.
 */
export function referenceKey(reference: string): string {
  return withoutQuotes(foldVisible(reference));
}

/**
 * References that differ only in the letter O and the digit 0, or in I and 1, have the same result. Real transaction ids contain all
 * of these, so such references can be different transactions. The index payments_similar_reference contains the same text.
 * @param key - in the form of `referenceKey`.
 */
export function similarKey(key: string): string {
  return key.replaceAll('O', '0').replaceAll('I', '1');
}

const MOST_IDS = 5;
const MOST_IDS_IN_BODY = 20;
/** Longer texts are hashes. */
const MAX_ID_LENGTH = 60;

/**
 * The keys of the transaction ids that a reference may contain beside other text: `SKB2XQ19ZT Confirmed.`, `M-PESA/SKB2XQ19ZT`. An id
 * has at least eight characters, with letters and digits. Empty for a reference that is one id.
 */
export function containedKeys(reference: string): string[] {
  const whole = referenceKey(reference);
  return idsIn(reference, /\s+/)
    .filter((key) => key !== whole)
    .slice(0, MOST_IDS);
}

/**
 * The keys of all texts in the body of a call that may be the id of a transaction. A bank, an aggregator and a payment request have
 * ids of their own for a payment, beside the id of the provider.
 */
export function keysInBody(body: string): string[] {
  return idsIn(body, /[\s"'<>,;&=]+/).slice(0, MOST_IDS_IN_BODY);
}

/** Whether a key is long enough for the id of a transaction, and has letters and digits. */
export function isIdKey(key: string): boolean {
  return key.length >= 8 && key.length < MAX_ID_LENGTH && /\d/.test(key) && /\p{L}/u.test(key);
}

function idsIn(text: string, separator: RegExp): string[] {
  const folded = foldCase(text);
  const parts = [...folded.split(separator), ...folded.split(/[^\p{L}\p{N}]+/u)];
  const keys = parts.map((part) => referenceKey(part.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')));
  return [...new Set(keys)].filter(isIdKey);
}
