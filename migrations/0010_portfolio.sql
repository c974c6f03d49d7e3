-- What the portfolio of a past day is computed from: on which business day each move of an account was made.
-- It is kept beside the moment, because the business's clock and time zone decide it.

alter table account_status_changes add column changed_on date;
update account_status_changes set changed_on = (created_at at time zone 'Africa/Nairobi')::date;
alter table account_status_changes alter column changed_on set not null;
create index account_status_changes_day on account_status_changes (changed_on);

alter table accounts add column written_off_on date; -- kept when it is paid in full later
update accounts a set written_off_on = h.changed_on
from account_status_changes h
where h.account_id = a.id and h.to_status = 'written_off' and h.from_status <> 'completed';
create index accounts_written_off on accounts (written_off_on) where written_off_on is not null;
