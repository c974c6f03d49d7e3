-- Outside a transaction: requests continue while the index is built. Health checks ask whether an account has runs. Without statistics of
-- the new column, PostgreSQL would expect runs in most accounts, and would read the table instead of the index.
drop index concurrently if exists accounts_with_runs;
create index concurrently accounts_with_runs on accounts (id) where run_anchor is not null;
analyze accounts (run_anchor);
