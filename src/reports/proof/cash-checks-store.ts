import { sql } from 'kysely';
import type { Check } from './store.ts';

/** Clearing entries of cash methods: who recorded the payment, or who requested the refund; null for API keys and imports. */
const ENTRIES = sql`
  select e.id, e.payment_method_id, e.amount_minor, t.count_id,
    case
      when e.payment_id is not null then case when p.source = 'manual' and p.import_id is null then p.created_by end
      when m.import_id is not null then null
      when a.id is not null then a.requested_by
      else m.created_by
    end as holder_id
  from ledger_entries e
  join payment_methods pm on pm.id = e.payment_method_id and pm.cash
  left join payments p on p.id = e.payment_id
  left join credit_moves m on m.id = e.credit_move_id
  left join approvals a on a.credit_move_id = m.id
  left join cash_count_entries t on t.entry_id = e.id
  where e.ledger_account = 'clearing'`;

const DIFFERENCES = sql`(c.number > 1 or c.is_earlier_cash is false)`;

export const CASH_CHECKS: readonly Check[] = [
  {
    name: 'cash_in_hand',
    rule:
      'For every cash method, the cash in hand less the differences, plus what was banked, what has no holder and what is from before ' +
      'the opening counts, equals the clearing entries.',
    checked: sql`
      with entries as materialized (${ENTRIES}),
      started as (select distinct holder_id, payment_method_id from cash_counts),
      open_parts as (
        select holder_id, payment_method_id, amount_minor from entries where count_id is null and holder_id is not null
        union all
        select v.holder_id, v.payment_method_id, v.amount_minor from cash_moves v
        where not exists (select from cash_count_moves t where t.move_id = v.id)),
      parts (payment_method_id, part, amount_minor) as (
        select payment_method_id, 'clearing', amount_minor from entries
        union all
        select payment_method_id, 'without_holder', amount_minor from entries where holder_id is null
        union all
        select o.payment_method_id, case when s.holder_id is null then 'before' else 'in_hand' end, o.amount_minor
        from open_parts o left join started s on s.holder_id = o.holder_id and s.payment_method_id = o.payment_method_id
        union all
        select c.payment_method_id, 'in_hand', c.counted_minor from cash_counts c
        where c.number = (
          select max(l.number) from cash_counts l
          where l.holder_id = c.holder_id and l.payment_method_id = c.payment_method_id)
        union all
        select c.payment_method_id, case when ${DIFFERENCES} then 'differences' else 'before' end,
          case when ${DIFFERENCES} then c.difference_minor else -c.difference_minor end
        from cash_counts c
        union all
        select v.payment_method_id, 'banked', -v.amount_minor
        from cash_moves v join cash_handovers h on h.id = v.handover_id where h.to_user_id is null)
      select m.id,
        coalesce(sum(p.amount_minor) filter (where p.part = 'clearing'), 0) as clearing,
        coalesce(sum(p.amount_minor) filter (where p.part = 'in_hand'), 0) as in_hand,
        coalesce(sum(p.amount_minor) filter (where p.part = 'differences'), 0) as differences,
        coalesce(sum(p.amount_minor) filter (where p.part = 'banked'), 0) as banked,
        coalesce(sum(p.amount_minor) filter (where p.part = 'without_holder'), 0) as without_holder,
        coalesce(sum(p.amount_minor) filter (where p.part = 'before'), 0) as before
      from payment_methods m left join parts p on p.payment_method_id = m.id
      where m.cash
      group by m.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(clearing) as clearing from checked`, // Others could tell somebody what to count.
    violations: sql`
      select 'payment_methods', id, 'in hand - differences + banked + without holder + before', clearing::text,
        (in_hand - differences + banked + without_holder + before)::text, null::date
      from checked where clearing <> in_hand - differences + banked + without_holder + before`,
  },
  {
    name: 'cash_counts',
    rule:
      'Every cash count follows the count before it, and took exactly the ledger entries and moves of its holder that its sums say. What ' +
      'was counted is what the audit log says. Nobody confirmed their own opening count.',
    checked: sql`
      with entries as materialized (${ENTRIES})
      select c.*, coalesce(e.sum, 0) as taken_minor, coalesce(e.foreign_count, 0) as foreign_entries,
        coalesce(v.sum, 0) as taken_moves_minor, coalesce(v.foreign_count, 0) as foreign_moves,
        coalesce(lag(c.counted_minor) over of_holder, 0) as before_minor,
        row_number() over of_holder as place, h.count_number,
        count(*) over (partition by c.holder_id, c.payment_method_id) as count_of_holder,
        a.counted as audited_minor
      from cash_counts c
      left join cash_holders h on h.user_id = c.holder_id and h.payment_method_id = c.payment_method_id
      left join (
        select t.count_id, sum(e.amount_minor) as sum,
          count(*) filter (where e.id is null or e.holder_id is distinct from b.holder_id
            or e.payment_method_id <> b.payment_method_id) as foreign_count
        from cash_count_entries t left join entries e on e.id = t.entry_id join cash_counts b on b.id = t.count_id
        group by t.count_id
      ) e on e.count_id = c.id
      left join (
        select t.count_id, sum(v.amount_minor) as sum,
          count(*) filter (where v.holder_id <> b.holder_id or v.payment_method_id <> b.payment_method_id) as foreign_count
        from cash_count_moves t join cash_moves v on v.id = t.move_id join cash_counts b on b.id = t.count_id
        group by t.count_id
      ) v on v.count_id = c.id
      left join lateral (
        select (l.after->>'countedMinor')::bigint as counted from audit_entries l
        where l.resource = 'cash_count' and l.resource_id = c.id and l.action = 'cash_count.save'
      ) a on true
      where exists (select from payment_methods m where m.id = c.payment_method_id and m.cash)
      window of_holder as (partition by c.holder_id, c.payment_method_id order by c.number)`,
    figures: sql`
      select count(*) as checked_row_count, sum(counted_minor) as counted, sum(expected_minor) as expected from checked`,
    violations: sql`
      select 'cash_counts', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('entries_minor', entries_minor::text, taken_minor::text),
        ('entries of another holder or method', '0', foreign_entries::text),
        ('moves_minor', moves_minor::text, taken_moves_minor::text),
        ('moves of another holder or method', '0', foreign_moves::text),
        ('previous_minor', before_minor::text, previous_minor::text),
        ('number', place::text, number::text),
        ('number of counts of the holder', coalesce(count_number::text, 'none'), count_of_holder::text),
        ('counted_minor', coalesce(audited_minor::text, 'not in the audit log'), counted_minor::text),
        ('confirmed by', 'another user', case when confirmed_by in (holder_id, counted_by) then 'the holder' else 'another user' end)
      ) as v (what, expected, found)
      where v.expected <> v.found
      union all
      select 'cash_count_entries', t.entry_id, 'count', 'a count', t.count_id::text, null::date
      from cash_count_entries t where not exists (select from cash_counts c where c.id = t.count_id)`,
  },
  {
    name: 'cash_handovers',
    rule:
      'Every hand-over that both sides counted equally, and every deposit, has moved its amount once. No other hand-over has moved cash. ' +
      'Amounts and confirmations are what the audit log says. Nobody confirmed their own deposit.',
    checked: sql`
      select h.*, coalesce(v.of_giver, 0) as of_giver, coalesce(v.of_receiver, 0) as of_receiver,
        coalesce(v.moves, 0) as moves, a.audited as audited_minor, b.text as audited_text, b.date as audited_date
      from cash_handovers h
      left join (
        select v.handover_id, count(*) as moves, sum(v.amount_minor) filter (where v.holder_id = o.from_user_id) as of_giver,
          sum(v.amount_minor) filter (where v.holder_id = o.to_user_id) as of_receiver
        from cash_moves v join cash_handovers o on o.id = v.handover_id and o.payment_method_id = v.payment_method_id
        group by v.handover_id
      ) v on v.handover_id = h.id
      left join lateral (
        select (l.after->>'amountMinor')::bigint as audited from audit_entries l
        where l.resource = 'cash_handover' and l.resource_id = h.id
          and l.action in ('cash_handover.deposit', 'cash_handover.receive')
      ) a on true
      left join lateral (
        select l.after->>'statementText' as text, l.after->>'statementDate' as date from audit_entries l
        where l.resource = 'cash_handover' and l.resource_id = h.id and l.action = 'cash_handover.confirm'
      ) b on true`,
    figures: sql`
      select count(*) as checked_row_count, sum(amount_minor) filter (where status = 'received') as received,
        sum(amount_minor) filter (where status in ('deposited', 'confirmed')) as banked
      from checked`,
    violations: sql`
      select 'cash_handovers', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('cash taken from the giver', case when status in ('received', 'deposited', 'confirmed') then -amount_minor else 0 end::text,
          of_giver::text),
        ('cash given to the receiver', case when status = 'received' then amount_minor else 0 end::text, of_receiver::text),
        ('number of moves', case when status in ('received', 'rejected') then 2
          when status in ('deposited', 'confirmed') then 1 else 0 end::text, moves::text),
        ('amount_minor', case when status in ('pending', 'withdrawn') then amount_minor::text
          else coalesce(audited_minor::text, 'not in the audit log') end, amount_minor::text),
        ('statement_text', coalesce(audited_text, 'none'), coalesce(statement_text, 'none')),
        ('statement_date', coalesce(audited_date, 'none'), coalesce(statement_date::text, 'none')),
        ('decided by', 'another user', case when status in ('confirmed', 'rejected') and decided_by = from_user_id
          then 'the holder' else 'another user' end)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
  {
    name: 'cash_settlements',
    rule:
      'Every settlement of cash was confirmed by a second person, and settles what the audit log says. Only a closing moves cash, from ' +
      'the holder who left to the requester.',
    checked: sql`
      select s.*, coalesce(v.of_holder, 0) as of_holder, coalesce(v.of_requester, 0) as of_requester, a.audited as audited_minor
      from cash_settlements s
      left join (
        select v.settlement_id, sum(v.amount_minor) filter (where v.holder_id = o.holder_id) as of_holder,
          sum(v.amount_minor) filter (where v.holder_id = o.requested_by) as of_requester
        from cash_moves v join cash_settlements o on o.id = v.settlement_id and o.payment_method_id = v.payment_method_id
        group by v.settlement_id
      ) v on v.settlement_id = s.id
      left join lateral (
        select (l.after->>'amountMinor')::bigint as audited from audit_entries l
        where l.resource = 'cash_settlement' and l.resource_id = s.id and l.action = 'cash_settlement.confirm'
      ) a on true`,
    figures: sql`
      select count(*) as checked_row_count, sum(amount_minor) filter (where status = 'confirmed') as settled from checked`,
    violations: sql`
      select 'cash_settlements', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('cash taken from the holder', case when status = 'confirmed' and kind = 'closing' then -counted_minor else 0 end::text,
          of_holder::text),
        ('cash given to the requester', case when status = 'confirmed' and kind = 'closing' then counted_minor else 0 end::text,
          of_requester::text),
        ('amount_minor', case when status = 'confirmed' then coalesce(audited_minor::text, 'not in the audit log')
          else 'not settled' end, case when status = 'confirmed' then amount_minor::text else 'not settled' end),
        ('confirmed by', 'another user', case when status = 'confirmed' and decided_by in (holder_id, requested_by)
          then 'the requester or the holder' else 'another user' end)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
];
