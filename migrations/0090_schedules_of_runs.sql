-- A schedule is a deposit and runs of instalments. A run has dues of one amount in one rhythm: due j (from 0) of run i is on
-- run_anchor[i] + (run_place[i] + j) * run_every[i] days or months. An ordinary account, with equal instalments one period apart from
-- its activation on, has no runs: its columns deposit_minor, instalment_minor, instalment_count and frequency are the schedule.
alter table accounts
  add column run_from date[], -- the date of the first due
  add column run_anchor date[],
  add column run_unit text[], -- day or month
  add column run_every integer[],
  add column run_place integer[],
  add column run_count integer[],
  add column run_amount_minor bigint[],
  add column run_before_minor bigint[]; -- the sum of the deposit and of all earlier runs

-- Whether the arrays are one-dimensional, count from 1 and have the same length.
create function are_parallel_runs(
  run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns boolean
language sql immutable parallel safe return
  array_dims(run_from) = '[1:' || cardinality(run_from) || ']' and cardinality(run_from) <= 250
  and array_dims(run_anchor) = array_dims(run_from) and array_dims(run_unit) = array_dims(run_from)
  and array_dims(run_every) = array_dims(run_from) and array_dims(run_place) = array_dims(run_from)
  and array_dims(run_count) = array_dims(run_from) and array_dims(run_amount_minor) = array_dims(run_from)
  and array_dims(run_before_minor) = array_dims(run_from);

alter table accounts add constraint accounts_runs_check check (
  num_nonnulls(run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor) = 0
  or (
    num_nonnulls(run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor) = 8
    and are_parallel_runs(
      run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor)
    and run_unit <@ array['day', 'month'] and 0 < all (run_every) and 0 <= all (run_place) and 0 < all (run_count)
    and 0 < all (run_amount_minor) and run_before_minor[1] = deposit_minor
  ) is true
) not valid;

-- The date of a place, and the last place on or before a day. The day is not before the anchor.
create function date_of_place(unit text, anchor date, every integer, place bigint) returns date
language sql immutable parallel safe as $$
  select case unit
    when 'day' then anchor + (place * every)::integer
    else (anchor + make_interval(months => (place * every)::integer))::date
  end
$$;

create function place_by(unit text, anchor date, every integer, day date) returns integer
language sql immutable parallel safe as $$
  select case unit when 'day' then day - anchor else months_between(anchor, day) end / every
$$;

-- The sum of the instalments dated on or before a day, in run i: the last run that has begun by this day. Null without such a run.
create function due_in_run(
  i integer, day date, run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns bigint
language sql immutable parallel safe as $$
  select run_before_minor[i] - run_before_minor[1] + run_amount_minor[i]
    * least(run_count[i], place_by(run_unit[i], run_anchor[i], run_every[i], day) - run_place[i] + 1)
$$;

create function instalments_due_in_runs(
  day date, run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns bigint
language sql immutable parallel safe as $$
  select coalesce(due_in_run(
    width_bucket(day, run_from), day, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor), 0)
$$;

-- The date of the first due in run i that a sum paid does not cover. Run i is the last run whose earlier dues the sum covers.
create function next_due_in_run(
  i integer, paid_minor bigint, run_anchor date[], run_unit text[], run_every integer[], run_place integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns date
language sql immutable parallel safe as $$
  select date_of_place(
    run_unit[i], run_anchor[i], run_every[i], run_place[i] + (paid_minor - run_before_minor[i]) / run_amount_minor[i])
$$;

create function next_due_date_in_runs(
  activation_date date, total_minor bigint, paid_minor bigint, run_anchor date[], run_unit text[], run_every integer[],
  run_place integer[], run_amount_minor bigint[], run_before_minor bigint[]
) returns date
language sql immutable parallel safe as $$
  select case
    when paid_minor >= total_minor then null
    when paid_minor < run_before_minor[1] then activation_date
    else next_due_in_run(
      width_bucket(paid_minor, run_before_minor), paid_minor, run_anchor, run_unit, run_every, run_place, run_amount_minor,
      run_before_minor)
  end
$$;

-- The columns that follow from the schedule and the sum paid. They were generated columns, whose expression cannot be changed without a
-- rewrite of the table.
create function derive_schedule() returns trigger language plpgsql as $$
declare
  last integer;
begin
  if new.run_from is null then
    new.total_minor := new.deposit_minor + new.instalment_minor * new.instalment_count;
  else
    last := cardinality(new.run_from);
    new.total_minor := new.run_before_minor[last] + new.run_amount_minor[last] * new.run_count[last];
  end if;
  if new.status in ('cancelled', 'written_off') then
    new.next_due_date := null;
  elsif new.run_from is null then
    new.next_due_date := next_due_date(
      new.frequency, new.activation_date, new.deposit_minor, new.instalment_minor, new.total_minor, new.paid_minor);
  else
    new.next_due_date := next_due_date_in_runs(
      new.activation_date, new.total_minor, new.paid_minor, new.run_anchor, new.run_unit, new.run_every, new.run_place,
      new.run_amount_minor, new.run_before_minor);
  end if;
  return new;
end $$;

-- Neither statement reads or rewrites the rows. The default lets statements leave the column out, as before.
alter table accounts
  alter column total_minor drop expression,
  alter column total_minor set default 0,
  alter column next_due_date drop expression;

create trigger accounts_schedule before insert or update of
  status, paid_minor, activation_date, frequency, deposit_minor, instalment_minor, instalment_count, total_minor, next_due_date,
  run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor
on accounts for each row execute function derive_schedule();
