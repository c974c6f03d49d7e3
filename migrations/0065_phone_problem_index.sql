-- Outside a transaction: requests continue while the index is built.
drop index concurrently if exists customers_phone_problem;
create index concurrently customers_phone_problem on customers (created_at, id) where phone_problem is not null;
