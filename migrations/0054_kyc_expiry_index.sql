-- Outside a transaction: requests continue while the index is built.
drop index concurrently if exists kyc_records_expiry;
create index concurrently kyc_records_expiry on kyc_records (earliest_expiry(documents))
  where earliest_expiry(documents) is not null;
