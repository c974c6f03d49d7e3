/**
 * What requests wait for. `lost`: the network. `silent`: an answer, for unusually long. `limited`: the end of a rate limit. `busy`:
 * the service.
 */
export type Connection = 'ok' | Reason;
type Reason = (typeof REASONS)[number];

/** The reason that comes first is shown. */
const REASONS = ['lost', 'silent', 'limited', 'busy'] as const;

const waiting = new Map<symbol, Reason>();
const listeners = new Set<() => void>();

export function connection(): Connection {
  const reasons = [...waiting.values()];
  return REASONS.find((reason) => reasons.includes(reason)) ?? 'ok';
}

export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Records what one request waits for. */
export function newWait() {
  const key = Symbol();
  return {
    set(reason: Reason): void {
      waiting.set(key, reason);
      notify();
    },
    end(): void {
      if (waiting.delete(key)) notify();
    },
  };
}

function notify(): void {
  for (const listener of listeners) listener();
}
