-- What the worklist learns, and what its suggestions look at.

-- Staff said whose money it is that comes with this reference from this payer. The newest row of the two
-- counts; taking the assignment back removes it.
create table learned_references (
  id bigint generated always as identity primary key,
  typed_key text not null, -- what the payer typed: letters and digits in upper case
  payer_sha256 bytea not null, -- of the digits of the payer's number
  account_id bigint not null references accounts,
  overruled_account_id bigint references accounts, -- where the reference alone would have led; null: nowhere
  payment_id bigint not null references payments, -- the payment that was assigned
  assigned_on date not null, -- the business day
  created_by bigint references users,
  created_at timestamptz(3) not null default now(),
  constraint learned_references_payment_unique unique (payment_id)
);
create index learned_references_payer on learned_references (payer_sha256, typed_key, id);
create index learned_references_typed on learned_references (typed_key, id);

alter table payments add column match_reason text; -- where the method alone does not explain the match

-- The payer's name as the provider sent it, with the forms of a number that shows only its ends.
alter table notifications add column payer_name text;
create index customers_phone_end on customers (right(phone, 3));

-- Batches say how much of them was reversed later. By id: with the batch in an index a payment could not be stamped where it lies.
create index payments_reversed_ids on payments (id) include (amount_minor) where status = 'reversed';
