-- Indexes for what lists are asked for. A usual payment is in none that it was not in before, but for the audit of
-- what a user does.

-- Reversed payments too: lists find a payment by its reference, whatever became of it.
drop index payments_reference_key;
create index payments_reference_key on payments (reference_key) where reference_key is not null;

create index payments_reversed on payments (created_at, id) where status = 'reversed';
-- The usual match, which few ask for, is left out.
create index payments_match_method on payments (match_method, created_at, id) where match_method <> 'account_number';

-- The transaction first: it is asked for alone, the provider is not.
alter table notifications
  drop constraint notifications_content_unique,
  add constraint notifications_content_unique unique (trans_id, provider, content_hash);
create index notifications_differs on notifications (received_at, id) where outcome = 'differs';
create index notifications_rejected on notifications (received_at, id) where status = 'rejected';

create index accounts_credit on accounts (credit_minor, id) where credit_minor > 0;

create index audit_entries_user on audit_entries (actor_user_id, created_at, id) where actor_user_id is not null;

-- A list's total is counted in an index alone as far as pages are known to be visible to all, which vacuum notes. Left to
-- the defaults it would come by when a fifth of the rows has changed.
alter table accounts set (autovacuum_vacuum_scale_factor = 0.005);
alter table payments set (autovacuum_vacuum_insert_scale_factor = 0.02);
