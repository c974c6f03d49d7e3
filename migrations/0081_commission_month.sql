-- Who calculated a commission last: with approvals, another user marks it as paid. Null: an API key, or an earlier version.
alter table commissions add column calculated_by bigint;
alter table commissions add constraint commissions_calculated_by_fkey foreign key (calculated_by) references users (id) not valid;
-- The reference under which the employee was paid.
alter table commissions add column payment_reference text;
