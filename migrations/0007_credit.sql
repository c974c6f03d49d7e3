-- Credit that left an account: to another account, or back to the customer by a payment method.

create table credit_moves (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  to_account_id bigint references accounts, -- null: a refund
  amount_minor bigint not null check (amount_minor > 0),
  reason text not null,
  payment_method_id bigint references payment_methods, -- of a refund
  transaction_ref text,
  reference_key text, -- in upper case, without white space, like that of a payment
  value_date date not null,
  created_by bigint references users, -- null: the system
  created_at timestamptz(3) not null default now(),
  check (account_id <> to_account_id),
  check ((to_account_id is null) = (payment_method_id is not null)),
  check (transaction_ref is null or to_account_id is null),
  check ((transaction_ref is null) = (reference_key is null))
);
create index credit_moves_account on credit_moves (account_id, id);
create index credit_moves_to_account on credit_moves (to_account_id, id) where to_account_id is not null;
create index credit_moves_date on credit_moves (value_date);
create index credit_moves_created on credit_moves (created_at, id);
create unique index credit_moves_reference_unique on credit_moves (reference_key, payment_method_id)
  where reference_key is not null;

create trigger credit_moves_append_only before update or delete or truncate on credit_moves
  for each statement execute function rows_are_never_edited();

alter table ledger_entries add column credit_move_id bigint references credit_moves;
create index ledger_entries_credit_move on ledger_entries (credit_move_id) where credit_move_id is not null;

-- All money that came to an account or left it. The paid amount of an account on any day is the sum of these rows.
create view account_money as
  select account_id, payment_date as value_date, amount_minor, id as payment_id, null::bigint as credit_move_id
  from payments where status = 'matched'
  union all
  select account_id, value_date, -amount_minor, null, id from credit_moves
  union all
  select to_account_id, value_date, amount_minor, null, id from credit_moves where to_account_id is not null;
