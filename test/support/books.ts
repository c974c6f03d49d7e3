import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Context } from '../../src/core/context.ts';
import type { Tx } from '../../src/core/database/db.ts';
import { inSnapshot } from '../../src/core/database/transactions.ts';
import { runChecks } from '../../src/reports/proof/checks-store.ts';

/** Expects that every check of the books passes on the whole database. A failure shows the rows that break a check. */
export async function expectBooksToBalance({ db }: Pick<Context, 'db'>): Promise<void> {
  await inSnapshot(db, async (tx) => {
    // Planning the checks takes longer than executing them on the few rows of a test. The plans do not change what they find.
    await sql`set local plan_cache_mode = force_generic_plan`.execute(tx);
    await expectChecksToPass(tx);
  });
}

export async function expectChecksToPass(tx: Tx): Promise<void> {
  const findings = await runChecks(tx);
  expect(findings.filter(({ violationCount }) => violationCount > 0)).toEqual([]);
}
