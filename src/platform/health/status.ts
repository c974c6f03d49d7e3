import type { RefusedWrites } from '../../core/database/refused-writes.ts';
import type { Replica, ReplicaState } from '../../core/database/replica.ts';
import type { RedisState, SharedRedis } from '../../core/http/redis.ts';
import type { DatabaseProbe, DatabaseState } from './probe.ts';

export interface HealthStatus {
  /**
   * `degraded`: the database refuses writes, a configured Redis or replica is not up, or a provider is silent. `down`: the
   * database does not answer, or its migrations do not fit this version.
   */
  status: 'ok' | 'degraded' | 'down';
  database: DatabaseState;
  /** While writes are refused, reads work, so the instances stay ready. */
  writes: 'accepted' | 'refused';
  redis: RedisState | 'disabled';
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
    refusedWrites,
  }: {
    probe: DatabaseProbe;
    redis: SharedRedis | undefined;
    replica: Replica | undefined;
    refusedWrites: RefusedWrites;
  },
  readSilentProviders: () => Promise<string[] | undefined>,
): HealthCheck {
  return async () => {
    const [database, stateOfRedis, silentProviders] = await Promise.all([
      probe.state(),
      redis?.state() ?? ('disabled' as const),
      readSilentProviders(),
    ]);
    const stateOfReplica = replica?.status().state ?? 'disabled';
    const writes = refusedWrites.isRecent() ? 'refused' : 'accepted';
    const isDegraded =
      writes === 'refused' ||
      [stateOfRedis, stateOfReplica].some((state) => !['up', 'disabled'].includes(state)) ||
      (silentProviders ?? []).length > 0;
    const status = database !== 'up' ? 'down' : isDegraded ? 'degraded' : 'ok';
    return { status, database, writes, redis: stateOfRedis, replica: stateOfReplica, silentProviders };
  };
}
