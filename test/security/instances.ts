import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { createRedis, type FragileRedis, hasRedis } from '../faults/redis.ts';
import { startInstance, type TestService } from '../support/harness.ts';

type Instance = Awaited<ReturnType<typeof startInstance>>;

/** Whether instances can share their limits on this machine. If not, these tests are reported as skipped. */
export const redisIsThere = hasRedis();

/** Starts three more instances on the database of a service. They share a Redis that only they use. */
export function useThreeInstances(service: TestService, environment: Record<string, string>): Instance[] {
  const instances: Instance[] = [];
  let redis: FragileRedis;
  beforeAll(async () => {
    if (!redisIsThere) return;
    redis = await createRedis();
    await redis.start();
    for (let n = 0; n < 3; n++) {
      instances.push(await startInstance(service, { REDIS_URL: redis.url, ...environment }));
    }
    for (const { redis: shared } of instances) {
      while (!shared?.isUsable()) await sleep(20);
    }
  });
  afterAll(async () => {
    for (const { close } of instances) await close();
    if (redisIsThere) await redis.kill();
  });
  return instances;
}
