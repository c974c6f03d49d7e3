/** What a provider tells of a person, as far as a user needs it. */
interface Profile {
  email: string;
  firstName: string;
  lastName: string;
}

const MAX_EMAIL_LENGTH = 254;
const MAX_NAME_LENGTH = 100;

/** Claims of OpenID Connect (Core 1.0, section 5.1); their values are the provider's, so anything. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * The person behind the claims of an ID token or of the user-info endpoint. A missing first name is taken
 * from the e-mail; a missing last name stays empty.
 *
 * @returns undefined when there is no usable e-mail, or the provider says that it is not verified.
 */
export function profileOf(claims: Claims): Profile | undefined {
  const email = emailOf(claims);
  if (email === undefined || isUnverified(claims.email_verified)) return undefined;
  const [first = '', ...rest] = nameOf(claims.name).split(' ');
  return {
    email,
    firstName: nameOf(claims.given_name) || first || nameOf(email.slice(0, email.indexOf('@'))),
    lastName: nameOf(claims.family_name) || (nameOf(claims.given_name) === '' ? rest.join(' ') : ''),
  };
}

function emailOf({ email }: Claims): string | undefined {
  if (typeof email !== 'string' || email.length > MAX_EMAIL_LENGTH || !email.isWellFormed()) return undefined;
  return /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) ? email : undefined;
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
  return [...line].slice(0, MAX_NAME_LENGTH).join('').trim();
}
