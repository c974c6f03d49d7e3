import { sql } from 'kysely';
import type { Check } from './store.ts';

export const INVOICE_CHECKS: readonly Check[] = [
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
    figures: sql`select count(expected) as checked_row_count, sum(total_minor) as invoiced from checked`,
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
      select count(*) as checked_row_count, sum(total_minor) as totals, sum(lines_minor) as lines from checked`,
    violations: sql`
      select 'invoices', id, 'total_minor', lines_minor::text, total_minor::text, day
      from checked where lines_minor <> total_minor`,
  },
];
