import type { UserRole } from '../../core/database/tables.ts';

export interface IdentityProvider {
  /** In lower case, as in the path. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** People with a verified e-mail in one of these domains (in the form of `domainKey`) become users with this role. */
  readonly domainAdmission: { readonly domains: ReadonlySet<string>; readonly role: UserRole } | undefined;
}

/**
 * The suffixes of the variables that every provider needs: OAUTH_GOOGLE_ISSUER, OAUTH_GOOGLE_CLIENT_ID and
 * OAUTH_GOOGLE_CLIENT_SECRET enable `GET /api/auth/google`. Without them, the error of this route names the missing variables.
 */
export const PROVIDER_PARTS = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
/** Optional suffixes: both are set, or neither. See `IdentityProvider.domainAdmission`. */
export const PROVIDER_DOMAIN_PARTS = ['DOMAINS', 'ROLE'] as const;
export type ProviderPart = (typeof PROVIDER_PARTS | typeof PROVIDER_DOMAIN_PARTS)[number];

/** Matches the variables; the first group is the provider's name in capitals. */
export const PROVIDER_VARIABLE = `^OAUTH_([A-Z0-9]+(?:_[A-Z0-9]+)*)_(${[...PROVIDER_PARTS, ...PROVIDER_DOMAIN_PARTS].join('|')})$`;

const MAX_NAME_LENGTH = 40;

/** Paths below /auth that are not identity providers. */
export const RESERVED_PROVIDER_NAMES: readonly string[] = [
  'login',
  'register',
  'refresh',
  'logout',
  'me',
  'password',
  'session',
];

/** @param name - in the form of the path, or in capitals as in the environment. */
export function canNameProvider(name: string): boolean {
  const isReserved = RESERVED_PROVIDER_NAMES.includes(name.toLowerCase());
  return name.length <= MAX_NAME_LENGTH && /^[a-z0-9]+(_[a-z0-9]+)*$/i.test(name) && !isReserved;
}

export function providerVariable(name: string, part: ProviderPart): string {
  return `OAUTH_${name.toUpperCase()}_${part}`;
}
