-- Outside a transaction: requests continue while the index is built.
drop index concurrently if exists payments_corrects;
create unique index concurrently payments_corrects on payments (corrects_payment_id) where corrects_payment_id is not null;
alter table payments validate constraint payments_corrects_payment_id_fkey;
alter table approvals validate constraint approvals_of_payment;
