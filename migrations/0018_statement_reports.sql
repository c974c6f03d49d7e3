-- A payment line of a provider's statement counts as a report of the provider, like a notification.

-- The result of a line whose payment was recorded by hand and is not linked to the transaction. PostgreSQL cannot use the value in this
-- transaction.
alter type provider_line_result add value if not exists 'conflict' after 'matched';

-- A transaction that a statement reports cannot be recorded by hand. It must be imported.
create or replace function is_reported_transaction(key text) returns boolean language plpgsql stable as $$
begin
  return exists (
      select from notifications n where n.trans_id = key and n.outcome in ('matched', 'unmatched', 'linked'))
    or exists (select from provider_statement_lines l where l.receipt = key and l.is_payment);
end $$;

-- Versions before 0015 let a transaction be recorded again beside its reversed payment, and kept a notification linked to
-- a manual payment that was reversed. If there is exactly one manual payment with the reported amount, it is linked to
-- the transaction. Otherwise finance decides.
create temporary table orphaned_notifications on commit drop as
select n.id, n.provider, n.trans_id, n.outcome, p.id as reversed_id, m.payments = 1 and m.has_amount as is_linked,
  coalesce(m.id, p.id) as payment_id, m.payments = 0 as is_alone, m.payment_method_id <> p.payment_method_id as has_other_method
from notifications n
  join payments p on p.id = n.payment_id and p.status = 'reversed'
  cross join lateral (
    select count(*) as payments,
      (array_agg(c.id order by c.amount_minor <> n.amount_minor, c.id))[1] as id,
      bool_or(c.amount_minor = n.amount_minor) as has_amount,
      min(c.payment_method_id) as payment_method_id
    from payments c
    where c.reference_key = n.trans_id and c.reference_key is not null and c.status <> 'reversed' and c.provider is null
  ) m
where n.outcome in ('matched', 'unmatched', 'linked') and (m.payments > 0 or n.outcome = 'linked');

insert into audit_entries (actor, action, resource, resource_id, before, after)
select 'system', 'payment.link', 'payment', p.id, jsonb_build_object('matchMethod', p.match_method),
  jsonb_build_object('matchMethod', 'hand_entry', 'transId', o.trans_id)
from orphaned_notifications o join payments p on p.id = o.payment_id
where o.is_linked;

insert into audit_entries (actor, action, resource, resource_id, before, after)
select 'system', 'notification.reopen', 'notification', id, jsonb_build_object('outcome', outcome, 'paymentId', reversed_id),
  jsonb_build_object('outcome', 'conflict', 'paymentId', null)
from orphaned_notifications where is_linked is not true;

update payments set provider = null, provider_trans_id = null, updated_at = business_now()
where id in (select reversed_id from orphaned_notifications);

update payments p set provider = o.provider, provider_trans_id = o.trans_id, match_reason = null, updated_at = business_now(),
  match_method = case when p.account_id is not null then 'hand_entry'::match_method end
from orphaned_notifications o where o.payment_id = p.id and o.is_linked;

update notifications n set
  outcome = case when o.is_linked then 'linked' else 'conflict' end::notification_outcome,
  payment_id = case when o.is_linked then o.payment_id end,
  conflict_payment_id = case when o.is_linked is not true then o.payment_id end,
  flags = n.flags || case
    when o.is_linked and o.has_other_method and not 'other_method' = any(n.flags) then array['other_method']
    when o.is_alone then array['payment_reversed']
    else '{}'::text[] end
from orphaned_notifications o where o.id = n.id;

-- The minute job compares statements again whose lines matched manual payments by the reference alone.
create temporary table statements_to_match on commit drop as
select id from provider_statements s
where status <> 'received' and exists (
  select from provider_statement_lines l join payments p on p.id = l.payment_id
  where l.statement_id = s.id and l.result = 'matched' and p.status <> 'reversed' and p.provider is null);

delete from provider_statement_totals t using statements_to_match s
where t.statement_id = s.id and t.result in
  ('matched', 'amount_differs', 'missing_in_books', 'reversed_in_books', 'reversed_at_provider', 'missing_at_provider');

update provider_statements set status = 'matching', compared_count = 0, compared_to_line = 0, searched_to_date = null,
  searched_to_payment = null, failure = null, attempts = 0, updated_at = business_now()
where id in (select id from statements_to_match);
