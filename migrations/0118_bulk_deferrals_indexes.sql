-- Outside a transaction: requests continue while the indexes are built. Both are empty until the first bulk deferral.
drop index concurrently if exists plan_changes_bulk_deferral;
create index concurrently plan_changes_bulk_deferral on plan_changes (bulk_deferral_id) where bulk_deferral_id is not null;
drop index concurrently if exists approvals_pending_bulk_deferral;
create unique index concurrently approvals_pending_bulk_deferral on approvals (bulk_deferral_id)
  where status = 'pending' and bulk_deferral_id is not null;
