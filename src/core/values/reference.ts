import { foldVisible } from './case-folding.ts';

/**
 * Transaction references with the same key are the same reference. The key ignores invisible characters, blanks, letter case and
 * width, because staff copy references from messages, or type them in lower case.
 */
export function referenceKey(reference: string): string {
  return foldVisible(reference);
}
