import { sql } from 'kysely';
import { statusesIn } from '../../accounts/status/rules.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { Check } from './store.ts';

// Computes schedules without the functions of the database that the service and its trigger use.

export const SCHEDULE_CHECKS: readonly Check[] = [
  {
    name: 'schedules',
    rule:
      'The price and the next due date of every account follow from its deposit, its instalments and the sum paid. The dates of a ' +
      'schedule in runs are in order, and each run begins with the sum of everything before it. ' +
      'The instalment of such an account is that of its first run, and its number of instalments that of all runs.',
    checked: sql`
      select a.id, a.total_minor, a.next_due_date, a.instalment_minor, a.instalment_count, r.first_amount, r.instalments, coalesce(r.broken_runs, 0) as broken_runs,
        case when a.run_from is null then e.total else r.total end as expected_total,
        case
          when a.status in ${literalList(statusesIn('closed'))} or a.paid_minor >= case when a.run_from is null then e.total else r.total end
            then null
          when a.paid_minor < a.deposit_minor then a.activation_date
          when a.run_from is not null then r.next
          else (a.activation_date + e.period * ((a.paid_minor - a.deposit_minor) / a.instalment_minor + 1))::date
        end as expected_next
      from accounts a
      cross join lateral (
        select a.deposit_minor + a.instalment_minor * a.instalment_count as total,
          case a.frequency when 'daily' then interval '1 day' when 'weekly' then interval '7 days' else interval '1 month' end as period
      ) e
      left join lateral (
        select max(before + amount * count) as total, min(amount) filter (where at = 1) as first_amount, sum(count) as instalments,
          count(*) filter (where (first, recorded_before) is distinct from (recorded_first, before)
            or first <= coalesce(lag_last, a.activation_date - 1)) as broken_runs,
          max((anchor + period * (place + (a.paid_minor - before) / amount))::date)
            filter (where a.paid_minor >= before and a.paid_minor < before + amount * count) as next
        from (
          select *, lag(last) over (order by at) as lag_last from (
            select *, (anchor + period * place)::date as first, (anchor + period * (place + count - 1))::date as last,
              a.deposit_minor + (sum(amount * count) over (order by at) - amount * count)::bigint as before
            from (
              select at, recorded_first, anchor, place, count, amount, recorded_before,
                every * case unit when 'day' then interval '1 day' else interval '1 month' end as period
              from unnest(a.run_from, a.run_anchor, a.run_unit, a.run_every, a.run_place, a.run_count, a.run_amount_minor,
                a.run_before_minor) with ordinality
                as u (recorded_first, anchor, unit, every, place, count, amount, recorded_before, at)
              where a.run_from is not null
            ) runs
          ) dated
        ) ordered
      ) r on true`,
    figures: sql`select count(*) as checked_row_count, sum(total_minor) as totals from checked`,
    violations: sql`
      select 'accounts', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('total_minor', coalesce(expected_total::text, 'none'), total_minor::text),
        ('next_due_date', coalesce(expected_next::text, 'none'), coalesce(next_due_date::text, 'none')),
        ('instalment_minor', coalesce(first_amount, instalment_minor)::text, instalment_minor::text),
        ('instalment_count', coalesce(instalments, instalment_count)::text, instalment_count::text),
        ('runs with a wrong date or sum', '0', broken_runs::text)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
];
