import { sql } from 'kysely';
import type { Check } from './store.ts';

export const COMMISSION_CHECKS: readonly Check[] = [
  {
    name: 'commission_totals',
    rule: 'The total of every commission is the sum of its lines.',
    checked: sql`
      select c.id, c.total_minor, coalesce(l.lines_minor, 0) as lines_minor
      from commissions c
      left join (select commission_id, sum(amount_minor) as lines_minor from commission_lines group by commission_id) l
        on l.commission_id = c.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(total_minor) as totals, sum(lines_minor) as lines from checked`,
    violations: sql`
      select 'commissions', id, 'total_minor', lines_minor::text, total_minor::text, null::date
      from checked where lines_minor <> total_minor`,
  },
  {
    name: 'commission_shares',
    rule: 'The commission shares of every account add up to the recorded share, and to at most 100 %.',
    checked: sql`
      select account_id, coalesce(l.shares, 0) as shares, coalesce(s.share_basis_points, 0) as given, l.lines
      from commission_sales s
      full join (
        select account_id, sum(share_basis_points) as shares, count(*) as lines
        from commission_lines where account_id is not null group by account_id
      ) l using (account_id)`,
    figures: sql`select count(*) as checked_row_count, sum(lines) as lines from checked`,
    violations: sql`
      select 'accounts', account_id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('recorded commission share, in basis points', shares::text, given::text),
        ('sum of its commission shares, in basis points', least(shares, 10000)::text, shares::text)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
];
