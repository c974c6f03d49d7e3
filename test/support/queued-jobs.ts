import { EventEmitter } from 'node:events';
import { Logger, runTaskListOnce, type WorkerEvents } from 'graphile-worker';
import { beforeAll } from 'vitest';
import { createTasks } from '../../src/jobs.ts';
import type { Task } from '../../src/platform/jobs/queue.ts';
import type { TestService } from './harness.ts';

const SILENT = new Logger(() => () => {});

/**
 * Runs the jobs of a service only when a test says so. The test then knows when they have ended, and that none runs later.
 * @returns a function that runs the jobs that requests and minute jobs have added. @throws the first error of a job.
 */
export function useQueuedJobs(service: TestService): () => Promise<void> {
  let tasks: Record<string, Task>;
  beforeAll(() => {
    const { context, parts } = service;
    tasks = createTasks(context, parts.copies, parts.log);
  });
  return async () => {
    const events: WorkerEvents = new EventEmitter();
    const errors: unknown[] = [];
    events.on('job:error', ({ error }) => errors.push(error));
    const client = await service.parts.pool.connect();
    try {
      const { signal } = new AbortController();
      const taskList = Object.fromEntries(
        Object.entries(tasks).map(([name, task]) => [
          name,
          (payload: unknown) => task(payload, { isLast: false, signal }),
        ]),
      );
      await runTaskListOnce({ events, logger: SILENT, noHandleSignals: true }, taskList, client).promise;
    } finally {
      client.release();
    }
    if (errors.length > 0) throw errors[0];
  };
}
