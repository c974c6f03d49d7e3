-- Outside a transaction: requests continue while the indexes are built. The cash of a holder is found by who recorded it. Payments of
-- providers are in none of these indexes.
drop index concurrently if exists payments_recorder;
create index concurrently payments_recorder on payments (created_by, payment_method_id, created_at)
  where source = 'manual' and created_by is not null and import_id is null;
drop index concurrently if exists payments_recorder_reversed;
create index concurrently payments_recorder_reversed on payments (created_by, payment_method_id, id)
  where source = 'manual' and created_by is not null and import_id is null and status = 'reversed';
drop index concurrently if exists approvals_credit_move;
create index concurrently approvals_credit_move on approvals (credit_move_id) where credit_move_id is not null;
drop index concurrently if exists credit_moves_refunds;
create index concurrently credit_moves_refunds on credit_moves (payment_method_id, created_at) where to_account_id is null;
-- Cash that no person holds: recorded by API keys and imports.
drop index concurrently if exists payments_without_holder;
create index concurrently payments_without_holder on payments (payment_method_id) include (amount_minor)
  where provider is null and (created_by is null or import_id is not null) and status <> 'reversed';
