-- The first day on which one of the documents of a KYC record is no longer valid. Null: no document has such a day.
create function earliest_expiry(documents jsonb) returns text language sql immutable parallel safe
  return (select min(d ->> 'expiresAt') from jsonb_path_query(documents, 'lax $[*]') d);

-- The last business day for which expired documents were looked for.
create table last_kyc_expiry (expired_on date not null, is_only_row boolean primary key default true check (is_only_row));
