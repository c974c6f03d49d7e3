import { readFileSync } from 'node:fs';
import envSchema from 'env-schema';
import { type Static, type TSchema, Type } from 'typebox';
import type { UserRole } from './core/database/tables.ts';
import { createNetworks, type Networks, sizeOf } from './core/http/addresses.ts';
import { isTimeZone } from './core/values/dates.ts';
import { domainKey } from './core/values/email.ts';
import { callingCode } from './core/values/phone.ts';
import {
  canNameProvider,
  PROVIDER_DOMAIN_PARTS,
  PROVIDER_PARTS,
  PROVIDER_VARIABLE,
  type ProviderPart,
  providerVariable,
  RESERVED_PROVIDER_NAMES,
} from './core/values/provider-variables.ts';
import { rolesWith, USER_ROLES } from './rights.ts';

const MAX_LOGO_BYTES = 1024 * 1024;
/** Of a secret that only machines type. */
const MIN_SECRET_LENGTH = 16;
/** Repeated characters make a secret long, not strong. */
const MIN_SECRET_CHARACTERS = 3;

/**
 * Every setting of the service, read from the environment (and a `.env` file) in this one place.
 * The descriptions are printed into `.env.example` by `npm run generate`.
 */
export const settingsSchema = Type.Object({
  NODE_ENV: setting(
    Type.Enum(['development', 'test', 'production']),
    'development',
    'In production nothing insecure has a default.',
  ),
  HOST: setting(
    Type.String({ minLength: 1 }),
    '127.0.0.1',
    'Address to listen on; 0.0.0.0 for every interface.',
  ),
  PORT: setting(Type.Integer({ minimum: 0, maximum: 65_535 }), 8080, 'Port to listen on.'),
  LOG_LEVEL: setting(
    Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']),
    'info',
    'How much is logged.',
  ),
  TRUST_PROXY: setting(
    Type.String(),
    '',
    'Networks (CIDR, by comma) of your proxies, whose X-Forwarded-For is believed; none wider than /8, or /16 in IPv6.',
  ),

  DATABASE_URL: setting(
    Type.String(),
    '',
    'PostgreSQL 15 or newer; empty: the embedded PostgreSQL below DATA_DIR.',
  ),
  DATABASE_DIRECT_URL: setting(
    Type.String(),
    '',
    'Where DATABASE_URL leads through a pooler in transaction mode: PostgreSQL itself, for migrations, exports, uploads, the proof, summaries, the health check and commands; empty: there is no pooler.',
  ),
  DATABASE_POOL_SIZE: setting(
    Type.Integer({ minimum: 2, maximum: 100 }),
    8,
    'Connections of one instance; the minute job holds one of them while it runs.',
  ),
  DATABASE_PREPARE: setting(
    Type.Enum(['on', 'off']),
    'on',
    'Named prepared statements, and look-ups that share connections; never where DATABASE_DIRECT_URL is set.',
  ),
  DATA_DIR: setting(Type.String({ minLength: 1 }), 'data', 'Folder of the embedded PostgreSQL.'),
  REDIS_URL: setting(
    Type.String(),
    '',
    'Redis that shares the rate limits between instances; empty: limits per instance.',
  ),

  CURRENCY: setting(
    Type.String({ pattern: '^[A-Z]{3}$' }),
    'KES',
    'The one currency of the books (ISO 4217); fixed once the database holds it.',
  ),
  BUSINESS_TIMEZONE: setting(
    Type.String({ minLength: 1 }),
    'Africa/Nairobi',
    'Decides what today is: UTC, or an IANA name of the form Area/City.',
  ),
  PHONE_REGION: setting(
    Type.String({ pattern: '^[A-Z]{2}$' }),
    'KE',
    'Country of phone numbers written without a country code (ISO 3166).',
  ),
  DEMO_DATA: setting(
    Type.Enum(['on', 'off']),
    'on',
    'A small catalogue in a new database; never in production.',
  ),

  JWT_SECRET: setting(
    Type.String(),
    '',
    'Signs access tokens, at least 32 bytes; required in production, elsewhere made once and kept in the database.',
  ),
  ACCESS_TOKEN_TTL: setting(
    Type.Integer({ minimum: 60, maximum: 86_400 }),
    3600,
    'Seconds an access token is valid.',
  ),
  REFRESH_TOKEN_TTL_DAYS: setting(
    Type.Integer({ minimum: 1, maximum: 365 }),
    30,
    'Days a refresh token is valid.',
  ),
  REGISTRATION: setting(
    Type.Enum(['', 'open', 'closed']),
    '',
    'Whether anyone may register; empty: open, but closed in production.',
  ),
  REGISTRATION_ROLE: setting(
    Type.Enum(['', ...USER_ROLES]),
    '',
    'Role of whoever registers; empty: manager. Where registration is open in production, it is required and may not be admin.',
  ),

  ADMIN_PASSWORD: setting(
    Type.String(),
    '',
    'For `npm run create-admin` alone: the password of the new admin; empty: it is asked for.',
  ),

  PUBLIC_URL: setting(
    Type.String(),
    '',
    "Address by which browsers reach this service, such as https://ams.example.com; empty: the request's own host. Production needs it where an identity provider is set.",
  ),

  WEBHOOK_SECRET: setting(
    Type.String(),
    '',
    'What the provider sends as X-Webhook-Secret or ?token=. Production wants this (at least 16 characters) or WEBHOOK_ALLOWED_IPS.',
  ),
  WEBHOOK_ALLOWED_IPS: setting(
    Type.String(),
    '',
    'Networks (CIDR, by comma) that may post notifications; without WEBHOOK_SECRET none wider than /8, or /16 in IPv6; empty: any.',
  ),
  PAYBILL_NUMBERS: setting(
    Type.String({ pattern: '^[0-9, ]*$' }),
    '',
    'Own business short codes, by comma; empty: any.',
  ),

  COMPANY_NAME: setting(
    Type.String({ minLength: 1, maxLength: 100 }),
    'Your company',
    'Printed on invoices.',
  ),
  COMPANY_ADDRESS: setting(
    Type.String({ maxLength: 500 }),
    '',
    'Printed on invoices below the name; | begins a new line.',
  ),
  COMPANY_LOGO: setting(
    Type.String(),
    '',
    'PNG, JPEG or SVG file of at most 1 MB, printed on invoices; text in an SVG as outlines.',
  ),

  RATE_LIMIT_AUTH: setting(
    Type.Integer({ minimum: 0 }),
    5,
    'Calls a minute of each credential endpoint; 0: no limit.',
  ),
  RATE_LIMIT_BULK: setting(Type.Integer({ minimum: 0 }), 10, 'Bulk operations a minute; 0: no limit.'),
  RATE_LIMIT_GENERAL: setting(Type.Integer({ minimum: 0 }), 100, 'All other calls a minute; 0: no limit.'),
  RATE_LIMIT_PAGES: setting(
    Type.Integer({ minimum: 0 }),
    300,
    'Files of the start page and the documentation a minute to one address; 0: no limit.',
  ),
  RATE_LIMIT_WEBHOOK: setting(
    Type.Integer({ minimum: 0 }),
    6000,
    'Notifications a minute from one address; 0: no limit.',
  ),

  METRICS_TOKEN: setting(
    Type.String(),
    '',
    'Bearer token that /metrics answers to, in production at least 16 characters; empty: there is no /metrics.',
  ),
  CORS_ORIGINS: setting(
    Type.String(),
    '',
    'Web origins that browsers may call from, such as https://app.example.com, by comma; empty: none.',
  ),
  TEST_CLOCK: setting(Type.Enum(['on', 'off']), 'off', 'on adds PUT /api/test/clock; refused in production.'),
});

