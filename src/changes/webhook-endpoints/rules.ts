/** Why an endpoint gets no events: a user disabled it, it answered 410, or it failed for three days. */
export const DISABLED_REASONS = ['user', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

export const DEFAULT_OVERLAP_SECONDS = 86_400;
export const MAX_OVERLAP_SECONDS = 7 * 86_400;

/** An address as the audit trail shows it. The query is removed, because it can contain a secret. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/, '?…');
}

export interface Secrets {
  secret: Buffer;
  previousSecret: Buffer | null;
  previousSecretExpiresAt: string | null;
}

/** The secrets to sign with. They include the previous secret until its overlap ends. */
export function secretsAt({ secret, previousSecret, previousSecretExpiresAt }: Secrets, now: Date): Buffer[] {
  const isOverlap =
    previousSecret && previousSecretExpiresAt !== null && new Date(previousSecretExpiresAt) > now;
  return isOverlap ? [secret, previousSecret] : [secret];
}
