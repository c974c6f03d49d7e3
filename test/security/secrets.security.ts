import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  emptyDatabase,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  report,
  runToEnd,
  startService,
} from '../acceptance/process.ts';
import { runStatement } from '../support/statements.ts';
import { expectNoInternals, type Reply, type Sent, send, sendBytes } from './wire.ts';

/** Sends secrets in every possible place, and then searches all log lines and metrics for them. */
cleanUpAfterwards();

const MARK = 'm4rk3r';
const SECRETS = {
  password: `${MARK}-password-of-a-user`,
  guess: `${MARK}-guessed-password`,
  refreshToken: `${MARK}-refresh-token`,
  nationalId: `${MARK}12345678`,
  document: `${MARK}-document`,
  payer: `254${MARK}`,
  cookie: `${MARK}-cookie`,
  database: `${MARK}-database`,
  webhook: `${MARK}-webhook-secret-0123456789`,
  metrics: `${MARK}-metrics-token`,
  jwt: `${MARK}-signing-secret-of-at-least-32-bytes`,
  provider: `${MARK}-client-secret`,
  code: `${MARK}-code-of-a-provider`,
};
const METRICS = `Bearer ${SECRETS.metrics}`;

let url: string;
let service: RunningService;
let token: string;
const issued: string[] = [];
const replies: { sent: Sent; reply: Reply }[] = [];

function environment(): Environment {
  return {
    ...NO_RATE_LIMITS,
    NODE_ENV: 'production',
    LOG_LEVEL: 'debug',
    DATABASE_URL: url,
    JWT_SECRET: SECRETS.jwt,
    WEBHOOK_SECRET: SECRETS.webhook,
    METRICS_TOKEN: SECRETS.metrics,
    REGISTRATION: 'open',
    REGISTRATION_ROLE: 'manager',
    PUBLIC_URL: 'https://ams.example.com',
    OAUTH_NOWHERE_ISSUER: 'https://127.0.0.1:1',
    OAUTH_NOWHERE_CLIENT_ID: 'ams',
    OAUTH_NOWHERE_CLIENT_SECRET: SECRETS.provider,
  };
}

async function ask(sent: Sent): Promise<Reply> {
  const reply = await send(service.origin, sent);
  replies.push({ sent, reply });
  return reply;
}

const post = (path: string, body: unknown, rest: Partial<Sent> = {}) =>
  ask({ method: 'POST', path, body: typeof body === 'string' ? body : JSON.stringify(body), token, ...rest });
const put = (path: string, body: unknown) => post(path, body, { method: 'PUT' });

beforeAll(async () => {
  const address = new URL(await emptyDatabase());
  // A server with trust authentication asks for no password, so it accepts any.
  const isMarked = address.password === '' && !('host' in inject('server'));
  if (isMarked) address.password = SECRETS.database;
  url = address.href;
  service = await startService(environment());
  const admin = { email: 'admin@example.com', password: SECRETS.password };
  const created = await createAdmin(environment(), admin);
  expect(created.status, created.stderr).toBe(0);
  expect(created.stdout + created.stderr).not.toContain(MARK);
  const login = await send(service.origin, {
    method: 'POST',
    path: '/api/auth/login',
    body: JSON.stringify(admin),
  });
  const { data } = JSON.parse(login.text);
  token = data.accessToken;
  issued.push(data.accessToken, data.refreshToken);
});

afterAll(async () => {
  await service.stop();
});

