-- Outside a transaction: requests continue while the indexes are built and the tables are read.

-- The few rows whose key or id has quotes.
drop index concurrently if exists payments_quoted_reference;
create index concurrently payments_quoted_reference on payments (id)
  where reference_key <> without_quotes(reference_key) and status <> 'reversed';
drop index concurrently if exists accounts_quoted_external_id;
create index concurrently accounts_quoted_external_id on accounts (without_quotes(external_id))
  where external_id <> without_quotes(external_id);
drop index concurrently if exists customers_quoted_external_id;
create index concurrently customers_quoted_external_id on customers (without_quotes(external_id))
  where external_id <> without_quotes(external_id);
drop index concurrently if exists payments_quoted_external_id;
create index concurrently payments_quoted_external_id on payments (without_quotes(external_id))
  where external_id <> without_quotes(external_id);

-- References that differ only in O and 0, or in I and 1, have the same translation.
drop index concurrently if exists payments_similar_reference;
create index concurrently payments_similar_reference on payments (translate(reference_key, 'OI', '01'))
  where reference_key ~ '[OI]';

-- Rows that earlier versions wrote get the key without quotes, if no row has this key, and all rows that would get it have the same
-- key now. So no two payments become equal: existing duplicates stay, and staff find them by the filter hasDuplicateReference.
with keys as materialized (
    select reference_key as key from payments where reference_key <> without_quotes(reference_key)
    union
    select trans_id from notifications where trans_id <> without_quotes(trans_id)),
  renamed as materialized (
    select min(key) as old_key, without_quotes(key) as new_key from keys
    where not exists (select from payments where reference_key = without_quotes(key))
      and not exists (select from notifications where trans_id = without_quotes(key))
    group by without_quotes(key) having count(*) = 1),
  renamed_payments as (
    update payments p
    set reference_key = r.new_key, provider_trans_id = case when p.provider_trans_id = r.old_key then r.new_key else p.provider_trans_id end
    from renamed r where p.reference_key = r.old_key)
update notifications n set trans_id = r.new_key from renamed r where n.trans_id = r.old_key;

update provider_statement_lines
set receipt = without_quotes(receipt), linked_receipt = without_quotes(linked_receipt)
where receipt <> without_quotes(receipt) or linked_receipt <> without_quotes(linked_receipt);
