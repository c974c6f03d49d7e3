-- The result of the latest run of all checks of the books.
create table last_proof (
  -- The time of the snapshot that was checked.
  read_at timestamptz(3) not null,
  check_count integer not null check (check_count > 0),
  violation_count bigint not null check (violation_count >= 0),
  failed_checks text[] not null,
  is_only_row boolean primary key default true check (is_only_row),
  constraint last_proof_failed check ((violation_count = 0) = (failed_checks = '{}'))
);
