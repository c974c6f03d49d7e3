import { createConcurrencyLimit } from '../../core/concurrency-limit.ts';
import { createPrintProcess, type PrintOrder } from './print-process.ts';

export interface PrintQueue {
  /**
   * @param caller see `callerOf` in access.ts.
   * @throws AppError 429 or 503 like `ConcurrencyLimit.enter`, and 503 if the print process fails or takes too long. PrintError if
   *   the template or one of its files is defective.
   */
  print(caller: string, order: Omit<PrintOrder, 'id'>): Promise<Buffer>;
  close(): void;
}

interface QueueOptions {
  /** The limit of running and waiting documents of one caller. */
  maxPerCaller: number;
  maxWaiting: number;
  /** How long a document may wait until its printing starts. */
  waitMs: number;
}

/** Prints documents one at a time. Callers take turns. */
export function createPrintQueue({
  maxPerCaller,
  maxWaiting,
  waitMs,
  ...options
}: QueueOptions & Parameters<typeof createPrintProcess>[0]): PrintQueue {
  const slots = createConcurrencyLimit({ what: 'documents', slots: 1, maxPerCaller, maxWaiting, waitMs });
  const process = createPrintProcess(options);
  return {
    async print(caller, order) {
      const leave = await slots.enter(caller);
      try {
        return await process.print(order);
      } finally {
        leave();
      }
    },
    close() {
      slots.close();
      process.close();
    },
  };
}
