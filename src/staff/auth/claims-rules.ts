import { emailDomainKey, isEmail } from '../../core/values/email.ts';
import { isVisibleText } from '../../core/values/text.ts';

/** A person as the identity provider describes them. */
interface Profile {
  email: string;
  firstName: string;
  lastName: string;
}

const MAX_SUBJECT_LENGTH = 255;
const MAX_NAME_LENGTH = 100;

/** Claims of OpenID Connect (Core 1.0, section 5.1). A provider can send any value. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * Checks an ID token beyond what the library verifies.
 *
 * The subject is part of the identity's key. Two people with empty subjects, or with subjects that UTF-8 cannot encode, would
 * share a user. The authorized party (azp) is the client that requested the token. The library checks the authorized party only
 * if the token has several audiences. OpenID Connect Core 1.0, section 2, describes both claims.
 *
 * @returns the problem, or undefined.
 */
export function identityProblem({ sub, azp }: Claims, clientId: string): string | undefined {
  if (typeof sub !== 'string' || !isVisibleText(sub) || sub.length > MAX_SUBJECT_LENGTH) {
    return `the subject (sub) must be 1 to ${MAX_SUBJECT_LENGTH} visible characters`;
  }
  if (azp !== undefined && azp !== clientId) return 'the authorized party (azp) is another client';
  return undefined;
}

/**
 * Reads a person from the claims of an ID token or of the user-info endpoint. Without `given_name`, missing names are taken from
 * `name`. Without both claims, the first name is taken from the e-mail. The last name can be empty.
 *
 * @returns undefined if there is no usable e-mail, or if `email_verified` is present but not true.
 */
export function profileOf(claims: Claims): Profile | undefined {
  const email = emailOf(claims);
  return email === undefined || isUnverified(claims.email_verified) ? undefined : profileWith(email, claims);
}

/** Like `profileOf`, with an e-mail from another source. */
export function profileWith(email: string, claims: Claims): Profile {
  const [first = '', ...rest] = nameOf(claims.name).split(' ');
  return {
    email,
    firstName: nameOf(claims.given_name) || first || nameOf(email.slice(0, email.indexOf('@'))),
    lastName: nameOf(claims.family_name) || (nameOf(claims.given_name) === '' ? rest.join(' ') : ''),
  };
}

/** Whether the e-mail is at one of the domains and explicitly verified. A missing `email_verified` counts as false. */
export function isOfDomain(claims: Claims, domains: ReadonlySet<string>): boolean {
  const email = emailOf(claims);
  const isVerified = claims.email_verified === true || claims.email_verified === 'true';
  return email !== undefined && isVerified && domains.has(emailDomainKey(email) ?? '');
}

function emailOf({ email }: Claims): string | undefined {
  return typeof email === 'string' && isEmail(email) ? email : undefined;
}

/** Some providers send the flag as text. Unlike in isOfDomain, a missing flag is accepted. */
function isUnverified(flag: unknown): boolean {
  return flag !== undefined && flag !== null && flag !== true && flag !== 'true';
}

/** Returns one line of visible characters that the database can store, or an empty text. */
function nameOf(claim: unknown): string {
  if (typeof claim !== 'string') return '';
  const line = claim
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return isVisibleText(line) ? [...line].slice(0, MAX_NAME_LENGTH).join('').trim() : '';
}
