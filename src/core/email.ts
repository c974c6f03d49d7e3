import { domainToASCII } from 'node:url';

const MAX_LENGTH = 254;

/** A local part of visible characters that mark nothing up, and a domain of at least two labels. */
const PATTERN = /^(?!.*\p{DI})[^\s@"(),:;<>[\\\]\p{C}]+@[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)+$/u;

/**
 * The one rule for e-mail addresses, wherever they come from. The normalized form must obey it too, because addresses
 * are compared in that form.
 */
export function isEmail(text: string): boolean {
  return [text, text.normalize('NFKC')].every((form) => form.length <= MAX_LENGTH && PATTERN.test(form));
}

/** What makes two e-mail addresses the same. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase();
}

/**
 * What makes two domains the same: their ASCII form (IDNA), in lower case.
 *
 * @returns undefined for what is no domain of an e-mail address.
 */
export function domainKey(domain: string): string | undefined {
  return isEmail(`x@${domain}`) ? domainToASCII(domain) || undefined : undefined;
}

/** The key of an address's domain. */
export function emailDomainKey(email: string): string | undefined {
  return domainKey(email.slice(email.lastIndexOf('@') + 1));
}
