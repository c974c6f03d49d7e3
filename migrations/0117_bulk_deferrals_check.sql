-- Requests continue while the rows are read.
alter table plan_changes validate constraint plan_changes_bulk_deferral_id_fkey;
alter table approvals validate constraint approvals_bulk_deferral_id_fkey;
alter table approvals validate constraint approvals_of_account;
alter table approvals validate constraint approvals_of_bulk_deferral;
