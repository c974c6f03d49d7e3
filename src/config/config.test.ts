import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../core/config-error.ts';
import { readConfig } from './config.ts';

const PRODUCTION = {
  NODE_ENV: 'production',
  JWT_SECRET: 'a secret of this test, longer than 32 bytes',
  WEBHOOK_SECRET: 'a secret of some length',
};

const API = {
  MOBILEMONEY_API_URL: 'https://api.example.com/',
  MOBILEMONEY_CONSUMER_KEY: 'hunter2',
  MOBILEMONEY_CONSUMER_SECRET: 'hunter3',
};

function problems(environment: Record<string, string | undefined>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('an empty environment', () => {
  it('gives a configuration for development, without required settings', () => {
    expect(readConfig({})).toMatchObject({
      NODE_ENV: 'development',
      production: false,
      HOST: '127.0.0.1',
      PORT: 8080,
      CURRENCY: 'KES',
      BUSINESS_TIMEZONE: 'Africa/Nairobi',
      RATE_LIMIT_AUTH: 5,
      RATE_LIMIT_BROWSER: 300,
      RATE_LIMIT_BULK: 10,
      RATE_LIMIT_GENERAL: 100,
      RATE_LIMIT_PAGES: 300,
      RATE_LIMIT_WEBHOOK: 6000,
      registration: { open: true, role: 'manager' },
      trustedProxies: undefined,
      webhookNetworks: undefined,
      paybillNumbers: [],
      corsOrigins: [],
    });
  });

  it('gives the same configuration as variables with empty values', () => {
    expect(readConfig({ PORT: '', CURRENCY: undefined, REGISTRATION: '' })).toEqual(readConfig({}));
  });

  it('gives a configuration that cannot be changed', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });
});

