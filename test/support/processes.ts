import { type SpawnOptions, spawn as spawnUnguarded } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

/**
 * The guardian ends all programs of a process of the test run when this process has ended for any reason. The kernel then closes
 * the pipe that is the guardian's standard input. Each line from the pipe is the id of a new program, or of its process group with
 * a minus. At every line, also an empty one, the guardian forgets the programs that have ended: the system may use their ids again.
 *
 * SIGINT makes a PostgreSQL server remove its shared memory, which it cannot do after SIGKILL.
 *
 * The guardian also ends its process when the runner has ended, which closes the named pipe. The runner's workers would often
 * continue, and a worker in an endless loop would never end.
 */
const GUARDIAN = `
trap '' HUP INT QUIT TERM
runner_pipe=$1 process=$2
watcher= running=
if [ -n "$runner_pipe" ]; then
  { read -r _; kill -KILL "$process"; } <"$runner_pipe" &
  watcher=$!
fi
forget_ended() {
  known=$running running=
  for id in $known; do kill -0 "$id" && running="$running $id"; done
}
signal() { for id in $running; do kill "-$1" "$id"; done; }
while read -r id; do
  running="$running $id"
  forget_ended
done
kill -KILL "$watcher"
signal INT
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  forget_ended
  [ -n "$running" ] || break
  sleep 0.1
done
signal KILL
`;

/** Windows has no guardian. It ends the children of a process that ends, unless they are detached. */
const guardianInput = process.platform === 'win32' ? undefined : startGuardian();

function startGuardian() {
  const { TEST_RUNNER_PIPE = '' } = process.env;
  const guardian = spawnUnguarded(
    '/bin/sh',
    ['-c', GUARDIAN, 'guardian of tests', TEST_RUNNER_PIPE, String(process.pid)],
    // The guardian is in a separate session, so that Ctrl+C and a closed terminal do not end it.
    { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  guardian.unref();
  return guardian.stdin;
}

/**
 * Starts a program that ends at the latest with this process. By default, it has its own process group, which ends with it. A shell
 * sends its own process id to the guardian and then becomes the program. So a program is known to the guardian before it runs.
 * A missing program is not an `error` event: the shell ends with status 127.
 */
export const spawn = ((file: string, args: readonly string[] = [], options: SpawnOptions = {}) => {
  if (!guardianInput) return spawnUnguarded(file, args, options);
  const { stdio = 'pipe', detached = true } = options;
  const streams = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio]; // An array must have at least three streams.
  const fd = streams.length;
  const script = `echo "${detached ? '-' : ''}$$" >&${fd} && exec "$@" ${fd}>&-`;
  const child = spawnUnguarded('/bin/sh', ['-c', script, 'sh', file, ...args], {
    ...options,
    detached,
    stdio: [...streams, guardianInput],
  });
  child.once('exit', () => guardianInput.write('\n'));
  return child;
}) as typeof spawnUnguarded;

/**
 * Runs a program to its end. Use this instead of `execFileSync` for programs that run for more than a few seconds: the guardian does
 * not know other programs. @throws an error with the output if the program fails.
 */
export async function run(
  file: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'timeout'> & { stdio?: 'inherit' } = {},
): Promise<{ stdout: string; stderr: string }> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const textOf = (stream: Readable | null) => (stream ? text(stream) : '');
  const [[status, signal], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    textOf(child.stdout),
    textOf(child.stderr),
  ]);
  if (status === 0) return { stdout, stderr };
  const message = `${file} ${args.join(' ')} ended with ${status ?? signal}:\n${stdout}${stderr}`;
  throw Object.assign(new Error(message), { status, stdout, stderr });
}
