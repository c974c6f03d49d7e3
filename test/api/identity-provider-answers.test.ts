import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startInstance, startTestService, type TestService } from '../support/harness.ts';
import { type Answer, createCaller } from '../support/http.ts';
import { createBrowser, providerSettings, startForgedProvider } from '../support/identity-providers.ts';
import { eventually, untilPasses } from '../support/waiting.ts';

/** Answers of a provider that are too large, too slow, or unusable metadata. */
const METADATA_TTL_MS = 12 * 3_600_000;
const HTTPS_ISSUER = 'https://provider.example';

let provider: Awaited<ReturnType<typeof startForgedProvider>>;
let service: TestService;
let impatient: Awaited<ReturnType<typeof startInstance>>;
let strict: Awaited<ReturnType<typeof startInstance>>;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  provider = await startForgedProvider();
  const started = await startTestService(providerSettings('FORGED', provider.issuer));
  service = started.service;
  service.stopwatch.stop();
  const settings = providerSettings('FORGED', provider.issuer);
  impatient = await startInstance(service, settings, { identityProviderMs: 300 });
  strict = await startInstance(service, providerSettings('FORGED', HTTPS_ISSUER));
  closers.push(impatient.close, strict.close, started.close, provider.close);
});
beforeEach(() => {
  Object.assign(provider.state, { forgery: {}, description: {}, instead: {}, requested: [] });
  forgetMetadata();
});
afterAll(async () => {
  for (const close of closers) await close();
});

/** Lets the instances read the metadata again. */
function forgetMetadata(): void {
  service.stopwatch.advance(METADATA_TTL_MS);
}

function begin(origin = service.origin): Promise<Answer> {
  return createCaller(`${origin}/api`)('GET', '/auth/forged');
}

