import type { Replica, ReplicaState } from '../../core/database/replica.ts';
import type { SharedRedis } from '../../core/http/redis.ts';
import type { DatabaseProbe, DatabaseState } from './probe.ts';

export interface HealthStatus {
  /**
   * `degraded`: a configured Redis does not answer, a configured replica is not up, or a provider is silent. `down`: the database
   * does not answer, or its migrations do not fit this version.
   */
  status: 'ok' | 'degraded' | 'down';
  database: DatabaseState;
  redis: 'up' | 'down' | 'disabled';
  replica: ReplicaState | 'disabled';
  /** The payment providers that are silent for longer than usual. Undefined while the database is slow or down. */
  silentProviders: string[] | undefined;
}

/** Checks all dependencies of the service concurrently. */
export type HealthCheck = () => Promise<HealthStatus>;

export function createHealthCheck(
  {
    probe,
    redis,
    replica,
  }: { probe: DatabaseProbe; redis: SharedRedis | undefined; replica: Replica | undefined },
  readSilentProviders: () => Promise<string[] | undefined>,
): HealthCheck {
  return async () => {
    const [database, stateOfRedis, silentProviders] = await Promise.all([
      probe.state(),
      askRedis(redis),
      readSilentProviders(),
    ]);
    const stateOfReplica = replica?.status().state ?? 'disabled';
    const isDegraded =
      stateOfRedis === 'down' ||
      !['up', 'disabled'].includes(stateOfReplica) ||
      (silentProviders ?? []).length > 0;
    const status = database !== 'up' ? 'down' : isDegraded ? 'degraded' : 'ok';
    return { status, database, redis: stateOfRedis, replica: stateOfReplica, silentProviders };
  };
}

async function askRedis(redis: SharedRedis | undefined): Promise<HealthStatus['redis']> {
  if (!redis) return 'disabled';
  return (await redis.ping()) ? 'up' : 'down';
}
