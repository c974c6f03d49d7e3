import { foldVisible } from './fold.ts';

/**
 * The form in which references of transactions are compared: without invisible characters and blanks, and without regard to
 * case and width. Providers print references in upper case; staff copy them from messages with the text around them.
 */
export function referenceKey(reference: string): string {
  return foldVisible(reference);
}
