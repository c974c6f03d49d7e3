import { type Static, type TSchema, Type } from 'typebox';
import { LANGUAGES } from '../core/http/fields.ts';
import { USER_ROLES } from '../rights.ts';
import type { ProviderPart } from '../staff/auth/identity-provider-rules.ts';
import * as check from './checks.ts';

/** The property of a declaration that holds its checks. A symbol, because the validator refuses unknown keywords. */
const CHECKS = Symbol('checks');

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
  TRUST_PROXY: text(
    'Networks of your proxies (CIDR, separated by commas). X-Forwarded-For is trusted only from them. A network must not be wider than /8 (IPv4) or /16 (IPv6).',
  ),

  DATABASE_URL: text(
    'Address of PostgreSQL 15 or newer. Empty: the embedded PostgreSQL in DATA_DIR.',
    check.postgres,
  ),
  DATABASE_DIRECT_URL: text(
    'Direct address of PostgreSQL if DATABASE_URL is a pooler in transaction mode. Used for migrations, exports, uploads, checks of the books, summaries, the health check, the job queue and the npm run commands. Empty: no pooler.',
    check.postgres,
  ),
  DATABASE_REPLICA_URL: text(
    'Direct address of a hot standby of DATABASE_URL. Exports, summaries, payment reports and checks of the books read it. Empty: they read the primary.',
    check.postgres,
  ),
  DATABASE_REPLICA_MAX_LAG: setting(
    Type.Integer({ minimum: 2, maximum: 300 }),
    5,
    'How many seconds a report waits until the standby has all data that the primary had at the start of the report. If the standby takes longer, the report reads the primary.',
  ),
  DATABASE_POOL_SIZE: setting(
    Type.Integer({ minimum: 2, maximum: 100 }),
    8,
    'Number of connections of one instance for requests and jobs.',
  ),
  DATABASE_PREPARE: setting(
    Type.Enum(['on', 'off']),
    'on',
    'Whether to use named prepared statements and pipelined reads. Always off if DATABASE_DIRECT_URL is set.',
  ),
  DATA_DIR: setting(Type.String({ minLength: 1 }), 'data', 'Folder of the embedded PostgreSQL.'),
  REDIS_URL: text(
    'Address of a Redis that shares rate limits between instances. Empty: each instance has its own limits.',
    check.redis,
    check.redisDatabase,
  ),

  CURRENCY: setting(
    Type.String({ pattern: '^[A-Z]{3}$' }),
    'KES',
    'Currency of the books (ISO 4217). It cannot change after the first start.',
    check.currency,
  ),
  BUSINESS_TIMEZONE: setting(
    Type.String({ minLength: 1 }),
    'Africa/Nairobi',
    'Time zone of business days: UTC, or an IANA name of the form Area/City.',
    check.timeZone,
  ),
  PHONE_REGION: setting(
    Type.String({ pattern: '^[A-Z]{2}$' }),
    'KE',
    'Country of phone numbers without a country code (ISO 3166).',
    check.phoneRegion,
  ),
  DOCUMENT_LANGUAGE: setting(
    Type.Enum([...LANGUAGES]),
    'en',
    'Language of statements and texts for customers who have no language of their own: en (English) or sw (Swahili).',
  ),
  DEMO_DATA: setting(
    Type.Enum(['on', 'off', 'company']),
    'on',
    'Data that is added to a new database. on: a small catalogue. company: a company with a year of payments, which takes up to a minute. off: nothing. Production adds nothing and refuses company.',
  ),

  APPROVAL_LIMIT: text(
    'Reversals, corrections, unassignments, refunds, credit transfers, write-offs, cancellations and changes of plans above this amount need the approval of a second user, see docs/approvals.md. 0: every amount above 0 needs approval. Empty: no action needs approval.',
  ),
  PLAN_CHANGE_REASONS: text(
    'Codes of reasons for changes of plans, separated by commas, such as illness,harvest. A change can name one of them besides its text.',
  ),

  MAX_DEFERRED_DAYS: setting(
    Type.Integer({ minimum: 0, maximum: 3650 }),
    3650,
    'The maximum number of days by which the instalments of one account can be deferred within 365 days, by all its deferrals together.',
  ),

  AGENT_BACKDATING_DAYS: setting(
    Type.Integer({ minimum: 0, maximum: 365 }),
    7,
    'Agents cannot record payments with a date more than this number of days ago. 0: only with the date of today.',
  ),

  CASH_COUNTS: setting(
    Type.Enum(['on', 'off']),
    'off',
    'Whether staff count the cash that they hold and hand it over, see docs/cash.md.',
  ),
  CASH_CEILING: text(
    'Above this amount, the service warns that a person holds too much cash. It never refuses a payment. Empty: no warning.',
  ),

  JWT_SECRET: text(
    'Key that signs access tokens, at least 32 bytes. Required in production. Empty: outside production, a key is generated once and stored in the database.',
    check.atLeast32Bytes,
    check.variedInProduction,
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
    'Role of users who register. Empty: manager. If registration is open in production, this is required and must not be admin.',
  ),

  ADMIN_PASSWORD: text(
    'Password of the new admin, used only by `npm run create-admin`. Empty: the command asks for it.',
  ),

  PUBLIC_URL: text(
    'Address of this service for browsers, such as https://ams.example.com. Empty: the host of the request. Required in production if an identity provider is set.',
    check.webAddress,
  ),

  WEBHOOK_SECRET: text(
    'Secret that the provider sends as X-Webhook-Secret or ?token=. Production requires this (at least 16 characters) or WEBHOOK_ALLOWED_IPS.',
    check.headerText,
    check.longInProduction,
    check.variedInProduction,
  ),
  WEBHOOK_ALLOWED_IPS: text(
    'Networks (CIDR, separated by commas) that may post notifications. Without WEBHOOK_SECRET, a network must not be wider than /8 (IPv4) or /16 (IPv6). Empty: all networks.',
  ),
  PAYBILL_NUMBERS: setting(
    Type.String({ pattern: '^[0-9, ]*$' }),
    '',
    'Your business short codes, separated by commas. Payments to other codes are not assigned automatically. Empty: all codes are yours.',
  ),
  MOBILEMONEY_API_URL: text(
    'Address of the mobile-money provider’s API, such as https://api.safaricom.co.ke. Empty: the service never calls the provider.',
    check.webAddress,
  ),
  MOBILEMONEY_CONSUMER_KEY: text(
    'Consumer key of your app at the mobile-money provider. Required with MOBILEMONEY_API_URL.',
  ),
  MOBILEMONEY_CONSUMER_SECRET: text(
    'Consumer secret of your app at the mobile-money provider. Required with MOBILEMONEY_API_URL.',
  ),
  MOBILEMONEY_TIMEZONE: setting(
    Type.String({ minLength: 1 }),
    'Africa/Nairobi',
    'Time zone of the times in the mobile-money provider’s notifications and statements: UTC, or an IANA name of the form Area/City. The provider’s API always uses East Africa Time. A repeat of a notification is read in the zone of the first one.',
    check.timeZone,
  ),
  MOBILEMONEY_PULL_NUMBER: setting(
    Type.String({ pattern: '^([0-9]{9,15})?$' }),
    '',
    'Phone number that is registered with your short codes at the mobile-money provider, such as 254712345678. With it, the service asks the provider for payments whose notification was lost. Requires MOBILEMONEY_API_URL, PAYBILL_NUMBERS and PUBLIC_URL. Empty: off.',
  ),
  MOBILEMONEY_PASSKEY: text(
    'Passkey of MOBILEMONEY_SHORT_CODE for payment requests (STK push). Requires MOBILEMONEY_API_URL. Empty: payment requests are off.',
  ),
  MOBILEMONEY_SHORT_CODE: setting(
    Type.String({ pattern: '^([0-9]{3,12})?$' }),
    '',
    'Short code that payment requests and status queries use. Required if MOBILEMONEY_PASSKEY or MOBILEMONEY_INITIATOR is set.',
  ),
  MOBILEMONEY_CALLBACK_URL: text(
    'Address at which the mobile-money provider reaches this service. Empty: PUBLIC_URL.',
    check.webAddress,
  ),
  MOBILEMONEY_INITIATOR: text(
    'Name of the API operator of MOBILEMONEY_SHORT_CODE at the mobile-money provider. With it, staff can ask for the status of a transaction. Requires MOBILEMONEY_API_URL. Empty: off.',
  ),
  MOBILEMONEY_INITIATOR_PASSWORD: text(
    'Password of MOBILEMONEY_INITIATOR. It is sent encrypted with MOBILEMONEY_CERTIFICATE.',
  ),
  MOBILEMONEY_CERTIFICATE: text(
    'File with the certificate of the mobile-money provider (PEM or DER), which encrypts MOBILEMONEY_INITIATOR_PASSWORD. Required with MOBILEMONEY_INITIATOR.',
  ),
  PAYMENT_REQUEST_INTERVAL: setting(
    Type.Integer({ minimum: 0, maximum: 86_400 }),
    60,
    'Smallest number of seconds between two payment requests to the same phone.',
  ),
  PAYMENT_REQUEST_SAME_AMOUNT_INTERVAL: setting(
    Type.Integer({ minimum: 0, maximum: 86_400 }),
    120,
    'Smallest number of seconds between two payment requests to the same phone for the same amount.',
  ),
  PAYMENT_REQUESTS_PER_DAY: setting(
    Type.Integer({ minimum: 1, maximum: 1_000 }),
    10,
    'Largest number of payment requests to the same phone in 24 hours.',
  ),
  WEBHOOKS_OUT_ALLOW: text(
    'Private hosts and networks (names or CIDR, separated by commas) that webhook endpoints may use, by https:// or http://. Empty: only https:// to the public internet.',
  ),

  COMPANY_NAME: setting(
    Type.String({ minLength: 1, maxLength: 100 }),
    'Your company',
    'Printed on invoices and account statements.',
  ),
  COMPANY_ADDRESS: setting(
    Type.String({ maxLength: 500 }),
    '',
    'Printed below the name. The character | starts a new line.',
  ),
  COMPANY_LOGO: text(
    'PNG, JPEG or SVG file of at most 1 MB, printed on invoices and account statements. Convert text in an SVG to outlines.',
  ),

  RATE_LIMIT_AUTH: setting(
    Type.Integer({ minimum: 0 }),
    5,
    'Sign-ins, registrations and password changes per minute and address. Each kind has its own counter. 0: no limit.',
  ),
  RATE_LIMIT_BROWSER: setting(
    Type.Integer({ minimum: 0 }),
    300,
    'Reads per minute of each user with a session cookie, as in the console, in place of RATE_LIMIT_GENERAL. 0: no limit.',
  ),
  RATE_LIMIT_BULK: setting(
    Type.Integer({ minimum: 0 }),
    10,
    'Bulk operations per minute of each user or API key. 0: no limit.',
  ),
  RATE_LIMIT_GENERAL: setting(
    Type.Integer({ minimum: 0 }),
    100,
    'All other calls per minute of each user, such as the writes of the console, or of each address if a call has no valid token. 0: no limit.',
  ),
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

  METRICS_TOKEN: text(
    'Bearer token for /metrics, at least 16 characters in production. Empty: /metrics does not exist.',
    check.headerText,
    check.longInProduction,
    check.variedInProduction,
  ),
  CORS_ORIGINS: text(
    'Web origins that may call the API from a browser, such as https://app.example.com, separated by commas. Empty: none.',
  ),
  TEST_CLOCK: setting(Type.Enum(['on', 'off']), 'off', 'Adds PUT /api/test/clock. Refused in production.'),
  TIME_LIMIT_FACTOR: setting(
    Type.Integer({ minimum: 1, maximum: 1_000 }),
    1,
    'Multiplies all time limits of the service, such as those of requests and statements. For very slow machines, tests and debuggers.',
  ),
});

