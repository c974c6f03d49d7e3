/** A failure whose message is one line for whoever runs the service: what is wrong, where, what to do. */
export class EmbeddedPostgresError extends Error {}

/**
 * The error code of a failed system call (`EACCES`) or statement (`57P03`), if there is one. Like the whole
 * folder it imports nothing of the service, so that the supervisor can be built and run alone.
 */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** A starting server refuses connections with FATAL; a server whose start failed may also fail to clean up. */
const noReason = /is starting up|cannot abort transaction/;

/** The last serious message, with its hint, in what PostgreSQL's programs wrote; undefined where there is none. */
export function lastWords(output: string): string | undefined {
  const lines = output.split('\n');
  const last = lines.findLastIndex((line) => /FATAL|PANIC/.test(line) && !noReason.test(line));
  if (last < 0) return undefined;
  const hint = lines.slice(last + 1, last + 3).filter((line) => line.includes('HINT:'));
  return [lines[last] ?? '', ...hint].map((line) => line.replace(/^.*?(FATAL|PANIC|HINT): +/, '')).join('. ');
}
