import { type Actor, type Context, today, totalOf } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { mayDo, requireAll } from '../../rights.ts';
import { isoWeek, weeksOf } from './rules.ts';
import { type OfficerWeekRow, readResults } from './store.ts';

/** The results of all officers. A user who may not read reports gets only their own. */
export async function showResults(
  context: Context,
  actor: Actor,
  query: { from?: PlainDate; to?: PlainDate },
) {
  const mayReadAll = mayDo(actor, 'reports:read');
  if (!mayReadAll && actor.userId === null) requireAll(actor, ['reports:read']);
  const day = today(context);
  const weeks = weeksOf(query.from, query.to, day);
  const rows = await readResults(context.db, weeks, mayReadAll ? null : actor.userId, day);
  return { ...weeks, currency: context.currency.code, rows: rows.map((row) => toWeek(row, context)) };
}

function toWeek(row: OfficerWeekRow, { currency }: Context) {
  const amount = (minor: string) =>
    totalOf(BigInt(minor), currency, { path: 'from', advice: 'choose fewer weeks' });
  const judged = row.kept + row.partly_kept + row.broken;
  return {
    userId: row.user_id,
    officer: row.officer,
    week: isoWeek(row.monday),
    monday: row.monday,
    calls: row.calls,
    contacts: row.contacts,
    promises: row.promises,
    kept: row.kept,
    partlyKept: row.partly_kept,
    broken: row.broken,
    keptShare: share(row.kept, judged),
    keptValueShare: share(amount(row.kept_minor), amount(row.promised_minor)),
    collected: amount(row.collected_minor),
  };
}

/** Rounded to four decimals. */
function share(numerator: number, denominator: number) {
  const ratio = denominator === 0 ? null : Math.round((numerator / denominator) * 10_000) / 10_000;
  return { numerator, denominator, ratio };
}
