import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import envSchema from 'env-schema';
import { type Static, type TSchema, Type } from 'typebox';
import {
  canNameProvider,
  type IdentityProvider,
  PROVIDER_DOMAIN_PARTS,
  PROVIDER_PARTS,
  PROVIDER_VARIABLE,
  type ProviderPart,
  providerVariable,
  RESERVED_PROVIDER_NAMES,
} from './auth/identity-provider-rules.ts';
import type { Config } from './core/context.ts';
import type { UserRole } from './core/database/tables.ts';
import { type AllowedDestinations, createNetworks, type Networks, sizeOf } from './core/http/addresses.ts';
import { isTimeZone } from './core/values/dates.ts';
import { domainKey } from './core/values/email.ts';
import {
  currencyDecimals,
  MAX_AMOUNT_TEXT,
  type Minor,
  maxAmountMinor,
  parseMinor,
} from './core/values/money.ts';
import { callingCode } from './core/values/phone.ts';
import { rolesWith, USER_ROLES } from './rights.ts';

const MAX_LOGO_BYTES = 1024 * 1024;
/** The minimum length, in production, of secrets that programs send. */
const MIN_SECRET_LENGTH = 16;
/** The minimum number of different characters. Repeated characters make a secret long but not strong. */
const MIN_SECRET_CHARACTERS = 3;

/**
 * All settings of the service, which come from the environment and a `.env` file. `npm run generate` writes the descriptions to
 * `.env.example`.
 */
