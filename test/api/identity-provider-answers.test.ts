import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startInstanceForTest, useService } from '../support/harness.ts';
import { type Answer, createCaller } from '../support/http.ts';
import { createBrowser, providerSettings, startForgedProvider } from '../support/identity-providers.ts';

/** Answers of a provider that are too large, too slow, or unusable metadata. */
const service = useService();
let provider: Awaited<ReturnType<typeof startForgedProvider>>;

beforeAll(async () => {
  provider = await startForgedProvider();
});
beforeEach(() => {
  Object.assign(provider.state, { forgery: {}, description: {}, instead: {} });
});
afterAll(() => provider.close());

/** An instance without cached metadata. */
async function newInstance(issuer = provider.issuer): Promise<string> {
  return (await startInstanceForTest(service, providerSettings('FORGED', issuer))).origin;
}

function begin(origin: string): Promise<Answer> {
  return createCaller(`${origin}/api`)('GET', '/auth/forged');
}

function expectUnavailable({ status, body, headers, text }: Answer): void {
  expect(status, text).toBe(503);
  expect(body).toMatchObject({ success: false, error: { code: 'INTERNAL_ERROR' } });
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Starts a sign-in, finishes it, and returns the duration of the finish in ms. */
async function signIn(origin: string, { claims = {} } = {}) {
  const browser = createBrowser();
  const started = await browser.send(`${origin}/api/auth/forged`);
  const { searchParams } = new URL(started.headers.get('location') ?? '');
  provider.state.forgery = { claims, without: ['email'] };
  provider.state.nonce = searchParams.get('nonce') ?? '';
  const query = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c' });
  const began = performance.now();
  const response = await browser.send(`${origin}/api/auth/forged/callback?${query}`);
  const text = await response.text();
  const answer = { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  return { answer, ms: performance.now() - began };
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

/** Sends single bytes slowly. */
function dripping(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 100);
  response.once('close', () => clearInterval(timer));
}

const DESCRIPTION = '/.well-known/openid-configuration';

describe('an answer of the provider', () => {
  it.each([
    ['its description', DESCRIPTION],
    ['its keys', '/jwks'],
    ['its tokens', '/token'],
    ['its user info', '/userinfo'],
  ])('of 60 MB is not read to the end: %s', async (_title, path) => {
    const origin = await newInstance();
    provider.state.description = { userinfo_endpoint: `${provider.issuer}/userinfo` };
    provider.state.instead = { [path]: large };
    const began = performance.now();
    const answer = path === DESCRIPTION ? await begin(origin) : (await signIn(origin)).answer;
    expectUnavailable(answer);
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(sentMegabytes).toBeLessThan(30); // The size of the socket buffers.
  });

  it.each([
    ['its description', DESCRIPTION],
    ['its keys', '/jwks'],
    ['its tokens', '/token'],
  ])('that arrives byte by byte times out after five seconds: %s', async (_title, path) => {
    const origin = await newInstance();
    provider.state.instead = { [path]: dripping };
    const began = performance.now();
    expectUnavailable(path === DESCRIPTION ? await begin(origin) : (await signIn(origin)).answer);
    expect(performance.now() - began).toBeLessThan(6_500);
  });

  it('is accepted up to 256 KB', async () => {
    const origin = await newInstance();
    provider.state.description = { x_padding: 'x'.repeat(250_000) };
    expect((await begin(origin)).status).toBe(302);
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
    const origin = await newInstance();
    provider.state.description = description;
    expectUnavailable(await begin(origin));
  });

  it('is read again two seconds after it was unusable', async () => {
    const origin = await newInstance();
    provider.state.description = { token_endpoint: undefined };
    expectUnavailable(await begin(origin));
    provider.state.description = {};
    expectUnavailable(await begin(origin));
    await delay(2_100);
    expect((await begin(origin)).status).toBe(302);
  });

  it.each([
    ['authorization_endpoint', 503],
    ['token_endpoint', 503],
    ['jwks_uri', 503],
    ['userinfo_endpoint', 503],
    ['end_session_endpoint', 302],
  ])('of an https issuer is refused with an http address: %s', async (name, status) => {
    const issuer = 'https://provider.example';
    const description = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      [name]: 'http://provider.example/plain',
    };
    const { fetch } = globalThis;
    const spy = vi
      .spyOn(globalThis, 'fetch')
      .mockImplementation(async (input, init) =>
        String(input).startsWith(issuer)
          ? new Response(JSON.stringify(description), { headers: { 'content-type': 'application/json' } })
          : fetch(input, init),
      );
    try {
      expect((await begin(await newInstance(issuer))).status).toBe(status);
    } finally {
      spy.mockRestore();
    }
  });
});
