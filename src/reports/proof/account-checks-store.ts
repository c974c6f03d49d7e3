import { sql } from 'kysely';
import { ACCOUNT_STATUSES, isStatusIn, moneyEventOf, statusesIn } from '../../accounts/status/rules.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { type Check, CUSTOMER_LEDGER_ACCOUNTS, SOLD_MINOR } from './store.ts';

const WRITTEN_OFF = literalList(
  ACCOUNT_STATUSES.filter((status) => moneyEventOf(status) === 'account_written_off'),
);

const NEVER_COMPLETED = ACCOUNT_STATUSES.filter(
  (status) => status !== 'completed' && !isStatusIn(status, 'completesWhenPaid'),
);

export const ACCOUNT_CHECKS: readonly Check[] = [
  {
    name: 'balances_follow_payments',
    rule:
      'The sum paid on every account equals the sum of its payments and credit moves, in total and for the month of the latest ' +
      'payment or credit move. The receivable, credit and loss of the account follow from the sum paid.',
    checked: sql`
      select a.*, coalesce(m.paid, 0) as money_minor, coalesce(m.paid_in_month, 0) as month_minor, m.last_month,
        ${SOLD_MINOR} as sold_minor,
        date_trunc('month', greatest((select max(payment_date) from payments),
          (select max(value_date) from credit_moves))::timestamp)::date as latest_month
      from accounts a
      left join (
        select m.account_id, sum(m.amount_minor) as paid,
          sum(m.amount_minor) filter (where m.value_date >= b.paid_month) as paid_in_month,
          date_trunc('month', max(m.value_date)::timestamp)::date as last_month
        from account_money m join accounts b on b.id = m.account_id
        group by m.account_id
      ) m on m.account_id = a.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(money_minor) as payments, sum(paid_minor) as paid,
        sum(receivable_minor) as receivable, sum(credit_minor) as credit
      from checked`,
    violations: sql`
      select 'accounts', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('paid_minor', money_minor::text, paid_minor::text),
        -- paid_month can be the month of a reversed payment, but is never later than latest_month (of all accounts).
        ('paid_month', coalesce(case when paid_month <= latest_month then greatest(paid_month, last_month)
          else last_month end::text, 'none'), coalesce(paid_month::text, 'none')),
        ('paid_month_minor', month_minor::text, paid_month_minor::text),
        ('receivable_minor', (case when written_off_minor > 0 then 0
          else greatest(0, sold_minor - paid_minor) end)::text, receivable_minor::text),
        ('credit_minor', greatest(0, paid_minor - sold_minor)::text, credit_minor::text),
        ('written_off_minor', case when status = 'completed' or status in ${WRITTEN_OFF} or written_off_minor = 0
          then written_off_minor::text else '0' end, written_off_minor::text),
        ('status without a loss', case when status in ${WRITTEN_OFF} and written_off_minor = 0
          then 'not written_off' else status::text end, status::text)
      ) as v (what, expected, found)
      where v.expected <> v.found`,
  },
  {
    name: 'credit_moves',
    // The credit of an imported account with unknown earlier prices can have been debt by its present price.
    rule: 'Every credit move has its ledger entries: on the giving account, and on the receiving account or the refund method.',
    checked: sql`
      select m.id, m.value_date as day, m.amount_minor, m.to_account_id,
        coalesce(sum(e.amount_minor) filter (
          where e.account_id = m.account_id and (e.ledger_account = 'customer_credit' or e.ledger_account in ${CUSTOMER_LEDGER_ACCOUNTS}
            and m.account_id in (select account_id from plan_changes where kind = 'imported'))), 0) as given,
        coalesce(-sum(e.amount_minor) filter (
          where e.account_id = m.to_account_id and e.ledger_account in ${CUSTOMER_LEDGER_ACCOUNTS}), 0) as taken,
        coalesce(-sum(e.amount_minor) filter (
          where e.ledger_account = 'clearing' and e.payment_method_id = m.payment_method_id), 0) as refunded,
        min(e.id) filter (where e.value_date <> m.value_date) as other_day_id,
        min(e.value_date) filter (where e.value_date <> m.value_date) as other_day
      from credit_moves m left join ledger_entries e on e.credit_move_id = m.id
      group by m.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(amount_minor) as moved, sum(taken) as transferred, sum(refunded) as refunded
      from checked`,
    violations: sql`
      select v.of_table, v.row_id, v.what, v.expected, v.found, day
      from checked cross join lateral (values
        ('credit_moves', id, 'entries on the giving account', amount_minor::text, given::text),
        ('credit_moves', id, 'entries on the receiving account',
          case when to_account_id is null then '0' else amount_minor::text end, taken::text),
        ('credit_moves', id, 'refund entries of its method',
          case when to_account_id is null then amount_minor::text else '0' end, refunded::text),
        ('ledger_entries', other_day_id, 'value_date', day::text, coalesce(other_day, day)::text)
      ) as v (of_table, row_id, what, expected, found)
      where v.expected <> v.found`,
  },
  {
    name: 'statuses',
    rule: `Every change of status is recorded. Every completed account is paid in full. Every account that is paid in full is completed or ${NEVER_COMPLETED.join(' or ')}.`,
    checked: sql`
      select a.id, a.status, a.paid_minor, a.total_minor, h.last_status, h.broken_id, h.broken_from, h.broken_after
      from accounts a left join (
        select account_id,
          (array_agg(to_status order by id desc))[1] as last_status,
          min(id) filter (where from_status is distinct from before) as broken_id,
          (array_agg(from_status order by id) filter (where from_status is distinct from before))[1] as broken_from,
          (array_agg(before order by id) filter (where from_status is distinct from before))[1] as broken_after
        from (
          select c.*, lag(to_status) over (partition by account_id order by id) as before
          from account_status_changes c
        ) changes
        group by account_id
      ) h on h.account_id = a.id`,
    figures: sql`
      select count(*) as checked_row_count, sum(total_minor) filter (where status = 'completed') as completed from checked`,
    violations: sql`
      select v.of_table, v.row_id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        (status is distinct from last_status, 'accounts', id, 'status', coalesce(last_status::text, 'none'), status::text),
        (paid_minor >= total_minor and status in ${literalList(statusesIn('completesWhenPaid'))},
          'accounts', id, 'status of a fully paid account', 'completed', status::text),
        (paid_minor < total_minor and status = 'completed',
          'accounts', id, 'status of an account that is not fully paid', 'not completed', status::text),
        (broken_id is not null, 'account_status_changes', broken_id, 'from_status',
          coalesce(broken_after::text, 'none'), coalesce(broken_from::text, 'none'))
      ) as v (is_broken, of_table, row_id, what, expected, found)
      where v.is_broken`,
  },
];
