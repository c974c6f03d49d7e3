import { foldVisible } from './case-folding.ts';
import { withoutQuotes } from './quoted-text.ts';

/**
 * Transaction references with the same key are the same reference. The key ignores invisible characters, blanks, letter case and
 * width, and quotes around the reference, because staff copy references from messages and spreadsheets, or type them in lower
 * case. The database function without_quotes removes the quotes from keys that earlier versions write.
 */
export function referenceKey(reference: string): string {
  return withoutQuotes(foldVisible(reference));
}