/** What the variables OAUTH_<NAME>_… of each identity provider mean, for `.env.example`. */
export const PROVIDER_SETTINGS: Readonly<Record<ProviderPart, string>> = {
  ISSUER:
    'Issuer of an identity provider (OpenID Connect). GOOGLE as the name opens /api/auth/google; the address for the provider to return to is PUBLIC_URL/api/auth/google/callback.',
  CLIENT_ID: 'What the provider calls this service.',
  CLIENT_SECRET: 'By which the provider knows this service.',
  DOMAINS:
    'E-mail domains, by comma, whose people become users although registration is closed, where the provider says email_verified; empty: none.',
  ROLE: 'Role of those who come by DOMAINS; required with it.',
};

export type Settings = Readonly<Static<typeof settingsSchema>>;

export interface IdentityProvider {
  /** In lower case, as it stands in the path. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** People with a verified e-mail of these domains (by `domainKey`) become users with the role. */
  readonly newcomers: { readonly domains: ReadonlySet<string>; readonly role: UserRole } | undefined;
}

export interface Config extends Settings {
  /** By name. */
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
  /** Without a slash at its end; undefined: take the request's own host. */
  readonly publicUrl: string | undefined;
  readonly production: boolean;
  /** DATABASE_URL leads through a pooler in transaction mode, where no statement has a session of its own. */
  readonly pooled: boolean;
  /** The address for what needs a session; empty: the embedded PostgreSQL. */
  readonly directUrl: string;
  /** Names of statements belong to a session: behind a pooler they would be those of others. */
  readonly namedStatements: boolean;
  readonly registration: { readonly open: boolean; readonly role: UserRole };
  /** CIDR list for Fastify; undefined trusts nobody. */
  readonly trustedProxies: string[] | undefined;
  readonly webhookNetworks: Networks | undefined;
  readonly paybillNumbers: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly companyLogo: Logo | undefined;
}

