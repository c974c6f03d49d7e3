import { sql } from 'kysely';
import { literalList } from '../../core/database/literal-list.ts';
import { PROVIDER_NAMES } from '../../payments/provider-name-rules.ts';
import type { Check } from './store.ts';

export const PAYMENT_CHECKS: readonly Check[] = [
  {
    name: 'transactions_once',
    rule: 'Every provider transaction is posted only once. Its payment names a known provider, and has the transaction id as its reference.',
    checked: sql`
      select provider, provider_trans_id, count(*) as payments, min(id) as first_id, max(id) as last_id,
        min(payment_date) as day, sum(amount_minor) as amount_minor,
        bool_and(reference_key is not distinct from provider_trans_id) as has_reference
      from payments where provider is not null group by provider, provider_trans_id`,
    figures: sql`select sum(payments) as checked_row_count, sum(amount_minor) as received from checked`,
    violations: sql`
      select 'payments', last_id, 'provider_trans_id ' || provider_trans_id, 'one payment, ' || first_id,
        payments || ' payments', day
      from checked where payments > 1
      union all
      select 'payments', first_id, 'provider', ${sql.lit(PROVIDER_NAMES.join(' or '))}, provider, day
      from checked where provider not in ${literalList(PROVIDER_NAMES)}
      union all
      select 'payments', first_id, 'transaction_ref', provider_trans_id, 'another reference', day
      from checked where payments = 1 and not has_reference`,
  },
  {
    name: 'references_once',
    rule:
      'Unreversed payments with the same method and provider have different references. No manual payment has the same ' +
      'reference as a provider transaction. Letter case, character width, blanks and invisible characters do not matter.',
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
      select count(*) as checked_row_count, sum(amount_minor) as payments
      from payments where status <> 'reversed' and transaction_ref is not null`,
    violations: sql`
      select 'payments', last_id, what, 'one payment, ' || first_id, payments || ' payments', day from checked`,
  },
  {
    name: 'notifications',
    rule: 'Every matched, unmatched or linked notification has its own payment, with the same transaction and amount. The payment of a linked notification is manual or imported. The payment of a matched notification was received on an account. The payment of an unmatched notification was received without an account.',
    checked: sql`
      select 'notification' as part, n.id, n.status, n.outcome, n.amount_minor, n.payment_id, n.conflict_payment_id,
        n.outcome in ('matched', 'unmatched', 'linked') as counts,
        (p.provider, p.provider_trans_id) is distinct from (n.provider, n.trans_id) as is_other,
        p.amount_minor as paid_minor, p.status as paid_status, p.payment_date as day, p.source,
        p.import_id, e.account_id is not null as is_on_account,
        case when n.outcome = 'conflict' then (
          -- A conflict is resolved if all its manual payments are reversed. Exception: conflicts with the flag payment_reversed
          -- (migration 0018) had no unreversed manual payment from the start, and staff must still decide.
          select count(*) = 0 and not 'payment_reversed' = any(n.flags) or count(*) = 1 and min(c.amount_minor) = n.amount_minor
            and not ('other_account' = any(n.flags) and count(c.account_id) = 1) and not 'similar_reference' = any(n.flags)
          from payments c
          where (c.reference_key = n.trans_id or 'similar_reference' = any(n.flags) and c.id = n.conflict_payment_id)
            and c.status <> 'reversed' and c.provider is null) end as is_resolved
      from notifications n
      left join payments p on p.id = n.payment_id
      left join ledger_entries e
        on e.payment_id = n.payment_id and e.event = 'payment_received' and e.ledger_account = 'clearing'
      union all
      select 'repeat', max(id), null, null, null, null, null, null, null, null, null, null, null, null, null, null
      from notifications where outcome in ('matched', 'unmatched', 'linked')
      group by payment_id having count(*) > 1 and payment_id is not null
      union all
      select 'payment', p.id, null, null, null, null, null, null, null, null, null, p.payment_date, null, null, null, null
      from payments p
      -- Payments of a portfolio import have no notification, because the provider reported them to another system.
      where p.source <> 'manual' and p.import_id is null and (p.provider is not null or p.status <> 'reversed') and not exists (
        select from notifications n
        where n.payment_id = p.id and n.outcome in ('matched', 'unmatched', 'linked'))`,
    figures: sql`
      select count(*) filter (where part = 'notification') as checked_row_count,
        sum(amount_minor) filter (where counts) as notified, sum(paid_minor) filter (where counts) as received
      from checked`,
    violations: sql`
      select case part when 'payment' then 'payments' else 'notifications' end, id, v.what, v.expected,
        coalesce(v.found, 'none'), day
      from checked cross join lateral (values
        (part = 'payment', 'notification', 'one', null),
        (part = 'repeat', 'payment_id', 'a payment of its own', 'the payment of another notification'),
        (counts and payment_id is null, 'payment_id', 'the payment of its transaction', null),
        (counts and is_other and payment_id is not null, 'payment_id', 'the payment of its transaction',
          payment_id::text),
        (counts and paid_minor <> amount_minor, 'amount of payment ' || payment_id, amount_minor::text, paid_minor::text),
        (counts and (outcome = 'linked') <> (source = 'manual' or import_id is not null), 'source of payment ' || payment_id,
          case outcome when 'linked' then 'manual, or a portfolio import' else 'webhook, import or pull' end, source::text),
        (outcome = 'linked' and paid_status = 'reversed', 'payment_id', 'a payment that is not reversed', payment_id::text),
        (outcome = 'matched' and payment_id is not null and not is_on_account,
          'where payment ' || payment_id || ' was received', 'on an account', 'without an account'),
        (outcome = 'unmatched' and is_on_account,
          'where payment ' || payment_id || ' was received', 'without an account', 'on an account'),
        (is_resolved, 'conflict with payment ' || conflict_payment_id,
          'one unreversed manual payment with another amount, account or similar reference, or several unreversed manual payments',
          'no unreversed manual payment, or one with the same amount'),
        (status <> 'processed' and (outcome is not null or payment_id is not null), 'outcome while ' || status, 'none',
          coalesce(outcome::text, 'payment ' || payment_id))
      ) as v (is_broken, what, expected, found)
      where v.is_broken and (part <> 'notification' or not counts or is_other or paid_minor <> amount_minor
        or (outcome = 'linked') <> (source = 'manual' or import_id is not null) or (outcome = 'matched') <> is_on_account
        or status <> 'processed')`,
  },
  {
    name: 'corrections',
    rule: 'Every payment that corrects the amount of another one is manual, and so is the other one. The other one is reversed, and they have different amounts, and the same account, method, date, reference and recorder.',
    checked: sql`
      select c.id, c.payment_date as day, c.amount_minor, o.amount_minor as wrong_minor, o.id as other_id, o.status,
        c.source = 'manual' and o.source = 'manual' as are_manual, e.account_id, o.account_id as other_account_id,
        (c.payment_method_id, c.payment_date, c.reference_key, c.created_by, c.api_key_id)
          is distinct from (o.payment_method_id, o.payment_date, o.reference_key, o.created_by, o.api_key_id) as is_other
      from payments c
      left join payments o on o.id = c.corrects_payment_id
      -- The new payment can be moved to another account later.
      left join ledger_entries e
        on e.payment_id = c.id and e.event = 'payment_received' and e.ledger_account in ('receivable', 'customer_credit', 'recovery')
      where c.corrects_payment_id is not null`,
    figures: sql`
      select count(distinct id) as checked_row_count, sum(amount_minor) as corrected, sum(wrong_minor) as wrong
      from (select distinct id, amount_minor, wrong_minor from checked) each_once`,
    violations: sql`
      select distinct 'payments', id, v.what, v.expected, v.found, day
      from checked cross join lateral (values
        (status is distinct from 'reversed', 'status of the corrected payment ' || other_id, 'reversed', status::text),
        (not are_manual, 'source', 'manual, like that of the corrected payment ' || other_id, 'another'),
        (account_id is distinct from other_account_id, 'account', 'that of the corrected payment, ' || other_account_id,
          coalesce(account_id::text, 'none')),
        (is_other, 'method, date, reference and recorder', 'those of the corrected payment ' || other_id, 'others'),
        (amount_minor = wrong_minor, 'amount', 'another than that of the corrected payment ' || other_id, amount_minor::text)
      ) as v (is_broken, what, expected, found)
      where v.is_broken`,
  },
  {
    name: 'reported_transactions',
    rule:
      'Every transaction that a provider reported as paid has a payment, or a notification that is pending or in conflict. ' +
      'A payment request that was paid has a payment or such a notification within an hour.',
    checked: sql`
      select r.of_table, r.id, r.trans_id, r.amount_minor, p.amount_minor as paid_minor,
        p.id is null and w.trans_id is null as is_lost
      from (
        select 'notifications' as of_table, id, provider, trans_id, amount_minor
        from notifications where status = 'processed' and outcome is not null
        union all
        select 'payment_requests', id, provider, receipt, amount_minor
        from payment_requests
        where status = 'paid' and receipt is not null and ended_at < business_now() - interval '1 hour'
      ) r
      left join payments p on p.provider = r.provider and p.provider_trans_id = r.trans_id
      left join (
        select distinct provider, trans_id from notifications where status = 'pending' or outcome = 'conflict'
      ) w on w.provider = r.provider and w.trans_id = r.trans_id`,
    figures: sql`select count(*) as checked_row_count, sum(amount_minor) as reported, sum(paid_minor) as payments from checked`,
    violations: sql`
      select of_table, id, 'transaction ' || trans_id, 'a payment of ' || amount_minor, 'none', null::date
      from checked where is_lost`,
  },
  {
    name: 'statement_lines',
    rule: 'Every matched line of a provider statement has a payment with its transaction and amount.',
    checked: sql`
      select l.id, l.receipt, l.amount_minor, p.id as payment_id, p.amount_minor as paid_minor, p.payment_date as day,
        p.provider_trans_id is distinct from l.receipt as is_other
      from provider_statement_lines l
        -- While a statement is compared again, the lines that are not yet compared have outdated results.
        join provider_statements s on s.id = l.statement_id and l.line_number <= s.compared_to_line
        join payments p on p.id = l.payment_id
      where l.result = 'matched' and p.status <> 'reversed'`,
    figures: sql`
      select count(*) as checked_row_count, sum(amount_minor) as matched, sum(paid_minor) as payments from checked`,
    violations: sql`
      select 'provider_statement_lines', id, v.what, v.expected, v.found, day
      from checked cross join lateral (values
        (is_other, 'payment_id', 'the payment of transaction ' || receipt, payment_id::text),
        (paid_minor <> amount_minor, 'amount of payment ' || payment_id, amount_minor::text, paid_minor::text)
      ) as v (is_broken, what, expected, found)
      where v.is_broken`,
  },
  {
    name: 'reconciliations',
    rule: 'Every reconciliation lists its payments and has their count, sum and date.',
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
      select count(*) as checked_row_count, sum(total_minor) as batches, sum(payments_minor) as payments from checked`,
    violations: sql`
      select v.of_table, v.row_id, v.what, v.expected, v.found, day
      from checked cross join lateral (values
        ('reconciliations', id, 'payment_count', payments::text, payment_count::text),
        ('reconciliations', id, 'total_minor', payments_minor::text, total_minor::text),
        ('reconciliations', id, 'payment_ids', 'the payments that refer to it',
          case when are_named then 'the payments that refer to it' else 'others' end),
        ('reconciliations', id, 'earliest reconciliation_date of its payments', day::text,
          coalesce(earliest_day, day)::text),
        ('reconciliations', id, 'latest reconciliation_date of its payments', day::text,
          coalesce(latest_day, day)::text)
      ) as v (of_table, row_id, what, expected, found)
      where v.expected <> v.found`,
  },
];
