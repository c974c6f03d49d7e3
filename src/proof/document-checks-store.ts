import { sql } from 'kysely';
import type { Check } from './store.ts';

export const DOCUMENT_CHECKS: readonly Check[] = [
  {
    name: 'invoice_numbers',
    rule: 'The invoice numbers of every year have no gap up to the last number.',
    checked: sql`
      select i.id, i.year, i.year_number, i.issued_on as day, i.total_minor,
        lag(i.year_number, 1, 0) over (partition by i.year order by i.year_number) + 1 as expected,
        null::integer as last_number
      from invoices i
      union all
      select year, year, coalesce((select max(i.year_number) from invoices i where i.year = n.year), 0), null, null,
        null, last_number
      from invoice_numbers n`,
    figures: sql`select count(expected) as looked_at, sum(total_minor) as invoiced from checked`,
    violations: sql`
      select case when last_number is null then 'invoices' else 'invoice_numbers' end, id,
        case when last_number is null then 'number in ' else 'last_number of ' end || year,
        coalesce(expected, year_number)::text,
        coalesce(last_number, year_number)::text, day
      from checked where year_number <> coalesce(expected, last_number)`,
  },
  {
    name: 'invoice_totals',
    rule: 'The total of every invoice is the sum of its lines.',
    checked: sql`
      select i.id, i.issued_on as day, i.total_minor, coalesce(l.lines_minor, 0) as lines_minor
      from invoices i
      left join (select invoice_id, sum(line_total_minor) as lines_minor from invoice_items group by invoice_id) l
        on l.invoice_id = i.id`,
    figures: sql`
      select count(*) as looked_at, sum(total_minor) as totals, sum(lines_minor) as lines from checked`,
    violations: sql`
      select 'invoices', id, 'total_minor', lines_minor::text, total_minor::text, day
      from checked where lines_minor <> total_minor`,
  },
  {
    name: 'commission_totals',
    rule: 'The total of every commission is the sum of its lines.',
    checked: sql`
      select c.id, c.total_minor, coalesce(l.lines_minor, 0) as lines_minor
      from commissions c
      left join (select commission_id, sum(amount_minor) as lines_minor from commission_lines group by commission_id) l
        on l.commission_id = c.id`,
    figures: sql`
      select count(*) as looked_at, sum(total_minor) as totals, sum(lines_minor) as lines from checked`,
    violations: sql`
      select 'commissions', id, 'total_minor', lines_minor::text, total_minor::text, null::date
      from checked where lines_minor <> total_minor`,
  },
  {
    name: 'commission_shares',
    rule: 'The commission shares of every account add up to at most 100 % and to the recorded share.',
    checked: sql`
      select account_id, coalesce(l.shares, 0) as shares, coalesce(s.share_basis_points, 0) as given, l.lines
      from commission_sales s
      full join (
        select account_id, sum(share_basis_points) as shares, count(*) as lines
        from commission_lines where account_id is not null group by account_id
      ) l using (account_id)`,
    figures: sql`select count(*) as looked_at, sum(lines) as lines from checked`,
    violations: sql`
      select 'accounts', account_id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('recorded commission share, in basis points', shares::text, given::text),
        ('sum of its commission shares, in basis points', least(shares, 10000)::text, shares::text)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
];
