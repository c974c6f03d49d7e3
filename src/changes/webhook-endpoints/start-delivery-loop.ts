import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, SYSTEM } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import { createSender, type OutboundResult } from '../../platform/outbound/sender.ts';
import { messageHeaders, signatureOf } from '../../platform/outbound/standard-webhooks.ts';
import { event } from '../events/change-rules.ts';
import { audit } from '../events/change-store.ts';
import { typesOf } from '../events/rules.ts';
import { type EventRow, findEvents, findEventsById } from '../events/store.ts';
import { toEvent } from '../events/view.ts';
import { Backlog, type BacklogEvent, type Item } from './backlog-rules.ts';
import {
  healthAfter,
  isDelivered,
  MAX_IN_FLIGHT,
  messageIdOf,
  nextAttemptAt,
  type Outcome,
  orderKeyOf,
  reasonToDisable,
  slotsOf,
} from './delivery-rules.ts';
import {
  type DeliveryRow,
  type DeliverySettings,
  findBlockedKeys,
  findDueRetries,
  findSettings,
  insertDeliveries,
  type Lease,
  type LeasedEndpoint,
  type RetryRow,
  releaseEndpoint,
  type StoredRetry,
  saveProgress,
  saveRetries,
} from './delivery-store.ts';
import { secretsAt } from './rules.ts';
import { disableEndpoint, holdChanges } from './store.ts';

/** The number of events to read at once. The next events are read when at most half of this number is left. */
const READ_BATCH = 200;
/** How often the loops of an instance do their work, in milliseconds. Tests use shorter intervals. */
export const DELIVERY_INTERVALS = {
  /** Renewing and taking leases, and reading due retries. Much shorter than a lease. */
  leaseMs: 1_500,
  /** Looking for new events. */
  pollMs: 100,
  /** Saving attempts. They are saved together, so that a busy endpoint costs few transactions. */
  saveMs: 100,
} as const;
export type DeliveryIntervals = Readonly<Record<keyof typeof DELIVERY_INTERVALS, number>>;
/** How often the cursor is saved while no event has a type of the endpoint. */
const IDLE_SAVE_INTERVAL_MS = 5_000;
const PAUSE_AFTER_ERROR_MS = 1_000;

interface DeliveryParts {
  context: Context;
  log: Log;
  lease: Lease;
  intervals: DeliveryIntervals;
  /** Every event up to this id is visible. */
  horizon(): number;
  /** Limits the concurrent statements of all endpoints, so that calls of the API still find database connections. */
  limited<T>(work: () => Promise<T>): Promise<T>;
  /** Called for each saved attempt, and for each event that was deleted before it could be sent. */
  onOutcome(outcome: Outcome): void;
}

/** Delivers to one endpoint while this instance owns its lease. */
export interface DeliveryLoop {
  /** Checks for new events. */
  wake(): void;
  /** Changes whenever the loop has read the settings of the endpoint. */
  version(): number;
  /**
   * Extends the lease. Uses the settings that the caller has read, unless the loop has read newer ones.
   * @param readAtVersion - the version before the caller read the settings.
   */
  update(endpoint: LeasedEndpoint, leasedAtMs: number, readAtVersion: number): void;
  /** Waits a few seconds for requests, saves progress and frees the lease. */
  stop(): Promise<void>;
  /** Resolves when the loop has ended. It ends by itself when another instance has the lease, or the endpoint is disabled. */
  ended: Promise<void>;
}

interface FeedEvent extends BacklogEvent {
  type: string;
  body: string;
}

interface Finished {
  item: Item<FeedEvent>;
  sent: Pick<DeliveryRow, 'message_id' | 'signature' | 'created_at'>;
  result: OutboundResult;
  /** The number of resets of the endpoint when the request was sent. */
  healthResets: number;
}

