import { sql } from 'kysely';
import { CHANGE_COUNTS, INSTALMENTS_AFTER_CHANGE } from '../../accounts/schedule/store.ts';
import type { Check } from './store.ts';

/** The changes that an undo can undo. */
const CAN_BE_UNDONE = sql`('deferral', 'revision', 'discount', 'price_correction', 'price_rise', 'sale_correction', 'payoff')`;

/** The ledger event of each kind of change that can change a price. */
const LEDGER_EVENTS = sql`(values
  ('discount', 'price_discounted'), ('payoff', 'price_discounted'), ('price_correction', 'price_corrected'),
  ('sale_correction', 'price_corrected'), ('price_rise', 'price_raised'), ('deferral', 'none'), ('revision', 'none'),
  ('imported', 'none')) as posted (kind, event)`;

/** The price of recorded terms: the deposit and all instalments. */
const totalOf = (terms: 'before' | 'after') => {
  const of = (field: string) => sql`(c.${sql.ref(terms)} ->> ${sql.lit(field)})::bigint`;
  const values = (field: string) =>
    sql`jsonb_array_elements_text(nullif(c.${sql.ref(terms)} -> ${sql.lit(field)}, 'null'))`;
  return sql`(${of('deposit_minor')} + coalesce(
    (select sum(r.count::bigint * r.amount::bigint) from rows from (${values('run_count')}, ${values('run_amount_minor')})
      as r (count, amount)),
    ${of('instalment_minor')} * ${of('instalment_count')}))`;
};