export const settingsSchema = Type.Object({
  NODE_ENV: setting(
    Type.Enum(['development', 'test', 'production']),
    'development',
    'production disables all insecure defaults.',
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
    'The lowest level that is logged.',
  ),
  TRUST_PROXY: setting(
    Type.String(),
    '',
    'Networks of your proxies (CIDR, separated by commas). X-Forwarded-For is trusted only from them. A network must not be wider than /8 (IPv4) or /16 (IPv6).',
  ),

  DATABASE_URL: setting(
    Type.String(),
    '',
    'Address of PostgreSQL 15 or newer. Empty: the embedded PostgreSQL in DATA_DIR.',
  ),
  DATABASE_DIRECT_URL: setting(
    Type.String(),
    '',
    'Direct address of PostgreSQL if DATABASE_URL is a pooler in transaction mode. Used for migrations, exports, uploads, the proof, summaries, the health check, the job queue and commands. Empty: no pooler.',
  ),
  DATABASE_REPLICA_URL: setting(
    Type.String(),
    '',
    'Direct address of a hot standby of DATABASE_URL. Exports, summaries, payment reports and the proof read it. Empty: they read the primary.',
  ),
  DATABASE_REPLICA_MAX_LAG: setting(
    Type.Integer({ minimum: 2, maximum: 300 }),
    5,
    'How many seconds a report waits for the standby to have everything that the primary had when the report started. If the standby takes longer, the report reads the primary.',
  ),
  DATABASE_POOL_SIZE: setting(
    Type.Integer({ minimum: 2, maximum: 100 }),
    8,
    'Connections of one instance for requests and the work of jobs.',
  ),
  DATABASE_PREPARE: setting(
    Type.Enum(['on', 'off']),
    'on',
    'Whether to use named prepared statements and reading lanes. Always off if DATABASE_DIRECT_URL is set.',
  ),
  DATA_DIR: setting(Type.String({ minLength: 1 }), 'data', 'Folder of the embedded PostgreSQL.'),
  REDIS_URL: setting(
    Type.String(),
    '',
    'Address of a Redis that shares rate limits between instances. Empty: each instance has its own limits.',
  ),

  CURRENCY: setting(
    Type.String({ pattern: '^[A-Z]{3}$' }),
    'KES',
    'Currency of the books (ISO 4217). It cannot change after the first start.',
  ),
  BUSINESS_TIMEZONE: setting(
    Type.String({ minLength: 1 }),
    'Africa/Nairobi',
    'Time zone of business days: UTC, or an IANA name of the form Area/City.',
  ),
  PHONE_REGION: setting(
    Type.String({ pattern: '^[A-Z]{2}$' }),
    'KE',
    'Country of phone numbers without a country code (ISO 3166).',
  ),
  DEMO_DATA: setting(
    Type.Enum(['on', 'off', 'company']),
    'on',
    'Data that is added to a new database. on: a small catalogue. company: a company with a year of payments, which takes up to a minute. off: nothing. Production adds nothing and refuses company.',
  ),

  APPROVAL_LIMIT: setting(
    Type.String(),
    '',
    'Reversals, unassignments, refunds, credit transfers, write-offs and cancellations above this amount need the approval of a second user, see docs/approvals.md. 0: every such action needs approval. Empty: no action needs approval.',
  ),

  JWT_SECRET: setting(
    Type.String(),
    '',
    'Key that signs access tokens, at least 32 bytes. Required in production. Empty: outside production, a key is generated once and stored in the database.',
  ),
  ACCESS_TOKEN_TTL: setting(
    Type.Integer({ minimum: 60, maximum: 86_400 }),
    3600,
    'Lifetime of an access token, in seconds.',
  ),
  REFRESH_TOKEN_TTL_DAYS: setting(
    Type.Integer({ minimum: 1, maximum: 365 }),
    30,
    'Lifetime of a refresh token, in days.',
  ),
  REGISTRATION: setting(
    Type.Enum(['', 'open', 'closed']),
    '',
    'Whether anyone may register. Empty: closed in production, open elsewhere.',
  ),
  REGISTRATION_ROLE: setting(
    Type.Enum(['', ...USER_ROLES]),
    '',
    'Role of users who register. Empty: manager. Required, and not admin, if registration is open in production.',
  ),

  ADMIN_PASSWORD: setting(
    Type.String(),
    '',
    'Password of the new admin, used only by `npm run create-admin`. Empty: the command asks for it.',
  ),

  PUBLIC_URL: setting(
    Type.String(),
    '',
    'Address of this service for browsers, such as https://ams.example.com. Empty: the host of the request. Required in production if an identity provider is set.',
  ),

  WEBHOOK_SECRET: setting(
    Type.String(),
    '',
    'Secret that the provider sends as X-Webhook-Secret or ?token=. Production requires this (at least 16 characters) or WEBHOOK_ALLOWED_IPS.',
  ),
  WEBHOOK_ALLOWED_IPS: setting(
    Type.String(),
    '',
    'Networks (CIDR, separated by commas) that may post notifications. Without WEBHOOK_SECRET, a network must not be wider than /8 (IPv4) or /16 (IPv6). Empty: all networks.',
  ),
  PAYBILL_NUMBERS: setting(
    Type.String({ pattern: '^[0-9, ]*$' }),
    '',
    'Your business short codes, separated by commas. Empty: all codes.',
  ),
  MOBILEMONEY_API_URL: setting(
    Type.String(),
    '',
    'Address of the mobile-money provider’s API, such as https://api.safaricom.co.ke. Empty: the service never calls the provider.',
  ),
  MOBILEMONEY_CONSUMER_KEY: setting(
    Type.String(),
    '',
    'Consumer key of your app at the mobile-money provider. Required with MOBILEMONEY_API_URL.',
  ),
  MOBILEMONEY_CONSUMER_SECRET: setting(
    Type.String(),
    '',
    'Consumer secret of your app at the mobile-money provider. Required with MOBILEMONEY_API_URL.',
  ),
  MOBILEMONEY_PULL_NUMBER: setting(
    Type.String({ pattern: '^([0-9]{9,15})?$' }),
    '',
    'Phone number of your company that is registered for queries of payments, such as 254712345678. With it, the service asks the mobile-money provider for payments whose notification was lost. Requires MOBILEMONEY_API_URL, PAYBILL_NUMBERS and PUBLIC_URL. Empty: off.',
  ),
  MOBILEMONEY_PASSKEY: setting(
    Type.String(),
    '',
    'Passkey of MOBILEMONEY_SHORT_CODE for payment requests (STK push). Requires MOBILEMONEY_API_URL. Empty: payment requests are off.',
  ),
  MOBILEMONEY_SHORT_CODE: setting(
    Type.String({ pattern: '^([0-9]{3,12})?$' }),
    '',
    'Short code that payment requests and status queries use. Required with MOBILEMONEY_PASSKEY and MOBILEMONEY_INITIATOR.',
  ),
  MOBILEMONEY_CALLBACK_URL: setting(
    Type.String(),
    '',
    'Address at which the mobile-money provider reaches this service. Empty: PUBLIC_URL.',
  ),
  MOBILEMONEY_INITIATOR: setting(
    Type.String(),
    '',
    'Name of the API operator of MOBILEMONEY_SHORT_CODE at the mobile-money provider. With it, staff can ask for the status of a transaction. Requires MOBILEMONEY_API_URL. Empty: off.',
  ),
  MOBILEMONEY_INITIATOR_PASSWORD: setting(
    Type.String(),
    '',
    'Password of MOBILEMONEY_INITIATOR. It is sent encrypted with MOBILEMONEY_CERTIFICATE.',
  ),
  MOBILEMONEY_CERTIFICATE: setting(
    Type.String(),
    '',
    'File with the certificate of the mobile-money provider (PEM or DER) for MOBILEMONEY_INITIATOR_PASSWORD. Required with MOBILEMONEY_INITIATOR.',
  ),
  PAYMENT_REQUEST_INTERVAL: setting(
    Type.Integer({ minimum: 0, maximum: 86_400 }),
    60,
    'Smallest number of seconds between two payment requests to a phone.',
  ),
  PAYMENT_REQUEST_SAME_AMOUNT_INTERVAL: setting(
    Type.Integer({ minimum: 0, maximum: 86_400 }),
    120,
    'Smallest number of seconds between two payment requests for the same amount to a phone.',
  ),
  PAYMENT_REQUESTS_PER_DAY: setting(
    Type.Integer({ minimum: 1, maximum: 1_000 }),
    10,
    'Largest number of payment requests to a phone in 24 hours.',
  ),
  WEBHOOKS_OUT_ALLOW: setting(
    Type.String(),
    '',
    'Private hosts and networks (names or CIDR, separated by commas) that webhook endpoints may use, by https:// or http://. Empty: only https:// to the public internet.',
  ),

  COMPANY_NAME: setting(
    Type.String({ minLength: 1, maxLength: 100 }),
    'Your company',
    'Printed on invoices.',
  ),
  COMPANY_ADDRESS: setting(
    Type.String({ maxLength: 500 }),
    '',
    'Printed on invoices below the name. | starts a new line.',
  ),
  COMPANY_LOGO: setting(
    Type.String(),
    '',
    'PNG, JPEG or SVG file of at most 1 MB, printed on invoices. Convert text in an SVG to outlines.',
  ),

  RATE_LIMIT_AUTH: setting(
    Type.Integer({ minimum: 0 }),
    5,
    'Calls per minute to each credential endpoint. 0: no limit.',
  ),
  RATE_LIMIT_BULK: setting(Type.Integer({ minimum: 0 }), 10, 'Bulk operations per minute. 0: no limit.'),
  RATE_LIMIT_GENERAL: setting(Type.Integer({ minimum: 0 }), 100, 'All other calls per minute. 0: no limit.'),
  RATE_LIMIT_API_KEY: setting(
    Type.Integer({ minimum: 0 }),
    1000,
    'Calls per minute of each API key, in place of RATE_LIMIT_GENERAL. 0: no limit.',
  ),
  RATE_LIMIT_PAGES: setting(
    Type.Integer({ minimum: 0 }),
    300,
    'Pages and files of the console and the documentation per minute and address. 0: no limit.',
  ),
  RATE_LIMIT_WEBHOOK: setting(
    Type.Integer({ minimum: 0 }),
    6000,
    'Notifications per minute and address. 0: no limit.',
  ),

  METRICS_TOKEN: setting(
    Type.String(),
    '',
    'Bearer token for /metrics, at least 16 characters in production. Empty: /metrics does not exist.',
  ),
  CORS_ORIGINS: setting(
    Type.String(),
    '',
    'Web origins that may call the API from a browser, such as https://app.example.com, separated by commas. Empty: none.',
  ),
  TEST_CLOCK: setting(Type.Enum(['on', 'off']), 'off', 'on adds PUT /api/test/clock. Refused in production.'),
});

