import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Context } from '../../core/context.ts';
import type { Log } from '../../core/log.ts';
import type { HorizonReader } from '../events/feed-horizon.ts';
import type { Outcome } from './delivery-rules.ts';
import { findOwnedEndpoints, type Lease, leaseEndpoints } from './delivery-store.ts';
import {
  DELIVERY_INTERVALS,
  type DeliveryIntervals,
  type DeliveryLoop,
  startDeliveryLoop,
} from './start-delivery-loop.ts';

/** The number of SQL statements that all delivery loops of this instance may run at the same time. */
const MAX_STATEMENTS = 2;

/** Delivers events to the endpoints whose leases this instance has. */
export interface Dispatcher {
  /** The attempts since the start of this instance, by outcome. `given_up` includes events that were deleted before delivery. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Waits up to 3 s for webhook requests that are still running, then frees the endpoints for other instances. */
  stop(): Promise<void>;
}

export function startDispatcher(
  context: Context,
  reader: HorizonReader,
  log: Log,
  intervals: DeliveryIntervals = DELIVERY_INTERVALS,
): Dispatcher {
  const { db, config } = context;
  const lease: Lease = { owner: randomUUID(), seconds: config.limits.leaseMs / 1000 };
  const loops = new Map<number, DeliveryLoop>();
  const counts: Record<Outcome, number> = { delivered: 0, failed: 0, given_up: 0 };
  const stopping = new AbortController();
  const { signal } = stopping;
  let horizon = 0;
  const parts = {
    ...{ context, log, lease, intervals },
    horizon: () => horizon,
    limited: pLimit(MAX_STATEMENTS),
    onOutcome(outcome: Outcome) {
      counts[outcome] += 1;
    },
  };

  async function renewLeases(): Promise<void> {
    const leasedAtMs = performance.now();
    const versions = new Map([...loops].map(([id, loop]) => [id, loop.version()]));
    const endpoints = await leaseEndpoints(db, lease, context.clock.now());
    for (const endpoint of endpoints) {
      const { id } = endpoint;
      const loop = loops.get(id);
      loop?.update(endpoint, leasedAtMs, versions.get(id) ?? 0);
      if (!loop && !signal.aborted) start(endpoint.id, startDeliveryLoop(endpoint, parts));
    }
    await stopLost(new Set(endpoints.map(({ id }) => id)));
  }

  /**
   * Stops the loops whose endpoint was disabled, deleted or taken over. An endpoint that another transaction has locked is also
   * missing from `leased`, but this instance may still own the endpoint.
   */
  async function stopLost(leased: ReadonlySet<number>): Promise<void> {
    const missing = [...loops.keys()].filter((id) => !leased.has(id));
    if (missing.length === 0) return;
    const owned = new Set(await findOwnedEndpoints(db, lease.owner, missing));
    for (const id of missing) if (!owned.has(id)) void loops.get(id)?.stop();
  }

  function start(id: number, loop: DeliveryLoop): void {
    loops.set(id, loop);
    void loop.ended.then(() => loops.delete(id));
  }

  async function lookForEvents(): Promise<void> {
    if (loops.size === 0) return;
    const { id } = await reader.read();
    if (id <= horizon) return;
    horizon = id;
    for (const loop of loops.values()) loop.wake();
  }

  /** Repeats work until the stop. Of consecutive failures only the first is logged. */
  async function repeat(work: () => Promise<void>, intervalMs: number): Promise<void> {
    let hasFailed = false;
    while (!signal.aborted) {
      try {
        await work();
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) log.warn({ err: error }, 'Webhook deliveries wait for the database');
        hasFailed = true;
      }
      await sleep(intervalMs, undefined, { signal }).catch(() => {}); // The stop ends the pause.
    }
  }

  const running = Promise.all([
    repeat(renewLeases, intervals.leaseMs),
    repeat(lookForEvents, intervals.pollMs),
  ]);
  return {
    counts,
    async stop() {
      stopping.abort();
      await running;
      await Promise.all([...loops.values()].map((loop) => loop.stop()));
    },
  };
}
