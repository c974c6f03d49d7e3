import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { type Configuration, Provider } from 'oidc-provider';

/** Identity providers for the tests, each on its own port: a real one, and one that sends forged answers. */

export const CLIENT = { id: 'ams', secret: 'a secret between the two, long enough for HS256' };

/** The settings that make a provider known to the service under a name. */
export function providerSettings(name: string, issuer: string): Record<string, string> {
  return {
    [`OAUTH_${name}_ISSUER`]: issuer,
    [`OAUTH_${name}_CLIENT_ID`]: CLIENT.id,
    [`OAUTH_${name}_CLIENT_SECRET`]: CLIENT.secret,
  };
}

export interface Person {
  email?: string;
  email_verified?: boolean;
  given_name?: string;
  family_name?: string;
  name?: string;
}

/** Starts a server that does not answer yet, because its answers contain the port that it gets now. */
async function listen(): Promise<{ server: Server; issuer: string; close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { server, issuer, close };
}

/**
 * oidc-provider with one client. Its sign-in page asks only for the name of one of the people. The name "cancel" refuses the
 * sign-in.
 */
export async function startRealProvider(people: Record<string, Person>) {
  const { server, issuer, close } = await listen();
  const [{ privateKey }] = await twoKeyPairs();

  async function open(redirectUri: string): Promise<void> {
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [new URL('/', redirectUri).href],
        },
      ],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'real' }] },
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['given_name', 'family_name', 'name'],
      },
      findAccount: (_context, id) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...people[id] }),
      }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new provider.Grant({ clientId: CLIENT.id, accountId: oidc.session?.accountId ?? '' });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: {
          logoutSource: (context, form) => {
            context.body = `<!doctype html><title>Provider</title><link rel="icon" href="data:,">${form}
              <button type="submit" form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
          },
        },
      },
      pkce: { required: () => true },
      cookies: { keys: ['a key of the tests'] },
    } satisfies Configuration);
    const answer = provider.callback();
    server.on('request', (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
      signInPage(provider, request, response).catch((error) => response.writeHead(500).end(String(error)));
    });
  }
  return { issuer, open, close };
}

async function signInPage(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  if (request.method === 'GET') return void response.end('Who are you?');
  const person = await readBody(request);
  const result =
    person === 'cancel'
      ? { error: 'access_denied', error_description: '<script>alert(1)</script>' }
      : { login: { accountId: person } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

/** How the token endpoint of the forged provider answers. */
export interface Forgery {
  claims?: JWTPayload;
  /** Claims to omit. */
  without?: string[];
  sign?: 'own key' | 'another key' | 'none' | 'client secret';
  /** Whether the connection breaks before an answer. */
  broken?: boolean;
  status?: number;
  body?: unknown;
}

/** RSA keys take long to calculate, so all providers of a worker share them. */
let keyPairs: Promise<[GenerateKeyPairResult, GenerateKeyPairResult]> | undefined;

function twoKeyPairs() {
  const newPair = () => generateKeyPair('RS256', { extractable: true });
  keyPairs ??= Promise.all([newPair(), newPair()]);
  return keyPairs;
}

/** A provider that signs any claims that a test gives, and lists every algorithm, secure or not. */
export async function startForgedProvider() {
  const { server, issuer, close } = await listen();
  const [own, other] = await twoKeyPairs();
  const jwk = { ...(await exportJWK(own.publicKey)), alg: 'RS256', use: 'sig', kid: 'forged' };
  const state = {
    forgery: {} as Forgery,
    nonce: '',
    lastTokenRequest: new URLSearchParams(),
    /** Fields of the metadata to replace. Undefined removes a field. */
    description: {} as Record<string, unknown>,
    /** Whether the provider breaks every connection. */
    isUnreachable: false,
    /** The paths of the requests, in their order. */
    requested: [] as string[],
    /** Replacements for the answers at these paths. */
    instead: {} as Record<string, (response: ServerResponse) => void>,
  };

  async function idToken({ claims, without = [], sign = 'own key' }: Forgery): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const payload: JWTPayload = {
      iss: issuer,
      aud: CLIENT.id,
      sub: 'forged-1',
      iat: now,
      exp: now + 60,
      nonce: state.nonce,
      email: 'forged@example.com',
      name: 'Forged Person',
      ...claims,
    };
    for (const name of without) delete payload[name];
    if (sign === 'none') {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${part({ alg: 'none' })}.${part(payload)}.`;
    }
    const alg = sign === 'client secret' ? 'HS256' : 'RS256';
    const key =
      sign === 'client secret'
        ? new TextEncoder().encode(CLIENT.secret)
        : (sign === 'own key' ? own : other).privateKey;
    return new SignJWT(payload).setProtectedHeader({ alg, kid: 'forged' }).sign(key);
  }

  server.on('connection', (socket) => {
    if (state.isUnreachable) socket.destroy();
  });
  server.on('request', async (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    state.requested.push(path);
    const instead = state.instead[path];
    if (instead) return instead(response.writeHead(200, { 'content-type': 'application/json' }));
    const send = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (path === '/.well-known/openid-configuration') {
      return send({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
        ...state.description,
      });
    }
    if (path === '/jwks') return send({ keys: [jwk] });
    state.lastTokenRequest = new URLSearchParams(await readBody(request));
    const { forgery } = state;
    if (forgery.broken) return request.socket.destroy();
    const good = { access_token: 'a', token_type: 'Bearer', id_token: await idToken(forgery) };
    return send(forgery.body ?? good, forgery.status);
  });
  return { issuer, close, state };
}

export interface Browser {
  /** Sends one request with all stored cookies. Does not follow redirects. */
  send(url: string, init?: RequestInit): Promise<Response>;
  cookies: Map<string, string>;
}

/** A client that stores cookies by name. These tests need nothing else of a browser. */
export function createBrowser(): Browser {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async send(url, init = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, {
        ...init,
        redirect: 'manual',
        headers: { ...(init.headers as Record<string, string>), ...(cookie && { cookie }) },
      });
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';');
        const [name = '', ...value] = pair.split('=');
        if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name);
        else cookies.set(name, value.join('='));
      }
      return response;
    },
  };
}

/** Passes the sign-in page of the provider. @returns the callback address to which the provider redirects. */
export async function passProvider(browser: Browser, location: string, person: string): Promise<string> {
  const provider = new URL(location).origin;
  let url = location;
  for (let hop = 0; hop < 10; hop++) {
    const response = await browser.send(url);
    const next = response.headers.get('location');
    if (next) {
      url = new URL(next, url).href;
      if (!url.startsWith(provider)) return url;
      continue;
    }
    const page = await response.text();
    if (page !== 'Who are you?') throw new Error(`The provider answered ${response.status}: ${page}`);
    const posted = await browser.send(url, { method: 'POST', body: person });
    url = new URL(posted.headers.get('location') ?? '', url).href;
  }
  throw new Error('The provider still redirects after ten requests.');
}
