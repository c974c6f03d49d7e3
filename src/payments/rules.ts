/**
 * A transaction's reference as it is compared: providers print it in upper case without white space, and
 * staff copy it as they please.
 */
export function referenceKey(reference: string): string {
  return reference.replace(/\s/g, '').toUpperCase();
}
