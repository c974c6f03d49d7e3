import type { FastifyRequest } from 'fastify';
import type { Stopwatch } from '../../core/values/dates.ts';

const INTERVAL_MS = 60_000;

/** Warns of refused calls of payment providers. Shared by all routes of an instance. */
export interface RefusedCallLog {
  /** @param reason - why the call was refused. */
  record(request: FastifyRequest, provider: string, reason: string): void;
}

/**
 * Writes at most one line a minute for each provider, because anybody can call these routes, and could otherwise fill the log. A
 * line describes one call, and counts the refused calls since the last line.
 */
export function createRefusedCallLog(stopwatch: Stopwatch): RefusedCallLog {
  const states = new Map<string, { nextAtMs: number; refused: number }>();
  return {
    record(request, provider, reason) {
      const { nextAtMs, refused } = states.get(provider) ?? { nextAtMs: stopwatch.now(), refused: 0 };
      const count = refused + 1;
      if (stopwatch.now() < nextAtMs) {
        states.set(provider, { nextAtMs, refused: count });
        return;
      }
      states.set(provider, { nextAtMs: stopwatch.now() + INTERVAL_MS, refused: 0 });
      request.log.warn(
        { provider, client: request.ip, refusedCalls: count },
        `A call of the provider was refused: ${reason}`,
      );
    },
  };
}
