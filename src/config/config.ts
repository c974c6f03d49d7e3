import envSchema from 'env-schema';
import { ConfigError } from '../core/config-error.ts';
import type { Config } from '../core/context.ts';
import type { UserRole } from '../core/database/tables.ts';
import { type AllowedDestinations, createNetworks, type Networks } from '../core/http/addresses.ts';
import { multiplyTimeLimits } from '../core/time-limits.ts';
import {
  currencyDecimals,
  type Minor,
  maxAmountMinor,
  maxAmountText,
  parseMinor,
} from '../core/values/money.ts';
import { rolesWith, USER_ROLES } from '../rights.ts';
import { type IdentityProvider, PROVIDER_VARIABLE } from '../staff/auth/identity-provider-rules.ts';
import { isCurrency } from './checks.ts';
import { readProviders } from './identity-providers.ts';
import { type MobilemoneyConfig, readMobilemoney } from './mobilemoney.ts';
import { problemsOf, type Settings, settingsSchema } from './settings.ts';
import {
  commaList,
  type Reading,
  readDestinations,
  readNetworks,
  readOrigins,
  readSettingFile,
  withoutSlash,
} from './values.ts';

const MAX_LOGO_BYTES = 1024 * 1024;
// A constant, so that Ajv compiles it only once in a process.
const SCHEMA = { ...settingsSchema, patternProperties: { [PROVIDER_VARIABLE]: { type: 'string' } } };

declare module '../core/context.ts' {
  interface Config extends Settings, MobilemoneyConfig {
    /** The identity providers, by name. */
    readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
    /** Has no slash at its end. Undefined: the host of the request is used. */
    readonly publicUrl: string | undefined;
    readonly production: boolean;
    /** Whether DATABASE_URL is the address of a pooler in transaction mode. The clients of a pooler share database sessions. */
    readonly pooled: boolean;
    /** The address for work that needs a database session. Empty: the embedded PostgreSQL. */
    readonly directUrl: string;
    /** Whether to name prepared statements. False behind a pooler: the names belong to a session, and clients share sessions. */
    readonly namedStatements: boolean;
    readonly registration: { readonly open: boolean; readonly role: UserRole };
    /** A list of CIDR networks. Undefined: no proxy is trusted. */
    readonly trustedProxies: string[] | undefined;
    /** Undefined: notifications may come from every network. */
    readonly webhookNetworks: Networks | undefined;
    /** Empty: all short codes are accepted as those of the business. */
    readonly paybillNumbers: readonly string[];
    readonly webhookDestinations: AllowedDestinations;
    readonly corsOrigins: readonly string[];
    readonly companyLogo: Logo | undefined;
    /** Undefined: no action needs approval. */
    readonly approvalLimitMinor: Minor | undefined;
    /** The codes of reasons for changes of plans. */
    readonly planChangeReasons: readonly string[];
    /** Undefined if CASH_CEILING is empty. */
    readonly cashCeilingMinor: Minor | undefined;
  }
}

interface Logo {
  readonly format: 'png' | 'jpg' | 'svg';
  readonly bytes: Buffer;
}

