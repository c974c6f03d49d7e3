import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { unavailable } from '../core/errors.ts';

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
  /** @throws AppError 503 when the queue is full, or when the document is not there in time. */
  print(order: Omit<PrintOrder, 'id'>): Promise<Buffer>;
  close(): void;
}

interface QueueOptions {
  /** Path of the print process's program. */
  program: string;
  maxWaiting: number;
  /** From the order to the document, waiting included. */
  timeoutMs: number;
  /** After this long without an order the process is ended, to give its memory back. */
  idleMs: number;
}

interface Job {
  order: PrintOrder;
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
 * killed when a document takes too long.
 */
export function createPrintQueue({ program, maxWaiting, timeoutMs, idleMs }: QueueOptions): PrintQueue {
  const waiting: Job[] = [];
  let printing: Job | undefined;
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;

  function print(order: Omit<PrintOrder, 'id'>): Promise<Buffer> {
    if (waiting.length >= maxWaiting) {
      return Promise.reject(unavailable(new Error(`${waiting.length} documents wait to be printed`)));
    }
    return new Promise((resolve, reject) => {
      lastId += 1;
      const job: Job = {
        order: { ...order, id: lastId },
        deadline: setTimeout(() => giveUp(job), timeoutMs),
        resolve,
        reject,
      };
      waiting.push(job);
      printNext();
    });
  }

  function printNext(): void {
    if (printing) return;
    clearTimeout(idle);
    printing = waiting.shift();
    if (printing) {
      child ??= start();
      child.send(printing.order);
    } else if (child) {
      idle = setTimeout(endChild, idleMs).unref();
    }
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
    if (printing?.order.id !== answer.id) return;
    const { deadline, resolve, reject } = printing;
    printing = undefined;
    clearTimeout(deadline);
    if ('pdf' in answer) resolve(Buffer.from(answer.pdf));
    else reject(new PrintError(answer.failure));
    printNext();
  }

  function giveUp(job: Job): void {
    job.reject(unavailable(new Error(`a document was not printed within ${timeoutMs} ms`)));
    if (job === printing) {
      printing = undefined;
      endChild();
      printNext();
    } else {
      waiting.splice(waiting.indexOf(job), 1);
    }
  }

  /** The process is gone: its document is lost, the ones that wait get another process. */
  function lose(lost: ChildProcess, error: Error): void {
    if (lost !== child) return;
    child = undefined;
    if (!printing) return;
    clearTimeout(printing.deadline);
    printing.reject(unavailable(error));
    printing = undefined;
    printNext();
  }

  function endChild(): void {
    const ended = child;
    child = undefined;
    ended?.kill('SIGKILL');
  }

  function close(): void {
    clearTimeout(idle);
    for (const job of [printing, ...waiting.splice(0)]) {
      if (!job) continue;
      clearTimeout(job.deadline);
      job.reject(unavailable(new Error('the service is stopping')));
    }
    printing = undefined;
    endChild();
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
