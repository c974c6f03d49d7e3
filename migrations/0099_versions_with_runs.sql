-- An earlier version takes the instalments of every account and every pay plan for equal ones, one frequency apart. So it can work with
-- this database until the first account or pay plan is another one.
create or replace function oldest_usable_migration() returns text language sql stable return case
  when exists (select from accounts where run_anchor is not null)
    or exists (select from pay_plans where price_minor is not null or every <> 1 or months_without_dues <> '{}')
    then '0099_versions_with_runs'
  else '0036_oldest_usable_migration'
end;
