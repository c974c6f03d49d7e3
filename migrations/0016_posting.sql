-- The date of the first unpaid instalment follows from the terms, the status and what is paid.
alter table accounts drop column next_due_date; -- and the indexes accounts_next_due and accounts_grace with it
alter table accounts add column next_due_date date generated always as (
  case when status not in ('cancelled', 'written_off') then next_due_date(
    frequency, activation_date, deposit_minor, instalment_minor, deposit_minor + instalment_minor * instalment_count,
    paid_minor)
  end) stored;
create index accounts_next_due on accounts (next_due_date, id);
create index accounts_grace on accounts (payplan_id, (greatest(next_due_date, reprieved_on) + grace_days))
  where status = 'active';