/** Descriptions of the variables OAUTH_<NAME>_… of each identity provider, for `.env.example`. */
export const PROVIDER_SETTINGS: Readonly<Record<ProviderPart, string>> = {
  ISSUER:
    'Issuer of an identity provider (OpenID Connect). With the name GOOGLE, the service has the route /api/auth/google. Register PUBLIC_URL/api/auth/google/callback as the redirect URI at the provider.',
  CLIENT_ID: 'Client id of this service at the provider.',
  CLIENT_SECRET: 'Client secret of this service at the provider.',
  DOMAINS:
    'E-mail domains, separated by commas. People whose e-mail address is in one of these domains become users even if registration is closed. The provider must report email_verified. Empty: none.',
  ROLE: 'Role of users from DOMAINS. Required if DOMAINS is set.',
};

export type Settings = Readonly<Static<typeof settingsSchema>>;

declare module './core/context.ts' {
  interface Config extends Settings {
    /** The identity providers, by name. */
    readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
    /** Has no slash at its end. Undefined: the host of the request is used. */
    readonly publicUrl: string | undefined;
    readonly production: boolean;
    /** Whether DATABASE_URL is the address of a pooler in transaction mode. Callers then share database sessions. */
    readonly pooled: boolean;
    /** The address for work that needs a database session. Empty: the embedded PostgreSQL. */
    readonly directUrl: string;
    /** Whether to name prepared statements. False behind a pooler: the names belong to a session, and callers share sessions. */
    readonly namedStatements: boolean;
    readonly registration: { readonly open: boolean; readonly role: UserRole };
    /** A list of CIDR networks. Undefined: no proxy is trusted. */
    readonly trustedProxies: string[] | undefined;
    readonly webhookNetworks: Networks | undefined;
    readonly paybillNumbers: readonly string[];
    /** Undefined: the service never calls the mobile-money provider. */
    readonly mobilemoneyApi: MobilemoneyApiConfig | undefined;
    /** Undefined: the service does not ask the mobile-money provider for payments. */
    readonly mobilemoneyPull: MobilemoneyPullConfig | undefined;
    /** Undefined: payment requests are off. */
    readonly mobilemoneyRequests: MobilemoneyRequestConfig | undefined;
    /** Undefined: the service does not ask the mobile-money provider for the status of transactions. */
    readonly mobilemoneyStatus: MobilemoneyStatusConfig | undefined;
    readonly webhookDestinations: AllowedDestinations;
    readonly corsOrigins: readonly string[];
    readonly companyLogo: Logo | undefined;
    /** Undefined: no action needs approval. */
    readonly approvalLimitMinor: Minor | undefined;
  }
}

