-- Outside a transaction: payments continue while the index is built.

-- Manual payments whose reference can contain a transaction id beside other text, such as `SKB2XQ19ZT Confirmed.`
drop index concurrently if exists payments_reference_with_text;
create index concurrently payments_reference_with_text on payments (amount_minor, payment_date)
  where provider is null and transaction_ref ~ '[^A-Za-z0-9]';
