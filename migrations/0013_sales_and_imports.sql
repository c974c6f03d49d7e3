-- Provider statements -----------------------------------------------------------------------------

-- The statement from which a notification was imported. Each statement counts the payments that were imported from it.
alter table notifications add column provider_statement_id bigint references provider_statements;
update notifications set provider_statement_id = (raw_body::jsonb ->> 'StatementId')::bigint where source = 'import';
alter table notifications add constraint notifications_statement_of_import
  check (provider_statement_id is null or source = 'import');

-- Commissions -------------------------------------------------------------------------------------

alter table commission_lines add column share_basis_points integer not null default 10000
  check (share_basis_points between 0 and 10000);

-- Before this version, an account could be in several commissions. Its first line keeps the sale; lines of paid commissions come first.
-- The other lines are deleted from unpaid commissions. In paid commissions they stay, with a share of 0.
create temporary table second_lines on commit drop as
  select commission_id, line_number, status from (
    select l.commission_id, l.line_number, c.status,
      row_number() over (partition by l.account_id order by c.status = 'paid' desc, l.commission_id) as place
    from commission_lines l join commissions c on c.id = l.commission_id
    where l.account_id is not null) lines
  where place > 1;
update commission_lines l set share_basis_points = 0
  from second_lines s where (s.commission_id, s.line_number) = (l.commission_id, l.line_number) and s.status = 'paid';
delete from commission_lines l
  using second_lines s where (s.commission_id, s.line_number) = (l.commission_id, l.line_number) and s.status <> 'paid';
update commissions c set status = 'calculated', updated_at = now(),
    total_minor = (select coalesce(sum(l.amount_minor), 0) from commission_lines l where l.commission_id = c.id)
  where id in (select commission_id from second_lines where status <> 'paid');

alter table commission_lines alter column share_basis_points drop default;
create unique index commission_lines_account_unique on commission_lines (account_id, commission_id)
  where account_id is not null;

-- The sum of the shares of each account over all commissions, in basis points. Triggers update it, so that the check also works for
-- commissions that are calculated at the same time.
create table commission_sales (
  account_id bigint primary key references accounts,
  share_basis_points integer not null,
  constraint commission_sales_shared_once check (share_basis_points between 0 and 10000)
);
insert into commission_sales (account_id, share_basis_points)
  select account_id, sum(share_basis_points) from commission_lines where account_id is not null group by account_id;

create function commission_lines_take_shares() returns trigger language plpgsql as $$
begin
  insert into commission_sales as s (account_id, share_basis_points)
  select account_id, sum(share_basis_points) from added where account_id is not null
  group by account_id order by account_id
  on conflict (account_id) do update set share_basis_points = s.share_basis_points + excluded.share_basis_points;
  return null;
end $$;

create function commission_lines_give_shares_back() returns trigger language plpgsql as $$
begin
  update commission_sales s set share_basis_points = s.share_basis_points - r.share_basis_points
  from (
    select account_id, sum(share_basis_points) as share_basis_points from removed where account_id is not null
    group by account_id
  ) r
  where r.account_id = s.account_id;
  return null;
end $$;

create trigger commission_lines_added after insert on commission_lines
  referencing new table as added for each statement execute function commission_lines_take_shares();
create trigger commission_lines_removed after delete on commission_lines
  referencing old table as removed for each statement execute function commission_lines_give_shares_back();
create trigger commission_lines_frozen before update or truncate on commission_lines
  for each statement execute function rows_are_never_edited();

-- Reconciliation ----------------------------------------------------------------------------------

-- Existing batches keep their dates. The check applies only to payments that are reconciled from now on.
create function payment_is_reconciled_too_early() returns trigger language plpgsql as $$
begin
  raise exception 'payment % of % cannot be reconciled as of %', old.id, old.payment_date, new.reconciliation_date
    using errcode = 'check_violation';
end $$;

create trigger payments_reconciled_from_their_day before update on payments for each row
  when (old.reconciliation_id is null and new.reconciliation_date < new.payment_date)
  execute function payment_is_reconciled_too_early();

-- Accounts ----------------------------------------------------------------------------------------

-- If the job activated an account late, it stored the day of its run. Store the activation date, from which instalments fall due.
update account_status_changes h set changed_on = a.activation_date
  from accounts a
  where a.id = h.account_id and h.from_status = 'pending' and h.to_status = 'active' and h.actor_user_id is null
    and h.changed_on > a.activation_date;

-- CSV files ---------------------------------------------------------------------------------------

-- Text for a CSV cell. A spreadsheet runs a cell that begins with = + - or @ (also full-width, also after white space); an
-- apostrophe in front makes it text. In countries with a decimal comma, spreadsheets split lines at semicolons and ignore
-- quotes in the middle of a cell. So the apostrophe also follows each separator in the text that precedes such a character.
-- Line breaks become spaces, so that a line of the file is a row.
create or replace function csv_text(value text) returns text
language sql immutable parallel safe as $$
  select case
    -- Most texts have none of these characters, and are looked at no further.
    when value !~ '[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]' then
      case when value ~ '^[[:space:]]*(0[0-9]+|[0-9]{16,})[[:space:]]*$' then '''' || value else value end
    else
      case
        when value ~ '^[[:space:]\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]'
          or value ~ '^[[:space:]]*(0[0-9]+|[0-9]{16,})[[:space:]]*$'
          then ''''
        else ''
      end
      || regexp_replace(translate(value, e'\r\n', '  '),
        '([,;|\t])(?=["[:space:]\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])', '\1''', 'g')
  end
$$;

-- Invoices ----------------------------------------------------------------------------------------

alter table invoices
  add column due_on date, -- null: the invoice names none
  add constraint invoices_due_after_issue check (due_on >= issued_on);

drop trigger invoices_frozen on invoices;
create trigger invoices_frozen before update on invoices for each row
  when (old.status = 'void'
    or (old.id, old.year, old.year_number, old.account_id, old.customer_name, old.customer_phone,
        old.issued_on, old.due_on, old.total_minor, old.created_by, old.created_at)
      is distinct from
       (new.id, new.year, new.year_number, new.account_id, new.customer_name, new.customer_phone,
        new.issued_on, new.due_on, new.total_minor, new.created_by, new.created_at))
  execute function invoice_is_frozen();
