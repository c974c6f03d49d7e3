import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { unavailable } from '../../core/http/errors.ts';

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

/** The template or one of its files is defective. Retrying does not help. */
export class PrintError extends Error {}

interface Job {
  id: number;
  deadline: NodeJS.Timeout;
  resolve(pdf: Buffer): void;
  reject(error: Error): void;
}

interface ProcessOptions {
  /** Path of the program that the process runs: print-program.ts, except in tests. */
  program: string;
  /** The longest time for one document. */
  timeoutMs: number;
  /** The process ends after this time without an order, to free its memory. */
  idleMs: number;
}

/**
 * Prints documents one at a time in a separate process, which starts with the first order. In a thread, the native code of the
 * Typst compiler could not be interrupted, and a crash of this code would end the service. The process runs at low priority, has
 * no secrets and is killed if a document takes too long.
 *
 * The library workerpool kills with SIGTERM, which hanging native code ignores. The library tinypool kills only after one second,
 * and does not let us choose stdio or the message format.
 */
export function createPrintProcess({ program, timeoutMs, idleMs }: ProcessOptions) {
  let printing: Job | undefined;
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;

  /** Call only while no other document is being printed. */
  function print(order: Omit<PrintOrder, 'id'>): Promise<Buffer> {
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
      serialization: 'advanced', // transfers bytes without conversion
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
    endChild();
    fail(new Error('The service is stopping.'));
  }

  return { print, close };
}

/** Gives other requests priority over printing. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return; // The process did not start. Its `error` event has the reason.
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some containers forbid this. Printing then has normal priority.
  }
}