interface Logo {
  readonly format: 'png' | 'jpg' | 'svg';
  readonly bytes: Buffer;
}

/** Says every mistake with the variable's name and what is allowed, never with its value. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Configuration: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/** @throws ConfigError naming each wrong variable. */
export function readConfig(environment: Record<string, string | undefined>, useDotenv = false): Config {
  const { settings, providerValues } = readSettings(environment, useDotenv);
  const production = settings.NODE_ENV === 'production';
  const problems: string[] = [];

  const proxies = networks(
    {
      name: 'TRUST_PROXY',
      danger: 'everyone in it can write any client address',
      remedy: 'list only the networks of your proxies',
      refusesWide: true,
    },
    settings,
    problems,
  );
  const webhook = networks(
    {
      name: 'WEBHOOK_ALLOWED_IPS',
      danger: 'without WEBHOOK_SECRET everyone in it can post payments',
      remedy: 'list only the networks of the provider, or set WEBHOOK_SECRET and leave it empty',
      refusesWide: settings.WEBHOOK_SECRET === '',
    },
    settings,
    problems,
  );
  const paybillNumbers = commaList('PAYBILL_NUMBERS', settings.PAYBILL_NUMBERS, problems);
  const corsOrigins = origins('CORS_ORIGINS', settings.CORS_ORIGINS, problems);
  checkUrl('DATABASE_URL', settings.DATABASE_URL, ['postgres:', 'postgresql:'], problems);
  checkUrl('DATABASE_DIRECT_URL', settings.DATABASE_DIRECT_URL, ['postgres:', 'postgresql:'], problems);
  const pooled = settings.DATABASE_DIRECT_URL !== '';
  if (pooled && settings.DATABASE_URL === '')
    problems.push('DATABASE_DIRECT_URL goes beside DATABASE_URL, the address of the pooler');
  if (pooled && settings.TEST_CLOCK === 'on')
    problems.push(
      'TEST_CLOCK cannot be on behind a pooler, whose connections would carry the clock to others',
    );
  checkUrl('REDIS_URL', settings.REDIS_URL, ['redis:', 'rediss:'], problems);
  checkRedisDatabase(settings.REDIS_URL, problems);
  checkWebAddress('PUBLIC_URL', settings.PUBLIC_URL, production, problems);
  const identityProviders = readProviders(providerValues, production, problems);
  if (production && identityProviders.size > 0 && settings.PUBLIC_URL === '')
    problems.push('PUBLIC_URL is required in production where an identity provider is set');
  if (!isTimeZone(settings.BUSINESS_TIMEZONE))
    problems.push('BUSINESS_TIMEZONE must be UTC or an IANA time zone such as Africa/Nairobi');
  if (callingCode(settings.PHONE_REGION) === undefined)
    problems.push('PHONE_REGION must be an ISO 3166 code of a country with phone numbers, such as KE');
  if (!Intl.supportedValuesOf('currency').includes(settings.CURRENCY))
    problems.push('CURRENCY must be an ISO 4217 code such as KES');
  if (settings.JWT_SECRET !== '' && Buffer.byteLength(settings.JWT_SECRET) < 32)
    problems.push('JWT_SECRET must have at least 32 bytes');
  for (const name of ['WEBHOOK_SECRET', 'METRICS_TOKEN'] as const) {
    // A header carries nothing else unchanged.
    if (!/^([!-~]([ -~]*[!-~])?)?$/.test(settings[name]))
      problems.push(`${name} must consist of printable ASCII characters, without spaces around them`);
  }
  const companyLogo = readLogo(settings.COMPANY_LOGO, problems);
  if (production) problems.push(...productionProblems(settings));
  if (problems.length > 0) throw new ConfigError(problems);

  return Object.freeze({
    ...settings,
    production,
    pooled,
    directUrl: pooled ? settings.DATABASE_DIRECT_URL : settings.DATABASE_URL,
    namedStatements: settings.DATABASE_PREPARE === 'on' && !pooled,
    identityProviders,
    publicUrl: settings.PUBLIC_URL === '' ? undefined : settings.PUBLIC_URL.replace(/\/+$/, ''),
    registration: {
      open: settings.REGISTRATION === '' ? !production : settings.REGISTRATION === 'open',
      role: settings.REGISTRATION_ROLE === '' ? 'manager' : settings.REGISTRATION_ROLE,
    },
    trustedProxies: proxies.length > 0 ? proxies : undefined,
    webhookNetworks: webhook.length > 0 ? createNetworks(webhook) : undefined,
    paybillNumbers,
    corsOrigins,
    companyLogo,
  });
}

