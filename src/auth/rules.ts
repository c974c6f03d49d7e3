import { emailDomainKey, isEmail } from '../core/values/email.ts';
import { isVisibleText } from '../core/values/text.ts';

/** What a provider tells of a person, as far as a user needs it. */
interface Profile {
  email: string;
  firstName: string;
  lastName: string;
}

const MAX_SUBJECT_LENGTH = 255;
const MAX_NAME_LENGTH = 100;

/** Claims of OpenID Connect (Core 1.0, section 5.1); their values are the provider's, so anything. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * What is wrong with a verified ID token beyond what the library checks; undefined for a sound one.
 *
 * The subject is half of an identity, so an empty one, or one that UTF-8 cannot hold, would make two people one user
 * (OpenID Connect Core 1.0, section 2). A token that another client asked for names that client as the authorized party;
 * the library compares it only where there are several audiences.
 */
export function identityProblem({ sub, azp }: Claims, clientId: string): string | undefined {
  if (typeof sub !== 'string' || !isVisibleText(sub) || sub.length > MAX_SUBJECT_LENGTH) {
    return `the subject (sub) must be 1 to ${MAX_SUBJECT_LENGTH} visible characters`;
  }
  if (azp !== undefined && azp !== clientId) return 'the authorized party (azp) is another client';
  return undefined;
}

/**
 * The person behind the claims of an ID token or of the user-info endpoint. A missing first name is taken
 * from the e-mail; a missing last name stays empty.
 *
 * @returns undefined when there is no usable e-mail, or the provider says that it is not verified.
 */
export function profileOf(claims: Claims): Profile | undefined {
  const email = emailOf(claims);
  return email === undefined || isUnverified(claims.email_verified) ? undefined : profileWith(email, claims);
}

/** As profileOf, with an e-mail that does not come from the claims. */
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

/** Some providers write the flag as text. No word on it is not a no. */
function isUnverified(flag: unknown): boolean {
  return flag !== undefined && flag !== null && flag !== true && flag !== 'true';
}

/** One line of visible, storable characters; empty for anything else. */
function nameOf(claim: unknown): string {
  if (typeof claim !== 'string') return '';
  const line = claim
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return isVisibleText(line) ? [...line].slice(0, MAX_NAME_LENGTH).join('').trim() : '';
}
