import { domainKey } from '../core/values/email.ts';
import { USER_ROLES } from '../rights.ts';
import {
  canNameProvider,
  type IdentityProvider,
  PROVIDER_DOMAIN_PARTS,
  PROVIDER_PARTS,
  PROVIDER_VARIABLE,
  type ProviderPart,
  providerVariable,
  RESERVED_PROVIDER_NAMES,
} from '../staff/auth/identity-provider-rules.ts';
import { webAddress } from './checks.ts';
import { commaList, type Reading } from './values.ts';

/** Reads the identity providers, by their names in lower case. Each provider needs the variables of PROVIDER_PARTS. */
export function readProviders(
  values: Readonly<Record<string, string>>,
  { production, problems }: Reading,
): ReadonlyMap<string, IdentityProvider> {
  const pattern = new RegExp(PROVIDER_VARIABLE);
  const given = Object.keys(values).filter((variable) => values[variable] !== '');
  const names = new Set(given.flatMap((variable) => pattern.exec(variable)?.[1] ?? []));
  const providers = [...names].sort().map((capitals) => {
    const read = (part: ProviderPart) => values[providerVariable(capitals, part)] ?? '';
    for (const part of PROVIDER_PARTS.filter((part) => read(part) === '')) {
      problems.push(
        `${providerVariable(capitals, part)} is missing; each provider needs ${PROVIDER_PARTS.join(', ')}`,
      );
    }
    const issuer = read('ISSUER');
    const issuerVariable = providerVariable(capitals, 'ISSUER');
    if (!canNameProvider(capitals)) {
      problems.push(
        `${issuerVariable} contains a provider name that is too long or reserved (${RESERVED_PROVIDER_NAMES.join(', ')})`,
      );
    }
    const problem = issuer === '' ? undefined : webAddress(issuer, production);
    if (problem !== undefined) problems.push(`${issuerVariable} ${problem}`);
    // With the address of the metadata document, the library would not verify the issuer.
    if (issuer.includes('/.well-known/'))
      problems.push(`${issuerVariable} must not contain /.well-known/; remove it and everything after it`);
    return {
      name: capitals.toLowerCase(),
      issuer,
      clientId: read('CLIENT_ID'),
      clientSecret: read('CLIENT_SECRET'),
      domainAdmission: readDomainAdmission(capitals, read, problems),
    };
  });
  return new Map(providers.map((provider) => [provider.name, Object.freeze(provider)]));
}

function readDomainAdmission(
  capitals: string,
  read: (part: ProviderPart) => string,
  problems: string[],
): IdentityProvider['domainAdmission'] {
  const [domainsVariable, roleVariable] = PROVIDER_DOMAIN_PARTS.map((part) =>
    providerVariable(capitals, part),
  );
  const given = commaList(providerVariable(capitals, 'DOMAINS'), read('DOMAINS'), problems);
  const role = USER_ROLES.find((one) => one === read('ROLE'));
  if (given.length === 0 && read('ROLE') === '') return undefined;
  if (given.length === 0) problems.push(`${domainsVariable} is missing; ${roleVariable} requires it`);
  if (!role)
    problems.push(`${roleVariable} must be one of ${USER_ROLES.join(', ')} if ${domainsVariable} is set`);
  const domains = given.flatMap((domain) => domainKey(domain) ?? []);
  if (domains.length < given.length)
    problems.push(`${domainsVariable} must be a list of domains such as example.com, separated by commas`);
  return role && { domains: new Set(domains), role };
}
