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

/**
 * The keys of the transaction ids that a reference may contain beside other text: `SKB2XQ19ZT Confirmed.`, `M-PESA/SKB2XQ19ZT`. An id
 * has at least eight characters, with letters and digits. Empty for a reference that is one id.
 */
export function containedKeys(reference: string): string[] {
  const text = foldCase(reference);
  const parts = [...text.split(/\s+/), ...text.split(/[^\p{L}\p{N}]+/u)];
  const keys = parts.map((part) => referenceKey(part.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')));
  const ids = keys.filter((key) => key.length >= 8 && /\d/.test(key) && /\p{L}/u.test(key));
  const whole = referenceKey(reference);
  return [...new Set(ids)].filter((key) => key !== whole).slice(0, MOST_IDS);
}

const MOST_IDS_IN_REPORT = 10;
/** Letters and digits, and at most 59 characters: longer texts are hashes. */
const REPORTED_ID = /^(?=.*\d)(?=.*[A-Z])[A-Z0-9][A-Z0-9._-]{7,58}$/;
const DATE = /^(\d{4}-?\d\d-?\d\dT\d|\d{1,2}-[A-Z]{3}-\d)/;

/** Whether a text in upper case can be the id under which a report names a payment, beside the id of the provider. */
export function isReportedId(text: string): boolean {
  return REPORTED_ID.test(text) && !DATE.test(text);
}

/**
 * The keys of all fields of a report that are the id of a transaction. A bank, an aggregator and a payment request have ids of their
 * own for a payment. A part of a text is no id: the Tigo ids of one day all start with the same word.
 * @param body - JSON or a form. A body in another format has no such fields.
 */
export function reportedIds(body: string): string[] {
  const texts = textsIn(body.trim()).map((text) => text.trim().toUpperCase());
  return [...new Set(texts)].filter(isReportedId).slice(0, MOST_IDS_IN_REPORT);
}

function textsIn(body: string): string[] {
  const texts: string[] = [];
  try {
    JSON.parse(body, (_name, value: unknown) => {
      if (typeof value === 'string') texts.push(value);
      return value;
    });
    return texts;
  } catch {
    return [...new URLSearchParams(body).values()];
  }
}
