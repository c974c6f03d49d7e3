import { keep, kept } from './kept.ts';
import { onSessionChange } from './session.ts';

/** A change that was sent, and whose answer has not come. */
export interface Unconfirmed {
  /** The Idempotency-Key. */
  key: string;
  path: string;
  /** The parameters and the body. */
  init: object;
  /** What was done, in the language of the user. May be empty. */
  title: string;
  /** The page on which it was done. */
  page: string;
  sentAtMs: number;
}

/** Bodies with passwords, which must not be stored. */
const SECRET_PATHS: readonly string[] = ['/api/users'];

/** The keys of requests of this page that still run, or that are in an open form. The form says what it knows. */
const shownElsewhere = new Set<string>();
/** Abort the requests of this page, by their key. */
const running = new Map<string, AbortController>();
const listeners = new Set<() => void>();
const failureListeners = new Set<(error: unknown) => void>();
let left: readonly Unconfirmed[] = [];
onSessionChange(notify);

/** The changes that no form shows any more: it was closed, or the page was reloaded. */
export function unconfirmedChanges(): readonly Unconfirmed[] {
  return left;
}

export function onUnconfirmedChange(listener: () => void): () => void {
  listeners.add(listener);
  notify();
  return () => listeners.delete(listener);
}

/** @param listener - gets the error of each change that fails after its form was closed. */
export function onLeftFailure(listener: (error: unknown) => void): () => void {
  failureListeners.add(listener);
  return () => failureListeners.delete(listener);
}

export function reportLeftFailure(error: unknown): void {
  for (const listener of failureListeners) listener(error);
}

export function findUnconfirmed(path: string, init: object): Unconfirmed | undefined {
  const content = JSON.stringify(init);
  return all().find((one) => one.path === path && JSON.stringify(one.init) === content);
}

/** Called before the change is sent, so that a reload does not lose its key. */
export function addUnconfirmed(change: Unconfirmed): void {
  if (SECRET_PATHS.includes(change.path)) return;
  shownElsewhere.add(change.key);
  write([...all().filter(({ key }) => key !== change.key), change]);
}

/** The answer says whether the change was made, or the user does not want to know. */
export function removeUnconfirmed(key: string): void {
  running.delete(key);
  write(all().filter((one) => one.key !== key));
}

/** The form of the change is closed. */
export function leaveUnconfirmed(key: string): void {
  if (shownElsewhere.delete(key)) notify();
}

/** The request of the change begins. A request that an earlier form sent with the same key ends. */
export function setRunning(key: string, controller: AbortController): void {
  running.get(key)?.abort();
  running.set(key, controller);
}

/** Aborts the request of the change and its retries, and forgets the change. */
export function stopUnconfirmed(key: string): void {
  running.get(key)?.abort();
  removeUnconfirmed(key);
}

function all(): readonly Unconfirmed[] {
  return kept<readonly Unconfirmed[]>('unconfirmed') ?? [];
}

function write(changes: readonly Unconfirmed[]): void {
  keep('unconfirmed', changes.length > 0 ? changes : undefined);
  notify();
}

function notify(): void {
  const next = all().filter(({ key }) => !shownElsewhere.has(key));
  if (next.length === 0 && left.length === 0) return;
  left = next;
  for (const listener of listeners) listener();
}
