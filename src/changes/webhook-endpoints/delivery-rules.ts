import type { DisabledReason } from './rules.ts';

export const OUTCOMES = ['delivered', 'failed', 'given_up'] as const;
/** `failed`: the event is sent again later. `given_up`: only a user can send it again. */
export type Outcome = (typeof OUTCOMES)[number];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The delays before the second attempt, the third, and so on. Later attempts follow every 8 hours. */
const RETRY_DELAYS_MS = [5_000, 30_000, 2 * MINUTE, 10 * MINUTE, HOUR, 3 * HOUR];
const LAST_RETRY_DELAY_MS = 8 * HOUR;
/** The relative jitter of a delay, so that events that failed together are not retried together. */
const JITTER = 0.1;
/** An event that has failed for three days is given up. An endpoint that has failed for three days is disabled. */
export const MAX_FAILING_MS = 72 * HOUR;

/** After this number of failures in a row, the service pauses an endpoint, and then tries one event after each pause. */
const FAILURES_TO_PAUSE = 5;
const MIN_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 10 * MINUTE;

/** The maximum number of concurrent requests to one endpoint. */
export const MAX_IN_FLIGHT = 32;

const GONE = 410;
const ASK_TO_WAIT = [429, 503];
/** A longer Retry-After is shortened to this time, so that a wrong value does not hold back events for long. */
const MAX_RETRY_AFTER_MS = HOUR;

/** The answer of a receiver to an attempt. */
export interface Answer {
  /** Null without an answer. */
  status: number | null;
  /** The header Retry-After. Null without it. */
  retryAfterSeconds: number | null;
}

/** How long the receiver asks the service to wait. */
function requestedPauseMs({ status, retryAfterSeconds }: Answer): number {
  if (status === null || !ASK_TO_WAIT.includes(status)) return 0;
  return Math.min(1000 * (retryAfterSeconds ?? 0), MAX_RETRY_AFTER_MS);
}

export function isDelivered({ status }: { status: number | null }): boolean {
  return status !== null && status >= 200 && status < 300;
}

/**
 * When an event is sent again after an attempt that failed. Undefined if the event is given up.
 * @param attempts - the number of attempts so far. @param random - a number from 0 to 1.
 */
export function nextAttemptAt(
  attempts: number,
  firstAttemptAt: Date,
  answer: Answer,
  now: Date,
  random: number,
): Date | undefined {
  const last = firstAttemptAt.getTime() + MAX_FAILING_MS;
  if (now.getTime() >= last) return undefined;
  const delay = RETRY_DELAYS_MS[attempts - 1] ?? LAST_RETRY_DELAY_MS;
  const jittered = delay * (1 + JITTER * (2 * random - 1));
  return new Date(Math.min(now.getTime() + Math.max(jittered, requestedPauseMs(answer)), last));
}

/** The health of an endpoint, as its latest deliveries show it. */
export interface Health {
  failuresInARow: number;
  /** The time of the first failure since the latest success. */
  failingSince: string | null;
  /** Nothing is sent before this time. */
  pausedUntil: string | null;
}

/** The health of an endpoint after more attempts. @param attempts - in the order in which they ended. */
export function healthAfter(health: Health, attempts: readonly Answer[], now: Date): Health {
  let { failuresInARow, failingSince } = health;
  if (attempts.length === 0) return { failuresInARow, failingSince, pausedUntil: health.pausedUntil };
  for (const attempt of attempts) {
    const hasFailed = !isDelivered(attempt);
    failuresInARow = hasFailed ? failuresInARow + 1 : 0;
    failingSince = hasFailed ? (failingSince ?? now.toISOString()) : null;
  }
  // With fewer than five failures in a row, a pause can only come from Retry-After. Such a pause remains after a success.
  const requestedBefore = health.failuresInARow < FAILURES_TO_PAUSE ? timeOf(health.pausedUntil) : 0;
  const requested = Math.max(...attempts.map(requestedPauseMs)) + now.getTime();
  const end = Math.max(requestedBefore, requested, timeOf(pauseAfter(failuresInARow, failingSince, now)));
  const pausedUntil = end > now.getTime() ? new Date(end).toISOString() : null;
  return { failuresInARow, failingSince, pausedUntil };
}

function timeOf(timestamp: string | null): number {
  return timestamp === null ? 0 : new Date(timestamp).getTime();
}

/** A pause is half as long as the time since the first failure, so that pauses grow while the endpoint is down. */
function pauseAfter(failuresInARow: number, failingSince: string | null, now: Date): string | null {
  if (failingSince === null || failuresInARow < FAILURES_TO_PAUSE) return null;
  const failingMs = now.getTime() - new Date(failingSince).getTime();
  const pauseMs = Math.min(Math.max(failingMs / 2, MIN_PAUSE_MS), MAX_PAUSE_MS);
  return new Date(now.getTime() + pauseMs).toISOString();
}

/** Why the service disables an endpoint after these attempts. Undefined if the endpoint stays enabled. */
export function reasonToDisable(
  { failingSince }: Health,
  attempts: readonly { status: number | null }[],
  now: Date,
): DisabledReason | undefined {
  if (attempts.some(({ status }) => status === GONE)) return 'gone';
  const failingMs = failingSince === null ? 0 : now.getTime() - new Date(failingSince).getTime();
  return failingMs >= MAX_FAILING_MS ? 'failing' : undefined;
}

/** The number of requests to an endpoint that can run at the same time now. */
export function slotsOf({ failuresInARow, pausedUntil }: Health, now: Date): number {
  if (pausedUntil !== null && new Date(pausedUntil) > now) return 0;
  return failuresInARow >= FAILURES_TO_PAUSE ? 1 : MAX_IN_FLIGHT;
}

/** The id of the message is the same for every attempt, and different for each endpoint. */
export function messageIdOf(endpointId: number, eventId: number): string {
  return `msg_${endpointId}_${eventId}`;
}

/** Events with the same key are delivered one after the other, if the endpoint wants them in order. */
export function orderKeyOf(event: { accountId: number | null; resource: string; resourceId: number | null }) {
  return event.accountId === null ? `${event.resource} ${event.resourceId}` : `account ${event.accountId}`;
}
