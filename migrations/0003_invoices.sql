-- Invoices --------------------------------------------------------------------------------------

create type invoice_status as enum ('issued', 'void');

-- The last used number of each year. The transaction that issues an invoice locks the row as its last lock. So a number is used
-- exactly if its invoice exists.
create table invoice_numbers (
  year integer primary key,
  last_number integer not null check (last_number > 0)
);

create table invoices (
  id bigint generated always as identity primary key,
  year integer not null references invoice_numbers,
  year_number integer not null check (year_number > 0),
  number text not null generated always as (
    'INV-' || year::text || '-' || lpad(year_number::text, greatest(6, length(year_number::text)), '0')
  ) stored,
  account_id bigint not null references accounts,
  customer_name text not null, -- the name on the day of issue, because an issued document does not change
  customer_phone text not null,
  issued_on date not null,
  total_minor bigint not null check (total_minor >= 0),
  status invoice_status not null default 'issued',
  voided_at timestamptz(3),
  void_reason text,
  created_by bigint references users,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'void') = (voided_at is not null)),
  check ((status = 'void') = (void_reason is not null)),
  check (extract(year from issued_on) = year),
  constraint invoices_year_number_unique unique (year, year_number),
  constraint invoices_number_unique unique (number)
);
create index invoices_account on invoices (account_id, id);
create index invoices_created on invoices (created_at, id);
create index invoices_issued on invoices (issued_on, id);

create table invoice_items (
  invoice_id bigint not null references invoices,
  position integer not null check (position between 1 and 200),
  description text not null,
  quantity_milli bigint not null check (quantity_milli > 0), -- thousandths
  unit_price_minor bigint not null check (unit_price_minor >= 0),
  line_total_minor bigint not null,
  primary key (invoice_id, position),
  -- Rounded half up; div() on whole numbers is exact.
  check (line_total_minor = div(quantity_milli::numeric * unit_price_minor + 500, 1000))
);

create function invoice_lines_must_sum() returns trigger language plpgsql as $$
begin
  if exists (
    select from invoices i
    where i.id in (select a.invoice_id from added a)
      and i.total_minor <> (select sum(l.line_total_minor) from invoice_items l where l.invoice_id = i.id)
  ) then
    raise exception 'the total of an invoice must be the sum of its lines' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger invoice_items_sum after insert on invoice_items
  referencing new table as added for each statement execute function invoice_lines_must_sum();

create trigger invoice_items_frozen before update or delete or truncate on invoice_items
  for each statement execute function rows_are_never_edited();

create function invoice_is_frozen() returns trigger language plpgsql as $$
begin
  raise exception 'invoice % is frozen', old.number using errcode = 'restrict_violation';
end $$;

-- The only change of an invoice is to void it, once.
create trigger invoices_frozen before update on invoices for each row
  when (old.status = 'void'
    or (old.id, old.year, old.year_number, old.account_id, old.customer_name, old.customer_phone,
        old.issued_on, old.total_minor, old.created_by, old.created_at)
      is distinct from
       (new.id, new.year, new.year_number, new.account_id, new.customer_name, new.customer_phone,
        new.issued_on, new.total_minor, new.created_by, new.created_at))
  execute function invoice_is_frozen();

create trigger invoices_kept before delete or truncate on invoices
  for each statement execute function rows_are_never_edited();

create trigger invoice_numbers_kept before delete or truncate on invoice_numbers
  for each statement execute function rows_are_never_edited();
