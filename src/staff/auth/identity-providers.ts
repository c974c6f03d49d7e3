import { setTimeout as sleep } from 'node:timers/promises';
import * as openid from 'openid-client';
import { AppError, codeOf, unavailable } from '../../core/http/errors.ts';
import type { TimeLimits } from '../../core/time-limits.ts';
import type { Stopwatch } from '../../core/values/dates.ts';
import { type Claims, identityProblem } from './claims-rules.ts';
import { type IdentityProvider, providerVariable } from './identity-provider-rules.ts';
import type { Identity } from './store.ts';

/** The size limit of each answer. It is much larger than the largest known answers, which are key sets with certificates. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** How long a provider's metadata is cached. The library fetches the provider's signing keys again when they change. */
const METADATA_TTL_MS = 12 * 3_600_000;
/** The time until the metadata is requested again, after the provider was unreachable or sent unusable metadata. */
const PAUSE_AFTER_FAILURE_MS = 2_000;
const SCOPE = 'openid email profile';

/** Values that bind the provider's answer to the request. */
interface SignInSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface ProvenIdentity extends Identity {
  /** Returns the claims of the ID token. If they contain no e-mail, adds the claims of the provider's user-info endpoint. */
  readClaims(): Promise<Claims>;
}

/** The OpenID Connect client of the configured providers. It uses the authorization code flow with PKCE. */
export interface IdentityProviders {
  /** Returns the address for the browser. @throws AppError INTERNAL_ERROR 503 if the provider sends no usable metadata. */
  authorizationUrl(provider: IdentityProvider, redirectUri: string, secrets: SignInSecrets): Promise<URL>;
  /**
   * Exchanges the code of a callback for an identity.
   *
   * @param callback the complete address of the callback request.
   * @throws AppError AUTH_FAILED for a refusal or an answer that cannot be verified; INTERNAL_ERROR 503 when the provider is
   *   unreachable, breaks the protocol or rejects the client id and secret of this service.
   */
  identify(provider: IdentityProvider, callback: URL, secrets: SignInSecrets): Promise<ProvenIdentity>;
  /**
   * Returns the address at which a browser signs out at the provider (OpenID Connect RP-Initiated Logout 1.0). It contains no ID
   * token, so most providers ask the person first. Undefined if the provider has no such address, or sends no usable metadata within
   * `providerSignOutMs`.
   *
   * @param returnTo where the provider sends the browser afterwards.
   */
  signOutUrl(provider: IdentityProvider, returnTo: string): Promise<URL | undefined>;
}

export function newSignInSecrets(): SignInSecrets {
  return {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    codeVerifier: openid.randomPKCECodeVerifier(),
  };
}

export function createIdentityProviders(
  { identityProviderMs, providerSignOutMs }: Pick<TimeLimits, 'identityProviderMs' | 'providerSignOutMs'>,
  log: { warn(details: object, message: string): void },
  stopwatch: Stopwatch,
): IdentityProviders {
  const clients = new Map<string, { client: Promise<openid.Configuration>; until: number }>();

  /** Concurrent callers share one request for the provider's metadata. */
  function clientOf(provider: IdentityProvider): Promise<openid.Configuration> {
    const known = clients.get(provider.name);
    if (known && known.until > stopwatch.now()) return known.client;
    const entry = { client: discover(provider), until: stopwatch.now() + METADATA_TTL_MS };
    clients.set(provider.name, entry);
    entry.client.catch(() => {
      entry.until = stopwatch.now() + PAUSE_AFTER_FAILURE_MS;
    });
    return entry.client;
  }

  async function discover({ name, issuer, clientId, clientSecret }: IdentityProvider) {
    const execute = [openid.enableNonRepudiationChecks];
    if (issuer.startsWith('http:')) execute.push(openid.allowInsecureRequests); // The settings allow http: only outside production.
    try {
      const client = await openid.discovery(
        new URL(issuer),
        clientId,
        clientSecret,
        authenticate(clientSecret),
        {
          timeout: identityProviderMs / 1000,
          [openid.customFetch]: fetchBounded,
          execute,
        },
      );
      checkMetadata({ ...client.serverMetadata() }, issuer);
      return client;
    } catch (cause) {
      const actual = otherIssuer(cause);
      if (actual !== undefined)
        log.warn(
          { setting: providerVariable(name, 'ISSUER'), value: issuer, issuer: actual },
          'Nobody can sign in through an identity provider, because it calls itself by another issuer than the setting. Set it to the value of issuer',
        );
      throw unavailable(cause, PAUSE_AFTER_FAILURE_MS / 1000);
    }
  }

  function warnOfMissingOffer({ name }: IdentityProvider, detail: string | undefined): void {
    log.warn(
      { provider: name, detail },
      'A user signed out without an offer to sign out at the identity provider, because it sent no usable metadata.',
    );
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
      if (!claims) throw new Error('The library returned no ID token although a nonce was expected.');
      const { iss: issuer, sub: subject } = claims;
      const problem = identityProblem(claims, provider.clientId);
      if (problem !== undefined) refuse(new Error(problem));

      async function readClaims(): Promise<Claims> {
        if (claims?.email !== undefined || !client.serverMetadata().userinfo_endpoint) return { ...claims };
        const userInfo = await openid.fetchUserInfo(client, tokens.access_token, subject).catch(refuse);
        // email_verified must come from the same answer as the e-mail.
        return { ...claims, email_verified: undefined, ...userInfo };
      }
      return { issuer, subject, readClaims };

      function refuse(cause: unknown): never {
        const refusal = toAppError(cause, provider.name);
        // Log only the message, because the library's errors also contain tokens and claims.
        const detail = cause instanceof Error ? cause.message : undefined;
        log.warn(
          { provider: provider.name, code: codeOf(cause), reason: refusal.message, detail },
          'A sign-in through the identity provider failed.',
        );
        throw refusal;
      }
    },

    async signOutUrl(provider, returnTo) {
      try {
        const client = await Promise.race([
          clientOf(provider),
          sleep(providerSignOutMs, undefined, { ref: false }),
        ]);
        if (!client) {
          warnOfMissingOffer(provider, 'It did not answer in time.');
          return undefined;
        }
        const { end_session_endpoint: endpoint } = client.serverMetadata();
        if (!isUsableAddress(endpoint, provider.issuer)) return undefined;
        return openid.buildEndSessionUrl(client, { post_logout_redirect_uri: returnTo });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        warnOfMissingOffer(provider, error.cause instanceof Error ? error.cause.message : undefined);
        return undefined;
      }
    },
  };
}

