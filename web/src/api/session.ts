import type { Permission, Schemas, SignedIn } from './paths.ts';
import { isErrorBody } from './problem.ts';
import { send } from './send.ts';

export interface Session {
  user: Schemas['User'];
  permissions: ReadonlySet<Permission>;
}

/** `expired`: it expired, or was ended elsewhere. `other_user`: another user has signed in in another tab of this browser. */
type SessionEnd = 'expired' | 'other_user';

type ProviderSignOut = NonNullable<Schemas['SignedOut']['providerSignOut']>;

interface Token {
  value: string;
  expiresAtMs: number;
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const SESSION_PATH = '/api/auth/session';
/** A token is renewed this long before it expires, so that a request on a slow network arrives before the expiry. */
const RENEW_BEFORE_MS = 30_000;

// The access token is only in memory. In the storage of the browser, other scripts or users of the device could read it later.
let token: Token | undefined;
let session: Session | undefined;
let endOfLast: SessionEnd | undefined;
/** Where the user who has signed out in this tab can also sign out at the identity provider. */
let providerSignOut: ProviderSignOut | undefined;
let renewal: Promise<void> | undefined;
/** Whether the session has expired while the page shows what the user has typed. */
let isLocked = false;
let keepsPage = () => false;
/** The user of this tab who has signed out in another tab. */
let signedOutElsewhere: number | undefined;
const listeners = new Set<() => void>();
/** Publishes the signed-in user to the other tabs of this browser, and null at the sign-out. */
const tabs = new BroadcastChannel('session');
tabs.addEventListener('message', ({ data: userId }) => {
  if (isLocked && session?.user.id === userId) void renewSession();
  if (session && session.user.id !== userId) {
    signedOutElsewhere = session.user.id;
    end(userId === null ? undefined : 'other_user');
  } else if (
    !session &&
    userId !== null &&
    signedOutElsewhere !== undefined &&
    signedOutElsewhere !== userId
  ) {
    endOfLast = 'other_user';
    notify();
  }
});

/** The session of this tab; undefined if nobody is signed in. */
export function currentSession(): Session | undefined {
  return session;
}

/** If `check` is true when the session expires, the page stays, and asks the user to sign in again. */
export function keepPageWhile(check: () => boolean): void {
  keepsPage = check;
}

/** Whether the page waits for its user to sign in again. */
export function isSessionLocked(): boolean {
  return isLocked;
}

/** Gives up what the page still shows after the session has expired. */
export function leaveLockedPage(): void {
  end('expired');
}

/** Why the session ended although nobody signed out in this tab; undefined if it did not. */
export function sessionEnd(): SessionEnd | undefined {
  return endOfLast;
}

/** Undefined if nobody has signed out in this tab, or if the session did not begin at an identity provider with a sign-out. */
export function offeredProviderSignOut(): ProviderSignOut | undefined {
  return providerSignOut;
}

export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function may(permission: Permission): boolean {
  return session?.permissions.has(permission) ?? false;
}

/** @throws the error body if the service refuses, or TypeError if it does not answer. */
export async function signIn(credentials: { email: string; password: string }): Promise<void> {
  const { data } = await call('POST', SESSION_PATH, credentials);
  start(data as SignedIn);
}

export async function signOut(): Promise<void> {
  const answer = await withSessionLock(() => call('DELETE', `${SESSION_PATH}${ofUser()}`)).catch(
    endIfOtherUser,
  );
  providerSignOut = (answer?.data as Schemas['SignedOut'] | undefined)?.providerSignOut ?? undefined;
  if (session) tabs.postMessage(null);
  end(undefined);
}

/** The access token for a request; undefined if nobody is signed in. */
export async function accessToken(): Promise<string | undefined> {
  if (token && token.expiresAtMs - RENEW_BEFORE_MS < Date.now()) await renewSession();
  return token?.value;
}

/** @returns a token that replaces the refused one; undefined if the session has ended. */
export async function replaceToken(refused: string): Promise<string | undefined> {
  if (token?.value === refused) await renewSession();
  return token?.value;
}

/**
 * Renews the session with the refresh cookie of the browser, if it has one. If another user has signed in in another tab, ends
 * the session of this tab instead. Calls `onSent` when the request has been sent. Concurrent callers share one renewal.
 */
export function renewSession(onSent?: () => void): Promise<void> {
  renewal ??= withSessionLock(async () => {
    const answer = call('POST', `${SESSION_PATH}/refresh${ofUser()}`);
    onSent?.();
    const { data } = await answer;
    const restored = data as SignedIn | { user: null };
    if (restored.user) start(restored);
    else end('expired');
  })
    .catch(endIfOtherUser)
    .finally(() => {
      renewal = undefined;
    });
  return renewal;
}

/** Names the user of this page to the service, because another tab may have replaced the cookie by that of another user. */
function ofUser(): string {
  return session ? `?userId=${session.user.id}` : '';
}

/** @throws the error if it has another reason. */
function endIfOtherUser(error: unknown): undefined {
  if (!(isErrorBody(error) && error.error.code === 'VALIDATION_ERROR')) throw error;
  end('other_user');
}

/**
 * Runs `work` in one tab at a time. All tabs share one refresh cookie, and each renewal replaces it. If a tab sends a cookie that
 * was replaced more than ten seconds ago, the service ends the session. Browsers have `navigator.locks` only in secure contexts.
 */
function withSessionLock<Result>(work: () => Promise<Result>): Promise<Result> {
  return navigator.locks ? navigator.locks.request('session', work) : work();
}

async function call(method: string, path: string, body?: unknown): Promise<{ data: unknown }> {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_HEADERS };
  const request = new Request(new URL(path, location.origin), { method, ...init });
  // Only the sign-out and the renewal have no body. Both can be repeated: the service accepts a replaced cookie for ten seconds.
  const response = await send(request, body === undefined);
  const answer: unknown = await response.json();
  if (isErrorBody(answer)) throw answer;
  return answer as { data: unknown };
}

function start({ user, permissions, accessToken, expiresIn }: SignedIn): void {
  const isSame = session?.user.id === user.id && session.user.role === user.role && !isLocked;
  isLocked = false;
  token = { value: accessToken, expiresAtMs: Date.now() + expiresIn * 1000 };
  endOfLast = undefined;
  providerSignOut = undefined;
  signedOutElsewhere = undefined;
  session = { user, permissions: new Set(permissions) };
  if (!isSame) notify();
  tabs.postMessage(user.id);
}

function end(reason: SessionEnd | undefined): void {
  const wasSignedIn = session !== undefined;
  token = undefined;
  isLocked = wasSignedIn && reason === 'expired' && !isLocked && keepsPage();
  if (!isLocked) session = undefined;
  if (wasSignedIn) endOfLast = reason;
  if (wasSignedIn) notify();
}

function notify(): void {
  for (const listener of listeners) listener();
}
