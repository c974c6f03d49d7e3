-- Learned references, and the data for suggestions in the worklist.

-- The accounts to which staff assigned payments with this reference from this payer. The newest row of a reference and payer counts.
-- Unassigning the payment deletes its row.
create table learned_references (
  id bigint generated always as identity primary key,
  typed_key text not null, -- what the payer typed: letters and digits in upper case
  payer_sha256 bytea not null, -- SHA-256 of the digits of the payer's number
  account_id bigint not null references accounts,
  overruled_account_id bigint references accounts, -- the account to which the reference alone would have led; null if it led to no account
  payment_id bigint not null references payments, -- the payment that was assigned
  assigned_on date not null, -- the business day
  created_by bigint references users,
  created_at timestamptz(3) not null default now(),
  constraint learned_references_payment_unique unique (payment_id)
);
create index learned_references_payer on learned_references (payer_sha256, typed_key, id);
create index learned_references_typed on learned_references (typed_key, id);

alter table payments add column match_reason text; -- set if the method alone does not explain the match

-- The payer's name as the provider sent it. The index finds masked numbers, which show only their ends.
alter table notifications add column payer_name text;
create index customers_phone_end on customers (right(phone, 3));

-- For the reversed amount of a batch. The index is by id: with the batch id in an index, reconciling a payment would have to change
-- the index.
create index payments_reversed_ids on payments (id) include (amount_minor) where status = 'reversed';
