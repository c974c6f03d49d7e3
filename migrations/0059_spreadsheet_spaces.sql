-- The spaces of `SPACE` in src/core/values/csv.ts by name. Which characters [[:space:]] matches depends on the locale of the database.
create or replace function csv_text(value text) returns text language sql immutable parallel safe as $$
  select case
    -- Most texts have none of these characters, and are looked at no further.
    when value !~ '[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]' then
      case when value ~ '^[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*(0[0-9]+|[0-9]{16,})[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*$' then '''' || value else value end
    else
      case
        when value ~ '^[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]'
          or value ~ '^[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*(0[0-9]+|[0-9]{16,})[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*$'
          then ''''
        else ''
      end
      || regexp_replace(translate(value, e'\r\n', '  '),
        '([,;|\t])(?=["\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])', '\1''', 'g')
  end
$$;
