import { domainToASCII } from 'node:url';

const MAX_LENGTH = 254;

/** A local part of visible characters that mark nothing up, and a domain of at least two labels in its ASCII form (IDNA). */
const PATTERN = /^(?!.*\p{DI})[^\s@"(),:;<>[\\\]\p{C}]+@[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/u;
const DOMAIN_PATTERN = /^[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)+$/u;

/**
 * The rule for all e-mail addresses. Except for letter case, an address has one spelling: an address that looks like another
 * (full-width letters, a domain in two forms) would lock out the other's owner.
 */
export function isEmail(text: string): boolean {
  return text.length <= MAX_LENGTH && PATTERN.test(text) && text.normalize('NFKC') === text;
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
  return DOMAIN_PATTERN.test(domain) ? domainToASCII(domain) || undefined : undefined;
}

/** The key of the domain of an address. */
export function emailDomainKey(email: string): string | undefined {
  return domainKey(email.slice(email.lastIndexOf('@') + 1));
}