/** @throws ConfigError naming each wrong variable. */
export function readConfig(environment: Record<string, string | undefined>, useDotenv = false): Config {
  const { settings, providerValues } = readSettings(environment, useDotenv);
  const production = settings.NODE_ENV === 'production';
  const problems = problemsOf(settings);
  const reading: Reading = { settings, production, problems };

  const proxies = readNetworks(
    {
      name: 'TRUST_PROXY',
      danger: 'every host in it can send a false client address',
      remedy: 'list only the networks of your proxies',
    },
    reading,
  );
  const webhook = readNetworks(
    {
      name: 'WEBHOOK_ALLOWED_IPS',
      danger:
        settings.WEBHOOK_SECRET === ''
          ? 'without WEBHOOK_SECRET everyone in it can post payments'
          : undefined,
      remedy:
        'list only the networks of the provider, or set WEBHOOK_SECRET and leave WEBHOOK_ALLOWED_IPS empty',
    },
    reading,
  );
  const paybillNumbers = commaList('PAYBILL_NUMBERS', settings.PAYBILL_NUMBERS, problems);
  const webhookDestinations = readDestinations('WEBHOOKS_OUT_ALLOW', reading);
  const corsOrigins = readOrigins('CORS_ORIGINS', reading);
  const pooled = settings.DATABASE_DIRECT_URL !== '';
  checkDatabases(reading, pooled);
  const identityProviders = readProviders(providerValues, reading);
  if (production && identityProviders.size > 0 && settings.PUBLIC_URL === '')
    problems.push('PUBLIC_URL is required in production if an identity provider is set');
  const approvalLimitMinor = readLimit('APPROVAL_LIMIT', reading);
  const cashCeilingMinor = readLimit('CASH_CEILING', reading);
  const planChangeReasons = commaList('PLAN_CHANGE_REASONS', settings.PLAN_CHANGE_REASONS, problems);
  const mobilemoney = readMobilemoney(reading, paybillNumbers);
  const companyLogo = readLogo(reading);
  if (production) checkProduction(reading);
  if (problems.length > 0) throw new ConfigError(problems);

  return Object.freeze({
    ...settings,
    ...mobilemoney,
    production,
    pooled,
    directUrl: pooled ? settings.DATABASE_DIRECT_URL : settings.DATABASE_URL,
    namedStatements: settings.DATABASE_PREPARE === 'on' && !pooled,
    identityProviders,
    publicUrl: settings.PUBLIC_URL === '' ? undefined : withoutSlash(settings.PUBLIC_URL),
    registration: {
      open: settings.REGISTRATION === '' ? !production : settings.REGISTRATION === 'open',
      role: settings.REGISTRATION_ROLE === '' ? 'manager' : settings.REGISTRATION_ROLE,
    },
    trustedProxies: proxies.length > 0 ? proxies : undefined,
    webhookNetworks: webhook.length > 0 ? createNetworks(webhook) : undefined,
    paybillNumbers,
    webhookDestinations,
    corsOrigins,
    companyLogo,
    approvalLimitMinor,
    cashCeilingMinor,
    planChangeReasons,
    limits: multiplyTimeLimits(settings.TIME_LIMIT_FACTOR),
  });
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
  // Empty variables count as not set, because Compose files and shells often set variables to an empty text.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  try {
    const all = Object.entries(envSchema({ schema: SCHEMA, data: given, env: false, dotenv: useDotenv }));
    const isListed = ([name]: [string, unknown]) => Object.hasOwn(settingsSchema.properties, name);
    return {
      settings: Object.fromEntries(all.filter(isListed)) as Settings,
      providerValues: Object.fromEntries(all.filter((one) => !isListed(one))) as Record<string, string>,
    };
  } catch (error) {
    const errors = (error as { errors?: EnvironmentError[] }).errors;
    if (!errors) throw error;
    throw new ConfigError(errors.map(describe));
  }
}

function describe({ instancePath, message, params }: EnvironmentError): string {
  const allowed = params?.allowedValues?.filter((value) => value !== '').join(', ');
  return `${instancePath.slice(1)} ${allowed ? `must be one of ${allowed}` : message}`;
}

function checkDatabases({ settings, problems }: Reading, pooled: boolean): void {
  if (settings.DATABASE_REPLICA_URL !== '' && settings.DATABASE_URL === '')
    problems.push('DATABASE_REPLICA_URL requires DATABASE_URL, the address of its primary');
  if (pooled && settings.DATABASE_URL === '')
    problems.push('DATABASE_DIRECT_URL requires DATABASE_URL, the address of the pooler');
  if (pooled && settings.TEST_CLOCK === 'on')
    problems.push(
      'TEST_CLOCK must be off behind a pooler: other clients share the connections of a pooler, so TEST_CLOCK would change their clock, too',
    );
}

function checkProduction({ settings, problems }: Reading): void {
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
}

/** Reads an amount in the currency of the books. Another check reports an unknown currency. */
function readLimit(
  name: 'APPROVAL_LIMIT' | 'CASH_CEILING',
  { settings, problems }: Reading,
): Minor | undefined {
  const { CURRENCY: currency, [name]: text } = settings;
  if (text === '' || !isCurrency(currency)) return undefined;
  const decimals = currencyDecimals(currency);
  const minor = parseMinor(text, decimals);
  if (minor !== undefined && minor >= 0n && minor <= maxAmountMinor(decimals)) return minor;
  problems.push(
    `${name} must be an amount of at most ${maxAmountText(decimals)} with at most ${decimals} decimals, or empty`,
  );
  return undefined;
}

function readLogo(reading: Reading): Logo | undefined {
  const bytes = readSettingFile('COMPANY_LOGO', reading);
  if (!bytes) return undefined;
  const format = imageFormat(bytes);
  if (format && bytes.length <= MAX_LOGO_BYTES) return { format, bytes };
  reading.problems.push('COMPANY_LOGO must be a PNG, JPEG or SVG file of at most 1 MB');
  return undefined;
}

/** Detects the format by content, not by file name. */
function imageFormat(bytes: Buffer): Logo['format'] | undefined {
  if (bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n') return 'png';
  if (bytes.subarray(0, 3).toString('latin1') === '\xff\xd8\xff') return 'jpg';
  return /<svg[\s>]/.test(bytes.subarray(0, 4096).toString('utf8')) ? 'svg' : undefined;
}
