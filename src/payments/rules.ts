/**
 * A transaction's reference as it is compared: providers print it in upper case without white space, and staff copy it
 * as they please, also what cannot be seen and letters of full width.
 */
export function referenceKey(reference: string): string {
  return reference
    .normalize('NFKC')
    .replace(/[\s\p{Cf}]/gu, '')
    .toUpperCase();
}
