import type { SharedRedis } from '../../core/http/redis.ts';
import type { DatabaseProbe, DatabaseState } from './probe.ts';

export interface HealthStatus {
  /** degraded: without Redis; down: without a database of this version. */
  status: 'ok' | 'degraded' | 'down';
  database: DatabaseState;
  redis: 'up' | 'down' | 'disabled';
}

/** Checks all dependencies of the service concurrently. */
export type HealthCheck = () => Promise<HealthStatus>;

export function createHealthCheck(probe: DatabaseProbe, redis: SharedRedis | undefined): HealthCheck {
  return async () => {
    const [database, stateOfRedis] = await Promise.all([probe.state(), askRedis(redis)]);
    const status = database !== 'up' ? 'down' : stateOfRedis === 'down' ? 'degraded' : 'ok';
    return { status, database, redis: stateOfRedis };
  };
}

async function askRedis(redis: SharedRedis | undefined): Promise<HealthStatus['redis']> {
  if (!redis) return 'disabled';
  return (await redis.ping()) ? 'up' : 'down';
}
