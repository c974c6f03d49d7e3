-- When the payment of a paid request was last looked for.
alter table payment_requests add column payment_tried_at timestamptz(3);

drop index payment_requests_without_payment;
create index payment_requests_without_payment on payment_requests (payment_tried_at nulls first, id)
  where status = 'paid' and payment_id is null;
