-- The sums of the clearing entries of cash methods up to an entry, so that reading the cash in hand does not read all cash payments ever
-- recorded. Neither table has foreign keys, because the undo of an import would take them for changes of imported rows. `verify` compares
-- the sums with the entries.
create table cash_sums (
  id bigint generated always as identity primary key,
  payment_method_id bigint not null,
  -- Who recorded the payment, or requested the refund. Null: an API key or an import.
  holder_id bigint,
  -- The sums of an import are deleted when it is undone.
  import_id bigint,
  sum_minor numeric not null,
  constraint cash_sums_holder check (holder_id is null or import_id is null)
);
create unique index cash_sums_key on cash_sums (payment_method_id, (coalesce(holder_id, 0)), (coalesce(import_id, 0)));
create index cash_sums_of_holder on cash_sums (holder_id) where holder_id is not null;

create table cash_sum_progress (
  payment_method_id bigint primary key,
  -- `cash_sums` contains all entries of the method up to this one.
  through_entry_id bigint not null default 0,
  -- The next entry up to which to add. Entries commit out of order: when all transactions before `next_transaction` have ended, no entry
  -- up to this one can still commit.
  next_entry_id bigint not null default 0,
  next_transaction bigint not null default 0,
  constraint cash_sum_progress_order check (next_entry_id >= through_entry_id)
);
