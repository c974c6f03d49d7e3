-- The functions of the reports. Each has the same result as a TypeScript function of src/accounts, and
-- test/api/report-functions.test.ts compares both. Each is a single expression, which PostgreSQL inlines into the statement, so there
-- is no function call for each row.

-- The date of item k of a schedule, like dueDate in schedule-rules.ts. Months are counted from the activation date. So a 31st becomes
-- the last day of a shorter month, and is the 31st again in the next longer month.
create function item_date(frequency frequency, activation_date date, item bigint) returns date
language sql immutable parallel safe as $$
  select case frequency
    when 'daily' then activation_date + item::integer
    when 'weekly' then activation_date + 7 * item::integer
    when 'monthly' then (activation_date + make_interval(months => item::integer))::date
  end
$$;

-- The largest n for which the date n months after the start is not after the day, like wholeMonthsBetween in dates.ts. The day must
-- not be before the start. (`extract` would compute with numeric, at twice the cost.)
create function months_between(start date, day date) returns integer
language sql immutable parallel safe as $$
  select (date_part('year', day) * 12 + date_part('month', day)
      - date_part('year', start) * 12 - date_part('month', start))::integer
    - case
        -- The step of that many months falls in the day's own month, so only the days are left to compare.
        when date_part('day', day) >= date_part('day', start) then 0
        when date_part('month', day + 1) <> date_part('month', day) then 0
        else 1
      end
$$;

-- How many instalments are dated on or before a day; 0 before the activation date.
create function instalments_due_by(
  frequency frequency, activation_date date, instalment_count integer, day date
) returns integer
language sql immutable parallel safe as $$
  select case
    when day < activation_date then 0
    when frequency = 'daily' then least(instalment_count, day - activation_date)
    when frequency = 'weekly' then least(instalment_count, (day - activation_date) / 7)
    when frequency = 'monthly' then least(instalment_count, months_between(activation_date, day))
  end
$$;

-- The part of a paid sum that covers instalments. The deposit is covered first, and a sum above the total counts only up to the total.
create function paid_to_instalments(paid_minor bigint, deposit_minor bigint, total_minor bigint) returns bigint
language sql immutable parallel safe as $$
  select greatest(0, least(paid_minor, total_minor) - deposit_minor)
$$;

-- The date of the first item that a paid sum does not fully cover, like nextItem in schedule-rules.ts. Null if all items are paid.
create function next_due_date(
  frequency frequency, activation_date date, deposit_minor bigint, instalment_minor bigint,
  total_minor bigint, paid_minor bigint
) returns date
language sql immutable parallel safe as $$
  select case
    when paid_minor >= total_minor then null
    when paid_minor < deposit_minor then activation_date
    else item_date(frequency, activation_date, (paid_minor - deposit_minor) / instalment_minor + 1)
  end
$$;

-- One step of the calculation of the check digit: the table DAMM of account-number-rules.ts, ten bytes for each interim digit.
create function damm_step(interim integer, digit bigint) returns integer
language sql immutable parallel safe as $$
  select get_byte(
    '\x00030107050908060402'
    '07000902010504080603'
    '04020006080701030509'
    '01070500090803040206'
    '06010203000405090708'
    '03060704020009050801'
    '05080609070200010304'
    '08090405030602000107'
    '09040308060107020005'
    '02050801040306070900'::bytea,
    interim * 10 + digit::integer)
$$;

-- The Damm check digit of a number of at most 16 digits; leading zeros do not change it.
create function damm_check_digit(n bigint) returns integer
language sql immutable parallel safe as $$
  select
    damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(
    damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(0,
      n / 1000000000000000),
      n / 100000000000000 % 10),
      n / 10000000000000 % 10),
      n / 1000000000000 % 10),
      n / 100000000000 % 10),
      n / 10000000000 % 10),
      n / 1000000000 % 10),
      n / 100000000 % 10),
      n / 10000000 % 10),
      n / 1000000 % 10),
      n / 100000 % 10),
      n / 10000 % 10),
      n / 1000 % 10),
      n / 100 % 10),
      n / 10 % 10),
      n % 10)
$$;

-- Like formatAccountNumber in account-number-rules.ts.
create function account_number(account_id bigint) returns text
language sql immutable parallel safe as $$
  select 'ACC' || (1000000 + account_id)::text || damm_check_digit(1000000 + account_id)::text
$$;

-- Text for a cell of a CSV file. A spreadsheet runs a cell that begins with = + - or @ (also in their
-- full-width forms), and some do so after white space. An apostrophe before the text prevents this. A line break
-- becomes a space, so that each line of the file is a row.
create function csv_text(value text) returns text
language sql immutable parallel safe as $$
  select case
    when value ~ '^[[:space:]\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]'
      or value ~ '^[[:space:]]*(0[0-9]+|[0-9]{16,})[[:space:]]*$'
      then '''' || translate(value, e'\r\n', '  ')
    else translate(value, e'\r\n', '  ')
  end
$$;
