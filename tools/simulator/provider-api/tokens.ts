import { randomBytes } from 'node:crypto';
import type { Answer, Credentials } from './operation.ts';

/** The access tokens of the simulated API. They are valid for one hour of real time, as those of the provider. */
export interface Tokens {
  /** A test can change this for the next tokens. */
  lifetimeSeconds: number;
  /** The number of tokens that were issued. */
  readonly issuedCount: number;
  /** Answers a request for a token. */
  issue(authorization: string): Answer;
  isValid(authorization: string): boolean;
  /** Makes all tokens invalid before their time. */
  expireAll(): void;
}

const LIFETIME_SECONDS = 3_599;

export function createTokens({ consumerKey, consumerSecret }: Credentials): Tokens {
  const expected = `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`;
  const expiresAtMs = new Map<string, number>();
  let issuedCount = 0;
  return {
    lifetimeSeconds: LIFETIME_SECONDS,
    get issuedCount() {
      return issuedCount;
    },
    issue(authorization) {
      if (authorization !== expected) return { status: 400, body: '' };
      issuedCount += 1;
      const token = randomBytes(16).toString('base64url');
      expiresAtMs.set(`Bearer ${token}`, Date.now() + this.lifetimeSeconds * 1_000);
      // The provider sends the number as text.
      return { body: { access_token: token, expires_in: String(this.lifetimeSeconds) } };
    },
    isValid: (authorization) => (expiresAtMs.get(authorization) ?? 0) > Date.now(),
    expireAll: () => expiresAtMs.clear(),
  };
}
