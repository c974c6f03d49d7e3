import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { unavailable } from '../../core/http/errors.ts';
import { createSharedSlots } from '../../core/http/shared-slots.ts';

/** What the print process is sent. */
export interface PrintOrder {
  id: number;
  /** The name of a file of templates/. */
  template: string;
  /** JSON text. */
  data: string;
  /** Files that the template finds beside itself. */
  files: { name: string; bytes: Uint8Array }[];
}

export type PrintAnswer = { id: number; pdf: Uint8Array } | { id: number; failure: string };

export interface PrintQueue {
  /**
   * @param caller see `callerOf` in gate.ts.
   * @throws AppError 429 when as many documents of the caller wait as may, 503 when the queue is full or the document is
   *   not there in time.
   */
  print(caller: string, order: Omit<PrintOrder, 'id'>): Promise<Buffer>;
  close(): void;
}

interface QueueOptions {
  /** Path of the print process's program. */
  program: string;
  /** Running and waiting. */
  mostPerCaller: number;
  mostWaiting: number;
  /** For its turn. */
  waitMs: number;
  /** From its turn to the document. */
  timeoutMs: number;
  /** After this long without an order the process is ended, to give its memory back. */
  idleMs: number;
}

interface Job {
  /** Of its order. */
  id: number;
  deadline: NodeJS.Timeout;
  resolve(pdf: Buffer): void;
  reject(error: Error): void;
}

/** The document cannot be printed, now or later: a defect of the template or of a file given to it. */
export class PrintError extends Error {}

/**
 * Prints documents one after the other in a process of its own, which is started by the first order. A
 * process and not a thread: native code in a thread cannot be interrupted, and it takes the whole service
 * along when it crashes. The process runs at low priority, knows none of the service's secrets and is
 * killed when a document takes too long. Callers take turns.
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

  /** While no other document is printed. */
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
      serialization: 'advanced', // carries bytes as bytes
      env: {}, // none of the secrets; and no home folder, where fonts would be looked for
      execArgv: extname(program) === '.ts' ? ['--import', 'tsx'] : [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    started.on('message', (answer: PrintAnswer) => finish(answer));
    started.on('error', (error) => lose(started, error));
    started.on('exit', (code, signal) =>
      lose(started, new Error(`the print process ended (${signal ?? code})`)),
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
    fail(new Error(`a document was not printed within ${timeoutMs} ms`));
  }

  /** The process is gone, and its document is lost. The next one gets another process. */
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
    fail(new Error('the service is stopping'));
  }

  return { print, close };
}

/** Printing can wait; the answers to all other requests should not have to. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return; // it did not start; its `error` event says why
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some containers forbid it. The documents are right all the same.
  }
}
