/** What makes two e-mail addresses the same. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase();
}
