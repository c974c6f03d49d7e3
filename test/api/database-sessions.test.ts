import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import type { DB } from '../../src/core/database/tables.ts';
import { useService } from '../support/harness.ts';

const service = useService();

it('no statement of a request, a report or an import is compiled by PostgreSQL, which can take a second', async () => {
  const { context, parts } = service;
  const readJit = async (db: Kysely<DB>) => (await sql<{ jit: string }>`show jit`.execute(db)).rows[0]?.jit;
  const ofImport = await parts.copies.load('test', readJit);
  const ofReport = await parts.summaries.read('test', readJit);
  expect([await readJit(context.db), ofReport.value, ofImport]).toEqual(['off', 'off', 'off']);
});
