import type { FastifyRequest } from 'fastify';
import { AppError } from '../../core/http/errors.ts';
import type { Stopwatch } from '../../core/values/dates.ts';

const INTERVAL_MS = 60_000;

declare module 'fastify' {
  interface FastifyInstance {
    /** Shared by all routes that payment providers call. */
    refusedCalls: RefusedCallLog;
  }
}

/** Warns of refused calls of payment providers. */
interface RefusedCallLog {
  record(request: FastifyRequest, provider: string, error: Error): void;
}

/**
 * Writes at most one line a minute for each provider and kind of error, because anybody can call these routes, and could otherwise
 * fill the log. A line describes one call, and counts those since the last line.
 */
export function createRefusedCallLog(stopwatch: Stopwatch): RefusedCallLog {
  const states = new Map<string, { nextAtMs: number; refused: number }>();
  return {
    record(request, provider, error) {
      const kind = `${provider} ${error instanceof AppError ? error.code : error.name}`;
      const { nextAtMs, refused } = states.get(kind) ?? { nextAtMs: stopwatch.now(), refused: 0 };
      const count = refused + 1;
      if (stopwatch.now() < nextAtMs) {
        states.set(kind, { nextAtMs, refused: count });
        return;
      }
      states.set(kind, { nextAtMs: stopwatch.now() + INTERVAL_MS, refused: 0 });
      request.log.warn(
        { provider, client: request.ip, refusedCalls: count },
        `A call of the provider was refused: ${error.message}`,
      );
    },
  };
}
