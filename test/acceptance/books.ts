import type { Connection } from '../../src/core/db.ts';
import { openProver } from '../../src/proof/prover.ts';
import { expectLawsToHold } from '../books.ts';

/** Asks the database behind the running processes itself whether every law of the books holds. */
export async function expectBooksToHold(connection: Connection): Promise<void> {
  const prover = openProver({ connection, onConnectionLost: () => {} });
  try {
    await prover.prove(expectLawsToHold);
  } finally {
    await prover.close();
  }
}
