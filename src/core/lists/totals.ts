import { type TProperties, Type } from 'typebox';
import { type Currency, totalOf } from '../context.ts';
import type { SnapshotReads } from '../database/snapshot-reads.ts';
import type { Page } from '../http/envelope.ts';
import type { ListPlan } from './query.ts';

/** The schema of `totals` in the answer of a list. @param sums - what each sum adds up. */
export function Totals<P extends TProperties>(title: string, sums: P) {
  return Type.Object(
    { currency: Type.String(), ...sums },
    {
      title,
      description:
        'Only with `totals=true`: sums of all rows that the filters select, on all pages, at the same moment as the rows. In units of the currency.',
    },
  );
}

/**
 * The plan of a list whose totals are read on the connections for long reads. Totals read all matching rows, which can take seconds. There
 * are few of these connections, so other requests keep theirs.
 *
 * @param caller - see `callerOf` in http/access.ts.
 */
export function withSlowTotals<Plan extends ListPlan>(
  plan: Plan,
  summaries: SnapshotReads,
  caller: string,
): Plan {
  return { ...plan, readTotals: async (read) => (await summaries.read(caller, read)).value };
}

/** The field `totals` of an answer. Empty if the query did not ask for it. */
export function totalsOf<Sum extends string>(
  { sums }: Pick<Page<unknown, Sum>, 'sums'>,
  currency: Currency,
): { totals?: { currency: string } & Record<Sum, number> } {
  if (sums === undefined) return {};
  const amounts = Object.entries<string>(sums).map(([name, minor]) => [
    name,
    totalOf(BigInt(minor), currency, FEWER_ROWS),
  ]);
  return { totals: { currency: currency.code, ...(Object.fromEntries(amounts) as Record<Sum, number>) } };
}

const FEWER_ROWS = { path: 'totals', advice: 'select fewer rows with filters' };
