-- Requests whose outcome only a payment can show.
create index payment_requests_unanswerable on payment_requests (payment_tried_at nulls first, id)
  where status = 'unknown' and provider_request_id is null;