interface MobilemoneyApiConfig {
  /** Has no slash at its end. */
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

interface MobilemoneyPullConfig {
  readonly shortCodes: readonly string[];
  /** The phone number that is registered with the short codes. */
  readonly number: string;
  /** An address of this service, which the provider registers. */
  readonly callbackUrl: string;
}

interface MobilemoneyRequestConfig {
  readonly shortCode: string;
  readonly passkey: string;
  /** The address for the provider's answers. Has no slash at its end. */
  readonly callbackUrl: string;
}

interface MobilemoneyStatusConfig {
  readonly shortCode: string;
  readonly initiator: string;
  readonly password: string;
  /** The public key of the provider. The service encrypts the password with it. */
  readonly publicKey: KeyObject;
  /** The address for the provider's answers. Has no slash at its end. */
  readonly callbackUrl: string;
}

interface Logo {
  readonly format: 'png' | 'jpg' | 'svg';
  readonly bytes: Buffer;
}

/** The message names each wrong variable and the allowed values, but never the value that was set. */
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
      remedy:
        'list only the networks of the provider, or set WEBHOOK_SECRET and leave WEBHOOK_ALLOWED_IPS empty',
      refusesWide: settings.WEBHOOK_SECRET === '',
    },
    settings,
    problems,
  );
  const paybillNumbers = commaList('PAYBILL_NUMBERS', settings.PAYBILL_NUMBERS, problems);
  const webhookDestinations = destinations('WEBHOOKS_OUT_ALLOW', settings, problems);
  const corsOrigins = origins('CORS_ORIGINS', settings.CORS_ORIGINS, problems);
  checkUrl('DATABASE_URL', settings.DATABASE_URL, ['postgres:', 'postgresql:'], problems);
  checkUrl('DATABASE_DIRECT_URL', settings.DATABASE_DIRECT_URL, ['postgres:', 'postgresql:'], problems);
  checkUrl('DATABASE_REPLICA_URL', settings.DATABASE_REPLICA_URL, ['postgres:', 'postgresql:'], problems);
  if (settings.DATABASE_REPLICA_URL !== '' && settings.DATABASE_URL === '')
    problems.push('DATABASE_REPLICA_URL requires DATABASE_URL, the address of its primary');
  const pooled = settings.DATABASE_DIRECT_URL !== '';
  if (pooled && settings.DATABASE_URL === '')
    problems.push('DATABASE_DIRECT_URL requires DATABASE_URL, the address of the pooler');
  if (pooled && settings.TEST_CLOCK === 'on')
    problems.push(
      'TEST_CLOCK must be off behind a pooler: other callers share the connections of a pooler, so their clock would move, too',
    );
  checkUrl('REDIS_URL', settings.REDIS_URL, ['redis:', 'rediss:'], problems);
  checkRedisDatabase(settings.REDIS_URL, problems);
  checkWebAddress('PUBLIC_URL', settings.PUBLIC_URL, production, problems);
  const identityProviders = readProviders(providerValues, production, problems);
  if (production && identityProviders.size > 0 && settings.PUBLIC_URL === '')
    problems.push('PUBLIC_URL is required in production if an identity provider is set');
  if (!isTimeZone(settings.BUSINESS_TIMEZONE))
    problems.push('BUSINESS_TIMEZONE must be UTC or an IANA time zone such as Africa/Nairobi');
  if (callingCode(settings.PHONE_REGION) === undefined)
    problems.push('PHONE_REGION must be an ISO 3166 code of a country with phone numbers, such as KE');
  if (!Intl.supportedValuesOf('currency').includes(settings.CURRENCY))
    problems.push('CURRENCY must be an ISO 4217 code such as KES');
  const approvalLimitMinor = readLimit('APPROVAL_LIMIT', settings, problems);
  if (settings.JWT_SECRET !== '' && Buffer.byteLength(settings.JWT_SECRET) < 32)
    problems.push('JWT_SECRET must have at least 32 bytes');
  for (const name of ['WEBHOOK_SECRET', 'METRICS_TOKEN'] as const) {
    // HTTP headers cannot transmit other characters unchanged.
    if (!/^([!-~]([ -~]*[!-~])?)?$/.test(settings[name]))
      problems.push(`${name} must consist of printable ASCII characters, without spaces around them`);
  }
  const mobilemoneyApi = readMobilemoneyApi(settings, production, problems);
  const mobilemoneyPull = readMobilemoneyPull(settings, paybillNumbers, problems);
  const mobilemoneyRequests = readMobilemoneyRequests(settings, { paybillNumbers, production }, problems);
  const mobilemoneyStatus = readMobilemoneyStatus(settings, paybillNumbers, problems);
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
    mobilemoneyApi,
    mobilemoneyPull,
    mobilemoneyRequests,
    mobilemoneyStatus,
    webhookDestinations,
    corsOrigins,
    companyLogo,
    approvalLimitMinor,
  });
}

