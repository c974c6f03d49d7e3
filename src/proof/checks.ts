import { type RawBuilder, sql } from 'kysely';

/**
 * A check of the books as SQL. It is written independently, from the tables alone, so that it shares no mistake with the
 * code that it judges; only the functions of migrations/0005_reports.sql are common, and tests hold those
 * against the schedule.
 */
export interface Check {
  name: string;
  /** What holds, as a sentence. */
  rule: string;
  /** What is looked at: `select …`, for the two below under the name `checked`. */
  checked: RawBuilder<unknown>;
  /** `select … from checked`, one row: `looked_at`, how many rows, and sums in minor units under their names. */
  figures: RawBuilder<unknown>;
  /**
   * `select … from checked`, a row a violation: the table, the row's id, what of it, expected and found as text,
   * and the business day that it concerns, if it concerns one.
   */
  violations: RawBuilder<unknown>;
}

/** The ledger accounts on which an account's money stands. */
const ON_ACCOUNT = sql`('receivable', 'customer_credit', 'recovery', 'bad_debt')`;

const ledgerEvents: Check = {
  name: 'ledger_events',
  rule: 'The entries of every ledger event sum to zero and agree in what they are about and in their value date.',
  checked: sql`
    select event_id, min(id) as id, count(*) as entries, min(value_date) as day, max(value_date) as last_day,
      sum(amount_minor) as balance,
      sum(amount_minor) filter (where amount_minor > 0) as debits,
      min(event) <> max(event) as is_mixed,
      -- A transfer of credit is about two accounts.
      (min(account_id) <> max(account_id) or count(account_id) not in (0, count(*)))
        and min(event)::text <> 'credit_transferred' as has_accounts,
      min(payment_id) <> max(payment_id) or count(payment_id) not in (0, count(*)) as has_payments,
      starts_with(min(event)::text, 'payment_') <> (count(payment_id) > 0) as is_astray
    from ledger_entries group by event_id`,
  figures: sql`select sum(entries) as looked_at, sum(debits) as debits, sum(debits) - sum(balance) as credits from checked`,
  violations: sql`
    select 'ledger_entries', id, v.what || ' of event ' || event_id, v.expected, v.found, day
    from checked cross join lateral (values
      (balance <> 0, 'sum', '0', balance::text),
      (is_mixed, 'kind', 'one', 'several'),
      (has_accounts, 'account', 'one', 'several'),
      (has_payments, 'payment', 'one', 'several'),
      (is_astray, 'payment', 'one for payments alone', 'another'),
      (day <> last_day, 'value date', day::text, last_day::text)
    ) as v (is_broken, what, expected, found)
    where (balance <> 0 or is_mixed or has_accounts or has_payments or is_astray or day <> last_day)
      and v.is_broken`,
};