function productionProblems(settings: Settings): string[] {
  const problems: string[] = [];
  const administrators = rolesWith('users:administer');
  if (settings.JWT_SECRET === '') problems.push('JWT_SECRET is required in production (at least 32 bytes)');
  if (settings.WEBHOOK_SECRET === '' && settings.WEBHOOK_ALLOWED_IPS === '') {
    problems.push('WEBHOOK_SECRET or WEBHOOK_ALLOWED_IPS is required in production');
  }
  if (settings.REGISTRATION === 'open' && settings.REGISTRATION_ROLE === '') {
    problems.push('REGISTRATION_ROLE is required in production where REGISTRATION is open');
  }
  if (
    settings.REGISTRATION === 'open' &&
    administrators.some((role) => role === settings.REGISTRATION_ROLE)
  ) {
    const others = USER_ROLES.filter((role) => !administrators.includes(role)).join(', ');
    problems.push(
      `REGISTRATION_ROLE must not be ${settings.REGISTRATION_ROLE} in production where REGISTRATION is open, because everyone could make themselves an administrator; use one of ${others}`,
    );
  }
  if (settings.TEST_CLOCK === 'on') problems.push('TEST_CLOCK cannot be on in production');
  for (const name of ['WEBHOOK_SECRET', 'METRICS_TOKEN'] as const) {
    if (settings[name] !== '' && settings[name].length < MIN_SECRET_LENGTH)
      problems.push(`${name} must have at least ${MIN_SECRET_LENGTH} characters in production`);
  }
  for (const name of ['JWT_SECRET', 'WEBHOOK_SECRET', 'METRICS_TOKEN'] as const) {
    const characters = new Set(settings[name]).size;
    if (settings[name] !== '' && characters < MIN_SECRET_CHARACTERS)
      problems.push(
        `${name} must have at least ${MIN_SECRET_CHARACTERS} different characters in production, because fewer are soon guessed; make one with openssl rand -hex 32`,
      );
  }
  return problems;
}

