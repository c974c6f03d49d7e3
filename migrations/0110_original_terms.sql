-- The first table that payments read, so that this migration and a payment cannot wait for each other.
lock table payment_methods in access exclusive mode;

-- The next due date by the original terms. Null if the schedule is the original one, and if the account has no next due date.
alter table accounts add column original_due_date date;

-- After each change of a plan, the terms by which the lateness of the account is also shown: its first schedule with the price rises
-- since then, from the last sale correction on. The deposit is that of the account. Without total and runs, they are its present terms.
create table original_terms (
  account_id bigint not null references accounts,
  -- As in plan_changes.
  version integer not null,
  effective_on date not null,
  -- The sum of the price corrections and payoffs since the last sale correction, <= 0.
  corrected_minor bigint not null,
  total_minor bigint,
  run_from date[],
  run_anchor date[],
  run_unit text[],
  run_every integer[],
  run_place integer[],
  run_count integer[],
  run_amount_minor bigint[],
  run_before_minor bigint[],
  primary key (account_id, version),
  check (
    num_nonnulls(
      total_minor, run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor
    ) in (0, 9))
);

create trigger original_terms_append_only before update or truncate on original_terms
  for each statement execute function rows_are_never_edited();

create function derive_original_due_date() returns trigger language plpgsql as $$
begin
  new.original_due_date := (
    select next_due_date_in_runs(
      new.activation_date, o.total_minor, new.paid_minor, o.run_anchor, o.run_unit, o.run_every, o.run_place, o.run_amount_minor,
      o.run_before_minor)
    from original_terms o
    where o.account_id = new.id and o.version = new.plan_version and o.total_minor is not null
      and new.next_due_date is not null);
  return new;
end $$;

-- After accounts_schedule, because triggers run in the order of their names.
create trigger accounts_schedule_original before update of
  status, paid_minor, activation_date, deposit_minor, total_minor, next_due_date, run_anchor, plan_version, original_due_date
on accounts for each row when (new.plan_version > 0) execute function derive_original_due_date();

-- An earlier version would take the present terms of an account for its terms on every day, and ends requests for changes of plans, of
-- which it does not know the facts.
create or replace function oldest_usable_migration() returns text language sql stable return case
  when exists (select from plan_changes) then '0110_original_terms'
  when exists (select from approvals where action::text = 'change_plan' and status = 'pending') then '0110_original_terms'
  when exists (select from accounts where run_anchor is not null)
    or exists (select from pay_plans where price_minor is not null or every <> 1 or months_without_dues <> '{}')
    then '0099_versions_with_runs'
  else '0036_oldest_usable_migration'
end;
