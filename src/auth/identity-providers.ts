import * as openid from 'openid-client';
import type { IdentityProvider } from '../config.ts';
import { AppError, codeOf, unavailable } from '../core/http/errors.ts';
import { type Claims, identityProblem } from './rules.ts';
import type { Identity } from './store.ts';

/** Of every request to a provider. */
const TIMEOUT_SECONDS = 5;
/** Of every answer: many times the largest that providers send, which are sets of keys with their certificates. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** How long a provider's own description is believed; its keys are read again when they change. */
const DESCRIPTION_TTL_MS = 12 * 3_600_000;
/** How long a provider that could not be reached, or gave no useful description, is left alone. */
const PAUSE_AFTER_FAILURE_MS = 2_000;
const SCOPE = 'openid email profile';

/** What binds the answer of a provider to the question. */
interface SignInSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface ProvenIdentity extends Identity {
  /** Asks the provider once more where the ID token tells no e-mail. */
  readClaims(): Promise<Claims>;
}

/** The providers of the configuration, spoken to by OpenID Connect: authorization code with PKCE. */
export interface IdentityProviders {
  /** Where to send the browser. @throws AppError INTERNAL_ERROR 503 while the provider cannot be reached. */
  authorizationUrl(provider: IdentityProvider, redirectUri: string, secrets: SignInSecrets): Promise<URL>;
  /**
   * Exchanges the code of a callback for the identity that it stands for.
   *
   * @param callback the address that the provider sent the browser to, whole.
   * @throws AppError AUTH_FAILED for a refusal or for anything that cannot be verified; 503 as above.
   */
  identify(provider: IdentityProvider, callback: URL, secrets: SignInSecrets): Promise<ProvenIdentity>;
}

export function newSignInSecrets(): SignInSecrets {
  return {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    codeVerifier: openid.randomPKCECodeVerifier(),
  };
}

export function createIdentityProviders(log: {
  warn(details: object, message: string): void;
}): IdentityProviders {
  const described = new Map<string, { client: Promise<openid.Configuration>; until: number }>();

  /** Reads a provider's description once for all who ask at the same time. */
  function clientOf(provider: IdentityProvider): Promise<openid.Configuration> {
    const known = described.get(provider.name);
    if (known && known.until > Date.now()) return known.client;
    const entry = { client: discover(provider), until: Date.now() + DESCRIPTION_TTL_MS };
    described.set(provider.name, entry);
    entry.client.catch(() => {
      entry.until = Date.now() + PAUSE_AFTER_FAILURE_MS;
    });
    return entry.client;
  }

  async function discover({ issuer, clientId, clientSecret }: IdentityProvider) {
    const execute = [openid.enableNonRepudiationChecks];
    if (issuer.startsWith('http:')) execute.push(openid.allowInsecureRequests); // never in production: config.ts
    try {
      const client = await openid.discovery(
        new URL(issuer),
        clientId,
        clientSecret,
        authenticate(clientSecret),
        {
          timeout: TIMEOUT_SECONDS,
          [openid.customFetch]: fetchBounded,
          execute,
        },
      );
      checkDescription({ ...client.serverMetadata() }, issuer);
      return client;
    } catch (cause) {
      throw unavailable(cause, PAUSE_AFTER_FAILURE_MS / 1000);
    }
  }

  return {
    async authorizationUrl(provider, redirectUri, { state, nonce, codeVerifier }) {
      const client = await clientOf(provider);
      return openid.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    },

    async identify(provider, callback, { state, nonce, codeVerifier }) {
      const client = await clientOf(provider);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier };
      const tokens = await openid.authorizationCodeGrant(client, callback, checks).catch(refuse);
      const claims = tokens.claims();
      if (!claims) throw new Error('An expected nonce makes the library demand an ID token.');
      const { iss: issuer, sub: subject } = claims;
      const problem = identityProblem(claims, provider.clientId);
      if (problem !== undefined) refuse(new Error(problem));

      async function readClaims(): Promise<Claims> {
        if (claims?.email !== undefined || !client.serverMetadata().userinfo_endpoint) return { ...claims };
        const told = await openid.fetchUserInfo(client, tokens.access_token, subject).catch(refuse);
        // email_verified must come from the same answer as the e-mail.
        return { ...claims, email_verified: undefined, ...told };
      }
      return { issuer, subject, readClaims };

      function refuse(cause: unknown): never {
        const refusal = translate(cause, provider.name);
        // Only the message: the library's errors also hold tokens and claims.
        const detail = cause instanceof Error ? cause.message : undefined;
        log.warn(
          { provider: provider.name, code: codeOf(cause), reason: refusal.message, detail },
          'a sign-in through the identity provider failed',
        );
        throw refusal;
      }
    },
  };
}

