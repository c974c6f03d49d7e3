-- Before this migration, a payment with a reference read this table first. Without this lock, the migration and such a payment
-- would wait for each other.
lock table payments in access exclusive mode;

-- A portfolio of another system is imported from CSV files. The files are kept until the import is done.

create type import_status as enum
  ('uploading', 'checking', 'checked', 'running', 'done', 'failed', 'undoing', 'undone');

create table imports (
  id bigint generated always as identity primary key,
  status import_status not null default 'uploading',
  -- Percent of the work of the status.
  progress integer not null default 0 check (progress between 0 and 100),
  error_count integer not null default 0,
  warning_count integer not null default 0,
  difference_count integer not null default 0,
  -- Of the last check: the rows of each file.
  row_counts jsonb,
  -- Of the last run: the results of all checks of the books.
  proof jsonb,
  failure text,
  -- Users, without foreign keys: a user refers to an employee, who refers to an import, and a backup needs an order of the tables.
  -- requested_by asked for the work of the status.
  requested_by bigint,
  created_by bigint,
  done_at timestamptz(3),
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint imports_failure check ((status = 'failed') <= (failure is not null)),
  constraint imports_done check ((status in ('done', 'undoing', 'undone')) = (done_at is not null))
);
create index imports_created on imports (created_at, id);

create table import_files (
  import_id bigint not null references imports (id),
  file text not null,
  size_bytes bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  created_at timestamptz(3) not null default business_now(),
  primary key (import_id, file)
);

create table import_chunks (
  import_id bigint not null,
  file text not null,
  number integer not null,
  content bytea not null,
  primary key (import_id, file, number),
  foreign key (import_id, file) references import_files (import_id, file) on delete cascade
);
-- Compression would take longer than it saves.
alter table import_chunks alter column content set storage external;

create table import_problems (
  id bigint generated always as identity primary key,
  import_id bigint not null references imports (id),
  severity text not null check (severity in ('error', 'warning')),
  file text not null,
  line integer,
  column_name text,
  value text,
  problem text not null,
  allowed text
);
create index import_problems_import on import_problems (import_id, id);

create table import_differences (
  id bigint generated always as identity primary key,
  import_id bigint not null references imports (id),
  line integer not null,
  account text not null,
  figure text not null,
  source_value text not null,
  computed_value text not null
);
create index import_differences_import on import_differences (import_id, id);

-- The rows that an import has added.
alter table payment_methods add column import_id bigint references imports (id);
alter table employees add column import_id bigint references imports (id);
alter table products add column import_id bigint references imports (id);
alter table pay_plans add column import_id bigint references imports (id);
alter table customers add column import_id bigint references imports (id);
alter table accounts add column import_id bigint references imports (id);
alter table payments add column import_id bigint references imports (id);
alter table credit_moves add column import_id bigint references imports (id);
alter table reconciliations add column import_id bigint references imports (id);
create index customers_import on customers (import_id) where import_id is not null;
create index accounts_import on accounts (import_id) where import_id is not null;
create index payments_import on payments (import_id) where import_id is not null;

-- Only the undo of an import deletes entries and credit moves: those of its own rows, while its status is `undoing`.
create function only_undone_entries_are_deleted() returns trigger language plpgsql as $$
begin
  if exists (
    select from removed r
      left join payments p on p.id = r.payment_id
      left join credit_moves m on m.id = r.credit_move_id
      left join accounts a on a.id = r.account_id and r.payment_id is null and r.credit_move_id is null
      left join imports i on i.id = coalesce(p.import_id, m.import_id, a.import_id)
    where i.status is distinct from 'undoing')
  then
    raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
create function only_undone_moves_are_deleted() returns trigger language plpgsql as $$
begin
  if exists (
    select from removed r left join imports i on i.id = r.import_id where i.status is distinct from 'undoing')
  then
    raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
drop trigger ledger_entries_append_only on ledger_entries;
create trigger ledger_entries_append_only before update or truncate on ledger_entries
  for each statement execute function rows_are_never_edited();
create trigger ledger_entries_leave_with_their_import after delete on ledger_entries
  referencing old table as removed for each statement execute function only_undone_entries_are_deleted();
drop trigger credit_moves_append_only on credit_moves;
create trigger credit_moves_append_only before update or truncate on credit_moves
  for each statement execute function rows_are_never_edited();
create trigger credit_moves_leave_with_their_import after delete on credit_moves
  referencing old table as removed for each statement execute function only_undone_moves_are_deleted();

-- By these indexes PostgreSQL checks that a deleted payment or account is not referred to.
create index notifications_conflict_payment on notifications (conflict_payment_id) where conflict_payment_id is not null;
create index learned_references_account on learned_references (account_id);
create index learned_references_overruled on learned_references (overruled_account_id) where overruled_account_id is not null;
