import { BlockList, isIP } from 'node:net';
import envSchema from 'env-schema';
import { type Static, type TSchema, Type } from 'typebox';

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
  TRUST_PROXY: setting(Type.String(), '', 'Networks (CIDR, by comma) whose X-Forwarded-For is believed.'),

  DATABASE_URL: setting(
    Type.String(),
    '',
    'PostgreSQL 15 or newer; empty: the embedded PostgreSQL below DATA_DIR.',
  ),
  DATABASE_POOL_SIZE: setting(Type.Integer({ minimum: 1, maximum: 100 }), 8, 'Connections of one instance.'),
  DATABASE_PREPARE: setting(
    Type.Enum(['on', 'off']),
    'on',
    'Named prepared statements; off behind a pooler in transaction mode.',
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
    'Decides what today is (IANA name).',
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
    Type.Enum(['', 'admin', 'manager', 'finance', 'agent', 'viewer']),
    '',
    'Role of whoever registers; empty: manager, but required in production where registration is open.',
  ),

  WEBHOOK_SECRET: setting(
    Type.String(),
    '',
    'What the provider sends as X-Webhook-Secret or ?token=. Production wants this or WEBHOOK_ALLOWED_IPS.',
  ),
  WEBHOOK_ALLOWED_IPS: setting(
    Type.String(),
    '',
    'Networks (CIDR, by comma) that may post notifications; empty: any.',
  ),
  PAYBILL_NUMBERS: setting(
    Type.String({ pattern: '^[0-9, ]*$' }),
    '',
    'Own business short codes, by comma; empty: any.',
  ),

  RATE_LIMIT_AUTH: setting(
    Type.Integer({ minimum: 0 }),
    5,
    'Calls a minute of each credential endpoint; 0: no limit.',
  ),
  RATE_LIMIT_BULK: setting(Type.Integer({ minimum: 0 }), 10, 'Bulk operations a minute; 0: no limit.'),
  RATE_LIMIT_GENERAL: setting(Type.Integer({ minimum: 0 }), 100, 'All other calls a minute; 0: no limit.'),
  RATE_LIMIT_WEBHOOK: setting(
    Type.Integer({ minimum: 0 }),
    6000,
    'Notifications a minute from one address; 0: no limit.',
  ),

  CORS_ORIGINS: setting(Type.String(), '', 'Web origins that browsers may call from, by comma; empty: none.'),
  TEST_CLOCK: setting(Type.Enum(['on', 'off']), 'off', 'on adds PUT /api/test/clock; refused in production.'),
});

export type Settings = Readonly<Static<typeof settingsSchema>>;

export interface Config extends Settings {
  readonly production: boolean;
  readonly registration: { readonly open: boolean; readonly role: string };
  /** CIDR list for Fastify; undefined trusts nobody. */
  readonly trustedProxies: string[] | undefined;
  readonly webhookNetworks: BlockList | undefined;
  readonly paybillNumbers: readonly string[];
  readonly corsOrigins: readonly string[];
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
  const settings = readSettings(environment, useDotenv);
  const production = settings.NODE_ENV === 'production';
  const problems: string[] = [];

  const proxies = networks('TRUST_PROXY', settings.TRUST_PROXY, problems);
  const webhook = networks('WEBHOOK_ALLOWED_IPS', settings.WEBHOOK_ALLOWED_IPS, problems);
  checkUrl('DATABASE_URL', settings.DATABASE_URL, ['postgres:', 'postgresql:'], problems);
  checkUrl('REDIS_URL', settings.REDIS_URL, ['redis:', 'rediss:'], problems);
  if (!isTimeZone(settings.BUSINESS_TIMEZONE))
    problems.push('BUSINESS_TIMEZONE must be an IANA time zone such as Africa/Nairobi');
  if (!Intl.supportedValuesOf('currency').includes(settings.CURRENCY))
    problems.push('CURRENCY must be an ISO 4217 code such as KES');
  if (settings.JWT_SECRET !== '' && Buffer.byteLength(settings.JWT_SECRET) < 32)
    problems.push('JWT_SECRET must have at least 32 bytes');
  if (production) problems.push(...productionProblems(settings));
  if (problems.length > 0) throw new ConfigError(problems);

  return Object.freeze({
    ...settings,
    production,
    registration: {
      open: settings.REGISTRATION === '' ? !production : settings.REGISTRATION === 'open',
      role: settings.REGISTRATION_ROLE === '' ? 'manager' : settings.REGISTRATION_ROLE,
    },
    trustedProxies: proxies.length > 0 ? proxies : undefined,
    webhookNetworks: webhook.length > 0 ? blockList(webhook) : undefined,
    paybillNumbers: commaList(settings.PAYBILL_NUMBERS),
    corsOrigins: commaList(settings.CORS_ORIGINS),
  });
}

function productionProblems(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.JWT_SECRET === '') problems.push('JWT_SECRET is required in production (at least 32 bytes)');
  if (settings.WEBHOOK_SECRET === '' && settings.WEBHOOK_ALLOWED_IPS === '') {
    problems.push('WEBHOOK_SECRET or WEBHOOK_ALLOWED_IPS is required in production');
  }
  if (settings.REGISTRATION === 'open' && settings.REGISTRATION_ROLE === '') {
    problems.push('REGISTRATION_ROLE is required in production where REGISTRATION is open');
  }
  if (settings.TEST_CLOCK === 'on') problems.push('TEST_CLOCK cannot be on in production');
  return problems;
}

interface EnvironmentError {
  instancePath: string;
  message?: string;
  params?: { allowedValues?: string[] };
}

function readSettings(environment: Record<string, string | undefined>, useDotenv: boolean): Settings {
  // An empty variable means "not set": compose files and shells often pass one.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  try {
    return envSchema<Settings>({ schema: settingsSchema, data: given, env: false, dotenv: useDotenv });
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

function setting<S extends TSchema>(schema: S, defaultValue: string | number, description: string) {
  return { ...schema, default: defaultValue, description } as S;
}

function commaList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function networks(name: string, text: string, problems: string[]): string[] {
  const list = commaList(text);
  for (const network of list) {
    const [address = '', bits, ...rest] = network.split('/');
    const family = isIP(address);
    const bitsFit =
      bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
    if (family === 0 || !bitsFit || rest.length > 0) {
      problems.push(`${name} must be a list of networks such as 10.0.0.0/8, by comma`);
      break;
    }
  }
  return list;
}

function blockList(cidrs: string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return list;
}

function checkUrl(name: string, text: string, protocols: string[], problems: string[]): void {
  if (text === '') return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !protocols.includes(url.protocol))
    problems.push(`${name} must start with ${protocols.map((p) => `${p}//`).join(' or ')}`);
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false; // RangeError is how Intl says that it does not know the zone.
  }
}
