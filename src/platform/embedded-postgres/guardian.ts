import { type ChildProcess, spawn } from 'node:child_process';
import { codeOf } from './error.ts';
import { programEnvironment, type SystemAccount } from './run-as.ts';

/**
 * The guardian runs a program and interrupts it when the guardian's standard input ends. This input is a pipe that only the
 * service holds, and the kernel closes it when the service dies for any reason. On SIGINT, a PostgreSQL server does a fast
 * shutdown, and initdb removes its incomplete folder. The guardian ends when its program ends, with the same status. The guardian
 * is a shell, because a shell starts in a millisecond and needs one megabyte. File descriptor 3 is needed because a shell gives
 * background jobs an empty stdin. SIGINT is sent until the program ends: a program that has just started still ignores it, as the
 * shell does, and would miss a single one.
 */
const guardianScript = `
trap '' HUP INT QUIT TERM
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{ cd /; read -r line; while kill -INT "$program"; do sleep 0.1 || sleep 1; done; } <&3 3<&- >/dev/null 2>&1 &
watcher=$!
wait "$program"
status=$?
kill -KILL "$watcher" 2>/dev/null
exit "$status"
`;

const fastShutdownTimeoutMs = 30_000;
const immediateShutdownTimeoutMs = 10_000;

/**
 * Starts a program under a guardian, in a separate session: Ctrl-C in a terminal reaches neither the program nor the guardian, so
 * the service decides the order of the shutdown.
 *
 * @param output where stdout and stderr go: a file descriptor, or `pipe` for the child's streams.
 */
export function spawnGuarded(
  account: SystemAccount,
  file: string,
  args: string[],
  cwd: string,
  output: number | 'pipe',
): ChildProcess {
  const options = {
    cwd,
    env: programEnvironment,
    ...(account.uid === undefined ? {} : { uid: account.uid, gid: account.gid }),
    stdio: ['pipe' as const, output, output],
  };
  // Windows needs no guardian, because the system ends the children of a dead Node process.
  const child =
    process.platform === 'win32'
      ? spawn(file, args, { ...options, windowsHide: true })
      : spawn('/bin/sh', ['-c', guardianScript, 'guardian', ...account.prefix, file, ...args], {
          ...options,
          detached: true,
        });
  child.stdin?.on('error', () => {
    // The error is ignored: the pipe breaks only when the child has ended, and the `exit` event reports that.
  });
  return child;
}

/** Makes the guardian end its program. If this is slow, sends SIGQUIT to both, then SIGKILL. Resolves when both have ended. */
export async function endGuarded(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const group = process.platform === 'win32' ? child.pid : -child.pid;
  const timers = [
    setTimeout(() => sendSignal(group, 'SIGQUIT'), fastShutdownTimeoutMs),
    setTimeout(() => sendSignal(group, 'SIGKILL'), fastShutdownTimeoutMs + immediateShutdownTimeoutMs),
  ];
  child.stdin?.destroy();
  if (process.platform === 'win32') child.kill();
  await exited;
  for (const timer of timers) clearTimeout(timer);
}

/** Sends the signal to a process or, for a negative id, to a process group. Does nothing if the process has already ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