function readMobilemoneyApi(
  settings: Settings,
  production: boolean,
  problems: string[],
): MobilemoneyApiConfig | undefined {
  const { MOBILEMONEY_API_URL: url } = settings;
  checkWebAddress('MOBILEMONEY_API_URL', url, production, problems);
  for (const name of ['MOBILEMONEY_CONSUMER_KEY', 'MOBILEMONEY_CONSUMER_SECRET'] as const) {
    if (url !== '' && settings[name] === '') problems.push(`${name} is required with MOBILEMONEY_API_URL`);
    if (url === '' && settings[name] !== '') problems.push(`${name} requires MOBILEMONEY_API_URL`);
  }
  if (url === '') return undefined;
  const { MOBILEMONEY_CONSUMER_KEY: consumerKey, MOBILEMONEY_CONSUMER_SECRET: consumerSecret } = settings;
  return Object.freeze({ url: url.replace(/\/+$/, ''), consumerKey, consumerSecret });
}

function readMobilemoneyPull(
  settings: Settings,
  shortCodes: readonly string[],
  problems: string[],
): MobilemoneyPullConfig | undefined {
  const { MOBILEMONEY_PULL_NUMBER: number, PUBLIC_URL: publicUrl } = settings;
  if (number === '') return undefined;
  for (const name of ['MOBILEMONEY_API_URL', 'PAYBILL_NUMBERS', 'PUBLIC_URL'] as const)
    if (settings[name] === '') problems.push(`MOBILEMONEY_PULL_NUMBER requires ${name}`);
  const callbackUrl = `${publicUrl.replace(/\/+$/, '')}/api/webhooks/payments/mobilemoney`;
  return Object.freeze({ shortCodes, number, callbackUrl });
}