interface EnvironmentError {
  instancePath: string;
  message?: string;
  params?: { allowedValues?: string[] };
}

interface GivenSettings {
  settings: Settings;
  /** The OAUTH_<NAME>_… variables, whose names no schema can list. */
  providerValues: Record<string, string>;
}

function readSettings(environment: Record<string, string | undefined>, useDotenv: boolean): GivenSettings {
  // An empty variable means "not set": compose files and shells often pass one.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const schema = { ...settingsSchema, patternProperties: { [PROVIDER_VARIABLE]: { type: 'string' } } };
  try {
    const all = envSchema<Settings>({ schema, data: given, env: false, dotenv: useDotenv });
    const names = Object.keys(settingsSchema.properties);
    const isListed = (name: string) => names.includes(name);
    return {
      settings: Object.fromEntries(Object.entries(all).filter(([name]) => isListed(name))) as Settings,
      providerValues: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (isListed(name) ? [] : [[name, String(value)]])),
      ),
    };
  } catch (error) {
    const errors = (error as { errors?: EnvironmentError[] }).errors;
    if (!errors) throw error;
    throw new ConfigError(errors.map(describe));
  }
}

/** Collects the variables by the name in them; each provider needs the first three. */
function readProviders(
  values: Record<string, string>,
  production: boolean,
  problems: string[],
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
        `${issuerVariable} holds a provider name that is too long or one of ${RESERVED_PROVIDER_NAMES.join(', ')}`,
      );
    }
    checkWebAddress(issuerVariable, issuer, production, problems);
    // Given the address of the document itself, the library would not check whose it is.
    if (issuer.includes('/.well-known/')) problems.push(`${issuerVariable} must end before /.well-known/`);
    return {
      name: capitals.toLowerCase(),
      issuer,
      clientId: read('CLIENT_ID'),
      clientSecret: read('CLIENT_SECRET'),
      newcomers: readNewcomers(capitals, read, problems),
    };
  });
  return new Map(providers.map((provider) => [provider.name, Object.freeze(provider)]));
}

function readNewcomers(
  capitals: string,
  read: (part: ProviderPart) => string,
  problems: string[],
): IdentityProvider['newcomers'] {
  const [domainsVariable, roleVariable] = PROVIDER_DOMAIN_PARTS.map((part) =>
    providerVariable(capitals, part),
  );
  const given = commaList(providerVariable(capitals, 'DOMAINS'), read('DOMAINS'), problems);
  const role = USER_ROLES.find((one) => one === read('ROLE'));
  if (given.length === 0 && read('ROLE') === '') return undefined;
  if (given.length === 0) problems.push(`${domainsVariable} is missing; it goes with ${roleVariable}`);
  if (!role)
    problems.push(`${roleVariable} must be one of ${USER_ROLES.join(', ')} where ${domainsVariable} is set`);
  const domains = given.flatMap((domain) => domainKey(domain) ?? []);
  if (domains.length < given.length)
    problems.push(`${domainsVariable} must be a list of domains such as example.com, by comma`);
  return role && { domains: new Set(domains), role };
}

function describe({ instancePath, message, params }: EnvironmentError): string {
  const allowed = params?.allowedValues?.filter((value) => value !== '').join(', ');
  return `${instancePath.slice(1)} ${allowed ? `must be one of ${allowed}` : message}`;
}