const paymentsInLedger: Check = {
  name: 'payments_in_ledger',
  rule:
    'The entries of every payment say what it is: matched money on its account, unmatched money set aside, ' +
    'a reversed payment nothing; all on its day and under its method.',
  checked: sql`
    select p.id, p.payment_date as day, p.status, p.amount_minor, p.payment_method_id,
      count(e.id) as entries,
      coalesce(sum(e.amount_minor) filter (
        where e.ledger_account = 'clearing' and e.event = 'payment_received'), 0) as received,
      coalesce(sum(e.amount_minor) filter (
        where e.ledger_account = 'clearing' and e.event <> 'payment_received'), 0) as taken_back,
      coalesce(sum(e.amount_minor) filter (where e.ledger_account = 'unmatched'), 0) as unmatched,
      coalesce(sum(e.amount_minor) filter (
        where e.ledger_account in ${ON_ACCOUNT} and e.account_id = p.account_id), 0) as on_account,
      coalesce(sum(e.amount_minor) filter (
        where e.ledger_account in ${ON_ACCOUNT} and e.account_id is distinct from p.account_id), 0) as elsewhere,
      min(e.id) filter (where e.value_date <> p.payment_date) as other_day_id,
      min(e.value_date) filter (where e.value_date <> p.payment_date) as other_day,
      min(e.id) filter (where e.payment_method_id <> p.payment_method_id) as other_method_id,
      min(e.payment_method_id) filter (where e.payment_method_id <> p.payment_method_id) as other_method
    from payments p left join ledger_entries e on e.payment_id = p.id
    group by p.id`,
  figures: sql`
    select count(*) as looked_at, sum(amount_minor) as payments, sum(received) as received,
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
      ('payments', id, 'entries of what was received', amount_minor::text, received::text),
      ('payments', id, 'entries of what was taken back', due.taken_back::text, checked.taken_back::text),
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
};

const balancesEqualLedger: Check = {
  name: 'balances_equal_ledger',
  rule: 'What every account owes, has paid, has in credit and has lost is what its ledger entries say.',
  checked: sql`
    select a.id, a.paid_minor, a.receivable_minor, a.credit_minor, a.written_off_minor,
      case when a.status = 'cancelled' then 0 else a.total_minor end as sold_minor,
      coalesce(e.paid, 0) as paid, coalesce(e.receivable, 0) as receivable, coalesce(e.credit, 0) as credit,
      coalesce(e.lost, 0) as lost, coalesce(e.recovered, 0) as recovered, coalesce(e.sold, 0) as sold
    from accounts a left join (
      select account_id,
        -sum(amount_minor) filter (
          where ledger_account in ${ON_ACCOUNT} and not starts_with(event::text, 'account_')) as paid,
        sum(amount_minor) filter (where ledger_account = 'receivable') as receivable,
        -sum(amount_minor) filter (where ledger_account = 'customer_credit') as credit,
        sum(amount_minor) filter (where ledger_account = 'bad_debt') as lost,
        -sum(amount_minor) filter (where ledger_account = 'recovery') as recovered,
        -sum(amount_minor) filter (where ledger_account = 'sales') as sold
      from ledger_entries where account_id is not null group by account_id
    ) e on e.account_id = a.id`,
  figures: sql`
    select count(*) as looked_at, sum(sold) as sold, sum(paid) as paid, sum(receivable) as receivable,
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
      -- Beyond what was recovered, what is taken back adds to the loss.
      ('entries in recovery, none below 0', greatest(0, recovered), recovered)
    ) as v (what, expected, found)
    where v.expected <> v.found`,
};

const balancesFollowPayments: Check = {
  name: 'balances_follow_payments',
  rule:
    'What every account has paid, in all and in its latest month, is the sum of its payments and moves of credit, and ' +
    'what it owes or has in credit follows.',
  checked: sql`
    select a.*, coalesce(m.paid, 0) as money_minor, coalesce(m.paid_in_month, 0) as month_minor, m.last_month,
      case when a.status = 'cancelled' then 0 else a.total_minor end as sold_minor,
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
    select count(*) as looked_at, sum(money_minor) as payments, sum(paid_minor) as paid,
      sum(receivable_minor) as receivable, sum(credit_minor) as credit
    from checked`,
  violations: sql`
    select 'accounts', id, v.what, v.expected, v.found, null::date
    from checked cross join lateral (values
      ('paid_minor', money_minor::text, paid_minor::text),
      -- The month of money that is not there any more stays, but none is later than all money that ever came.
      ('paid_month', coalesce(case when paid_month <= latest_month then greatest(paid_month, last_month)
        else last_month end::text, 'none'), coalesce(paid_month::text, 'none')),
      ('paid_month_minor', month_minor::text, paid_month_minor::text),
      ('receivable_minor', (case when written_off_minor > 0 then 0
        else greatest(0, sold_minor - paid_minor) end)::text, receivable_minor::text),
      ('credit_minor', greatest(0, paid_minor - sold_minor)::text, credit_minor::text),
      ('written_off_minor', case when status in ('written_off', 'completed') or written_off_minor = 0
        then written_off_minor::text else '0' end, written_off_minor::text),
      ('status, as there is no loss', case when status = 'written_off' and written_off_minor = 0
        then 'not written_off' else status::text end, status::text)
    ) as v (what, expected, found)
    where v.expected <> v.found`,
};

const creditMoves: Check = {
  name: 'credit_moves',
  rule: 'Every move of credit stands in the ledger: off its giver, and onto its receiver or out by its method.',
  checked: sql`
    select m.id, m.value_date as day, m.amount_minor, m.to_account_id,
      coalesce(sum(e.amount_minor) filter (
        where e.account_id = m.account_id and e.ledger_account = 'customer_credit'), 0) as given,
      coalesce(-sum(e.amount_minor) filter (
        where e.account_id = m.to_account_id and e.ledger_account in ${ON_ACCOUNT}), 0) as taken,
      coalesce(-sum(e.amount_minor) filter (
        where e.ledger_account = 'clearing' and e.payment_method_id = m.payment_method_id), 0) as refunded,
      min(e.id) filter (where e.value_date <> m.value_date) as other_day_id,
      min(e.value_date) filter (where e.value_date <> m.value_date) as other_day
    from credit_moves m left join ledger_entries e on e.credit_move_id = m.id
    group by m.id`,
  figures: sql`
    select count(*) as looked_at, sum(amount_minor) as moved, sum(taken) as transferred, sum(refunded) as refunded
    from checked`,
  violations: sql`
    select v.of_table, v.row_id, v.what, v.expected, v.found, day
    from checked cross join lateral (values
      ('credit_moves', id, 'entries off its giver', amount_minor::text, given::text),
      ('credit_moves', id, 'entries on its receiver',
        case when to_account_id is null then '0' else amount_minor::text end, taken::text),
      ('credit_moves', id, 'entries out by its method',
        case when to_account_id is null then amount_minor::text else '0' end, refunded::text),
      ('ledger_entries', other_day_id, 'value_date', day::text, coalesce(other_day, day)::text)
    ) as v (of_table, row_id, what, expected, found)
    where v.expected <> v.found`,
};

const statuses: Check = {
  name: 'statuses',
  rule: 'An account is completed exactly when it is paid in full, and every change of status is on record.',
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
    select count(*) as looked_at, sum(total_minor) filter (where status = 'completed') as completed from checked`,
  violations: sql`
    select v.of_table, v.row_id, v.what, v.expected, v.found, null::date
    from checked cross join lateral (values
      (status is distinct from last_status, 'accounts', id, 'status', coalesce(last_status::text, 'none'), status::text),
      (paid_minor >= total_minor and status in ('active', 'suspended', 'defaulted', 'written_off'),
        'accounts', id, 'status, as it is paid in full', 'completed', status::text),
      (paid_minor < total_minor and status = 'completed',
        'accounts', id, 'status, as it is not paid in full', 'not completed', status::text),
      (broken_id is not null, 'account_status_changes', broken_id, 'from_status',
        coalesce(broken_after::text, 'none'), coalesce(broken_from::text, 'none'))
    ) as v (is_broken, of_table, row_id, what, expected, found)
    where v.is_broken`,
};