export const PLAN_CHECKS: readonly Check[] = [
  {
    name: 'plan_versions',
    rule:
      'Every account has the terms after the newest change of its plan, and its version is the number of changes. It names the newest ' +
      'deferral or revision that is not undone.',
    checked: sql`
      select a.id, a.plan_version, coalesce(c.changes, 0) as changes, coalesce(c.last_version, 0) as last_version,
        c.newest is not null and jsonb_populate_record(a, c.newest) is distinct from a as has_other_terms,
        coalesce(a.restructured_kind || ' ' || a.restructured_on, 'none') as restructured,
        coalesce(c.restructured, 'none') as expected_restructured
      from accounts a left join (
        select c.account_id, count(*) as changes, max(c.version) as last_version,
          (array_agg(c.after order by c.id desc))[1] as newest,
          (array_agg(case when c.kind = 'imported'
              then (c.after ->> 'restructured_kind') || ' ' || (c.after ->> 'restructured_on')
              else c.kind || ' ' || c.effective_on end order by c.id desc)
            filter (where c.kind in ('deferral', 'revision', 'imported') and u.id is null))[1] as restructured
        from plan_changes c left join plan_changes u on u.undoes = c.id
        group by c.account_id
      ) c on c.account_id = a.id
      where a.plan_version <> 0 or a.restructured_on is not null or c.account_id is not null`,
    figures: sql`select count(*) as checked_row_count from checked`,
    violations: sql`
      select 'accounts', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('plan_version', changes::text, plan_version::text),
        ('newest version of its changes', changes::text, last_version::text),
        ('terms', 'those after the newest change', case when has_other_terms then 'others'
          else 'those after the newest change' end),
        ('restructured', expected_restructured, restructured)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
  {
    name: 'plan_changes',
    rule:
      'The changes of every plan are numbered without gaps, and each begins with the terms after the one before it. The price changes by ' +
      'the difference of the totals, which are the sums of the deposit and all instalments. An undo restores the terms before the newest ' +
      'change that was not undone. A change after an approval is the one that was approved.',
    checked: sql`
      select c.*, ${totalOf('before')} as sum_before, ${totalOf('after')} as sum_after,
        lag(c.version, 1, 0) over account as version_before, lag(c.after) over account as terms_before,
        u.account_id = c.account_id and u.kind in ${CAN_BE_UNDONE} and u.id < c.id and not exists (
          select from plan_changes d left join plan_changes n on n.undoes = d.id and n.id < c.id
          where d.account_id = c.account_id and d.id > u.id and d.id < c.id and d.kind in ${CAN_BE_UNDONE} and n.id is null
        ) as undoes_newest,
        u.before as undone_to,
        p.status = 'approved' and p.decided_by is not distinct from c.actor_user_id
          and case when c.bulk_deferral_id is null
            then p.action::text = 'change_plan' and p.account_id = c.account_id and p.body ->> 'kind' = c.kind::text
            else p.action::text = case c.kind when 'undo' then 'undo_bulk_deferral' else 'start_bulk_deferral' end
              and p.bulk_deferral_id = c.bulk_deferral_id end as is_approved
      from plan_changes c
      left join plan_changes u on u.id = c.undoes
      left join approvals p on p.id = c.approval_id
      window account as (partition by c.account_id order by c.id)`,
    figures: sql`
      select count(*) as checked_row_count, sum(price_change_minor) as price_changes, sum(arrears_moved_minor) as arrears_moved
      from checked`,
    violations: sql`
      select 'plan_changes', id, v.what, v.expected, v.found, effective_on
      from checked cross join lateral (values
        (version <> version_before + 1, 'version', (version_before + 1)::text, version::text),
        (terms_before is distinct from before and terms_before is not null, 'terms before the change',
          'those after the change before it', 'others'),
        (sum_before <> (before ->> 'total_minor')::bigint, 'total before the change', sum_before::text, before ->> 'total_minor'),
        (sum_after <> (after ->> 'total_minor')::bigint, 'total after the change', sum_after::text, after ->> 'total_minor'),
        (price_change_minor <> sum_after - sum_before, 'price_change_minor', (sum_after - sum_before)::text,
          price_change_minor::text),
        (kind in ('deferral', 'revision') and price_change_minor <> 0, 'price_change_minor of a ' || kind, '0',
          price_change_minor::text),
        (undoes is not null and undoes_newest is not true, 'undone change', 'the newest that was not undone', 'another'),
        (undoes is not null and undone_to is distinct from after, 'terms after the undo',
          'those before the undone change', 'others'),
        (approval_id is not null and is_approved is not true, 'approval', 'of this change', 'another, or none')
      ) as v (is_broken, what, expected, found)
      where v.is_broken`,
  },
  {
    name: 'bulk_deferrals',
    rule:
      'Every account that a bulk deferral has deferred has one change by it, and one undo by it if the bulk deferral has undone it. No other ' +
      'change belongs to a bulk deferral. An account is in the state that the status of the bulk deferral allows.',
    checked: sql`
      select coalesce(s.bulk_deferral_id, c.bulk_deferral_id) as id, coalesce(s.account_id, c.account_id) as account_id,
        s.state::text as state, b.status::text as status, coalesce(c.changes, 0) as changes, coalesce(c.undos, 0) as undos,
        s.change_id is distinct from c.change_id as is_other_change,
        case when s.state in ('deferred', 'undone', 'not_undone') then 1 else 0 end as expected_changes,
        case when s.state = 'undone' then 1 else 0 end as expected_undos
      from bulk_deferral_accounts s
      join bulk_deferrals b on b.id = s.bulk_deferral_id
      full join (
        select bulk_deferral_id, account_id, count(*) filter (where kind = 'deferral') as changes,
          count(*) filter (where kind = 'undo') as undos, min(id) filter (where kind = 'deferral') as change_id
        from plan_changes where bulk_deferral_id is not null group by bulk_deferral_id, account_id
      ) c on c.bulk_deferral_id = s.bulk_deferral_id and c.account_id = s.account_id`,
    figures: sql`select count(*) as checked_row_count, sum(changes) as changes, sum(undos) as undos from checked`,
    violations: sql`
      select 'bulk_deferrals', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        (changes <> expected_changes, 'deferrals of account ' || account_id, expected_changes::text, changes::text),
        (undos <> expected_undos, 'undos of account ' || account_id, expected_undos::text, undos::text),
        (is_other_change, 'change of account ' || account_id, 'that of the bulk deferral', 'another, or none'),
        (state in ('deferred', 'skipped') and status not in ('running', 'done', 'undoing', 'undone')
          or state in ('undone', 'not_undone') and status not in ('undoing', 'done', 'undone')
          or state = 'waiting' and status not in ('previewing', 'draft', 'running'),
          'state of account ' || account_id, 'one of a bulk deferral that is ' || status, state)
      ) as v (is_broken, what, expected, found)
      where v.is_broken`,
  },
  {
    name: 'price_changes',
    rule: 'On every day, the changes of the price of every account that count equal the entries in sales of their events.',
    checked: sql`
      select account_id, event, day, coalesce(c.amount, 0) as changed, coalesce(e.amount, 0) as posted
      from (
        select c.account_id, posted.event, c.effective_on as day, sum(c.price_change_minor) as amount
        from plan_changes c left join plan_changes u on u.id = c.undoes
          join ${LEDGER_EVENTS} on posted.kind = coalesce(u.kind, c.kind)::text
        where c.price_change_minor <> 0 and ${CHANGE_COUNTS}
        group by c.account_id, posted.event, c.effective_on
      ) c
      full join (
        select account_id, event::text as event, value_date as day, -sum(amount_minor) as amount
        from ledger_entries
        where payment_id is null and credit_move_id is null and starts_with(event::text, 'price_') and ledger_account = 'sales'
        group by account_id, event, value_date
      ) e using (account_id, event, day)`,
    figures: sql`select count(*) as checked_row_count, sum(changed) as changed, sum(posted) as posted from checked`,
    violations: sql`
      select 'accounts', account_id, 'entries of ' || event, changed::text, posted::text, day
      from checked where changed <> posted`,
  },
  {
    name: 'early_payoffs',
    rule:
      'Every early payoff was made while its pay plan offered it, and discounts at most the offered part of the instalments after its date, in ' +
      'whole rounding units. Its account pays the price, or it is undone with its date.',
    checked: sql`
      select c.id, c.effective_on, -c.price_change_minor as discount, u.effective_on as undone_on, a.paid_minor, a.total_minor,
        (c.body ->> 'roundingMinor')::bigint as unit, (c.body -> 'earlyPayoff' ->> 'until')::date as until,
        floor(${INSTALMENTS_AFTER_CHANGE} * (c.body -> 'earlyPayoff' ->> 'discountBasisPoints')::numeric / 10000)::bigint as offered
      from plan_changes c join accounts a on a.id = c.account_id left join plan_changes u on u.undoes = c.id
      where c.kind = 'payoff'`,
    figures: sql`
      select count(*) as checked_row_count, sum(discount) filter (where undone_on is null) as discounts from checked`,
    violations: sql`
      select 'plan_changes', id, v.what, v.expected, v.found, effective_on
      from checked cross join lateral (values
        (discount not between 1 and offered, 'discount', 'at most ' || offered, discount::text),
        (discount % unit <> 0, 'discount', 'a multiple of ' || unit, discount::text),
        (effective_on > until, 'date', 'at most ' || until, effective_on::text),
        (undone_on is null and paid_minor < total_minor, 'sum paid', 'at least ' || total_minor, paid_minor::text),
        (undone_on <> effective_on, 'date of the undo', effective_on::text, undone_on::text)
      ) as v (is_broken, what, expected, found)
      where v.is_broken`,
  },
  {
    name: 'original_terms',
    rule:
      'Every change of a plan has the original terms after it. Their total is that of the first schedule since the last sale correction with ' +
      'the price rises since then, and the sum of their instalments. There are none while only prices were raised since then. Every account ' +
      'has the due date that the paid amount leaves open by them.',
    checked: sql`
      with in_effect as (
        select c.*, max(c.id) filter (where c.kind in ('sale_correction', 'imported')) over (partition by c.account_id) as corrected_by
        from plan_changes c left join plan_changes u on u.undoes = c.id
        where c.kind <> 'undo' and u.id is null
      ), since_sale as (
        select account_id, bool_or(kind <> 'price_rise') as has_others,
          (array_agg((before ->> 'total_minor')::bigint order by id))[1]
            + coalesce(sum(price_change_minor) filter (where kind = 'price_rise'), 0) as total,
          coalesce(sum(price_change_minor) filter (where kind in ('price_correction', 'payoff')), 0) as corrected
        from in_effect where id > coalesce(corrected_by, 0) group by account_id
      )
      select a.id, (select count(*) from plan_changes c where c.account_id = a.id and c.kind <> 'imported') as changes,
        (select count(*) from plan_changes c join original_terms t using (account_id, version, effective_on)
          where c.account_id = a.id) as recorded,
        case when e.has_others then e.total end as expected_total, o.total_minor as total,
        case when e.has_others then e.corrected else 0 end as expected_corrected, o.corrected_minor as corrected,
        case when o.total_minor is not null then a.deposit_minor + r.sum end as sum_of_instalments,
        a.original_due_date,
        case when o.total_minor is not null and a.next_due_date is not null
          then case when a.paid_minor < a.deposit_minor then a.activation_date else r.due end end as expected_due
      from accounts a
      left join original_terms o on o.account_id = a.id and o.version = a.plan_version
      left join since_sale e on e.account_id = a.id
      left join lateral (
        select sum(count * amount) as sum,
          min(date_of_place(unit, anchor, every, place + (a.paid_minor - paid_before) / amount))
            filter (where a.paid_minor < paid_before + count * amount and a.paid_minor >= paid_before) as due
        from (
          select *, a.deposit_minor + coalesce(sum(count * amount) over (order by at rows between unbounded preceding and 1 preceding), 0)
            ::bigint as paid_before
          from unnest(o.run_unit, o.run_anchor, o.run_every, o.run_place, o.run_count, o.run_amount_minor)
            with ordinality as run (unit, anchor, every, place, count, amount, at)) placed
      ) r on true
      where a.plan_version > 0 or a.original_due_date is not null
        or exists (select from original_terms t where t.account_id = a.id)`,
    figures: sql`select count(*) as checked_row_count, sum(total) as original_total from checked`,
    violations: sql`
      select 'accounts', id, v.what, coalesce(v.expected, 'none'), coalesce(v.found, 'none'), null::date
      from checked cross join lateral (values
        ('changes with original terms', changes::text, recorded::text),
        ('total of the original terms', expected_total::text, total::text),
        ('price corrections of the original terms', expected_corrected::text, coalesce(corrected, 0)::text),
        ('sum of the original instalments', total::text, sum_of_instalments::text),
        ('original_due_date', expected_due::text, original_due_date::text)
      ) as v (what, expected, found)
      where v.expected is distinct from v.found`,
  },
];
