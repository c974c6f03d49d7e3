-- The id of a row in another system, and data that this system stores with the row. Collation "C", so that the unique index also finds
-- the beginning of an id. The defaults are constant, so no table is rewritten.
alter table customers
  add column external_id text collate "C", add column metadata jsonb not null default '{}';
alter table accounts
  add column external_id text collate "C", add column metadata jsonb not null default '{}';
alter table products
  add column external_id text collate "C", add column metadata jsonb not null default '{}';
alter table employees
  add column external_id text collate "C", add column metadata jsonb not null default '{}';
alter table payments
  add column external_id text collate "C", add column metadata jsonb not null default '{}';

-- Rows without an external id or metadata are in none of these indexes, so writing them costs nothing more. Building an index reads its
-- table once. Meanwhile other transactions cannot change the table: for a few seconds with ten million payments.
create unique index customers_external_id_unique on customers (external_id) where external_id is not null;
create unique index accounts_external_id_unique on accounts (external_id) where external_id is not null;
create unique index products_external_id_unique on products (external_id) where external_id is not null;
create unique index employees_external_id_unique on employees (external_id) where external_id is not null;
create unique index payments_external_id_unique on payments (external_id) where external_id is not null;
create index customers_metadata on customers using gin (metadata jsonb_path_ops) where metadata <> '{}';
create index accounts_metadata on accounts using gin (metadata jsonb_path_ops) where metadata <> '{}';
create index payments_metadata on payments using gin (metadata jsonb_path_ops) where metadata <> '{}';
