-- A running version of the service works with this database if it has this migration. A migration with which earlier versions cannot
-- work replaces the function, see CONTRIBUTING.md. It is a function and not a row, because a restore takes rows from the backup.
create function oldest_usable_migration() returns text language sql immutable
  return '0036_oldest_usable_migration';