function readMobilemoneyRequests(
  settings: Settings,
  { paybillNumbers, production }: { paybillNumbers: readonly string[]; production: boolean },
  problems: string[],
): MobilemoneyRequestConfig | undefined {
  const { MOBILEMONEY_PASSKEY: passkey, MOBILEMONEY_SHORT_CODE: shortCode } = settings;
  checkWebAddress('MOBILEMONEY_CALLBACK_URL', settings.MOBILEMONEY_CALLBACK_URL, production, problems);
  if (passkey === '') return undefined;
  for (const name of ['MOBILEMONEY_API_URL', 'MOBILEMONEY_SHORT_CODE'] as const) {
    if (settings[name] === '') problems.push(`${name} is required with MOBILEMONEY_PASSKEY`);
  }
  const callbackUrl = readCallbackUrl(settings, 'MOBILEMONEY_PASSKEY', problems);
  if (settings.CURRENCY !== 'KES')
    problems.push(
      'MOBILEMONEY_PASSKEY must be empty unless CURRENCY is KES, because payment requests are in KES',
    );
  if (isOtherShortCode(shortCode, paybillNumbers))
    problems.push('MOBILEMONEY_SHORT_CODE must be one of PAYBILL_NUMBERS');
  return Object.freeze({ shortCode, passkey, callbackUrl });
}

function readMobilemoneyStatus(
  settings: Settings,
  paybillNumbers: readonly string[],
  problems: string[],
): MobilemoneyStatusConfig | undefined {
  const {
    MOBILEMONEY_INITIATOR: initiator,
    MOBILEMONEY_INITIATOR_PASSWORD: password,
    MOBILEMONEY_CERTIFICATE: certificate,
    MOBILEMONEY_SHORT_CODE: shortCode,
  } = settings;
  if (initiator === '') {
    for (const name of ['MOBILEMONEY_INITIATOR_PASSWORD', 'MOBILEMONEY_CERTIFICATE'] as const)
      if (settings[name] !== '') problems.push(`${name} requires MOBILEMONEY_INITIATOR`);
    return undefined;
  }
  for (const name of [
    'MOBILEMONEY_API_URL',
    'MOBILEMONEY_SHORT_CODE',
    'MOBILEMONEY_INITIATOR_PASSWORD',
    'MOBILEMONEY_CERTIFICATE',
  ] as const)
    if (settings[name] === '') problems.push(`${name} is required with MOBILEMONEY_INITIATOR`);
  const callbackUrl = readCallbackUrl(settings, 'MOBILEMONEY_INITIATOR', problems);
  if (settings.MOBILEMONEY_PASSKEY === '' && isOtherShortCode(shortCode, paybillNumbers))
    problems.push('MOBILEMONEY_SHORT_CODE must be one of PAYBILL_NUMBERS');
  const publicKey = certificate === '' ? undefined : readPublicKey(certificate, problems);
  if (!publicKey) return undefined;
  return Object.freeze({ shortCode, initiator, password, publicKey, callbackUrl });
}

function readCallbackUrl(
  { MOBILEMONEY_CALLBACK_URL, PUBLIC_URL }: Settings,
  neededBy: string,
  problems: string[],
): string {
  const url = MOBILEMONEY_CALLBACK_URL || PUBLIC_URL;
  if (url === '') problems.push(`MOBILEMONEY_CALLBACK_URL or PUBLIC_URL is required with ${neededBy}`);
  return url.replace(/\/+$/, '');
}

