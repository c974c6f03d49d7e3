/** A failure with a message of one line for the operator: what is wrong, where, and what to do. */
export class EmbeddedPostgresError extends Error {}

/**
 * The error code of a failed system call (`EACCES`) or statement (`57P03`), if there is one. core/http/errors.ts has the same
 * function, but embedded-postgres/ imports no other folder, so that its tests can compile this folder alone.
 */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The result of reading a file, or the fallback if the file does not exist. */
export async function orIfMissing<Result, Fallback>(
  reading: Promise<Result>,
  fallback: Fallback,
): Promise<Result | Fallback> {
  try {
    return await reading;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return fallback;
    throw error;
  }
}

/**
 * FATAL and PANIC messages that are not the reason why a server ended: refused connections during a start, and a failed clean-up
 * after a failed start.
 */
const noReason = /is starting up|cannot abort transaction/;

/** The last FATAL or PANIC message in the output of PostgreSQL's programs, with its hint. Undefined if there is none. */
export function lastFatalMessage(output: string): string | undefined {
  const lines = output.split('\n');
  const last = lines.findLastIndex((line) => /FATAL|PANIC/.test(line) && !noReason.test(line));
  if (last < 0) return undefined;
  const hint = lines.slice(last + 1, last + 3).filter((line) => line.includes('HINT:'));
  return [lines[last] ?? '', ...hint].map((line) => line.replace(/^.*?(FATAL|PANIC|HINT): +/, '')).join('. ');
}
