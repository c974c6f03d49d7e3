-- The first table that payments read, so that this migration and a payment cannot wait for each other.
lock table payment_methods in access exclusive mode;

alter type ledger_event add value 'price_discounted' after 'credit_refunded';
alter type ledger_event add value 'price_corrected' after 'price_discounted';
alter type ledger_event add value 'price_raised' after 'price_corrected';
alter type approval_action add value 'change_plan' after 'cancel_account';

create type plan_change_kind as enum (
  'deferral', 'revision', 'discount', 'price_correction', 'price_rise', 'sale_correction', 'payoff', 'undo', 'imported');

alter table accounts
  -- The number of changes of the terms: the version of the newest row of plan_changes.
  add column plan_version integer not null default 0,
  -- The newest change that moved what was due, unless it is undone.
  add column restructured_kind plan_change_kind,
  add column restructured_on date;

-- A lower price can leave no instalment. The next migration validates these.
alter table accounts
  drop constraint accounts_instalment_count_check,
  add constraint accounts_instalment_count_check check (instalment_count >= 0) not valid,
  drop constraint accounts_total_check,
  add constraint accounts_total_check check (total_minor >= 0) not valid;

-- The changes of the terms of accounts. The terms of an account on a day are those of `before` of the first change with a later
-- effective_on, and its present terms if there is none.
create table plan_changes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  -- The number of the change among the changes of the account.
  version integer not null check (version > 0),
  kind plan_change_kind not null,
  effective_on date not null,
  reason_code text,
  reason text,
  -- The request.
  body jsonb not null,
  -- The columns of the account that a change can set.
  before jsonb not null,
  after jsonb not null,
  price_change_minor bigint not null,
  -- What was due before the change, and is due later.
  arrears_moved_minor bigint not null default 0 check (arrears_moved_minor >= 0),
  -- What was paid before it was due, and is due on effective_on.
  ahead_moved_minor bigint not null default 0 check (ahead_moved_minor >= 0),
  undoes bigint unique references plan_changes,
  actor_user_id bigint references users,
  api_key_id bigint references api_keys,
  approval_id bigint references approvals,
  created_at timestamptz(3) not null default business_now(),
  unique (account_id, version),
  constraint plan_changes_undo check ((kind = 'undo') = (undoes is not null)),
  constraint plan_changes_reason check (reason is not null or kind in ('payoff', 'imported'))
);
create index plan_changes_day on plan_changes (effective_on);
create index plan_changes_approval on plan_changes (approval_id) where approval_id is not null;
create index plan_changes_created on plan_changes (created_at, id);

create trigger plan_changes_append_only before update or truncate on plan_changes
  for each statement execute function rows_are_never_edited();

create function only_undone_plan_changes_are_deleted() returns trigger language plpgsql as $$
begin
  if exists (
    select from removed r left join accounts a on a.id = r.account_id left join imports i on i.id = a.import_id
    where i.status is distinct from 'undoing')
  then
    raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
create trigger plan_changes_leave_with_their_import after delete on plan_changes referencing old table as removed
  for each statement execute function only_undone_plan_changes_are_deleted();

-- As before, and also for runs that stay the same while the deposit changes: the sum before each run includes the deposit.
create or replace function derive_schedule() returns trigger language plpgsql as $$
declare
  last_due date := new.activation_date - 1;
  last integer := cardinality(new.run_anchor);
begin
  if new.run_anchor is not null and (tg_op = 'INSERT' or
    (new.deposit_minor, new.run_anchor, new.run_unit, new.run_every, new.run_place, new.run_count, new.run_amount_minor)
      is distinct from
      (old.deposit_minor, old.run_anchor, old.run_unit, old.run_every, old.run_place, old.run_count, old.run_amount_minor))
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

-- An earlier version would take the present terms of an account for its terms on every day.
create or replace function oldest_usable_migration() returns text language sql stable return case
  when exists (select from plan_changes) then '0100_plan_changes'
  when exists (select from accounts where run_anchor is not null)
    or exists (select from pay_plans where price_minor is not null or every <> 1 or months_without_dues <> '{}')
    then '0099_versions_with_runs'
  else '0036_oldest_usable_migration'
end;
