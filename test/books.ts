import { expect } from 'vitest';
import type { Context } from '../src/core/context.ts';
import { inSnapshot, type Tx } from '../src/core/db.ts';
import { checkLaws } from '../src/proof/store.ts';

/** Asserts every law of the books on the whole database; a breach is shown with its row. */
export async function expectBooksToBalance({ db }: Pick<Context, 'db'>): Promise<void> {
  await inSnapshot(db, expectLawsToHold);
}

export async function expectLawsToHold(tx: Tx): Promise<void> {
  const findings = await checkLaws(tx);
  expect(findings.filter(({ breachCount }) => breachCount > 0)).toEqual([]);
}