export function startDeliveryLoop(
  first: LeasedEndpoint,
  { context, log, lease, intervals, horizon, limited, onOutcome }: DeliveryParts,
): DeliveryLoop {
  const { db, clock, config, currency } = context;
  const { deliveryMs, deliveryStopMs } = config.limits;
  /** If a process dies during a request, the next owner repeats the request after this time. */
  const resendAfterMs = deliveryMs + 5_000;
  const sender = createSender({
    destinations: config.webhookDestinations,
    maxConnections: MAX_IN_FLIGHT,
    timeoutMs: deliveryMs,
  });
  const backlog = new Backlog<FeedEvent>(first.cursor);
  const abandoned = new AbortController();
  setMaxListeners(0, abandoned.signal); // Each request adds a listener. Without this, Node would warn of too many.
  const notifier = createNotifier();
  let endpoint: DeliverySettings = first;
  let types: ReadonlySet<string> = new Set(typesOf(first.types));
  let version = 0;
  let leaseEndsMs = performance.now() + lease.seconds * 1000;
  let finished: Finished[] = [];
  /** Attempts that are being saved. */
  let saving: Finished[] = [];
  let isStopping = false;
  let mayHaveRetries = true;
  /** Whether the backlog knows the order keys of the events in webhook_retries. */
  let knowsBlockedKeys = false;
  /** The last deleted event that was reported as missed. */
  let missedToId = 0;
  let savedAtMs = performance.now();

  function adopt(next: DeliverySettings): void {
    // Read before what the loop already knows.
    if (next.cursorMoves < endpoint.cursorMoves || next.healthResets < endpoint.healthResets) return;
    if (next.cursorMoves > endpoint.cursorMoves) backlog.moveTo(next.cursor);
    if (next.healthResets > endpoint.healthResets) {
      backlog.forgetRetries();
      mayHaveRetries = true;
    }
    if (next.types.join() !== endpoint.types.join()) {
      types = new Set(typesOf(next.types));
      backlog.forgetUnless(({ type }) => types.has(type));
    }
    if (next.inOrder && !endpoint.inOrder) knowsBlockedKeys = false;
    endpoint = next;
    version += 1;
  }

  function extendLease({ hasDueRetry }: LeasedEndpoint, leasedAtMs: number): void {
    if (hasDueRetry) mayHaveRetries = true;
    leaseEndsMs = leasedAtMs + lease.seconds * 1000;
  }

  /** Reads the settings. @returns false if another instance has the lease. */
  async function refresh(): Promise<boolean> {
    const current = await limited(() => findSettings(db, lease.owner, endpoint.id));
    if (current) adopt(current);
    return current !== undefined;
  }

  function toFeedEvent(row: EventRow): FeedEvent {
    const shown = toEvent(row, currency);
    return { id: row.id, type: row.type, orderKey: orderKeyOf(shown), body: JSON.stringify(shown) };
  }

  /** @returns false if another instance has the lease. */
  async function readRetries(): Promise<boolean> {
    mayHaveRetries = false;
    const { id, inOrder } = endpoint;
    const query = { endpointId: id, inOrder, except: backlog.ids(), now: clock.now(), limit: READ_BATCH };
    const [due, keys] = await limited(() =>
      Promise.all([findDueRetries(db, query), inOrder ? findBlockedKeys(db, id) : new Set<string>()]),
    );
    backlog.block(keys);
    knowsBlockedKeys = inOrder;
    if (due.length === 0) return true;
    const rows = await limited(() =>
      findEventsById(
        db,
        due.map(({ eventId }) => eventId),
      ),
    );
    const found = new Map(rows.map((row) => [row.id, toFeedEvent(row)]));
    // After the retries, so that no retry that follows a change of the types is checked with the former types.
    if (!(await refresh())) return false;
    backlog.addRetries(
      due.flatMap(({ eventId, attempts, firstAttemptAt, version }) => {
        const known = found.get(eventId);
        return known && types.has(known.type)
          ? [{ event: known, attempts, firstAttemptAt, storedVersion: version }]
          : [];
      }),
    );
    const deleted = due.filter(({ eventId }) => !found.has(eventId));
    if (deleted.length > 0) await giveUp(deleted);
    // A user removed the type while an attempt was running.
    const unwanted = [...found.values()].filter(({ type }) => !types.has(type)).map(({ id }) => id);
    if (unwanted.length > 0) await forget(due.filter(({ eventId }) => unwanted.includes(eventId)));
    return true;
  }

  async function forget(retries: readonly StoredRetry[]): Promise<void> {
    const done = retries.map(({ eventId }) => eventId);
    await limited(() => saveRetries(db, endpoint.id, { done, retries: [], known: retries }));
    mayHaveRetries = true;
    notifier.notify();
  }

  /** Gives up events that were deleted from the feed. This happens if an endpoint was disabled for longer than events are kept. */
  async function giveUp(deleted: readonly StoredRetry[]): Promise<void> {
    await forget(deleted);
    for (const _ of deleted) onOutcome('given_up');
    log.warn(
      { webhookEndpoint: endpoint.id, eventIds: deleted.map(({ eventId }) => eventId) },
      'A webhook endpoint does not get these events: they were deleted before they could be sent',
    );
  }

  /** @returns false if another instance has the lease. */
  async function readEvents(): Promise<boolean> {
    const upTo = horizon();
    if (backlog.position >= upTo || backlog.count('ready') > READ_BATCH / 2) return true;
    // After the horizon, so that no event that follows a change of the types is read with the former types.
    if (!(await refresh())) return false;
    const after = backlog.position;
    const query = { after, upTo, types: [...types], limit: READ_BATCH };
    const { events, toId, deletedToId } = await limited(() => findEvents(db, query));
    // A user may have moved the cursor while the events were read.
    if (backlog.position === after) {
      warnOfMissed(after, deletedToId);
      backlog.addEvents(events.map(toFeedEvent), toId);
    }
    if (backlog.position < upTo) notifier.notify();
    return true;
  }

  function warnOfMissed(after: number, deletedToId: number): void {
    if (after >= deletedToId || missedToId >= deletedToId) return;
    missedToId = deletedToId;
    log.warn(
      { webhookEndpoint: endpoint.id, afterEventId: after, deletedToEventId: deletedToId },
      'A webhook endpoint missed events that were deleted after 30 days. Its receiver must read the resources instead',
    );
  }

  /** How many requests may run now. Includes the effect of attempts that are not saved yet. */
  function slots(now: Date): number {
    const results = [...saving, ...finished].filter(isCurrent).map(({ result }) => result);
    return slotsOf(healthAfter(endpoint, results, now), now);
  }

  /** Whether the attempt says something about the endpoint as it is now. If not, a user has corrected the endpoint meanwhile. */
  function isCurrent({ healthResets }: Finished): boolean {
    return healthResets === endpoint.healthResets;
  }

  /** @returns false if another instance has the lease. */
  async function startRequests(): Promise<boolean> {
    if (backlog.count('ready') === 0 || backlog.count('running') >= slots(clock.now())) return true;
    return limited(() =>
      inTransaction(
        db,
        async (tx) => {
          const [, current] = await Promise.all([
            holdChanges(tx, endpoint.id),
            findSettings(tx, lease.owner, endpoint.id),
          ]);
          if (!current) return false;
          adopt(current);
          const now = clock.now();
          if (performance.now() > leaseEndsMs || isStopping || !endpoint.active) return true;
          if (endpoint.inOrder && !knowsBlockedKeys) notifier.notify();
          else for (const item of backlog.start(slots(now), endpoint.inOrder, now)) void request(item, now);
          return true;
        },
        { startsWithReads: true },
      ),
    );
  }

  async function request(item: Item<FeedEvent>, now: Date): Promise<void> {
    const { id, url, healthResets } = endpoint;
    const message = { id: messageIdOf(id, item.event.id), time: now, body: item.event.body };
    const signature = signatureOf(message, secretsAt(endpoint, now));
    const headers = messageHeaders(message, signature);
    const result = await sender.post({ url, headers, body: message.body }, abandoned.signal);
    if (abandoned.signal.aborted && result.error !== null) return; // The event will be sent again.
    item.state = isDelivered(result) ? 'delivered' : 'failed';
    const sent = { message_id: message.id, signature, created_at: now.toISOString() };
    finished.push({ item, sent, result, healthResets });
    notifier.notify();
  }

  function isSaveDue(): boolean {
    const sinceMs = performance.now() - savedAtMs;
    if (sinceMs < intervals.saveMs) return false;
    const hasResults = finished.length + backlog.runningToStore(clock.now(), false).length > 0;
    const isCursorOld = backlog.position > endpoint.cursor && sinceMs > IDLE_SAVE_INTERVAL_MS;
    return hasResults || backlog.count('deferred') > 0 || isCursorOld;
  }

  /** Saves attempts and the cursor. @returns false if another instance has the lease. */
  async function save(isLast: boolean): Promise<boolean> {
    const now = clock.now();
    const { id, cursorMoves, healthResets, inOrder } = endpoint;
    const batch = finished;
    saving = batch;
    finished = [];
    const running = backlog.runningToStore(now, isLast);
    const deferred = backlog.all('deferred');
    const ended = [...batch.map(({ item }) => item), ...deferred];
    const results = batch.filter(isCurrent).map(({ result }) => result);
    const health = healthAfter(endpoint, results, now);
    const reason = reasonToDisable(health, results, now);
    const attempts = batch.map((one) =>
      toRows(id, one, now, { isCurrent: isCurrent(one), isDisabled: reason !== undefined }),
    );
    const retries = [
      ...attempts.flatMap(({ retry }) => retry ?? []),
      ...running.map((item) => retryRow(id, item, isLast ? now : new Date(now.getTime() + resendAfterMs))),
      ...deferred.map((item) => retryRow(id, item, now)),
    ];
    const known = batch.flatMap(({ item: { event, storedVersion: version } }) =>
      version === undefined ? [] : [{ eventId: event.id, version }],
    );
    const retried = new Set(retries.map((retry) => retry.event_id));
    const done = known.map(({ eventId }) => eventId).filter((eventId) => !retried.has(eventId));
    const progress = {
      id,
      cursor: backlog.cursorAfter(new Set([...ended, ...running])),
      cursorMoves,
      healthResets,
      ...health,
    };
    const leasedAtMs = performance.now();
    const { row: next, versions } = await limited(() =>
      inTransaction(db, async (tx) => {
        const row = await saveProgress(tx, lease, progress, now);
        const wasReset = row?.healthResets !== healthResets;
        const rows = attempts.map(({ delivery }) => delivery);
        const changes = {
          done,
          retries: wasReset ? retries.map((retry) => resetRetry(retry, now)) : retries,
          known,
        };
        const [versions] = await Promise.all([
          row ? saveRetries(tx, id, changes) : new Map<number, string>(),
          insertDeliveries(tx, rows),
        ]);
        // After a user has corrected the endpoint, earlier failures must not disable it.
        if (!row?.active || !reason || wasReset) return { row, versions };
        await disableEndpoint(tx, id, reason);
        await audit(tx, SYSTEM, {
          action: 'webhook_endpoint.disable',
          resource: 'webhook_endpoint',
          resourceId: id,
          before: { active: true, disabledReason: null },
          after: { active: false, disabledReason: reason },
          event: event('webhook_endpoint.disabled', { disabledReason: reason }),
        });
        return { row: { ...row, active: false }, versions };
      }),
    ).catch((error: unknown) => {
      finished = [...batch, ...finished];
      saving = [];
      throw error;
    });
    saving = [];
    backlog.recordSaved(ended, running, versions);
    savedAtMs = performance.now();
    for (const { delivery } of attempts) onOutcome(delivery.outcome);
    if (!next) return false;
    if (reason && endpoint.active && next.healthResets === healthResets)
      log.warn(
        { webhookEndpoint: id, reason },
        'A webhook endpoint was disabled. Enable it when its receiver works again',
      );
    // With inOrder, an event can be sent when the previous event of its key has left webhook_retries.
    if (inOrder && retries.length + done.length > 0) mayHaveRetries = true;
    adopt(next);
    extendLease(next, leasedAtMs);
    return true;
  }

  /** @returns false if another instance has the lease. */
  async function step(): Promise<boolean> {
    if (isSaveDue() && !(await save(false))) return false;
    if (slots(clock.now()) === 0) return true;
    const mustReadRetries = mayHaveRetries || (endpoint.inOrder && !knowsBlockedKeys);
    if (mustReadRetries && !(await readRetries())) return false;
    return (await readEvents()) && (await startRequests());
  }

  async function run(): Promise<void> {
    let hasLease = true;
    while (hasLease && !isStopping && endpoint.active) {
      const awake = notifier.next();
      try {
        hasLease = await step();
        if (!endpoint.active) continue; // Nothing may ever wake the loop of a deleted endpoint.
        const hasUnsaved = finished.length + backlog.count('deferred') > 0;
        await (hasUnsaved ? Promise.race([awake, sleep(intervals.saveMs)]) : awake);
      } catch (error) {
        log.warn({ err: error, webhookEndpoint: endpoint.id }, 'A webhook endpoint waits for the database');
        await Promise.race([sleep(PAUSE_AFTER_ERROR_MS), stopped]);
      }
    }
    if (hasLease) await finish();
    abandoned.abort();
    sender.close();
  }

  async function finish(): Promise<void> {
    const endsMs = performance.now() + deliveryStopMs;
    while (backlog.count('running') > 0 && performance.now() < endsMs)
      await Promise.race([notifier.next(), sleep(50)]);
    abandoned.abort();
    try {
      if (await save(true)) await limited(() => releaseEndpoint(db, lease.owner, endpoint.id));
    } catch (error) {
      log.warn(
        { err: error, webhookEndpoint: endpoint.id },
        'The outcomes of the last deliveries of a webhook endpoint may not have been saved. The events may be sent again',
      );
    }
  }

  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const ended = run();
  return {
    wake: notifier.notify,
    version: () => version,
    update(next, leasedAtMs, readAtVersion) {
      extendLease(next, leasedAtMs);
      if (readAtVersion === version) adopt(next);
      notifier.notify();
    },
    async stop() {
      isStopping = true;
      stop();
      notifier.notify();
      await ended;
    },
    ended,
  };
}

