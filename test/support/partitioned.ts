import type pg from 'pg';
import { addPartition } from '../../src/core/database/partitions.ts';

/** The tables that `npm run partition` divides. */
export const PARTITIONED = ['ledger_entries', 'audit_entries'];

/** Divides each table of a new database into three partitions. A test that writes a few dozen rows writes to the first two. */
export async function partitionTables(client: pg.ClientBase): Promise<void> {
  for (const table of PARTITIONED) {
    await addPartition(client, table, { idsAhead: 20n });
    const sequence = `${table}_id_seq`;
    const { rows } = await client.query('select pg_sequence_last_value($1::regclass) as last', [sequence]);
    await client.query('select setval($1::regclass, 40)', [sequence]);
    await addPartition(client, table, { idsAhead: 20n });
    await client.query('select setval($1::regclass, $2, $3)', [
      sequence,
      rows[0].last ?? 1,
      rows[0].last !== null,
    ]);
  }
}
