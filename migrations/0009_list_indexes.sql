-- Indexes for lists. The only new index that contains an ordinary payment is the audit of users.

-- Contains reversed payments, too, because lists find payments with any status by their reference.
drop index payments_reference_key;
create index payments_reference_key on payments (reference_key) where reference_key is not null;

create index payments_reversed on payments (created_at, id) where status = 'reversed';
-- Does not contain the usual match method, because few callers filter by it.
create index payments_match_method on payments (match_method, created_at, id) where match_method <> 'account_number';

-- The transaction id comes first, because some searches have only the transaction id.
alter table notifications
  drop constraint notifications_content_unique,
  add constraint notifications_content_unique unique (trans_id, provider, content_hash);
create index notifications_differs on notifications (received_at, id) where outcome = 'differs';
create index notifications_rejected on notifications (received_at, id) where status = 'rejected';

create index accounts_credit on accounts (credit_minor, id) where credit_minor > 0;

create index audit_entries_user on audit_entries (actor_user_id, created_at, id) where actor_user_id is not null;

-- PostgreSQL can count the total of a list in an index alone, if vacuum has marked the pages as visible to all. By default, vacuum runs
-- only after a fifth of the rows has changed.
alter table accounts set (autovacuum_vacuum_scale_factor = 0.005);
alter table payments set (autovacuum_vacuum_insert_scale_factor = 0.02);
