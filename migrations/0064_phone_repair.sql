-- Why a stored phone is neither right nor repaired. Null: the phone is right, or it has not been checked yet.
create type phone_problem as enum ('invalid', 'other_customer', 'other_account');
alter table customers add column phone_problem phone_problem;

-- How far the stored phones have been checked, and the last business day on which all were checked.
create table phone_repair (
  last_customer_id bigint not null default 0,
  completed_on date,
  is_only_row boolean primary key default true check (is_only_row)
);
insert into phone_repair default values;
