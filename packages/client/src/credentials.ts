import type { Schemas } from './types.ts';

export interface Tokens {
  accessToken: string;
  refreshToken: string;
}

/** How the client signs in. Without any it can only make calls that need no token. */
export type Authentication =
  /** A key, or an access token that somebody else renews. */
  | { apiKey: string }
  /** A user's tokens. `onTokens` is called with each new pair: the old ones are no longer valid. */
  | (Tokens & { onTokens?: (tokens: Tokens) => void })
  /** A user's password: signs in with the first call, and again when the tokens cannot be renewed. */
  | { email: string; password: string };

/** Calls of the client that need no token. */
export interface SignInCalls {
  signIn(body: Schemas['Login']): Promise<Tokens>;
  refresh(body: Schemas['Refresh']): Promise<Tokens>;
}

export interface Credentials {
  /** The token to send; undefined without authentication. */
  token(): Promise<string | undefined>;
  /**
   * The service refused this token. Callers at the same time share one renewal.
   * @returns another token; undefined if there is none.
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
      // A refused refresh token is no error here: the password replaces it.
      const renewed = tokens && (await refresh(tokens).catch(() => undefined));
      return renewed ?? (await calls.signIn({ email, password }));
    });
  }
  const { onTokens } = authentication;
  return renewable(authentication, async (tokens = authentication) => {
    const { accessToken, refreshToken } = await refresh(tokens);
    onTokens?.({ accessToken, refreshToken });
    return { accessToken, refreshToken };
  });

  function refresh({ refreshToken }: Tokens): Promise<Tokens> {
    return calls.refresh({ refreshToken });
  }
}

/** @param obtain returns new tokens, with the help of the last ones. */
function renewable(
  initial: Tokens | undefined,
  obtain: (last: Tokens | undefined) => Promise<Tokens>,
): Credentials {
  let tokens = initial;
  let running: Promise<Tokens> | undefined;

  function obtainOnce(): Promise<Tokens> {
    running ??= obtain(tokens)
      .then((obtained) => {
        tokens = obtained;
        return obtained;
      })
      .finally(() => {
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
