/** Whether requests wait for the network or for a busy service. */
export type Connection = 'ok' | 'lost' | 'busy';

const waiting = new Map<symbol, Exclude<Connection, 'ok'>>();
const listeners = new Set<() => void>();

export function connection(): Connection {
  const reasons = [...waiting.values()];
  if (reasons.includes('lost')) return 'lost';
  return reasons.length > 0 ? 'busy' : 'ok';
}

export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Records that a request waits. @returns a function that ends the wait. */
export function startWaiting(reason: Exclude<Connection, 'ok'>): () => void {
  const key = Symbol();
  waiting.set(key, reason);
  notify();
  return () => {
    if (waiting.delete(key)) notify();
  };
}

function notify(): void {
  for (const listener of listeners) listener();
}
