-- In SQL, the function becomes a part of its statement. Although it then searches for the run at each use, this takes half of the time.
create or replace function instalments_due_in_runs(
  day date, run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns bigint
language sql immutable parallel safe as $$
  select case
    when width_bucket(day, run_from) = 0 then 0
    else run_before_minor[width_bucket(day, run_from)] - run_before_minor[1]
      + run_amount_minor[width_bucket(day, run_from)] * least(
        run_count[width_bucket(day, run_from)],
        case run_unit[width_bucket(day, run_from)]
          when 'day' then day - run_anchor[width_bucket(day, run_from)]
          else months_between(run_anchor[width_bucket(day, run_from)], day)
        end / run_every[width_bucket(day, run_from)] - run_place[width_bucket(day, run_from)] + 1)
  end
$$;