describe('secrets', () => {
  it('that are sent in every part of a request appear in no error', async () => {
    const { password, guess, nationalId, refreshToken, webhook, cookie } = SECRETS;
    const email = 'someone@example.com';
    const names = { firstName: 'A', lastName: 'B' };
    await post('/api/auth/login', { email: 'admin@example.com', password: guess }, { token: null });
    await post('/api/auth/login', `{"email":"admin@example.com","password":"${guess}`, { token: null });
    await post('/api/auth/login', { email: { password: guess }, password: [guess] }, { token: null });
    await post(
      '/api/auth/login',
      { email: 'a@b.cd', password: guess },
      { headers: { 'content-type': 'text/plain' } },
    );
    await post(
      '/api/auth/login',
      { email: 'a@b.cd', password: guess, [`${guess}`.slice(0, 4)]: 1 },
      { token: null },
    );
    await post('/api/auth/register', { email, password: guess.slice(0, 3), ...names }, { token: null });
    const registered = await post('/api/auth/register', { email, password, ...names }, { token: null });
    const someone = JSON.parse(registered.text).data;
    issued.push(someone.accessToken, someone.refreshToken);
    await post('/api/auth/register', { email, password, ...names }, { token: null });
    await post('/api/auth/refresh', { refreshToken }, { token: null });
    await post('/api/auth/refresh', { refreshToken: someone.refreshToken }, { token: null });
    await post('/api/auth/refresh', { refreshToken: someone.refreshToken }, { token: null }); // ends the session
    await post('/api/auth/logout', { refreshToken }, {});
    await put('/api/auth/password', { currentPassword: guess, newPassword: password });
    await post('/api/users', { email, password, ...names, role: 'viewer' });
    await put('/api/users/999999', { password });
    await ask({ path: '/api/auth/me', token: `${MARK}.${MARK}.${MARK}` });
    const apiKey = JSON.parse((await post('/api/api-keys', { name: 'A', role: 'viewer' })).text).data;
    const rotated = await post(`/api/api-keys/${apiKey.id}/rotate`, { overlapSeconds: 60 });
    const { key } = JSON.parse(rotated.text).data;
    issued.push(apiKey.key, key);
    for (const sent of [key, apiKey.key, `${key}0`]) {
      await ask({ path: '/api/customers', token: sent });
      await ask({ path: '/api/users', token: sent });
      await ask({ path: `/api/customers?api_key=${sent}`, token: sent });
      await ask({ path: `/api/${sent}`, token: sent, headers: { 'x-api-key': sent } });
      await ask({ path: '/api/customers', headers: { authorization: `Bearer ${sent} ${sent}` } });
      await post('/api/customers', { firstName: sent }, { token: sent });
      await post('/api/auth/refresh', { refreshToken: sent }, { token: null });
    }
    await ask({ path: `/api/customers?password=${password}&access_token=${issued[0]}`, token });
    await ask({
      path: '/api/customers',
      headers: { cookie: `session=${cookie}`, authorization: `Basic ${MARK}` },
    });
    await ask({
      path: `/api/auth/nowhere/callback?code=${SECRETS.code}&state=${SECRETS.code}`,
      headers: { cookie: `__Host-ams_sign_in=${cookie}` },
    });
    await ask({ path: '/api/auth/nowhere' });
    await post('/api/customers', { ...names, phone: '+254711000001', nationalId });
    await post('/api/customers', { ...names, phone: '+254711000002', nationalId }); // taken
    await post('/api/customers', { ...names, phone: 'none', nationalId, secret: nationalId });
    const documents = [{ type: 'scan', number: SECRETS.document }];
    for (const verificationStatus of ['wrong', 'verified'])
      await put('/api/customers/1/kyc', { verificationType: 'passport', verificationStatus, documents });
    const notice = { TransID: 'A1', TransAmount: 'wrong', MSISDN: SECRETS.payer, BillRefNumber: nationalId };
    const headers = { 'x-webhook-secret': webhook };
    await post('/api/webhooks/payments/mobilemoney', notice, { headers });
    await post(`/api/webhooks/payments/mobilemoney?token=${webhook}`, { ...notice, TransAmount: '5' });
    await post(`/api/webhooks/payments/mobilemoney?token=${webhook}x`, notice, {});
    await post(`/api/webhooks/payments/mobilemoney#token=${webhook}`, notice, {});
    await post(`/api/webhooks/payments/mobilemoney/${webhook}`.slice(0, 40), notice, {});
    await ask({ path: '/metrics', headers: { authorization: `${METRICS}x` } });

    const errors = replies.filter(({ reply }) => reply.status >= 400);
    for (const { sent, reply } of errors) {
      expect(reply.text, JSON.stringify(sent)).not.toContain(MARK);
      expectNoInternals(reply.text);
    }
    expect(errors.length).toBeGreaterThan(20);
    report(`${replies.length} requests with secrets, ${errors.length} of them refused`);
  });

  it('in any part of a URL do not appear in the log', async () => {
    const paths = [
      `/api/webhooks/payments/mobilemoney;token=${SECRETS.webhook}`,
      `/api/webhooks/payments;token=${SECRETS.webhook}/mobilemoney`,
      `/api/webhooks/payments/${SECRETS.webhook}/mobilemoney`,
      `/api/customers/${SECRETS.nationalId}`,
      `/api/auth/${SECRETS.password}`,
      `/${SECRETS.jwt}`,
      `/api/customers/1&token=${SECRETS.webhook}`,
      `/api-docs/static/${SECRETS.document}`,
      `//${SECRETS.webhook}@localhost/api`,
      `/api/customers/%zz?token=${SECRETS.webhook}`,
      `/api/${SECRETS.document}%ff`,
      `/api/customers/${SECRETS.document.repeat(20)}`,
    ];
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const path of paths)
        expect((await send(service.origin, { method, path })).status).toBeLessThan(500);
    }
    const unreadable = await send(service.origin, { path: `/api/customers/%zz?token=${SECRETS.webhook}` });
    expect(unreadable.status).toBe(400);
    expect(unreadable.text).not.toContain(MARK);
    expect(service.output()).not.toContain(MARK);
    // Log lines still contain what operators need.
    const words = ['/api/webhooks/payments/…', '/api/customers/:id', '/api/auth/:provider', '/…'];
    for (const path of words) expect(service.output()).toContain(`"path":"${path}"`);
    await send(service.origin, { path: '/api/customers/4711' });
    await expect.poll(() => service.output()).toContain('"path":"/api/customers/4711"');
  });

  it('do not appear in the log when an internal error occurs', async () => {
    // Errors of constraints, triggers and plans contain the row. These parts of PostgreSQL's messages must not be logged.
    await runStatement(
      url,
      `alter table customers add constraint broken_for_a_test check (national_id not like '${MARK}9%') not valid;
      alter table users add constraint broken_for_a_test check (first_name <> 'Broken') not valid`,
    );
    const customer = { firstName: 'A', lastName: 'B', phone: '+254711000009', nationalId: `${MARK}99` };
    const user = {
      email: 'broken@example.com',
      password: SECRETS.password,
      firstName: 'Broken',
      lastName: 'B',
    };
    const broken = [
      await post('/api/customers', customer),
      await post('/api/users', { ...user, role: 'viewer' }),
      await post('/api/auth/register', user, { token: null }),
    ];
    for (const reply of broken) {
      expect(reply.status, reply.text).toBe(500);
      expect(JSON.parse(reply.text).error).toEqual({
        code: 'INTERNAL_ERROR',
        message: 'An internal error occurred.',
        details: {},
      });
    }
    expect(service.output()).toContain('broken_for_a_test');
    expect(service.output()).not.toContain('Failing row');
    expect(service.output()).not.toMatch(/\$argon2/);
  });

  it('appear in no log line and in no metric', async () => {
    const metrics = await send(service.origin, { path: '/metrics', headers: { authorization: METRICS } });
    expect(metrics.status).toBe(200);
    const lines = service.output().trim().split('\n');
    for (const [what, text] of [
      ['the log', service.output()],
      ['the metrics', metrics.text],
    ] as const) {
      for (const secret of [...Object.values(SECRETS), ...issued]) expect(text, what).not.toContain(secret);
      expect(text, what).not.toContain(MARK);
    }
    expect(lines.length).toBeGreaterThan(replies.length);
    report(`${lines.length} lines of log, ${metrics.text.split('\n').length} of metrics: no secret in them`);
  });

  it('appear in no message of a failed start', async () => {
    const wrong = new URL('postgres://someone@127.0.0.1:1/none');
    wrong.password = SECRETS.database;
    const changes: Environment[] = [
      { DATABASE_URL: wrong.href },
      { DATABASE_URL: `mysql://${SECRETS.database}@x/y` },
      { JWT_SECRET: MARK },
      { PUBLIC_URL: `http://${MARK}@x` },
      { REDIS_URL: `http://:${MARK}@x` },
      { TRUST_PROXY: MARK },
      { WEBHOOK_ALLOWED_IPS: MARK },
      { RATE_LIMIT_AUTH: MARK },
    ];
    for (const change of changes) {
      const { status, stdout, stderr } = await runToEnd([process.execPath, 'dist/server.js'], {
        ...environment(),
        ...change,
      });
      expect(status, JSON.stringify(change)).toBe(1);
      expect(stdout + stderr, JSON.stringify(change)).not.toContain(MARK);
    }
  });
});

