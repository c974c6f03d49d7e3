-- Outside a transaction: requests continue while the index is built.
drop index concurrently if exists customers_second_phone;
create index concurrently customers_second_phone on customers (second_phone) where second_phone is not null;
