-- Who calculated a commission last, or created the API key that did: with approvals, another user marks it as paid. Null: an earlier
-- version.
alter table commissions add column calculated_by bigint;
alter table commissions add constraint commissions_calculated_by_fkey foreign key (calculated_by) references users (id) not valid;
-- The reference under which the employee was paid.
alter table commissions add column payment_reference text;
-- Whether all sales of the last calculation were those of the month, and none was named. Then the month can be calculated again.
alter table commissions add column is_derived boolean not null default false;