function isOtherShortCode(shortCode: string, paybillNumbers: readonly string[]): boolean {
  return shortCode !== '' && paybillNumbers.length > 0 && !paybillNumbers.includes(shortCode);
}

/** Reads a certificate, or a public key in PEM. */
function readPublicKey(path: string, problems: string[]): KeyObject | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    problems.push(`MOBILEMONEY_CERTIFICATE cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
  for (const read of [() => new X509Certificate(bytes).publicKey, () => createPublicKey(bytes)]) {
    try {
      const key = read();
      if (key.asymmetricKeyType === 'rsa') return key;
    } catch {
      // The file has another format, or is damaged. This is reported below.
    }
  }
  problems.push('MOBILEMONEY_CERTIFICATE must be the RSA certificate of the provider, in PEM or DER');
  return undefined;
}

function productionProblems(settings: Settings): string[] {
  const problems: string[] = [];
  const administrators = rolesWith('users:administer');
  if (settings.JWT_SECRET === '') problems.push('JWT_SECRET is required in production (at least 32 bytes)');
  if (settings.WEBHOOK_SECRET === '' && settings.WEBHOOK_ALLOWED_IPS === '') {
    problems.push('WEBHOOK_SECRET or WEBHOOK_ALLOWED_IPS is required in production');
  }
  if (settings.REGISTRATION === 'open' && settings.REGISTRATION_ROLE === '') {
    problems.push('REGISTRATION_ROLE is required in production if REGISTRATION is open');
  }
  if (
    settings.REGISTRATION === 'open' &&
    administrators.some((role) => role === settings.REGISTRATION_ROLE)
  ) {
    const others = USER_ROLES.filter((role) => !administrators.includes(role)).join(', ');
    problems.push(
      `REGISTRATION_ROLE must not be ${settings.REGISTRATION_ROLE} in production if REGISTRATION is open, because everyone could make themselves an administrator; use one of ${others}`,
    );
  }
  if (settings.TEST_CLOCK === 'on') problems.push('TEST_CLOCK must be off in production');
  if (settings.DEMO_DATA === 'company') problems.push('DEMO_DATA must be on or off in production');
  for (const name of ['WEBHOOK_SECRET', 'METRICS_TOKEN'] as const) {
    if (settings[name] !== '' && settings[name].length < MIN_SECRET_LENGTH)
      problems.push(`${name} must have at least ${MIN_SECRET_LENGTH} characters in production`);
  }
  for (const name of ['JWT_SECRET', 'WEBHOOK_SECRET', 'METRICS_TOKEN'] as const) {
    const characters = new Set(settings[name]).size;
    if (settings[name] !== '' && characters < MIN_SECRET_CHARACTERS)
      problems.push(
        `${name} must have at least ${MIN_SECRET_CHARACTERS} different characters in production, because a simpler secret can be guessed; create one with openssl rand -hex 32`,
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
  /** The variables OAUTH_<NAME>_…, which have no fixed names. */
  providerValues: Record<string, string>;
}

function readSettings(environment: Record<string, string | undefined>, useDotenv: boolean): GivenSettings {
  // Empty variables count as not set, because Compose files and shells often set them.
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

/** Groups the variables by the provider's name. Each provider needs the variables of PROVIDER_PARTS. */
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
        `${issuerVariable} contains a provider name that is too long or is one of ${RESERVED_PROVIDER_NAMES.join(', ')}`,
      );
    }
    checkWebAddress(issuerVariable, issuer, production, problems);
    // If the address of the metadata document were given, the library would not verify the issuer.
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
  if (given.length === 0) problems.push(`${domainsVariable} is missing; ${roleVariable} requires it`);
  if (!role)
    problems.push(`${roleVariable} must be one of ${USER_ROLES.join(', ')} if ${domainsVariable} is set`);
  const domains = given.flatMap((domain) => domainKey(domain) ?? []);
  if (domains.length < given.length)
    problems.push(`${domainsVariable} must be a list of domains such as example.com, separated by commas`);
  return role && { domains: new Set(domains), role };
}

function describe({ instancePath, message, params }: EnvironmentError): string {
  const allowed = params?.allowedValues?.filter((value) => value !== '').join(', ');
  return `${instancePath.slice(1)} ${allowed ? `must be one of ${allowed}` : message}`;
}

function setting<S extends TSchema>(schema: S, defaultValue: string | number, description: string) {
  return { ...schema, default: defaultValue, description } as S;
}

/** Refuses a value without items, such as a comma, because an empty list often means "any". */
function commaList(name: string, text: string, problems: string[]): string[] {
  const list = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (text !== '' && list.length === 0) problems.push(`${name} must have at least one item, or be empty`);
  return list;
}

function origins(name: string, text: string, problems: string[]): string[] {
  const list = commaList(name, text, problems);
  const isOrigin = (item: string) => URL.canParse(item) && new URL(item).origin === item;
  if (text.includes('*')) problems.push(`${name} must list each origin; * would allow every web page`);
  else if (!list.every(isOrigin))
    problems.push(
      `${name} must be a list of origins such as https://app.example.com, separated by commas, without a path`,
    );
  return list;
}

