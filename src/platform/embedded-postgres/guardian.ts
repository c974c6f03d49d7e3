import { type ChildProcess, spawn } from 'node:child_process';
import { codeOf } from './error.ts';
import { type Account, programEnvironment } from './run-as.ts';

/**
 * The guardian runs a program and interrupts it at the end of its standard input, a pipe that only the service
 * holds: however the service dies, the kernel closes it. SIGINT is PostgreSQL's fast shutdown and makes initdb
 * remove what it began. The guardian ends with its program, and with its status. It is a shell because that
 * starts in a millisecond and weighs one megabyte. (fd 3: a shell gives background jobs an empty stdin.)
 */
const guardianScript = `
trap '' HUP INT QUIT TERM
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{ read -r line; kill -INT "$program"; } <&3 3<&- >/dev/null 2>&1 &
watcher=$!
wait "$program"
status=$?
kill -KILL "$watcher" 2>/dev/null
exit "$status"
`;

const fastShutdownTimeoutMs = 30_000;
const immediateShutdownTimeoutMs = 10_000;

/**
 * Starts a program under a guardian, in a session of its own: Ctrl-C in a terminal reaches neither, so the
 * service decides the order in which things end.
 *
 * @param output where stdout and stderr go: a file descriptor, or `pipe` for the child's streams.
 */
export function spawnGuarded(
  account: Account,
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
  // Windows has no guardian: there the system itself ends the children of a dead Node process.
  const child =
    process.platform === 'win32'
      ? spawn(file, args, { ...options, windowsHide: true })
      : spawn('/bin/sh', ['-c', guardianScript, 'guardian', ...account.prefix, file, ...args], {
          ...options,
          detached: true,
        });
  child.stdin?.on('error', () => {
    // Ignored: the child's `exit` event reports that the reader is gone.
  });
  return child;
}

/** Lets the guardian end its program, and sends SIGQUIT, then SIGKILL, if that takes too long. Resolves when both are gone. */
export async function endGuarded(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const group = process.platform === 'win32' ? child.pid : -child.pid;
  const impatience = [
    setTimeout(() => sendSignal(group, 'SIGQUIT'), fastShutdownTimeoutMs),
    setTimeout(() => sendSignal(group, 'SIGKILL'), fastShutdownTimeoutMs + immediateShutdownTimeoutMs),
  ];
  child.stdin?.destroy();
  if (process.platform === 'win32') child.kill();
  await exited;
  for (const timer of impatience) clearTimeout(timer);
}

/** Sends the signal to a process or, by a negative id, to a group; one that has just ended needs none. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
