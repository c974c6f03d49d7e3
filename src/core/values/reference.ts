import { foldVisible } from './case-folding.ts';

/**
 * The form in which references of transactions are compared. It ignores invisible characters, blanks, letter case and width,
 * because staff copy references from messages and may type them in lower case.
 */
export function referenceKey(reference: string): string {
  return foldVisible(reference);
}
