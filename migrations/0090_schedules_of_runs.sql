-- A schedule is a deposit and runs of instalments. A run has dues of one amount in one rhythm: due j (from 0) of run i is on
-- run_anchor[i] + (run_place[i] + j) * run_every[i] days or months. An ordinary account, with equal instalments one period apart from
-- its activation on, has no runs: its columns deposit_minor, instalment_minor, instalment_count and frequency are the schedule.

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

-- The date of a place.
create function date_of_place(unit text, anchor date, every integer, place bigint) returns date
language sql immutable parallel safe as $$
  select case unit
    when 'day' then anchor + (place * every)::integer
    else (anchor + make_interval(months => (place * every)::integer))::date
  end
$$;

-- The next two functions are in PL/pgSQL, which finds the run once. In SQL, the search would be repeated for each use of its result.

-- The sum of the instalments dated on or before a day.
create function instalments_due_in_runs(
  day date, run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns bigint
language plpgsql immutable parallel safe as $$
declare
  i integer := width_bucket(day, run_from); -- the last run that has begun by this day, or 0
  units integer;
begin
  if i = 0 then
    return 0;
  end if;
  if run_unit[i] = 'day' then
    units := day - run_anchor[i];
  else
    units := months_between(run_anchor[i], day);
  end if;
  return run_before_minor[i] - run_before_minor[1]
    + run_amount_minor[i] * least(run_count[i], units / run_every[i] - run_place[i] + 1);
end $$;

-- The date of the first item that a sum paid does not cover.
create function next_due_date_in_runs(
  activation_date date, total_minor bigint, paid_minor bigint, run_anchor date[], run_unit text[], run_every integer[],
  run_place integer[], run_amount_minor bigint[], run_before_minor bigint[]
) returns date
language plpgsql immutable parallel safe as $$
declare
  i integer := width_bucket(paid_minor, run_before_minor); -- the last run whose earlier items the sum covers, or 0
begin
  if paid_minor >= total_minor then
    return null;
  end if;
  if i = 0 then
    return activation_date;
  end if;
  return date_of_place(
    run_unit[i], run_anchor[i], run_every[i], run_place[i] + (paid_minor - run_before_minor[i]) / run_amount_minor[i]);
end $$;

-- Computes the columns that follow from a schedule and a sum paid. Two of them were generated columns, whose expression cannot be
-- changed without a rewrite of the table.
create function derive_schedule() returns trigger language plpgsql as $$
declare
  last_due date := new.activation_date - 1;
  last integer := cardinality(new.run_anchor);
begin
  if new.run_anchor is not null and (tg_op = 'INSERT' or
    (new.run_anchor, new.run_unit, new.run_every, new.run_place, new.run_count, new.run_amount_minor)
      is distinct from (old.run_anchor, old.run_unit, old.run_every, old.run_place, old.run_count, old.run_amount_minor))
  then
    new.run_from := '{}';
    new.run_before_minor := '{}';
    new.instalment_minor := new.run_amount_minor[1];
    new.instalment_count := (select sum(count) from unnest(new.run_count) as count);
    new.total_minor := new.deposit_minor;
    for i in 1..last loop
      new.run_from[i] := date_of_place(new.run_unit[i], new.run_anchor[i], new.run_every[i], new.run_place[i]);
      new.run_before_minor[i] := new.total_minor;
      if (new.run_from[i] > last_due) is not true then
        raise exception 'run % does not begin after the run before it', i using errcode = 'check_violation';
      end if;
      last_due := date_of_place(new.run_unit[i], new.run_anchor[i], new.run_every[i], new.run_place[i] + new.run_count[i] - 1);
      new.total_minor := new.total_minor + new.run_amount_minor[i] * new.run_count[i];
    end loop;
  elsif new.run_anchor is null then
    new.total_minor := new.deposit_minor + new.instalment_minor * new.instalment_count;
  else
    new.total_minor := new.run_before_minor[last] + new.run_amount_minor[last] * new.run_count[last];
  end if;
  if new.status in ('cancelled', 'written_off') then
    new.next_due_date := null;
  elsif new.run_anchor is null then
    new.next_due_date := next_due_date(
      new.frequency, new.activation_date, new.deposit_minor, new.instalment_minor, new.total_minor, new.paid_minor);
  else
    new.next_due_date := next_due_date_in_runs(
      new.activation_date, new.total_minor, new.paid_minor, new.run_anchor, new.run_unit, new.run_every, new.run_place,
      new.run_amount_minor, new.run_before_minor);
  end if;
  return new;
end $$;

alter table accounts
  add column run_anchor date[],
  add column run_unit text[], -- day or month
  add column run_every integer[],
  add column run_place integer[],
  add column run_count integer[],
  add column run_amount_minor bigint[],
  -- A trigger computes these from the others: the date of the first due, and the sum of the deposit and of all earlier runs.
  add column run_from date[],
  add column run_before_minor bigint[];

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

-- No statement reads or rewrites the rows. The default lets statements leave the column out, as before; the check refuses a row that
-- no trigger has completed.
alter table accounts
  alter column total_minor drop expression,
  alter column total_minor set default 0,
  alter column next_due_date drop expression,
  add constraint accounts_total_check check (total_minor > 0) not valid;

create trigger accounts_schedule before insert or update of
  status, paid_minor, activation_date, frequency, deposit_minor, instalment_minor, instalment_count, total_minor, next_due_date,
  run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor
on accounts for each row execute function derive_schedule();
