import { type Connection, openDatabase } from '../../src/core/db.ts';
import { expectBooksToBalance } from '../books.ts';

/** Asks the database behind the running processes itself whether every law of the ledger holds. */
export async function expectBooksToHold(connection: Connection): Promise<void> {
  const database = openDatabase({ connection, poolSize: 1, prepare: false, onConnectionLost: () => {} });
  try {
    await expectBooksToBalance({ db: database.db });
  } finally {
    await database.close();
  }
}