function setting<S extends TSchema>(schema: S, defaultValue: string | number, description: string) {
  return { ...schema, default: defaultValue, description } as S;
}

/** A list that is set but names nothing is a mistake: an empty one often means "any". */
function commaList(name: string, text: string, problems: string[]): string[] {
  const list = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (text !== '' && list.length === 0) problems.push(`${name} must name at least one, or be empty`);
  return list;
}

function origins(name: string, text: string, problems: string[]): string[] {
  const list = commaList(name, text, problems);
  const isOrigin = (item: string) => URL.canParse(item) && new URL(item).origin === item;
  if (text.includes('*')) problems.push(`${name} must name each origin; * would let every web page call`);
  else if (!list.every(isOrigin))
    problems.push(
      `${name} must be a list of origins such as https://app.example.com, by comma, without a path`,
    );
  return list;
}

interface NetworkRule {
  name: 'TRUST_PROXY' | 'WEBHOOK_ALLOWED_IPS';
  /** What those in the networks can do, and what to do instead of naming so many. */
  danger: string;
  remedy: string;
  refusesWide: boolean;
}

function networks(
  { name, danger, remedy, refusesWide }: NetworkRule,
  settings: Settings,
  problems: string[],
): string[] {
  const list = commaList(name, settings[name], problems);
  const sizes = list.map((network) => sizeOf(network, WIDEST));
  if (sizes.includes('invalid')) {
    problems.push(`${name} must be a list of networks such as 10.0.0.0/8, by comma`);
    return [];
  }
  if (sizes.includes('every address')) problems.push(`${name} must not contain every address; ${remedy}`);
  else if (refusesWide && sizes.includes('too wide'))
    problems.push(
      `${name} must not contain a network wider than /${WIDEST.ipv4} (IPv4) or /${WIDEST.ipv6} (IPv6), because ${danger}; ${remedy}`,
    );
  return list;
}

/** The largest private network is 10.0.0.0/8. */
const WIDEST = { ipv4: 8, ipv6: 16 };

function readLogo(path: string, problems: string[]): Logo | undefined {
  if (path === '') return undefined;
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    problems.push(`COMPANY_LOGO cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
  const format = imageFormat(bytes);
  if (format && bytes.length <= MAX_LOGO_BYTES) return { format, bytes };
  problems.push('COMPANY_LOGO must be a PNG, JPEG or SVG file of at most 1 MB');
  return undefined;
}

/** By what the file holds; its name may say anything. */
function imageFormat(bytes: Buffer): Logo['format'] | undefined {
  if (bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n') return 'png';
  if (bytes.subarray(0, 3).toString('latin1') === '\xff\xd8\xff') return 'jpg';
  return /<svg[\s>]/.test(bytes.subarray(0, 4096).toString('utf8')) ? 'svg' : undefined;
}

function checkUrl(name: string, text: string, protocols: string[], problems: string[]): void {
  if (text === '') return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !protocols.includes(url.protocol))
    problems.push(`${name} must start with ${protocols.map((p) => `${p}//`).join(' or ')}`);
}

/** ioredis would ask for the database NaN, and only Redis would refuse it. */
function checkRedisDatabase(text: string, problems: string[]): void {
  if (URL.canParse(text) && !/^(\/\d*)?$/.test(new URL(text).pathname))
    problems.push('REDIS_URL must end in the number of a database, such as /0, or in none');
}

function checkWebAddress(name: string, text: string, production: boolean, problems: string[]): void {
  if (text === '') return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const schemes = production ? ['https:'] : ['https:', 'http:'];
  if (!url || !schemes.includes(url.protocol) || /[?#\s]/.test(text) || url.username || url.password) {
    const kind = production ? 'https:// address in production' : 'https:// or http:// address';
    problems.push(`${name} must be an ${kind}, without user, ? and #`);
  }
}
