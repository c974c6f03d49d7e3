import { ApiError } from './errors.ts';
import type { Schemas } from './types.ts';

export interface Tokens {
  accessToken: string;
  refreshToken: string;
}

/** How the client signs in. Without authentication it can make only calls that need no token. */
export type Authentication =
  /** An API key, or an access token. The client never renews it. */
  | { apiKey: string }
  /**
   * The tokens of a user. `onTokens` gets each new pair, so that it can store the pair: the old pair is no longer valid.
   * The client waits for `onTokens`. If it fails, the call fails with the same error, but later calls use the new pair.
   */
  | (Tokens & { onTokens?: (tokens: Tokens) => unknown })
  /** The password of a user. The client signs in before its first call, and again if the refresh token is refused. */
  | { email: string; password: string };

/** The calls with which the client gets tokens. */
export interface SignInCalls {
  signIn(body: Schemas['Login']): Promise<Tokens>;
  refresh(body: Schemas['Refresh']): Promise<Tokens>;
}

export interface Credentials {
  /** The token to send; undefined without authentication. */
  token(): Promise<string | undefined>;
  /**
   * Replaces a token that the service refused. Concurrent callers share one renewal.
   * @returns the new token; undefined for an API key or without authentication.
   */
  renew(refused: string): Promise<string | undefined>;
}

export function createCredentials(
  authentication: Authentication | undefined,
  calls: SignInCalls,
): Credentials {
  if (!authentication) return { token: async () => undefined, renew: async () => undefined };
  if ('apiKey' in authentication) {
    const { apiKey } = authentication;
    return { token: async () => apiKey, renew: async () => undefined };
  }
  if ('password' in authentication) {
    const { email, password } = authentication;
    return renewable(undefined, async (tokens) => {
      const renewed = tokens && (await refresh(tokens).catch(undefinedIfRefused));
      return renewed ?? (await calls.signIn({ email, password }));
    });
  }
  const { onTokens } = authentication;
  return renewable(authentication, (tokens = authentication) => refresh(tokens), onTokens);

  function refresh({ refreshToken }: Tokens): Promise<Tokens> {
    return calls.refresh({ refreshToken });
  }
}

/** Returns undefined if the refresh token was refused: the client then uses the password. Throws any other error. */
function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof ApiError && error.is('UNAUTHORIZED'))) throw error;
}

/**
 * @param obtain receives the previous tokens and returns new ones.
 * @param onTokens is called after the new tokens are in use, so that the new tokens are not lost if `onTokens` fails.
 */
function renewable(
  initial: Tokens | undefined,
  obtain: (last: Tokens | undefined) => Promise<Tokens>,
  onTokens?: (tokens: Tokens) => unknown,
): Credentials {
  let tokens = initial;
  let running: Promise<Tokens> | undefined;

  async function obtainAndReport(): Promise<Tokens> {
    const { accessToken, refreshToken } = await obtain(tokens);
    tokens = { accessToken, refreshToken };
    await onTokens?.(tokens);
    return tokens;
  }

  function obtainOnce(): Promise<Tokens> {
    running ??= obtainAndReport().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    token: async () => (tokens ?? (await obtainOnce())).accessToken,
    async renew(refused) {
      if (tokens && tokens.accessToken !== refused) return tokens.accessToken;
      return (await obtainOnce()).accessToken;
    },
  };
}
