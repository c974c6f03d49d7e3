import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { planAndRun } from '../../core/database/statements.ts';
import type { Row } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { isBeyondGrace, LAST_DAY_OF_GRACE } from '../schedule/store.ts';
import { statusesIn } from './rules.ts';

type AccountRow = Row<'accounts'>;

export type AccountToSuspend = AccountRow & { last_day_of_grace: PlainDate };

/** Must match the index accounts_grace, which has this condition on the status, and the last day of grace in its key. */
function toSuspendCondition(day: PlainDate) {
  return sql`a.status in ${literalList(statusesIn('suspendedWhenLate'))} and ${isBeyondGrace(day)}`;
}

/**
 * Locks accounts that are past their days of grace, if their pay plan has `auto_suspend`. Skips accounts that another transaction
 * has locked. The query searches one pay plan at a time, in the order of the index accounts_grace, so a run without late accounts
 * reads no account. The outer query repeats the condition, so that PostgreSQL checks it again after it has locked a row.
 */
export async function lockAccountsToSuspend(tx: Tx, day: PlainDate, limit: number): Promise<AccountRow[]> {
  return planAndRun(
    tx,
    sql<AccountRow>`
    select a.* from accounts a
    where a.id = any(array(
      select late.id from pay_plans p cross join lateral (
        select a.id from accounts a where a.payplan_id = p.id and ${toSuspendCondition(day)}
        order by ${LAST_DAY_OF_GRACE} limit ${limit}) late
      where p.auto_suspend limit ${limit}))
      and ${toSuspendCondition(day)}
    order by a.id for no key update skip locked`,
  );
}

/** One page of the accounts of a pay plan that are to be suspended. Accounts whose grace ended earliest come first. */
export async function findAccountsToSuspend(
  db: Db,
  day: PlainDate,
  { payplanId, after, limit }: { payplanId: number; after: AccountToSuspend | undefined; limit: number },
): Promise<AccountToSuspend[]> {
  return planAndRun(
    db,
    sql<AccountToSuspend>`
    select a.*, ${LAST_DAY_OF_GRACE} as last_day_of_grace from accounts a
    where a.payplan_id = ${payplanId} and ${toSuspendCondition(day)}
      and (${LAST_DAY_OF_GRACE}, a.id) > (${after?.last_day_of_grace ?? '-infinity'}::date, ${after?.id ?? 0})
    order by ${LAST_DAY_OF_GRACE}, a.id limit ${limit}`,
  );
}
