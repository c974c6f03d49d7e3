import { beforeAll, describe, expect, it } from 'vitest';
import { cleanUpAfterwards, ROOT, report } from '../acceptance/process.ts';
import { startInstance, useService } from '../support/harness.ts';
import { run } from '../support/processes.ts';
import { expectNoInternals, type Reply, refusalOf, type Sent, send, sendBytes } from './wire.ts';

/** See also test/api/envelope.test.ts (ordinary answers, allowed origins) and test/api/metrics.test.ts (the metrics token). */
cleanUpAfterwards();
const service = useService({ METRICS_TOKEN: 'a token of the monitoring' });
const PRODUCTION = {
  NODE_ENV: 'production',
  JWT_SECRET: 'a secret of this test, longer than 32 bytes',
  WEBHOOK_SECRET: 'sesame-and-more-of-it',
};

let every: Record<string, Sent>;
beforeAll(() => {
  const token = service.adminToken;
  every = {
    200: { path: '/api/customers', token },
    'a page of the documentation': { path: '/api-docs' },
    'the description of the documentation': { path: '/api-docs/openapi.json' },
    'the start page': { path: '/' },
    health: { path: '/health' },
    'a report as CSV': { path: '/api/reports/payments?format=csv', token },
    '400 of the form': { path: '/api/customers?page=x', token },
    '400 of the address': { path: '/api/customers/%zz', token },
    '400 of the body': { method: 'POST', path: '/api/auth/login', body: '{' },
    401: { path: '/api/customers' },
    403: { method: 'PUT', path: '/api/users/1', token: 'viewer' },
    404: { path: '/api/nothing' },
    '404 at the root': { path: '/.git/config' },
    '404 of the documentation': { path: '/api-docs/static/../../package.json' },
    413: { method: 'POST', path: '/api/auth/login', body: 'x'.repeat(2_000_000) },
    415: { method: 'POST', path: '/api/auth/login', body: 'x', headers: { 'content-type': 'text/xml' } },
    'another Expect': { path: '/api/customers', token, headers: { expect: 'miracles' } },
    TRACE: { method: 'TRACE', path: '/api/customers', headers: { 'x-secret': 'reflected?' } },
    PROPFIND: { method: 'PROPFIND', path: '/api/customers' },
    'OPTIONS *': { method: 'OPTIONS', path: '*' },
  };
});

function expectSafeHeaders(reply: Reply, what: string): void {
  const { headers } = reply;
  expect(headers['x-content-type-options'], what).toBe('nosniff');
  expect(headers['cache-control'], what).toMatch(/no-store|no-cache/); // the documentation may be kept
  for (const name of ['server', 'x-powered-by', 'via', 'x-runtime', 'set-cookie']) {
    expect(headers[name], `${what}: ${name}`).toBeUndefined();
  }
  expect(headers['access-control-allow-origin'], what).toBeUndefined();
}

describe('every answer', () => {
  it('has the security headers, and names no program or version', async () => {
    const viewer = await service.signInAs('viewer');
    for (const [what, sent] of Object.entries(every)) {
      const reply = await send(service.origin, {
        ...sent,
        ...(sent.token === 'viewer' && { token: viewer }),
      });
      expectSafeHeaders(reply, what);
      if (!what.includes('documentation')) expect(reply.headers['cache-control'], what).toBe('no-store');
      if (reply.status >= 400) {
        refusalOf(reply);
        expectNoInternals(reply.text, sent.path);
      }
      expect(reply.status, what).toBeLessThan(500);
      expect(reply.text).not.toContain('reflected?');
    }
    report(`${Object.keys(every).length} kinds of answers: headers and texts are safe`);
  });

  it('has the security headers also when the request is not HTTP', async () => {
    for (const bytes of [
      'GARBAGE\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    ]) {
      const { text } = await sendBytes(service.origin, [bytes]);
      expect(text).toMatch(/^X-Content-Type-Options: nosniff\r$/im);
      expect(text).toMatch(/^Cache-Control: no-store\r$/im);
      expect(text).not.toMatch(/^(Server|X-Powered-By):/im);
    }
  });

  it('sends Strict-Transport-Security in production', async () => {
    const { origin, close } = await startInstance(service, PRODUCTION);
    for (const path of ['/api/customers', '/health', '/', '/api-docs']) {
      const { headers } = await send(origin, { path, headers: { 'x-forwarded-proto': 'https' } });
      const maxAge = Number(/^max-age=(\d+)/.exec(headers['strict-transport-security'] ?? '')?.[1]);
      expect(maxAge, path).toBeGreaterThanOrEqual(31_536_000);
    }
    await close();
  });

  it('forbids framing, and loads nothing from other origins', async () => {
    for (const path of ['/api/customers', '/', '/api-docs', '/api-docs/page.js']) {
      const policy = (await send(service.origin, { path })).headers['content-security-policy'] ?? '';
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toMatch(/\*|https?:\/\/|unsafe-/);
    }
  });
});

describe('a browser of another origin', () => {
  it.each(['https://evil.example', 'null', 'http://localhost:8080', 'https://ams.example.com.evil.example'])(
    'as %s, may read nothing by default',
    async (origin) => {
      for (const sent of [
        { path: '/api/customers', token: service.adminToken },
        { path: '/health' },
        { method: 'OPTIONS', path: '/api/customers', headers: { 'access-control-request-method': 'POST' } },
      ] satisfies Sent[]) {
        const { headers } = await send(service.origin, {
          ...sent,
          headers: { ...('headers' in sent ? sent.headers : {}), origin },
        });
        const names = Object.keys(headers).filter((name) => name.startsWith('access-control-allow'));
        expect(names, sent.path).toEqual([]);
      }
    },
  );
});

describe('/metrics', () => {
  it('answers only with its token, in any spelling of the path', async () => {
    for (const [path, headers] of [
      ['/metrics', {}],
      ['/metrics', { authorization: 'Bearer ' }],
      ['/metrics', { authorization: 'Basic YTph' }],
      ['/metrics', { authorization: `Bearer ${service.adminToken}` }],
      ['/metrics?token=a%20token%20of%20the%20monitoring', {}],
      ['/metrics/', {}],
      ['//metrics', {}],
      ['/METRICS', {}],
      ['/%6detrics', {}],
      ['/api/metrics', {}],
      ['/metrics#x', {}],
    ] as const) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const reply = await send(service.origin, { method, path, headers });
        expect([400, 401, 404], `${method} ${path}`).toContain(reply.status);
        expect(reply.text).not.toContain('nodejs_');
      }
    }
  });
});

describe('an error at the start', () => {
  it('shows neither secret nor stack trace', async () => {
    const env = { PATH: process.env.PATH, NODE_ENV: 'production', JWT_SECRET: 'too short' };
    const started = run(process.execPath, ['dist/server.js'], { cwd: ROOT, env });
    await expect(started).rejects.toMatchObject({
      stderr: expect.stringMatching(/JWT_SECRET must have at least 32 bytes/),
    });
    await expect(started).rejects.toMatchObject({
      stderr: expect.not.stringMatching(/too short|\bat .*:\d+/),
    });
  });
});