/** For `.env.example`: the descriptions of the variables OAUTH_<NAME>_… of an identity provider. */
export const PROVIDER_SETTINGS: Readonly<Record<ProviderPart, string>> = {
  ISSUER:
    'Issuer of an identity provider (OpenID Connect). If <NAME> is GOOGLE, sign-in starts at /api/auth/google. Register PUBLIC_URL/api/auth/google/callback as the redirect URI at the provider.',
  CLIENT_ID: 'Client id of this service at the provider.',
  CLIENT_SECRET: 'Client secret of this service at the provider.',
  DOMAINS:
    'E-mail domains, separated by commas. People whose e-mail address is in one of these domains become users even if registration is closed. The provider must report email_verified. Empty: none.',
  ROLE: 'Role of users from DOMAINS. Required if DOMAINS is set.',
};

export type Settings = Readonly<Static<typeof settingsSchema>>;

/** The problems of the settings that the checks beside their declarations find. An empty setting is not checked. */
export function problemsOf(settings: Settings): string[] {
  const isProduction = settings.NODE_ENV === 'production';
  return Object.entries(settings).flatMap(([name, value]) => {
    const { [CHECKS]: checks = [] } = settingsSchema.properties[name as keyof Settings] as Declaration;
    if (value === '') return [];
    return checks.flatMap((find) => {
      const problem = find(String(value), isProduction);
      return problem === undefined ? [] : `${name} ${problem}`;
    });
  });
}

interface Declaration {
  [CHECKS]?: readonly check.Check[];
}

function setting<S extends TSchema>(
  schema: S,
  defaultValue: string | number,
  description: string,
  ...checks: check.Check[]
) {
  return { ...schema, default: defaultValue, description, [CHECKS]: checks } as S;
}

function text(description: string, ...checks: check.Check[]) {
  return setting(Type.String(), '', description, ...checks);
}
