import { sql } from 'kysely';
import { type Check, CUSTOMER_LEDGER_ACCOUNTS, SOLD_MINOR } from './store.ts';

export const LEDGER_CHECKS: readonly Check[] = [
  {
    name: 'ledger_events',
    rule: 'The entries of every ledger event sum to zero and share one kind, account, payment and value date. A transfer has two accounts.',
    checked: sql`
      select event_id, min(id) as id, min(value_date) as day, max(value_date) as last_day,
        sum(amount_minor) as balance,
        min(event) <> max(event) as is_mixed,
        (min(account_id) <> max(account_id) or count(account_id) not in (0, count(*)))
          and min(event)::text <> 'credit_transferred' as has_several_accounts,
        min(payment_id) <> max(payment_id) or count(payment_id) not in (0, count(*)) as has_several_payments,
        starts_with(min(event)::text, 'payment_') as needs_payment, count(payment_id) > 0 as has_payment
      from ledger_entries group by event_id`,
    // The trial balance: debits are positive, credits are negative.
    figures: sql`
      select count(*) as checked_row_count,
        sum(amount_minor) filter (where ledger_account = 'clearing') as clearing,
        sum(amount_minor) filter (where ledger_account = 'unmatched') as unmatched,
        sum(amount_minor) filter (where ledger_account = 'receivable') as receivable,
        sum(amount_minor) filter (where ledger_account = 'customer_credit') as customer_credit,
        sum(amount_minor) filter (where ledger_account = 'bad_debt') as bad_debt,
        sum(amount_minor) filter (where ledger_account = 'recovery') as recovery,
        sum(amount_minor) filter (where ledger_account = 'sales') as sales
      from ledger_entries`,
    violations: sql`
      select 'ledger_entries', id, v.what || ' of event ' || event_id, v.expected, v.found, day
      from checked cross join lateral (values
        (balance <> 0, 'sum', '0', balance::text),
        (is_mixed, 'kind', 'one', 'several'),
        (has_several_accounts, 'account', 'one', 'several'),
        (has_several_payments, 'payment', 'one', 'several'),
        (needs_payment <> has_payment, 'payment', case when needs_payment then 'one' else 'none' end,
          case when has_payment then 'one' else 'none' end),
        (day <> last_day, 'value date', day::text, last_day::text)
      ) as v (is_broken, what, expected, found)
      where (balance <> 0 or is_mixed or has_several_accounts or has_several_payments or needs_payment <> has_payment
          or day <> last_day)
        and v.is_broken`,
  },
  {
    name: 'payments_in_ledger',
    rule:
      'The entries of every payment agree with its state, day and method: matched money is on its account, unmatched ' +
      'money is in the ledger account `unmatched`, and reversed money is in neither.',
    checked: sql`
      select p.id, p.payment_date as day, p.status, p.amount_minor, p.payment_method_id,
        count(e.id) as entries,
        coalesce(sum(e.amount_minor) filter (
          where e.ledger_account = 'clearing' and e.event = 'payment_received'), 0) as received,
        coalesce(sum(e.amount_minor) filter (
          where e.ledger_account = 'clearing' and e.event <> 'payment_received'), 0) as taken_back,
        coalesce(sum(e.amount_minor) filter (where e.ledger_account = 'unmatched'), 0) as unmatched,
        coalesce(sum(e.amount_minor) filter (
          where e.ledger_account in ${CUSTOMER_LEDGER_ACCOUNTS} and e.account_id = p.account_id), 0) as on_account,
        coalesce(sum(e.amount_minor) filter (
          where e.ledger_account in ${CUSTOMER_LEDGER_ACCOUNTS} and e.account_id is distinct from p.account_id), 0) as elsewhere,
        min(e.id) filter (where e.value_date <> p.payment_date) as other_day_id,
        min(e.value_date) filter (where e.value_date <> p.payment_date) as other_day,
        min(e.id) filter (where e.payment_method_id <> p.payment_method_id) as other_method_id,
        min(e.payment_method_id) filter (where e.payment_method_id <> p.payment_method_id) as other_method
      from payments p left join ledger_entries e on e.payment_id = p.id
      group by p.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(amount_minor) as payments, sum(received) as received,
        -sum(taken_back) as taken_back, -sum(unmatched) as unmatched, -sum(on_account) as on_accounts
      from checked`,
    violations: sql`
      select v.of_table, v.row_id, v.what, v.expected, v.found, day
      from checked
      cross join lateral (select
        case when status = 'reversed' then -amount_minor else 0 end as taken_back,
        case when status = 'unmatched' then -amount_minor else 0 end as unmatched,
        case when status = 'matched' then -amount_minor else 0 end as on_account) as due
      cross join lateral (values
        ('payments', id, 'received entries', amount_minor::text, received::text),
        ('payments', id, 'reversal entries', due.taken_back::text, checked.taken_back::text),
        ('payments', id, 'entries in unmatched', due.unmatched::text, checked.unmatched::text),
        ('payments', id, 'entries on its account', due.on_account::text, checked.on_account::text),
        ('payments', id, 'entries on other accounts', '0', elsewhere::text),
        ('ledger_entries', other_day_id, 'value_date', day::text, coalesce(other_day, day)::text),
        ('ledger_entries', other_method_id, 'payment_method_id', payment_method_id::text,
          coalesce(other_method, payment_method_id)::text)
      ) as v (of_table, row_id, what, expected, found)
      where (received <> amount_minor or checked.taken_back <> due.taken_back or checked.unmatched <> due.unmatched
          or checked.on_account <> due.on_account or elsewhere <> 0
          or other_day_id is not null or other_method_id is not null)
        and v.expected <> v.found`,
  },
  {
    name: 'days_by_method',
    rule:
      'For every day and payment method, the sums received, reversed and refunded in the ledger equal those of the ' +
      'payments and refunds.',
    checked: sql`
      select day, payment_method_id, coalesce(p.payments, 0) as payments,
        coalesce(p.received, 0) as received, coalesce(p.reversed, 0) as reversed,
        coalesce(r.refunded, 0) as refunded,
        coalesce(e.received, 0) as cleared, coalesce(e.taken_back, 0) as taken_back, coalesce(e.paid_out, 0) as paid_out
      from (
        select payment_date as day, payment_method_id, count(*) as payments, sum(amount_minor) as received,
          sum(amount_minor) filter (where status = 'reversed') as reversed
        from payments group by payment_date, payment_method_id
      ) p
      full join (
        select value_date as day, payment_method_id, sum(amount_minor) as refunded
        from credit_moves where to_account_id is null group by value_date, payment_method_id
      ) r using (day, payment_method_id)
      full join (
        select value_date as day, payment_method_id,
          sum(amount_minor) filter (where event = 'payment_received') as received,
          -sum(amount_minor) filter (where event not in ('payment_received', 'credit_refunded')) as taken_back,
          -sum(amount_minor) filter (where event = 'credit_refunded') as paid_out
        from ledger_entries where ledger_account = 'clearing'
        group by value_date, payment_method_id
      ) e using (day, payment_method_id)`,
    figures: sql`
      select sum(payments) as checked_row_count, sum(received) as received, sum(reversed) as reversed,
        sum(refunded) as refunded, sum(cleared) as cleared, sum(taken_back) as taken_back, sum(paid_out) as paid_out
      from checked`,
    violations: sql`
      select 'payment_methods', payment_method_id, v.what || ' on ' || day, v.expected::text, v.found::text, day
      from checked cross join lateral (values
        ('received entries', received, cleared),
        ('reversal entries', reversed, taken_back),
        ('refund entries', refunded, paid_out)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
  {
    name: 'days_by_state',
    rule: 'For every day, the matched, unmatched and reversed payments add up to the sum received. The ledger has the same matched and unmatched sums.',
    checked: sql`
      select day, coalesce(p.payments, 0) as payments, coalesce(p.received, 0) as received,
        coalesce(p.matched, 0) as matched, coalesce(p.unmatched, 0) as unmatched, coalesce(p.reversed, 0) as reversed,
        coalesce(e.on_accounts, 0) as on_accounts, coalesce(e.set_aside, 0) as set_aside
      from (
        select payment_date as day, count(*) as payments, sum(amount_minor) as received,
          sum(amount_minor) filter (where status = 'matched') as matched,
          sum(amount_minor) filter (where status = 'unmatched') as unmatched,
          sum(amount_minor) filter (where status = 'reversed') as reversed
        from payments group by payment_date
      ) p
      full join (
        select value_date as day,
          -sum(amount_minor) filter (where ledger_account in ${CUSTOMER_LEDGER_ACCOUNTS}) as on_accounts,
          -sum(amount_minor) filter (where ledger_account = 'unmatched') as set_aside
        from ledger_entries where payment_id is not null group by value_date
      ) e using (day)`,
    figures: sql`
      select sum(payments) as checked_row_count, sum(received) as received, sum(matched) as matched,
        sum(unmatched) as unmatched, sum(reversed) as reversed
      from checked`,
    violations: sql`
      select 'payments', null::bigint, v.what || ' on ' || day, v.expected::text, v.found::text, day
      from checked cross join lateral (values
        ('matched, unmatched and reversed', received, matched + unmatched + reversed),
        ('entries on accounts', matched, on_accounts),
        ('entries in unmatched', unmatched, set_aside)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
  {
    name: 'balances_equal_ledger',
    rule: 'The balances of every account equal the sums of its ledger entries.',
    checked: sql`
      select a.id, a.paid_minor, a.receivable_minor, a.credit_minor, a.written_off_minor,
        ${SOLD_MINOR} as sold_minor,
        coalesce(e.paid, 0) as paid, coalesce(e.receivable, 0) as receivable, coalesce(e.credit, 0) as credit,
        coalesce(e.lost, 0) as lost, coalesce(e.recovered, 0) as recovered, coalesce(e.sold, 0) as sold
      from accounts a left join (
        select account_id,
          -sum(amount_minor) filter (
            where ledger_account in ${CUSTOMER_LEDGER_ACCOUNTS}
              and not starts_with(event::text, 'account_') and not starts_with(event::text, 'price_')) as paid,
          sum(amount_minor) filter (where ledger_account = 'receivable') as receivable,
          -sum(amount_minor) filter (where ledger_account = 'customer_credit') as credit,
          sum(amount_minor) filter (where ledger_account = 'bad_debt') as lost,
          -sum(amount_minor) filter (where ledger_account = 'recovery') as recovered,
          -sum(amount_minor) filter (where ledger_account = 'sales') as sold
        from ledger_entries where account_id is not null group by account_id
      ) e on e.account_id = a.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(sold) as sold, sum(paid) as paid, sum(receivable) as receivable,
        sum(credit) as credit, sum(lost) as written_off, sum(recovered) as recovered
      from checked`,
    violations: sql`
      select 'accounts', id, v.what, v.expected::text, v.found::text, null::date
      from checked cross join lateral (values
        ('paid_minor', paid, paid_minor::numeric),
        ('receivable_minor', receivable, receivable_minor),
        ('credit_minor', credit, credit_minor),
        ('written_off_minor', lost, written_off_minor),
        ('entries in sales', sold_minor, sold),
        ('entries in recovery', case when written_off_minor = 0 then 0
          else written_off_minor - greatest(0, sold_minor - paid_minor) end, recovered),
        -- A reversal reduces the recovered amount, but not below 0. The rest of the reversal adds to the loss.
        ('sum of the entries in recovery, which must not be negative', greatest(0, recovered), recovered)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
];
