import { domainToASCII } from 'node:url';

const MAX_LENGTH = 254;

/**
 * The part before the @ has only visible characters, and no quotes, brackets or separators. The domain has at least two labels,
 * in ASCII form (IDNA).
 */
const PATTERN = /^(?!.*\p{DI})[^\s@"(),:;<>[\\\]\p{C}]+@[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/u;
const DOMAIN_PATTERN = /^[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)+$/u;

/**
 * The rule for all e-mail addresses. It accepts only one spelling of an address, in any letter case. Otherwise somebody could
 * register another spelling of a person's address (full-width letters, a domain not in ASCII), and lock out the person.
 */
export function isEmail(text: string): boolean {
  return text.length <= MAX_LENGTH && PATTERN.test(text) && text.normalize('NFKC') === text;
}

/** Two e-mail addresses with the same key are the same address. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase();
}

/**
 * Two domains with the same key are the same domain. The key is the ASCII form (IDNA), in lower case.
 *
 * @returns undefined if the text cannot be the domain of an e-mail address.
 */
export function domainKey(domain: string): string | undefined {
  return DOMAIN_PATTERN.test(domain) ? domainToASCII(domain) || undefined : undefined;
}

export function emailDomainKey(email: string): string | undefined {
  return domainKey(email.slice(email.lastIndexOf('@') + 1));
}
