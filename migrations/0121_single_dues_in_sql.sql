-- A run of one due, such as a harvest, needs no dates: it is due on the first date of the run. The sum of a harvest plan takes a third of
-- the time. A day before the first run needs no search.
create or replace function instalments_due_in_runs(
  day date, run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[],
  run_amount_minor bigint[], run_before_minor bigint[]
) returns bigint
language sql immutable parallel safe as $$
  select case
    when day >= run_from[1] then run_before_minor[width_bucket(day, run_from)] - run_before_minor[1]
      + run_amount_minor[width_bucket(day, run_from)] * case run_count[width_bucket(day, run_from)]
        when 1 then 1
        else least(
          run_count[width_bucket(day, run_from)],
          case run_unit[width_bucket(day, run_from)]
            when 'day' then day - run_anchor[width_bucket(day, run_from)]
            else months_between(run_anchor[width_bucket(day, run_from)], day)
          end / run_every[width_bucket(day, run_from)] - run_place[width_bucket(day, run_from)] + 1)
      end
    else 0
  end
$$;
