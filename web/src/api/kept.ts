import { currentSession, onSessionChange, sessionEnd } from './session.ts';

/** Entries are erased this long after their last change. */
const KEPT_MS = 8 * 3_600_000;
const PURGE_EVERY_MS = 60_000;
const KEY = 'kept';

interface Kept {
  userId: number;
  entries: Readonly<Record<string, { changedAtMs: number; value: unknown }>>;
}

// In `sessionStorage`, so that a reload loses nothing, and other tabs and later windows of the browser see nothing.
onSessionChange(eraseForOthers);
setInterval(() => write(read()), PURGE_EVERY_MS);

/** Keeps a value of the signed-in user for this tab, also after a reload. Undefined erases the entry. */
export function keep(name: string, value: unknown): void {
  const stored = read();
  const userId = currentSession()?.user.id ?? stored?.userId;
  if (userId === undefined) return;
  const { [name]: _last, ...others } = stored?.userId === userId ? stored.entries : {};
  const entries = value === undefined ? others : { ...others, [name]: { changedAtMs: Date.now(), value } };
  write({ userId, entries });
}

/** What this tab has kept for the signed-in user. */
export function kept<Value>(name: string): Value | undefined {
  const stored = read();
  if (!stored || stored.userId !== currentSession()?.user.id) return undefined;
  return stored.entries[name]?.value as Value | undefined;
}

/** If the session has expired, the entries wait for the same user. */
function eraseForOthers(): void {
  const userId = currentSession()?.user.id;
  const isInterrupted = userId === undefined && sessionEnd() === 'expired';
  if (!isInterrupted && read()?.userId !== userId) write(undefined);
}

function read(): Kept | undefined {
  const text = sessionStorage.getItem(KEY);
  if (text === null) return undefined;
  const { userId, entries } = JSON.parse(text) as Kept;
  const fresh = Object.entries(entries).filter(([, { changedAtMs }]) => changedAtMs + KEPT_MS > Date.now());
  return { userId, entries: Object.fromEntries(fresh) };
}

function write(next: Kept | undefined): void {
  if (next && Object.keys(next.entries).length > 0) sessionStorage.setItem(KEY, JSON.stringify(next));
  else sessionStorage.removeItem(KEY);
}
