import type { FastifyReply } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answer is a report from one snapshot of the database, and has a header with the age of the snapshot. */
    snapshot?: true;
  }
}

/**
 * Sets the header `snapshot-age`: the age of the answer's snapshot in seconds.
 * @param takenAtMs see `Snapshot` in core/database/replica.ts.
 */
export function setSnapshotAge(reply: FastifyReply, takenAtMs: number): void {
  const tenths = Math.ceil((performance.now() - takenAtMs) / 100);
  reply.header('snapshot-age', (tenths / 10).toFixed(1));
}
