-- A transaction that the provider reported belongs to the payment with its id. A manual payment with the same reference must take over
-- the id, because a second payment would count the money twice. Notifications with the outcomes conflict and repeated do not claim a
-- reference.
create function payments_transaction_is_known() returns trigger language plpgsql as $$
begin
  raise exception 'the provider has reported the transaction %', new.reference_key
    using errcode = 'unique_violation', constraint = 'payments_transaction_known';
end $$;

create function is_reported_transaction(key text) returns boolean language sql stable as $$
  select exists (
    select from notifications n where n.trans_id = key and n.outcome in ('matched', 'unmatched', 'linked'))
$$;

create trigger payments_transaction_known before insert on payments for each row
  when (new.provider is null and new.reference_key is not null and is_reported_transaction(new.reference_key))
  execute function payments_transaction_is_known();