interface NetworkRule {
  name: 'TRUST_PROXY' | 'WEBHOOK_ALLOWED_IPS' | 'WEBHOOKS_OUT_ALLOW';
  /** Why a wide network is dangerous, for the error message. */
  danger: string;
  remedy: string;
  refusesWide: boolean;
}

function networks(rule: NetworkRule, settings: Settings, problems: string[]): string[] {
  const { name } = rule;
  const list = commaList(name, settings[name], problems);
  const sizes = list.map((network) => sizeOf(network, WIDEST));
  if (sizes.includes('invalid')) {
    problems.push(`${name} must be a list of networks such as 10.0.0.0/8, separated by commas`);
    return [];
  }
  checkWidths(rule, sizes, problems);
  return list;
}

function checkWidths(
  { name, danger, remedy, refusesWide }: NetworkRule,
  sizes: readonly ReturnType<typeof sizeOf>[],
  problems: string[],
): void {
  if (sizes.includes('every address')) problems.push(`${name} must not contain every address; ${remedy}`);
  else if (refusesWide && sizes.includes('too wide'))
    problems.push(
      `${name} must not contain a network wider than /${WIDEST.ipv4} (IPv4) or /${WIDEST.ipv6} (IPv6), because ${danger}; ${remedy}`,
    );
}

/** Each item is a network, or the name of a host. */
function destinations(
  name: 'WEBHOOKS_OUT_ALLOW',
  settings: Settings,
  problems: string[],
): AllowedDestinations {
  const list = commaList(name, settings[name], problems);
  const isNetwork = (item: string) => sizeOf(item, WIDEST) !== 'invalid';
  const hosts = list.filter((item) => !isNetwork(item)).map((host) => host.toLowerCase());
  checkWidths(
    {
      name,
      danger: 'webhooks could reach every host in it',
      remedy: 'list only the hosts that receive webhooks',
      refusesWide: true,
    },
    list.map((item) => sizeOf(item, WIDEST)),
    problems,
  );
  if (!hosts.every((host) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(host)))
    problems.push(
      `${name} must be a list of host names such as erp.internal and networks such as 10.0.0.0/8, separated by commas`,
    );
  const networks = list.filter(isNetwork);
  return { hosts: new Set(hosts), networks: networks.length > 0 ? createNetworks(networks) : undefined };
}

/** An amount in the currency of the books. */
function readLimit(name: 'APPROVAL_LIMIT', settings: Settings, problems: string[]): Minor | undefined {
  const { CURRENCY: currency, [name]: text } = settings;
  if (text === '' || !Intl.supportedValuesOf('currency').includes(currency)) return undefined;
  const decimals = currencyDecimals(currency);
  const minor = parseMinor(text, decimals);
  if (minor !== undefined && minor >= 0n && minor <= maxAmountMinor(decimals)) return minor;
  problems.push(
    `${name} must be an amount of at most ${MAX_AMOUNT_TEXT} with at most ${decimals} decimals, or empty`,
  );
  return undefined;
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

/** Detects the format by content, not by file name. */
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

/** Without this check, ioredis would select the database NaN, and only Redis would refuse it. */
function checkRedisDatabase(text: string, problems: string[]): void {
  if (URL.canParse(text) && !/^(\/\d*)?$/.test(new URL(text).pathname))
    problems.push('REDIS_URL must end with a database number such as /0, or have no path');
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
