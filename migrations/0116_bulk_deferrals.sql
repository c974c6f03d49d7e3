-- The first table that payments read, so that this migration and a payment cannot wait for each other.
lock table payment_methods in access exclusive mode;

alter type approval_action add value 'start_bulk_deferral' after 'change_plan';
alter type approval_action add value 'undo_bulk_deferral' after 'start_bulk_deferral';

create type bulk_deferral_status as enum (
  'previewing', 'draft', 'expired', 'running', 'done', 'undoing', 'undone', 'failed');

-- One deferral of many accounts. The accounts that the filter selects are stored with it, so that later changes select no others.
create table bulk_deferrals (
  id bigint generated always as identity primary key,
  status bulk_deferral_status not null default 'previewing',
  -- The filter of the request, by field and operator.
  filter jsonb not null,
  -- The change of each account, as in plan_changes.body.
  body jsonb not null,
  -- The day of the preview, which can be started on this day only.
  prepared_on date not null,
  -- The results of the preview: how many accounts the filter selects and how many of them can be deferred, with the sums of the latter.
  selected_count integer not null check (selected_count > 0),
  deferrable_count integer,
  balance_minor bigint,
  arrears_moved_minor bigint,
  -- Who asked for the preview.
  created_by bigint references users,
  created_by_key_id bigint references api_keys,
  -- Who asked for, or approved, the work: the deferral or its undo. The changes of the accounts have the same.
  actor_user_id bigint references users,
  api_key_id bigint references api_keys,
  -- No foreign key: approvals refer to bulk deferrals, and a backup needs an order of the tables.
  approval_id bigint,
  undo_reason text,
  -- Why the preview failed.
  failure text,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint bulk_deferrals_preview check (
    status in ('previewing', 'expired', 'failed') or num_nulls(deferrable_count, balance_minor, arrears_moved_minor) = 0),
  constraint bulk_deferrals_started check (
    (started_at is not null) = (status in ('running', 'done', 'undoing', 'undone')))
);
create index bulk_deferrals_created on bulk_deferrals (created_at, id);
create index bulk_deferrals_at_work on bulk_deferrals (status) where status in ('previewing', 'draft', 'running', 'undoing');
create index bulk_deferrals_approval on bulk_deferrals (approval_id) where approval_id is not null;

create type bulk_deferral_state as enum (
  'selected', 'refused', 'waiting', 'deferred', 'skipped', 'undone', 'not_undone');
create type bulk_deferral_problem as enum (
  'status', 'plan_changed', 'money_posted', 'not_possible', 'later_change', 'already_undone', 'failed');

create table bulk_deferral_accounts (
  bulk_deferral_id bigint not null references bulk_deferrals,
  id bigint generated always as identity,
  account_id bigint not null references accounts,
  state bulk_deferral_state not null default 'selected',
  -- The account at the preview, and what the deferral would do.
  plan_version integer,
  paid_minor bigint,
  balance_minor bigint,
  arrears_moved_minor bigint,
  -- Why the account was refused, skipped or not undone.
  problem bulk_deferral_problem,
  problem_text text,
  change_id bigint references plan_changes,
  primary key (bulk_deferral_id, id),
  unique (bulk_deferral_id, account_id),
  constraint bulk_deferral_accounts_change check (
    (change_id is not null) = (state in ('deferred', 'undone', 'not_undone'))),
  constraint bulk_deferral_accounts_problem check (
    (problem is not null) = (state in ('refused', 'skipped', 'not_undone'))
    and (problem is null) = (problem_text is null)),
  constraint bulk_deferral_accounts_preview check (
    state in ('selected', 'refused') or num_nulls(plan_version, paid_minor, balance_minor, arrears_moved_minor) = 0)
);
create index bulk_deferral_accounts_state on bulk_deferral_accounts (bulk_deferral_id, state, id);
create index bulk_deferral_accounts_account on bulk_deferral_accounts (account_id);
create unique index bulk_deferral_accounts_of_change on bulk_deferral_accounts (change_id) where change_id is not null;

-- The next migration validates the constraints, and the one after it adds the indexes.
alter table plan_changes
  -- The bulk deferral that made the change, or whose undo made it.
  add column bulk_deferral_id bigint,
  add constraint plan_changes_bulk_deferral_id_fkey foreign key (bulk_deferral_id) references bulk_deferrals not valid;
alter table approvals
  add column bulk_deferral_id bigint,
  add constraint approvals_bulk_deferral_id_fkey foreign key (bulk_deferral_id) references bulk_deferrals not valid,
  drop constraint approvals_of_account,
  add constraint approvals_of_account check (
    account_id is not null or action::text in ('reverse_payment', 'start_bulk_deferral', 'undo_bulk_deferral')) not valid,
  add constraint approvals_of_bulk_deferral check (
    (bulk_deferral_id is not null) = (action::text in ('start_bulk_deferral', 'undo_bulk_deferral'))) not valid;

-- An earlier version would take the present terms of an account for its terms on every day, and does not know the actions of requests
-- for changes of plans.
create or replace function oldest_usable_migration() returns text language sql stable return coalesce(
  (select '0116_bulk_deferrals' from approvals where status = 'pending' and bulk_deferral_id is not null limit 1),
  case
    when exists (select from pay_plans where payoff_basis_points is not null) then '0112_early_payoff'
    when exists (select from plan_changes where kind = 'payoff') then '0112_early_payoff'
    when exists (select from plan_changes) then '0110_original_terms'
    when exists (select from approvals where action::text = 'change_plan' and status = 'pending') then '0110_original_terms'
    when exists (select from accounts where run_anchor is not null)
      or exists (select from pay_plans where price_minor is not null or every <> 1 or months_without_dues <> '{}')
      then '0099_versions_with_runs'
    else '0036_oldest_usable_migration'
  end);