function toRows(
  endpointId: number,
  { item, sent, result }: Finished,
  now: Date,
  { isCurrent, isDisabled }: { isCurrent: boolean; isDisabled: boolean },
) {
  const attempt = item.attempts + 1;
  const firstAttemptAt = item.firstAttemptAt ?? sent.created_at;
  const next = isDelivered(result)
    ? undefined
    : nextAttemptAt(attempt, new Date(firstAttemptAt), result, now, Math.random());
  // A disabled endpoint keeps all its events. They are delivered when it is enabled again. A corrected one gets them at once.
  const retryAt = isDelivered(result) || (isCurrent && !isDisabled) ? next : now;
  const outcome: Outcome = isDelivered(result) ? 'delivered' : retryAt ? 'failed' : 'given_up';
  const delivery: DeliveryRow = {
    ...sent,
    endpoint_id: endpointId,
    event_id: item.event.id,
    event_type: item.event.type,
    attempt,
    outcome,
    status: result.status,
    answer: result.answer,
    error: result.error,
    duration_ms: result.durationMs,
    next_attempt_at: isDisabled ? null : (next?.toISOString() ?? null),
  };
  const retry = retryAt && retryRow(endpointId, { ...item, attempts: attempt, firstAttemptAt }, retryAt);
  return { delivery, retry: retry && !isCurrent ? resetRetry(retry, now) : retry };
}

function retryRow(
  endpointId: number,
  {
    event: { id, orderKey },
    attempts,
    firstAttemptAt,
  }: Pick<Item<FeedEvent>, 'event' | 'attempts' | 'firstAttemptAt'>,
  at: Date,
): RetryRow {
  return {
    endpoint_id: endpointId,
    event_id: id,
    order_key: orderKey,
    attempts,
    first_attempt_at: firstAttemptAt,
    next_attempt_at: at.toISOString(),
  };
}

/** The retry after a reset by a user: due now, with no attempts. */
function resetRetry(row: RetryRow, now: Date): RetryRow {
  return { ...row, attempts: 0, first_attempt_at: null, next_attempt_at: now.toISOString() };
}

/** Lets a loop wait until it has something to do. */
function createNotifier() {
  let resolveNext = () => {};
  return {
    notify: () => resolveNext(),
    /** Resolves at the next notification. Call it before the work, so that a notification during the work is not missed. */
    next(): Promise<void> {
      return new Promise((resolve) => {
        resolveNext = resolve;
      });
    },
  };
}
