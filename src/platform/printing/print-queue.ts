import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { unavailable } from '../../core/http/errors.ts';
import { createSharedSlots } from '../../core/http/shared-slots.ts';

/** A message to the print process. */
export interface PrintOrder {
  id: number;
  /** The name of a file in templates/. */
  template: string;
  /** JSON text. */
  data: string;
  /** Files that appear beside the template. */
  files: { name: string; bytes: Uint8Array }[];
}

export type PrintAnswer = { id: number; pdf: Uint8Array } | { id: number; failure: string };

export interface PrintQueue {
  /**
   * @param caller see `callerOf` in access.ts.
   * @throws AppError 429 if the caller has reached its limit, 503 if the queue is full or printing fails or takes too long.
   */
  print(caller: string, order: Omit<PrintOrder, 'id'>): Promise<Buffer>;
  close(): void;
}

interface QueueOptions {
  /** Path of the print process's program. */
  program: string;
  /** Running and waiting together. */
  mostPerCaller: number;
  mostWaiting: number;
  /** The longest wait for a turn. */
  waitMs: number;
  /** The longest time from the turn to the document. */
  timeoutMs: number;
  /** Ends the process after this time without an order, to free its memory. */
  idleMs: number;
}

interface Job {
  id: number;
  deadline: NodeJS.Timeout;
  resolve(pdf: Buffer): void;
  reject(error: Error): void;
}

/** The template or one of its files is defective. Retrying does not help. */
export class PrintError extends Error {}

/**
 * Prints documents one at a time in a separate process, which the first order starts. Native code in a thread could not be
 * interrupted, and a crash would end the service. The process runs at low priority, knows no secrets and is killed when a document
 * takes too long. Callers take turns.
 *
 * workerpool kills with SIGTERM, which native code that hangs ignores. tinypool kills a second later and fixes stdio and its message
 * format. Each would replace about 60 lines here.
 */
export function createPrintQueue({
  program,
  mostPerCaller,
  mostWaiting,
  waitMs,
  timeoutMs,
  idleMs,
}: QueueOptions): PrintQueue {
  const slots = createSharedSlots({ what: 'documents', slots: 1, mostPerCaller, mostWaiting, waitMs });
  let printing: Job | undefined;
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;

  async function print(caller: string, order: Omit<PrintOrder, 'id'>): Promise<Buffer> {
    const leave = await slots.enter(caller);
    try {
      return await printNow(order);
    } finally {
      leave();
    }
  }

  /** Call only while no other document is printed. */
  function printNow(order: Omit<PrintOrder, 'id'>): Promise<Buffer> {
    clearTimeout(idle);
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      printing = { id, deadline: setTimeout(giveUp, timeoutMs), resolve, reject };
      child ??= start();
      child.send({ ...order, id });
    });
  }

  function start(): ChildProcess {
    const started = fork(program, {
      serialization: 'advanced', // keeps bytes as bytes
      env: {}, // no secrets, and no home folder with fonts
      execArgv: extname(program) === '.ts' ? ['--import', 'tsx'] : [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    started.on('message', (answer: PrintAnswer) => finish(answer));
    started.on('error', (error) => lose(started, error));
    started.on('exit', (code, signal) =>
      lose(started, new Error(`The print process ended (${signal ?? code}).`)),
    );
    lowerPriority(started);
    return started;
  }

  function finish(answer: PrintAnswer): void {
    if (printing?.id !== answer.id) return;
    const { resolve, reject } = end(printing);
    if ('pdf' in answer) resolve(Buffer.from(answer.pdf));
    else reject(new PrintError(answer.failure));
    idle = setTimeout(endChild, idleMs).unref();
  }

  function giveUp(): void {
    endChild();
    fail(new Error(`A document was not printed within ${timeoutMs} ms.`));
  }

  /** The process has ended, and its document is lost. The next order starts another process. */
  function lose(lost: ChildProcess, error: Error): void {
    if (lost !== child) return;
    child = undefined;
    fail(error);
  }

  function fail(reason: Error): void {
    if (printing) end(printing).reject(unavailable(reason));
  }

  function end(job: Job): Job {
    clearTimeout(job.deadline);
    printing = undefined;
    return job;
  }

  function endChild(): void {
    const ended = child;
    child = undefined;
    ended?.kill('SIGKILL');
  }

  function close(): void {
    clearTimeout(idle);
    slots.close();
    endChild();
    fail(new Error('The service is stopping.'));
  }

  return { print, close };
}

/** Printing may wait; other requests should not. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return; // It did not start. Its `error` event has the reason.
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some containers forbid it, which does no harm.
  }
}