function expectUnavailable({ status, body, headers, text }: Answer): void {
  expect(status, text).toBe(503);
  expect(body).toMatchObject({ success: false, error: { code: 'INTERNAL_ERROR' } });
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Starts a sign-in, and returns the answer to its callback. */
async function signIn(origin = service.origin): Promise<Answer> {
  const browser = createBrowser();
  const started = await browser.send(`${origin}/api/auth/forged`);
  expect(started.status, await started.text()).toBe(302);
  const { searchParams } = new URL(started.headers.get('location') ?? '');
  provider.state.forgery = { without: ['email'] };
  provider.state.nonce = searchParams.get('nonce') ?? '';
  const query = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c' });
  const response = await browser.send(`${origin}/api/auth/forged/callback?${query}`);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

let sentMegabytes = 0;

/** Sends 60 MB of JSON as fast as the client reads it. */
function large(response: ServerResponse): void {
  const chunk = `"${'x'.repeat(1_000_000)}",`;
  sentMegabytes = 0;
  response.write('{"keys":[');
  const write = () => {
    while (sentMegabytes < 60 && !response.destroyed) {
      sentMegabytes += 1;
      if (!response.write(chunk)) {
        response.once('drain', write);
        return;
      }
    }
    if (!response.destroyed) response.end('1]}');
  };
  write();
}

let drippingNow = 0;

/** Sends single bytes slowly, until the client closes the connection. */
function dripping(response: ServerResponse): void {
  drippingNow += 1;
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => {
    drippingNow -= 1;
    clearInterval(timer);
  });
}

const DESCRIPTION = '/.well-known/openid-configuration';

describe('an answer of the provider', () => {
  it.each([
    ['its description', DESCRIPTION],
    ['its keys', '/jwks'],
    ['its tokens', '/token'],
    ['its user info', '/userinfo'],
  ])('of 60 MB is not read to the end: %s', async (_title, path) => {
    provider.state.description = { userinfo_endpoint: `${provider.issuer}/userinfo` };
    provider.state.instead = { [path]: large };
    expectUnavailable(path === DESCRIPTION ? await begin() : await signIn());
    expect(provider.state.requested).toContain(path);
    expect(sentMegabytes).toBeLessThan(30); // The size of the socket buffers.
  });

  it.each([
    ['its description', DESCRIPTION],
    ['its keys', '/jwks'],
    ['its tokens', '/token'],
  ])('that arrives byte by byte times out: %s', async (_title, path) => {
    provider.state.instead = { [path]: dripping };
    // On a slow machine, an earlier answer of the provider can be too late, too.
    await untilPasses(async () => {
      forgetMetadata();
      provider.state.requested = [];
      const { origin } = impatient;
      expectUnavailable(path === DESCRIPTION ? await begin(origin) : await signIn(origin));
      expect(provider.state.requested).toContain(path);
    });
    await eventually(() => drippingNow).toBe(0);
  });

  it('is accepted up to 256 KB', async () => {
    provider.state.description = { x_padding: 'x'.repeat(250_000) };
    expect((await begin()).status).toBe(302);
  });
});

describe('the metadata of a provider', () => {
  it.each<[string, Record<string, unknown>]>([
    ['without an authorization endpoint', { authorization_endpoint: undefined }],
    ['whose authorization endpoint is a script', { authorization_endpoint: 'javascript:alert(1)' }],
    ['whose authorization endpoint is no address', { authorization_endpoint: '/authorize' }],
    ['whose authorization endpoint is no text', { authorization_endpoint: ['https://a.example'] }],
    ['without a token endpoint', { token_endpoint: undefined }],
    ['whose token endpoint is a file', { token_endpoint: 'file:///etc/passwd' }],
    ['without keys', { jwks_uri: undefined }],
    ['whose keys are data', { jwks_uri: 'data:application/json,{"keys":[]}' }],
    ['whose user info is a script', { userinfo_endpoint: 'javascript:alert(1)' }],
    ['whose ways to authenticate are no list', { token_endpoint_auth_methods_supported: 5 }],
    ['of another issuer', { issuer: 'https://other.example' }],
    ['without an issuer', { issuer: undefined }],
  ])('%s is answered by 503', async (_title, description) => {
    provider.state.description = description;
    expectUnavailable(await begin());
  });

  it('of another issuer is logged with the setting and both values', async () => {
    const warned = vi.spyOn(service.parts.log, 'warn');
    onTestFinished(() => warned.mockRestore());
    provider.state.description = { issuer: `${provider.issuer}/tenant` };
    expectUnavailable(await begin());
    expect(warned.mock.calls.map(([details]) => details)).toContainEqual({
      setting: 'OAUTH_FORGED_ISSUER',
      value: provider.issuer,
      issuer: `${provider.issuer}/tenant`,
    });
  });

  it('is read again two seconds after it was unusable', async () => {
    provider.state.description = { token_endpoint: undefined };
    expectUnavailable(await begin());
    provider.state.description = {};
    service.stopwatch.advance(1_999);
    expectUnavailable(await begin());
    service.stopwatch.advance(1);
    expect((await begin()).status).toBe(302);
  });

  it('is read again twelve hours after it was usable', async () => {
    expect((await begin()).status).toBe(302);
    service.stopwatch.advance(METADATA_TTL_MS - 1);
    expect((await begin()).status).toBe(302);
    expect(provider.state.requested).toEqual([DESCRIPTION]);
    service.stopwatch.advance(1);
    expect((await begin()).status).toBe(302);
    expect(provider.state.requested).toEqual([DESCRIPTION, DESCRIPTION]);
  });

  it.each([
    ['authorization_endpoint', 503],
    ['token_endpoint', 503],
    ['jwks_uri', 503],
    ['userinfo_endpoint', 503],
    ['end_session_endpoint', 302],
  ])('of an https issuer is refused with an http address: %s', async (name, status) => {
    const description = {
      issuer: HTTPS_ISSUER,
      authorization_endpoint: `${HTTPS_ISSUER}/authorize`,
      token_endpoint: `${HTTPS_ISSUER}/token`,
      jwks_uri: `${HTTPS_ISSUER}/jwks`,
      [name]: 'http://provider.example/plain',
    };
    const { fetch } = globalThis;
    const spy = vi
      .spyOn(globalThis, 'fetch')
      .mockImplementation(async (input, init) =>
        String(input).startsWith(HTTPS_ISSUER)
          ? new Response(JSON.stringify(description), { headers: { 'content-type': 'application/json' } })
          : fetch(input, init),
      );
    try {
      expect((await begin(strict.origin)).status).toBe(status);
    } finally {
      spy.mockRestore();
    }
  });
});
