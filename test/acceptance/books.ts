import type { Connection } from '../../src/core/database/db.ts';
import { openLongReads } from '../../src/core/database/long-reads.ts';
import { PROOF_READS } from '../../src/proof/store.ts';
import { expectChecksToPass } from '../books.ts';

/** Asks the database behind the running processes itself whether every check of the books holds. */
export async function expectBooksToHold(connection: Connection): Promise<void> {
  const verifier = openLongReads({ connection, ...PROOF_READS, onConnectionLost: () => {} });
  try {
    await verifier.read('the test', expectChecksToPass);
  } finally {
    await verifier.close();
  }
}