const transactionsOnce: Check = {
  name: 'transactions_once',
  rule: 'Every transaction of a provider is one payment.',
  checked: sql`
    select provider, provider_trans_id, count(*) as payments, min(id) as first_id, max(id) as last_id,
      min(payment_date) as day, sum(amount_minor) as amount_minor
    from payments where provider is not null group by provider, provider_trans_id`,
  figures: sql`select sum(payments) as looked_at, sum(amount_minor) as received from checked`,
  violations: sql`
    select 'payments', last_id, 'provider_trans_id ' || provider_trans_id, 'one payment, ' || first_id,
      payments || ' payments', day
    from checked where payments > 1`,
};

const referencesOnce: Check = {
  name: 'references_once',
  rule:
    'No two payments that stand have one reference under one method and provider, and no manual one beside the payment of a ' +
    'transaction that a provider reported has its reference, however it is spelt.',
  checked: sql`
    select 'transaction_ref ' || reference_key as what, count(*) as payments, min(id) as first_id,
      max(id) as last_id, min(payment_date) as day
    from payments where status <> 'reversed' and transaction_ref is not null
    group by payment_method_id, provider, reference_key having count(*) > 1
    union
    select 'transaction_ref ' || reference_key, count(*), min(id), max(id), min(payment_date)
    from payments where status <> 'reversed' and reference_key is not null
    group by reference_key having count(provider) > 0 and count(*) > count(distinct provider)
    union
    select 'transaction_ref ' || p.reference_key, 1, n.payment_id, p.id, p.payment_date
    from payments p join notifications n on n.trans_id = p.reference_key
    where p.status <> 'reversed' and p.provider is null and n.outcome in ('matched', 'unmatched', 'linked')`,
  figures: sql`
    select count(*) as looked_at, sum(amount_minor) as payments
    from payments where status <> 'reversed' and transaction_ref is not null`,
  violations: sql`
    select 'payments', last_id, what, 'one payment, ' || first_id, payments || ' payments', day from checked`,
};

