-- Outside a transaction: requests continue while the index is built. The previous version still uses customers_search.
drop index concurrently if exists customers_search_key;
create index concurrently customers_search_key on customers using gin (search_key(search_text) gin_trgm_ops);
-- Without statistics of the expression, PostgreSQL would not know which words are rare.
analyze customers;
