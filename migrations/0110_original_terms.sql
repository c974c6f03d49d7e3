-- The first schedule of an account whose schedule was changed, with the price rises that are not undone. A sale correction begins anew.
-- The deposit is that of the account. Written together with the change; read by reports, and by the trigger below.
create table original_terms (
  account_id bigint primary key references accounts on delete cascade,
  total_minor bigint not null check (total_minor > 0),
  run_from date[] not null,
  run_anchor date[] not null,
  run_unit text[] not null,
  run_every integer[] not null,
  run_place integer[] not null,
  run_count integer[] not null,
  run_amount_minor bigint[] not null,
  run_before_minor bigint[] not null
);

-- The next due date by the original terms. Null if the schedule is the original one, and if the account has no next due date.
alter table accounts add column original_due_date date;

create function derive_original_due_date() returns trigger language plpgsql as $$
begin
  new.original_due_date := (
    select next_due_date_in_runs(
      new.activation_date, o.total_minor, new.paid_minor, o.run_anchor, o.run_unit, o.run_every, o.run_place, o.run_amount_minor,
      o.run_before_minor)
    from original_terms o where o.account_id = new.id and new.next_due_date is not null);
  return new;
end $$;

-- After accounts_schedule, because triggers run in the order of their names.
create trigger accounts_schedule_original before update of
  status, paid_minor, activation_date, deposit_minor, total_minor, next_due_date, run_anchor, plan_version, original_due_date
on accounts for each row when (new.plan_version > 0) execute function derive_original_due_date();

-- An earlier version also ends requests for changes of plans, of which it does not know the facts.
create or replace function oldest_usable_migration() returns text language sql stable return case
  when exists (select from plan_changes)
    or exists (select from approvals where status = 'pending' and action::text = 'change_plan')
    then '0100_plan_changes'
  when exists (select from accounts where run_anchor is not null)
    or exists (select from pay_plans where price_minor is not null or every <> 1 or months_without_dues <> '{}')
    then '0099_versions_with_runs'
  else '0036_oldest_usable_migration'
end;