/** The issuer in the metadata of a provider, if the library refused the metadata because the setting has another one. */
function otherIssuer(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { cause } = error;
  if (cause instanceof Error) return otherIssuer(cause);
  const { attribute, body } = (cause ?? {}) as { attribute?: string; body?: { issuer?: unknown } };
  return attribute === 'issuer' && typeof body?.issuer === 'string' ? body.issuer : undefined;
}

/**
 * Fetches an answer of at most MAX_ANSWER_BYTES, because the fetch of Node.js has no such limit.
 * @throws TypeError for a larger answer, as fetch does for a network error; the reason of `options.signal` after a time-out.
 */
async function fetchBounded(url: string, options: openid.CustomFetchOptions): Promise<Response> {
  const response = await fetch(url, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // An error in the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new TypeError(`The answer of ${new URL(url).host} has more than ${MAX_ANSWER_BYTES} bytes.`);
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, { status, statusText, headers });
}

const REQUIRED_ADDRESSES = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
const ADDRESSES = [...REQUIRED_ADDRESSES, 'userinfo_endpoint'];

/**
 * Checks metadata that the library would check only during a sign-in.
 * @throws Error with the names of the missing or unusable values.
 */
function checkMetadata(metadata: Record<string, unknown>, issuer: string): void {
  const isUsable = (name: string) =>
    metadata[name] === undefined
      ? !REQUIRED_ADDRESSES.includes(name)
      : isUsableAddress(metadata[name], issuer);
  const wrong = ADDRESSES.filter((name) => !isUsable(name));
  const { token_endpoint_auth_methods_supported: methods = [] } = metadata;
  if (!Array.isArray(methods)) wrong.push('token_endpoint_auth_methods_supported');
  if (wrong.length > 0) throw new Error(`The metadata of ${issuer} has no usable ${wrong.join(', ')}.`);
}

function isUsableAddress(address: unknown, issuer: string): boolean {
  const protocols = issuer.startsWith('http:') ? ['http:', 'https:'] : ['https:'];
  return (
    typeof address === 'string' && URL.canParse(address) && protocols.includes(new URL(address).protocol)
  );
}

/** Uses HTTP Basic, the default of OpenID Connect. If the provider accepts the secret only in the body, sends it in the body. */
function authenticate(clientSecret: string): openid.ClientAuth {
  const basic = openid.ClientSecretBasic(clientSecret);
  const post = openid.ClientSecretPost(clientSecret);
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const acceptsPostOnly =
      methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (acceptsPostOnly ? post : basic)(server, client, body, headers);
  };
}

/** Errors that a provider reports if the person did not sign in or agree (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6). */
const REFUSALS = [
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
];
/** Errors of the token endpoint that the caller cannot cause: wrong client credentials, or a failing provider. */
const SERVICE_FAULTS = ['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable'];
/** Error codes of the library for a time-out and for an answer that violates the protocol. */
const BROKEN_ANSWERS = [
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
];

function toAppError(cause: unknown, provider: string): AppError {
  if (cause instanceof openid.AuthorizationResponseError) {
    // Anyone can forge the parameter `error` of the callback, so our error contains only the codes in REFUSALS, or `other`.
    const reason = REFUSALS.includes(cause.error) ? cause.error : 'other';
    const message =
      reason === 'access_denied'
        ? 'The sign-in was cancelled or refused at the identity provider.'
        : 'The identity provider did not sign you in.';
    return new AppError('AUTH_FAILED', message, { details: { provider, reason }, cause });
  }
  const isServiceFault = cause instanceof openid.ResponseBodyError && SERVICE_FAULTS.includes(cause.error);
  const isUnreachable = cause instanceof TypeError && !('code' in cause); // fetch throws a TypeError without a code.
  if (isServiceFault || isUnreachable || BROKEN_ANSWERS.includes(codeOf(cause) ?? ''))
    return unavailable(cause);
  return new AppError('AUTH_FAILED', 'The answer of the identity provider could not be verified.', {
    details: { provider },
    cause,
  });
}