const notifications: Check = {
  name: 'notifications',
  rule: 'Every notification that counts leads to one payment of its transaction and amount, posted as it reports.',
  checked: sql`
    select 'notification' as part, n.id, n.status, n.outcome, n.amount_minor, n.payment_id, n.conflict_payment_id,
      n.outcome in ('matched', 'unmatched', 'linked') as counts,
      (p.provider, p.provider_trans_id) is distinct from (n.provider, n.trans_id) as is_other,
      p.amount_minor as paid_minor, p.status as paid_status, p.payment_date as day, p.source, e.account_id is not null as is_on_account,
      case when n.outcome = 'conflict' then (
        -- One that an upgrade reopened conflicts with a payment that was reversed before.
        select count(*) = 0 and not 'payment_reversed' = any(n.flags) or count(*) = 1 and min(c.amount_minor) = n.amount_minor
          and not ('other_account' = any(n.flags) and count(c.account_id) = 1)
        from payments c
        where c.reference_key = n.trans_id and c.status <> 'reversed' and c.provider is null) end as is_settled
    from notifications n
    left join payments p on p.id = n.payment_id
    left join ledger_entries e
      on e.payment_id = n.payment_id and e.event = 'payment_received' and e.ledger_account = 'clearing'
    union all
    select 'repeat', max(id), null, null, null, null, null, null, null, null, null, null, null, null, null
    from notifications where outcome in ('matched', 'unmatched', 'linked')
    group by payment_id having count(*) > 1 and payment_id is not null
    union all
    select 'payment', p.id, null, null, null, null, null, null, null, null, null, p.payment_date, null, null, null
    from payments p
    where p.source <> 'manual' and (p.provider is not null or p.status <> 'reversed') and not exists (
      select from notifications n
      where n.payment_id = p.id and n.outcome in ('matched', 'unmatched', 'linked'))`,
  figures: sql`
    select count(*) filter (where part = 'notification') as looked_at,
      sum(amount_minor) filter (where counts) as notified, sum(paid_minor) filter (where counts) as received
    from checked`,
  violations: sql`
    select case part when 'payment' then 'payments' else 'notifications' end, id, v.what, v.expected,
      coalesce(v.found, 'none'), day
    from checked cross join lateral (values
      (part = 'payment', 'its notification', 'one', null),
      (part = 'repeat', 'outcome', 'differs, as another counts for its payment', 'it counts too'),
      (counts and payment_id is null, 'payment_id', 'the payment of its transaction', null),
      (counts and is_other and payment_id is not null, 'payment_id', 'the payment of its transaction',
        payment_id::text),
      (counts and paid_minor <> amount_minor, 'amount of payment ' || payment_id, amount_minor::text, paid_minor::text),
      (counts and (outcome = 'linked') <> (source = 'manual'), 'source of payment ' || payment_id,
        case outcome when 'linked' then 'manual' else 'webhook or import' end, source::text),
      (outcome = 'linked' and paid_status = 'reversed', 'payment_id', 'a payment that stands', payment_id::text),
      (outcome = 'matched' and payment_id is not null and not is_on_account,
        'where payment ' || payment_id || ' was received', 'on an account', 'without one'),
      (outcome = 'unmatched' and is_on_account,
        'where payment ' || payment_id || ' was received', 'without an account', 'on one'),
      (is_settled, 'conflict with payment ' || conflict_payment_id, 'one that stands with another amount, or two',
        'none, or one of the same amount'),
      (status <> 'processed' and (outcome is not null or payment_id is not null), 'outcome while ' || status, 'none',
        coalesce(outcome::text, 'payment ' || payment_id))
    ) as v (is_broken, what, expected, found)
    where v.is_broken and (part <> 'notification' or not counts or is_other or paid_minor <> amount_minor
      or (outcome = 'linked') <> (source = 'manual') or (outcome = 'matched') <> is_on_account
      or status <> 'processed')`,
};

const statementLines: Check = {
  name: 'statement_lines',
  rule: 'Every matched line of a provider’s statement has the payment that is its transaction, with its amount.',
  checked: sql`
    select l.id, l.receipt, l.amount_minor, p.id as payment_id, p.amount_minor as paid_minor, p.payment_date as day,
      p.provider_trans_id is distinct from l.receipt as is_other
    from provider_statement_lines l
      -- A statement that is compared again says nothing of the lines behind.
      join provider_statements s on s.id = l.statement_id and l.line_number <= s.compared_to_line
      join payments p on p.id = l.payment_id
    where l.result = 'matched' and p.status <> 'reversed'`,
  figures: sql`
    select count(*) as looked_at, sum(amount_minor) as matched, sum(paid_minor) as payments from checked`,
  violations: sql`
    select 'provider_statement_lines', id, v.what, v.expected, v.found, day
    from checked cross join lateral (values
      (is_other, 'payment_id', 'the payment of transaction ' || receipt, payment_id::text),
      (paid_minor <> amount_minor, 'amount of payment ' || payment_id, amount_minor::text, paid_minor::text)
    ) as v (is_broken, what, expected, found)
    where v.is_broken`,
};

