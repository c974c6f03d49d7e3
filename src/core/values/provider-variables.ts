/**
 * How environment variables name identity providers: OAUTH_GOOGLE_ISSUER and two more variables add GET /api/auth/google. The
 * answer for a provider that is not configured lists the missing variables.
 */
export const PROVIDER_PARTS = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
/** Only together: people with a verified e-mail of one of the domains become users with the role. */
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
];

/** @param name as in the path, or in capitals as in the environment. */
export function canNameProvider(name: string): boolean {
  const isReserved = RESERVED_PROVIDER_NAMES.includes(name.toLowerCase());
  return name.length <= MAX_NAME_LENGTH && /^[a-z0-9]+(_[a-z0-9]+)*$/i.test(name) && !isReserved;
}

/** @param name in either case. */
export function providerVariable(name: string, part: ProviderPart): string {
  return `OAUTH_${name.toUpperCase()}_${part}`;
}