describe('a line of the log', () => {
  const hostile = [
    { path: '/api/%0a{"level":30,"msg":"forged"}' },
    { path: '/api/x%0d%0aforged%0d%0a' },
    { path: '/api/%1b[2Jforged' },
    { path: '/api/\u001b[31mforged' },
    { path: '/api/x","msg":"forged","y":"' },
    { path: '/api/customers?search=%0aforged' },
    { path: '/api/\u202eforged' },
    { path: '/api/customers', headers: { 'x-request-id': 'a","msg":"forged' } },
    { path: '/api/customers', headers: { 'user-agent': 'x\tforged', referer: '{"msg":"forged"}' } },
    {
      path: '/api/auth/login',
      method: 'POST',
      body: '{"email":"a\\nforged","password":"b\\u001b[2Jforged"}',
    },
    {
      path: '/api/webhooks/payments/mobilemoney',
      method: 'POST',
      body: '{"TransID":"A\\nforged","TransAmount":"1\\nforged","BillRefNumber":"\\u001b[31mforged"}',
    },
  ] satisfies Sent[];

  async function attackLog(target: RunningService): Promise<string[]> {
    const before = target.output().length;
    for (const sent of hostile) {
      // Node's HTTP client refuses these characters in a path. They are sent encoded here, and as raw bytes below.
      const path = sent.path.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character));
      await send(target.origin, { ...sent, path, token });
    }
    for (const raw of ['\u001b[31mforged', '\u000bforged', '\u0085forged', 'ü\u2028forged']) {
      await sendBytes(
        target.origin,
        [`GET /api/${raw} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`],
        500,
      );
    }
    return target.output().slice(before).trim().split('\n');
  }

  it('cannot be forged in production: each line is one JSON object', async () => {
    const lines = await attackLog(service);
    expect(lines.length).toBeGreaterThanOrEqual(hostile.length);
    for (const line of lines) {
      const entry = JSON.parse(line) as Record<string, unknown>;
      expect(['request', 'request failed']).toContain(entry.msg);
      expect(line.match(/"msg":/g)).toHaveLength(1);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }
  });

  it('cannot be forged in a terminal: no line starts with sent text or contains escape codes', async () => {
    const plain = await startService({ ...NO_RATE_LIMITS, DATABASE_URL: await newDatabase() });
    const lines = await attackLog(plain);
    for (const line of lines) {
      expect(line).toMatch(/^\[\d\d:\d\d:\d\d\] /);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }
    await plain.stop();
  });
});