/**
 * As fetch, for answers of a bounded size.
 * @throws TypeError, as fetch does, for a larger one, and what `signal` says for one that takes too long to come in.
 */
async function fetchBounded(url: string, options: openid.CustomFetchOptions): Promise<Response> {
  const response = await fetch(url, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new TypeError(`The answer of ${new URL(url).host} has more than ${MAX_ANSWER_BYTES} bytes.`);
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, { status, statusText, headers });
}

const NEEDED_ADDRESSES = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
const ADDRESSES = [...NEEDED_ADDRESSES, 'userinfo_endpoint'];

/**
 * The library finds what is wrong in a description only when it needs it, in the middle of a sign-in.
 * @throws Error naming what is missing or unusable.
 */
function checkDescription(description: Record<string, unknown>, issuer: string): void {
  const protocols = issuer.startsWith('http:') ? ['http:', 'https:'] : ['https:'];
  const isUsable = (name: string) => {
    const address = description[name];
    if (address === undefined) return !NEEDED_ADDRESSES.includes(name);
    return (
      typeof address === 'string' && URL.canParse(address) && protocols.includes(new URL(address).protocol)
    );
  };
  const wrong = ADDRESSES.filter((name) => !isUsable(name));
  const { token_endpoint_auth_methods_supported: methods = [] } = description;
  if (!Array.isArray(methods)) wrong.push('token_endpoint_auth_methods_supported');
  if (wrong.length > 0) throw new Error(`The description of ${issuer} has no usable ${wrong.join(', ')}.`);
}

/** By HTTP Basic, which OpenID Connect makes the default, unless the provider takes the secret in the body alone. */
function authenticate(clientSecret: string): openid.ClientAuth {
  const basic = openid.ClientSecretBasic(clientSecret);
  const post = openid.ClientSecretPost(clientSecret);
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const takesPostAlone = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (takesPostAlone ? post : basic)(server, client, body, headers);
  };
}

/** Errors that the provider may report of the person's part (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6). */
const REFUSALS = [
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
];
/** Errors of the token endpoint for a wrong client id or secret, or of the provider itself. */
const OUR_FAULTS = ['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable'];
/** Errors of the library for a provider that did not answer as one. */
const BROKEN_ANSWERS = [
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
];

function translate(cause: unknown, provider: string): AppError {
  if (cause instanceof openid.AuthorizationResponseError) {
    // Anyone can write that parameter, so only words of the standard are repeated.
    const reason = REFUSALS.includes(cause.error) ? cause.error : 'other';
    const message =
      reason === 'access_denied'
        ? 'The sign-in was cancelled or refused at the identity provider.'
        : 'The identity provider did not sign you in.';
    return new AppError('AUTH_FAILED', message, { details: { provider, reason }, cause });
  }
  // What the provider refuses is mostly the code, which the caller brought; the rest is not the caller's.
  const isOurs = cause instanceof openid.ResponseBodyError && OUR_FAULTS.includes(cause.error);
  const isUnreachable = cause instanceof TypeError && !('code' in cause); // how fetch says it
  if (isOurs || isUnreachable || BROKEN_ANSWERS.includes(codeOf(cause) ?? '')) return unavailable(cause);
  return new AppError('AUTH_FAILED', 'The answer of the identity provider could not be verified.', {
    details: { provider },
    cause,
  });
}
