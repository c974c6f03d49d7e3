-- The date of the first unpaid instalment is computed from the terms, the status and the paid amount.
alter table accounts drop column next_due_date; -- and the indexes accounts_next_due and accounts_grace with it
alter table accounts add column next_due_date date generated always as (
  case when status not in ('cancelled', 'written_off') then next_due_date(
    frequency, activation_date, deposit_minor, instalment_minor, deposit_minor + instalment_minor * instalment_count,
    paid_minor)
  end) stored;
create index accounts_next_due on accounts (next_due_date, id);
create index accounts_grace on accounts (payplan_id, (greatest(next_due_date, reprieved_on) + grace_days))
  where status = 'active';

-- One index finds the payments of a reference, and allows only one unreversed payment for each reference and method. Reversed payments
-- are distinguished by their id. Two providers may use the same transaction id.
drop index payments_transaction_ref_unique;
drop index payments_reference_key;
create unique index payments_transaction_ref_unique on payments
  (reference_key, payment_method_id, (coalesce(provider, '')), (case when status = 'reversed' then id else 0 end))
  where reference_key is not null;

-- The entries of a payment are found by the payment id. Searches by account need only the entries without a payment.
drop index ledger_entries_account;
create index ledger_entries_account on ledger_entries (account_id, id) where payment_id is null;

-- In PL/pgSQL the query is planned once for each connection. As an SQL function, it was planned for each payment.
create or replace function is_reported_transaction(key text) returns boolean language plpgsql stable as $$
begin
  return exists (
    select from notifications n where n.trans_id = key and n.outcome in ('matched', 'unmatched', 'linked'));
end $$;

-- If an unreversed manual payment has the reference and the method of a provider's transaction, that payment must be linked to the
-- transaction. A second payment is refused.
create function payments_manual_stands() returns trigger language plpgsql as $$
begin
  if exists (
    select from payments p
    where p.reference_key = new.reference_key and p.payment_method_id = new.payment_method_id
      and p.provider is null and p.status <> 'reversed')
  then
    raise exception 'a manual payment has the reference %', new.reference_key
      using errcode = 'unique_violation', constraint = 'payments_transaction_known';
  end if;
  return new;
end $$;

create trigger payments_manual_stands before insert on payments for each row when (new.provider is not null)
  execute function payments_manual_stands();
