import { expect } from 'vitest';
import type { Connection } from '../../src/core/database/db.ts';
import { openSnapshotReads } from '../../src/core/database/snapshot-reads.ts';
import { PROOF_READS } from '../../src/reports/proof/store.ts';
import { expectChecksToPass } from '../support/books.ts';
import { PATIENT } from '../support/waiting.ts';
import { runCli } from './process.ts';

/** Runs every check of the books directly on the database of the running processes. */
export async function expectBooksToHold(connection: Connection): Promise<void> {
  const verifier = openSnapshotReads({
    connection,
    ...PROOF_READS,
    timeoutMs: PATIENT.proofMs,
    limits: PATIENT,
    onConnectionLost: () => {},
  });
  try {
    await verifier.read('the test', expectChecksToPass);
  } finally {
    await verifier.close();
  }
}

/** Runs `npm run verify`. @returns its output. */
export async function expectVerifyToPass(databaseUrl: string): Promise<string> {
  const { status, stdout, stderr } = await runCli('verify', { DATABASE_URL: databaseUrl });
  expect(status, stdout + stderr).toBe(0);
  return stdout;
}