const reconciliations: Check = {
  name: 'reconciliations',
  rule: 'Every batch of reconciliation names its payments, and has their number, their sum and their date.',
  checked: sql`
    select r.id, r.reconciliation_date as day, r.payment_count, r.total_minor,
      coalesce(p.payments, 0) as payments, coalesce(p.minor, 0) as payments_minor, p.earliest_day, p.latest_day,
      p.ids is not distinct from r.payment_ids as are_named
    from reconciliations r left join (
      select reconciliation_id, count(*) as payments, sum(amount_minor) as minor, array_agg(id order by id) as ids,
        min(reconciliation_date) as earliest_day, max(reconciliation_date) as latest_day
      from payments where reconciliation_id is not null group by reconciliation_id
    ) p on p.reconciliation_id = r.id`,
  figures: sql`
    select count(*) as looked_at, sum(total_minor) as batches, sum(payments_minor) as payments from checked`,
  violations: sql`
    select v.of_table, v.row_id, v.what, v.expected, v.found, day
    from checked cross join lateral (values
      ('reconciliations', id, 'payment_count', payments::text, payment_count::text),
      ('reconciliations', id, 'total_minor', payments_minor::text, total_minor::text),
      ('reconciliations', id, 'payment_ids', 'the payments that are stamped with it',
        case when are_named then 'the payments that are stamped with it' else 'others' end),
      ('reconciliations', id, 'reconciliation_date, and the earliest of its payments', day::text,
        coalesce(earliest_day, day)::text),
      ('reconciliations', id, 'reconciliation_date, and the latest of its payments', day::text,
        coalesce(latest_day, day)::text)
    ) as v (of_table, row_id, what, expected, found)
    where v.expected <> v.found`,
};

const invoiceNumbers: Check = {
  name: 'invoice_numbers',
  rule: 'The invoices of every year are numbered without a gap, up to the last number taken.',
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
};

const invoiceTotals: Check = {
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
};

const commissionTotals: Check = {
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
};

const commissionShares: Check = {
  name: 'commission_shares',
  rule: 'The shares of every account’s commission add up to at most the whole of it, and to what is kept as given away.',
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
      ('commission given away, in basis points', shares::text, given::text),
      ('shares of its commission, in basis points', least(shares, 10000)::text, shares::text)
    ) as v (what, expected, found)
    where v.expected <> v.found`,
};

const daysByMethod: Check = {
  name: 'days_by_method',
  rule:
    'On every day and by every method, the ledger received and took back what the payments of that day say, and ' +
    'gave back what its refunds say.',
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
    select sum(payments) as looked_at, sum(received) as received, sum(reversed) as reversed,
      sum(refunded) as refunded, sum(cleared) as cleared, sum(taken_back) as taken_back, sum(paid_out) as paid_out
    from checked`,
  violations: sql`
    select 'payment_methods', payment_method_id, v.what || ' on ' || day, v.expected::text, v.found::text, day
    from checked cross join lateral (values
      ('entries of what was received', received, cleared),
      ('entries of what was taken back', reversed, taken_back),
      ('entries of what was refunded', refunded, paid_out)
    ) as v (what, expected, found)
    where v.expected <> v.found`,
};

const daysByState: Check = {
  name: 'days_by_state',
  rule: 'On every day, what was received is matched, unmatched or reversed, in the payments as in the ledger.',
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
        -sum(amount_minor) filter (where ledger_account in ${ON_ACCOUNT}) as on_accounts,
        -sum(amount_minor) filter (where ledger_account = 'unmatched') as set_aside
      from ledger_entries where payment_id is not null group by value_date
    ) e using (day)`,
  figures: sql`
    select sum(payments) as looked_at, sum(received) as received, sum(matched) as matched,
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
};

/** Every check, in the order in which they are reported. */
export const CHECKS: readonly Check[] = [
  ledgerEvents,
  paymentsInLedger,
  daysByMethod,
  daysByState,
  balancesEqualLedger,
  balancesFollowPayments,
  creditMoves,
  statuses,
  transactionsOnce,
  referencesOnce,
  notifications,
  statementLines,
  reconciliations,
  invoiceNumbers,
  invoiceTotals,
  commissionTotals,
  commissionShares,
];