describe('a value', () => {
  it('is converted to the type of its setting', () => {
    const config = readConfig({
      PORT: '0',
      PAYBILL_NUMBERS: '600638, 600639,',
      CORS_ORIGINS: 'https://a.example,https://b.example',
      TRUST_PROXY: '10.0.0.0/8, ::1',
      WEBHOOK_ALLOWED_IPS: '196.201.214.0/24,2001:db8::/32',
      WEBHOOKS_OUT_ALLOW: 'ERP.internal, 10.1.0.0/16',
    });
    expect(config).toMatchObject({
      PORT: 0,
      paybillNumbers: ['600638', '600639'],
      corsOrigins: ['https://a.example', 'https://b.example'],
      trustedProxies: ['10.0.0.0/8', '::1'],
    });
    expect(readConfig({ APPROVAL_LIMIT: '2500.5' }).approvalLimitMinor).toBe(250_050n);
    expect(readConfig({ APPROVAL_LIMIT: '2500', CURRENCY: 'UGX' }).approvalLimitMinor).toBe(2_500n);
    expect(config.approvalLimitMinor).toBeUndefined();
    expect(config.webhookNetworks?.has('196.201.214.7')).toBe(true);
    expect(config.webhookNetworks?.has('::ffff:196.201.214.7')).toBe(true);
    expect(config.webhookNetworks?.has('196.201.215.7')).toBe(false);
    expect(config.webhookNetworks?.has('2001:db8::7')).toBe(true);
    expect([...config.webhookDestinations.hosts]).toEqual(['erp.internal']);
    expect(config.webhookDestinations.networks?.has('10.1.2.3')).toBe(true);
    expect(config.webhookDestinations.networks?.has('10.2.2.3')).toBe(false);
  });

  it.each([
    ['PORT', '65536'],
    ['PORT', '70000'],
    ['PORT', 'abc'],
    ['PORT', 'http'],
    ['NODE_ENV', 'staging'],
    ['NODE_ENV', 'prodution'],
    ['CURRENCY', 'kes'],
    ['CURRENCY', 'ABQ'],
    ['CURRENCY', 'XXZ'],
    ['APPROVAL_LIMIT', '-1'],
    ['APPROVAL_LIMIT', '10.005'],
    ['APPROVAL_LIMIT', '10,000'],
    ['APPROVAL_LIMIT', '1000000000000'],
    ['BUSINESS_TIMEZONE', 'Africa/Atlantis'],
    ['BUSINESS_TIMEZONE', 'Africa/Nowhere'],
    ['BUSINESS_TIMEZONE', 'EAT'],
    ['BUSINESS_TIMEZONE', 'CET'],
    ['BUSINESS_TIMEZONE', '+03:00'],
    ['MOBILEMONEY_TIMEZONE', 'EAT'],
    ['MOBILEMONEY_TIMEZONE', 'Africa/Atlantis'],
    ['PHONE_REGION', 'Kenya'],
    ['PHONE_REGION', 'ZZ'],
    ['DATABASE_URL', 'mysql://localhost/db'],
    ['DATABASE_URL', 'mysql://user:hunter2@db.example/ams'],
    ['DATABASE_URL', 'hunter2'],
    ['DATABASE_URL', 'localhost'],
    ['DATABASE_DIRECT_URL', 'postgres://localhost/db'],
    ['REDIS_URL', 'http://localhost'],
    ['REDIS_URL', 'http://:hunter2@redis.example'],
    ['REDIS_URL', 'redis://localhost/limits'],
    ['JWT_SECRET', 'too short'],
    ['JWT_SECRET', 'too-short-a-secret'],
    ['ACCESS_TOKEN_TTL', '59'],
    ['ACCESS_TOKEN_TTL', '1h'],
    ['RATE_LIMIT_AUTH', '-1'],
    ['RATE_LIMIT_GENERAL', '1.5'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['TRUST_PROXY', '10.0.0.0/8,203.0.113.7/0'],
    ['TRUST_PROXY', '0.0.0.0/00'],
    ['TRUST_PROXY', '::/0'],
    ['TRUST_PROXY', '2001:db8::/0'],
    ['TRUST_PROXY', '::ffff:0:0/96'], // all of IPv4, mapped into IPv6
    ['TRUST_PROXY', '::/8'],
    ['TRUST_PROXY', '0.0.0.0/1,128.0.0.0/1'],
    ['TRUST_PROXY', '10.0.0.0/7'],
    ['TRUST_PROXY', '2000::/15'],
    ['TRUST_PROXY', '::ffff:0:0/97,::ffff:8000:0/97'],
    ['WEBHOOK_ALLOWED_IPS', '0.0.0.0/1,128.0.0.0/1'],
    ['WEBHOOK_ALLOWED_IPS', '8000::/1'],
    ['WEBHOOK_ALLOWED_IPS', '10.0.0.0/8/8'],
    ['WEBHOOK_ALLOWED_IPS', '0.0.0.0/0'],
    ['WEBHOOK_ALLOWED_IPS', '10.0.0.0/8,garbage'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://a.example,*'],
    ['CORS_ORIGINS', 'https://*.example'],
    ['CORS_ORIGINS', 'https://a.example/'],
    ['CORS_ORIGINS', 'https://a.example/path'],
    ['CORS_ORIGINS', 'a.example'],
    ['CORS_ORIGINS', 'null'],
    ['PAYBILL_NUMBERS', 'six'],
    ['PAYBILL_NUMBERS', '600638;600639'],
    ['PAYBILL_NUMBERS', ', '],
    ['TRUST_PROXY', ','],
    ['WEBHOOK_ALLOWED_IPS', ' , '],
    ['CORS_ORIGINS', ','],
    ['CORS_ORIGINS', 'https://a.example, https://b.example/'],
    ['CORS_ORIGINS', 'a.example'],
    ['CORS_ORIGINS', '*'],
    ['WEBHOOKS_OUT_ALLOW', ','],
    ['WEBHOOKS_OUT_ALLOW', '0.0.0.0/0'],
    ['WEBHOOKS_OUT_ALLOW', '::/0'],
    ['WEBHOOKS_OUT_ALLOW', '10.0.0.0/7'],
    ['WEBHOOKS_OUT_ALLOW', '0.0.0.0/1,128.0.0.0/1'],
    ['WEBHOOKS_OUT_ALLOW', 'http://erp.internal'],
    ['WEBHOOKS_OUT_ALLOW', '*.internal'],
    ['WEBHOOK_SECRET', 'clé'],
    ['WEBHOOK_SECRET', 'a secret '],
    ['METRICS_TOKEN', 'two\nlines'],
    ['REGISTRATION', 'maybe'],
    ['REGISTRATION_ROLE', 'owner'],
    ['REGISTRATION_ROLE', 'boss'],
    ['DEMO_DATA', 'yes'],
    ['COMPANY_LOGO', '/no/such/logo.png'],
    ['PUBLIC_URL', 'pay.example'],
  ])(
    'of %s that is "%s" is refused with a problem that begins with the name of the variable',
    (name, value) => {
      const found = problems({ [name]: value });
      expect(found).toEqual([expect.stringMatching(new RegExp(`^${name} `))]);
      expect(found.join()).not.toContain('hunter2');
    },
  );

  it.each([
    ['TRUST_PROXY', '10.0.0.0/8, 11.0.0.0/8, fd00::/16, ::ffff:10.0.0.0/104'],
    ['WEBHOOK_ALLOWED_IPS', '196.0.0.0/8'],
  ])('of %s is accepted if it is %s', (name, value) => {
    expect(problems({ [name]: value })).toEqual([]);
  });

  it('of TRUST_PROXY or WEBHOOK_ALLOWED_IPS is refused with the reason and the remedy', () => {
    expect(problems({ TRUST_PROXY: '0.0.0.0/0' })).toEqual([
      'TRUST_PROXY must not contain every address; list only the networks of your proxies',
    ]);
    expect(problems({ TRUST_PROXY: '0.0.0.0/1' })).toEqual([
      'TRUST_PROXY must not contain a network wider than /8 (IPv4) or /16 (IPv6), because every host in it can send a ' +
        'false client address; list only the networks of your proxies',
    ]);
    expect(problems({ WEBHOOK_ALLOWED_IPS: '0.0.0.0/1' })).toEqual([
      'WEBHOOK_ALLOWED_IPS must not contain a network wider than /8 (IPv4) or /16 (IPv6), because without WEBHOOK_SECRET ' +
        'everyone in it can post payments; list only the networks of the provider, or set WEBHOOK_SECRET and leave WEBHOOK_ALLOWED_IPS empty',
    ]);
  });

  it('of WEBHOOK_ALLOWED_IPS is accepted if it is a wide network and WEBHOOK_SECRET is set', () => {
    const WEBHOOK_SECRET = 'a secret of some length';
    expect(problems({ WEBHOOK_SECRET, WEBHOOK_ALLOWED_IPS: '0.0.0.0/1' })).toEqual([]);
    expect(problems({ WEBHOOK_SECRET, WEBHOOK_ALLOWED_IPS: '0.0.0.0/0' })).toHaveLength(1);
  });

  it.each(['UTC', 'Africa/Nairobi', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Etc/GMT-3'])(
    'of BUSINESS_TIMEZONE is accepted if it is %s',
    (name) => {
      expect(problems({ BUSINESS_TIMEZONE: name })).toEqual([]);
    },
  );

  it('that is wrong is not in the error, because it may be a secret', () => {
    const wrong = { JWT_SECRET: 'hunter2', DATABASE_URL: 'hunter2://x', REDIS_URL: 'hunter2' };
    expect(problems(wrong)).toHaveLength(3);
    expect(problems(wrong).join()).not.toContain('hunter2');
  });
});

describe('the address of the database', () => {
  const DATABASE_URL = 'postgres://db/ams';

  it('is used for everything if there is no pooler, and named statements can be turned off', () => {
    expect(readConfig({ DATABASE_URL })).toMatchObject({
      pooled: false,
      directUrl: DATABASE_URL,
      namedStatements: true,
    });
    expect(readConfig({ DATABASE_URL, DATABASE_PREPARE: 'off' }).namedStatements).toBe(false);
  });

  it('has a second, direct form behind a pooler, and the pooler gets no named statements', () => {
    const DATABASE_DIRECT_URL = 'postgres://db:5432/ams';
    expect(readConfig({ DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_PREPARE: 'on' })).toMatchObject({
      DATABASE_URL,
      pooled: true,
      directUrl: DATABASE_DIRECT_URL,
      namedStatements: false,
    });
    expect(problems({ DATABASE_URL, DATABASE_DIRECT_URL, TEST_CLOCK: 'on' })).toEqual([
      expect.stringMatching(/^TEST_CLOCK must be off behind a pooler/),
    ]);
    expect(problems({ DATABASE_URL, DATABASE_DIRECT_URL: 'localhost' })).toEqual([
      'DATABASE_DIRECT_URL must start with postgres:// or postgresql://',
    ]);
  });
});

describe('the API of the mobile-money provider', () => {
  it('is off without its address, and needs the key and the secret', () => {
    expect(readConfig({}).mobilemoneyApi).toBeUndefined();
    expect(readConfig(API).mobilemoneyApi?.url).toBe('https://api.example.com');
    expect(problems({ ...API, MOBILEMONEY_CONSUMER_SECRET: '' })).toEqual([
      'MOBILEMONEY_CONSUMER_SECRET is required with MOBILEMONEY_API_URL',
    ]);
    expect(problems({ ...API, MOBILEMONEY_API_URL: '' })).toEqual([
      'MOBILEMONEY_CONSUMER_KEY requires MOBILEMONEY_API_URL',
      'MOBILEMONEY_CONSUMER_SECRET requires MOBILEMONEY_API_URL',
    ]);
  });
});

describe('payment requests', () => {
  const requests = {
    ...API,
    MOBILEMONEY_PASSKEY: 'hunter4',
    MOBILEMONEY_SHORT_CODE: '600638',
    PUBLIC_URL: 'https://ams.example.com/',
  };

  it('are off without the passkey, and use PUBLIC_URL if no callback address is set', () => {
    expect(readConfig({}).mobilemoneyRequests).toBeUndefined();
    expect(readConfig(requests).mobilemoneyRequests?.callbackUrl).toBe('https://ams.example.com');
    const callback = { ...requests, MOBILEMONEY_CALLBACK_URL: 'https://callbacks.example.com' };
    expect(readConfig(callback).mobilemoneyRequests?.callbackUrl).toBe('https://callbacks.example.com');
  });

  it('need the API, the short code, an address and the currency KES', () => {
    expect(problems({ MOBILEMONEY_PASSKEY: 'hunter4', CURRENCY: 'UGX' })).toEqual([
      'MOBILEMONEY_API_URL is required with MOBILEMONEY_PASSKEY',
      'MOBILEMONEY_SHORT_CODE is required with MOBILEMONEY_PASSKEY',
      'MOBILEMONEY_CALLBACK_URL or PUBLIC_URL is required with MOBILEMONEY_PASSKEY',
      'MOBILEMONEY_PASSKEY can be set only if CURRENCY is KES, because payment requests are in KES',
    ]);
    expect(problems({ ...requests, PAYBILL_NUMBERS: '600000' })).toEqual([
      'MOBILEMONEY_SHORT_CODE must be one of PAYBILL_NUMBERS',
    ]);
  });
});

describe('status queries to the mobile-money provider', () => {
  const CERTIFICATE = join(import.meta.dirname, '..', '..', 'test', 'support', 'provider-certificate.pem');
  const questions = {
    ...API,
    MOBILEMONEY_SHORT_CODE: '600638',
    MOBILEMONEY_INITIATOR: 'operator',
    MOBILEMONEY_INITIATOR_PASSWORD: 'hunter5',
    MOBILEMONEY_CERTIFICATE: CERTIFICATE,
    PUBLIC_URL: 'https://ams.example.com/',
  };
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const fileOf = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  it('are off without the operator', () => {
    expect(readConfig({}).mobilemoneyStatus).toBeUndefined();
    expect(readConfig(questions).mobilemoneyStatus).toMatchObject({
      ...{ shortCode: '600638', initiator: 'operator', callbackUrl: 'https://ams.example.com' },
    });
    expect(problems({ MOBILEMONEY_INITIATOR_PASSWORD: 'hunter5' })).toEqual([
      'MOBILEMONEY_INITIATOR_PASSWORD requires MOBILEMONEY_INITIATOR',
    ]);
  });

  it('read the certificate in PEM and DER, and a public key', () => {
    const { raw, publicKey } = new X509Certificate(readFileSync(CERTIFICATE));
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    for (const file of [CERTIFICATE, fileOf('der.cer', raw), fileOf('key.pem', pem)]) {
      const config = readConfig({ ...questions, MOBILEMONEY_CERTIFICATE: file });
      expect(config.mobilemoneyStatus?.publicKey.equals(publicKey)).toBe(true);
    }
  });

  it('need the API, the short code, an address and a readable certificate', () => {
    expect(problems({ MOBILEMONEY_INITIATOR: 'operator' })).toEqual([
      'MOBILEMONEY_API_URL is required with MOBILEMONEY_INITIATOR',
      'MOBILEMONEY_SHORT_CODE is required with MOBILEMONEY_INITIATOR',
      'MOBILEMONEY_INITIATOR_PASSWORD is required with MOBILEMONEY_INITIATOR',
      'MOBILEMONEY_CERTIFICATE is required with MOBILEMONEY_INITIATOR',
      'MOBILEMONEY_CALLBACK_URL or PUBLIC_URL is required with MOBILEMONEY_INITIATOR',
    ]);
    expect(problems({ ...questions, MOBILEMONEY_CERTIFICATE: join(folder, 'missing') })).toEqual([
      'MOBILEMONEY_CERTIFICATE cannot be read (ENOENT)',
    ]);
    expect(problems({ ...questions, MOBILEMONEY_CERTIFICATE: fileOf('text', 'certificate') })).toEqual([
      'MOBILEMONEY_CERTIFICATE must be the RSA certificate of the provider, in PEM or DER',
    ]);
    expect(problems({ ...questions, PAYBILL_NUMBERS: '600000' })).toEqual([
      'MOBILEMONEY_SHORT_CODE must be one of PAYBILL_NUMBERS',
    ]);
  });
});

describe('production', () => {
  it('accepts its secrets, and closes registration', () => {
    const config = readConfig(PRODUCTION);
    expect(config).toMatchObject({ production: true, registration: { open: false } });
  });

  it('reports all missing and wrong settings together', () => {
    const missing = problems({
      ...{ NODE_ENV: 'production', TEST_CLOCK: 'on', DEMO_DATA: 'company', REGISTRATION: 'open' },
    });
    const names = ['JWT_SECRET', 'WEBHOOK_SECRET', 'REGISTRATION_ROLE', 'TEST_CLOCK', 'DEMO_DATA'];
    expect(missing.map((problem) => problem.split(' ', 1)[0])).toEqual(names);
  });

  it('accepts a secret or a list of networks for the webhook', () => {
    expect(problems({ ...PRODUCTION, WEBHOOK_SECRET: '', WEBHOOK_ALLOWED_IPS: '10.0.0.0/8' })).toEqual([]);
    expect(problems({ ...PRODUCTION, WEBHOOK_SECRET: '' })).toHaveLength(1);
    expect(problems({ ...PRODUCTION, WEBHOOK_SECRET: '', WEBHOOK_ALLOWED_IPS: ',' })).toHaveLength(1);
  });

  it.each(['WEBHOOK_SECRET', 'METRICS_TOKEN'])(
    'refuses a %s that is too short, and does not print it',
    (name) => {
      const short = 'fifteen letters';
      expect(problems({ ...PRODUCTION, [name]: short })).toEqual([
        `${name} must have at least 16 characters in production`,
      ]);
      expect(problems({ ...PRODUCTION, [name]: `${short}!` })).toEqual([]);
      expect(problems({ [name]: 'short' })).toEqual([]);
    },
  );

  it.each(['JWT_SECRET', 'WEBHOOK_SECRET', 'METRICS_TOKEN'])(
    'refuses a %s that has only one or two different characters, and does not print it',
    (name) => {
      for (const secret of ['x'.repeat(40), '01'.repeat(20)]) {
        expect(problems({ ...PRODUCTION, [name]: secret })).toEqual([
          `${name} must have at least 3 different characters in production, because a simpler secret can be guessed; ` +
            'create one with openssl rand -hex 32',
        ]);
      }
      expect(problems({ ...PRODUCTION, [name]: '012'.repeat(15) })).toEqual([]);
    },
  );

  it('refuses a role of administrators for people who register', () => {
    const admin = { REGISTRATION: 'open', REGISTRATION_ROLE: 'admin' };
    expect(problems({ ...PRODUCTION, ...admin })).toEqual([
      'REGISTRATION_ROLE must not be admin in production if REGISTRATION is open, because everyone could make ' +
        'themselves an administrator; use one of manager, finance, agent, collector, viewer',
    ]);
    expect(problems(admin)).toEqual([]);
    expect(problems({ ...PRODUCTION, REGISTRATION_ROLE: 'admin' })).toEqual([]);
  });

  it('gives people who register the role REGISTRATION_ROLE', () => {
    const opened = readConfig({ ...PRODUCTION, REGISTRATION: 'open', REGISTRATION_ROLE: 'viewer' });
    expect(opened.registration).toEqual({ open: true, role: 'viewer' });
  });
});

describe('identity providers', () => {
  const google = {
    OAUTH_GOOGLE_ISSUER: 'https://accounts.google.com',
    OAUTH_GOOGLE_CLIENT_ID: 'id',
    OAUTH_GOOGLE_CLIENT_SECRET: 'secret',
  };

  it('take their names from their variables, in lower case', () => {
    const config = readConfig({
      ...google,
      OAUTH_MY_OWN_ISSUER: 'http://localhost:9',
      OAUTH_MY_OWN_CLIENT_ID: 'a',
      OAUTH_MY_OWN_CLIENT_SECRET: 'b',
    });
    expect([...config.identityProviders.keys()]).toEqual(['google', 'my_own']);
    expect(config.identityProviders.get('google')).toEqual({
      name: 'google',
      issuer: 'https://accounts.google.com',
      clientId: 'id',
      clientSecret: 'secret',
      domainAdmission: undefined,
    });
    expect(JSON.stringify(config)).not.toContain('OAUTH_');
  });

  it.each(Object.keys(google))('need %s', (missing) => {
    expect(problems({ ...google, [missing]: '' })).toEqual([
      `${missing} is missing; each provider needs ISSUER, CLIENT_ID, CLIENT_SECRET`,
    ]);
  });

  it.each([
    'accounts.google.com',
    'ftp://a.example',
    'https://a.example/?x=1',
    'https://u:p@a.example',
    'https://a.example/.well-known/openid-configuration',
  ])('refuse the issuer %s', (issuer) => {
    const found = problems({ ...google, OAUTH_GOOGLE_ISSUER: issuer });
    expect(found).toEqual([expect.stringMatching(/^OAUTH_GOOGLE_ISSUER must /)]);
    expect(found[0]).not.toContain(issuer);
  });

  it('cannot have the name of another route below /auth', () => {
    const login = {
      OAUTH_LOGIN_ISSUER: 'https://a.example',
      OAUTH_LOGIN_CLIENT_ID: 'a',
      OAUTH_LOGIN_CLIENT_SECRET: 'b',
    };
    expect(problems(login)).toEqual([expect.stringMatching(/^OAUTH_LOGIN_ISSUER contains a provider name/)]);
  });

  it('can let people from listed e-mail domains become users with a role', () => {
    const [OAUTH_GOOGLE_DOMAINS, OAUTH_GOOGLE_ROLE] = ['Solar.Example, bücher.example,', 'agent'];
    const { identityProviders } = readConfig({ ...google, OAUTH_GOOGLE_DOMAINS, OAUTH_GOOGLE_ROLE });
    expect(identityProviders.get('google')?.domainAdmission).toEqual({
      domains: new Set(['solar.example', 'xn--bcher-kva.example']),
      role: 'agent',
    });
  });

  it.each<[Record<string, string>, string]>([
    [{ OAUTH_GOOGLE_DOMAINS: 'a.example' }, 'OAUTH_GOOGLE_ROLE must be one of admin, manager, finance'],
    [{ OAUTH_GOOGLE_DOMAINS: 'a.example', OAUTH_GOOGLE_ROLE: 'boss' }, 'OAUTH_GOOGLE_ROLE must be one of'],
    [{ OAUTH_GOOGLE_ROLE: 'agent' }, 'OAUTH_GOOGLE_DOMAINS is missing; OAUTH_GOOGLE_ROLE requires it'],
  ])('refuse %j', (variables, problem) => {
    expect(problems({ ...google, ...variables })).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    '@a.example',
    '*.a.example',
    '.example',
    'example',
    'a.example.',
    'https://a.example',
    'a%2eb.example',
  ])('refuse %s as a domain', (domain) => {
    const variables = { OAUTH_GOOGLE_DOMAINS: `b.example, ${domain}`, OAUTH_GOOGLE_ROLE: 'agent' };
    expect(problems({ ...google, ...variables })).toEqual([
      'OAUTH_GOOGLE_DOMAINS must be a list of domains such as example.com, separated by commas',
    ]);
  });

  it('require https and PUBLIC_URL in production', () => {
    expect(problems({ ...PRODUCTION, ...google })).toEqual([
      expect.stringMatching(/^PUBLIC_URL is required/),
    ]);
    const plain = { PUBLIC_URL: 'http://a.example', OAUTH_GOOGLE_ISSUER: 'http://b.example' };
    expect(problems({ ...PRODUCTION, ...google, ...plain })).toEqual([
      expect.stringMatching(/^PUBLIC_URL must be an https/),
      expect.stringMatching(/^OAUTH_GOOGLE_ISSUER must be an https/),
    ]);
    const right = readConfig({ ...PRODUCTION, ...google, PUBLIC_URL: 'https://a.example/ams/' });
    expect(right.publicUrl).toBe('https://a.example/ams');
  });
});
