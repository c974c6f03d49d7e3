-- Outside a transaction: requests continue while the index is built. It finds who requested the correction of a payment.
drop index concurrently if exists approvals_payment;
create index concurrently approvals_payment on approvals (payment_id) where payment_id is not null;
