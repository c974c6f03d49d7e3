/** A failure whose message is one line for whoever runs the service: what is wrong, where, what to do. */
export class EmbeddedPostgresError extends Error {}

/** The error code of a failed system call (`EACCES`) or statement (`57P03`), if there is one. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
