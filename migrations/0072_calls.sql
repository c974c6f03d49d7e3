-- Calls and visits to customers who are late, the promises that they make, and who calls whom.
create type call_kind as enum ('call', 'visit');
create type call_result as enum ('no_answer', 'wrong_number', 'reached', 'promise', 'dispute', 'other');
create type judged_promise_state as enum ('kept', 'partly_kept', 'broken', 'void', 'replaced');

create table calls (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  kind call_kind not null,
  result call_result not null,
  phone text, -- the called number
  note text,
  next_call_on date,
  called_on date not null,
  created_by bigint not null references users,
  created_at timestamptz(3) not null default business_now(),
  constraint calls_phone check ((phone is not null) = (kind = 'call')),
  constraint calls_next_call check ((next_call_on is not null) = (result in ('reached', 'other')))
);
create index calls_account on calls (account_id, id);
create index calls_phone on calls (phone, id) where phone is not null;
create index calls_day on calls (called_on, id);
create index calls_created on calls (created_at, id);
create trigger calls_append_only before update or delete or truncate on calls
  for each statement execute function rows_are_never_edited();

-- Calls that their authors saved by mistake.
create table call_mistakes (
  call_id bigint primary key references calls,
  created_at timestamptz(3) not null default business_now()
);
create trigger call_mistakes_append_only before update or delete or truncate on call_mistakes
  for each statement execute function rows_are_never_edited();

create table closed_disputes (
  call_id bigint primary key references calls,
  reason text not null,
  created_by bigint not null references users,
  created_at timestamptz(3) not null default business_now()
);
create trigger closed_disputes_append_only before update or delete or truncate on closed_disputes
  for each statement execute function rows_are_never_edited();

create table promises (
  id bigint generated always as identity primary key,
  call_id bigint not null unique references calls,
  account_id bigint not null references accounts,
  amount_minor bigint not null,
  made_on date not null,
  due_on date not null,
  replaces_id bigint references promises,
  created_by bigint not null references users,
  created_at timestamptz(3) not null default business_now(),
  judged_state judged_promise_state, -- the state of the last event
  judged_version bigint, -- accounts.event_count at that time
  constraint promises_amount check (amount_minor > 0),
  constraint promises_days check (due_on between made_on and made_on + 30),
  constraint promises_judged check ((judged_state is null) = (judged_version is null))
);
create index promises_account on promises (account_id, id);
create index promises_due on promises (due_on, id);
create index promises_unjudged on promises (due_on, id) where judged_state is null;
create index promises_created on promises (created_at, id);
create index promises_replaces on promises (replaces_id) where replaces_id is not null;

-- What the call list needs to know about an account: derived from its calls, apart from the assignee. Absent before the first call.
create table call_states (
  account_id bigint primary key references accounts,
  assignee_id bigint references users,
  last_called_at timestamptz(3),
  hidden_until date,
  has_dispute boolean not null default false,
  wrong_phones text[]
);
create index call_states_assignee on call_states (assignee_id) where assignee_id is not null;
create index call_states_last_called on call_states (last_called_at, account_id) where last_called_at is not null;
create index call_states_hidden_until on call_states (hidden_until) where hidden_until is not null;

-- The officer who is calling a number now.
create table call_leases (
  phone text primary key,
  user_id bigint not null references users,
  expires_at timestamptz(3) not null
);
create index call_leases_user on call_leases (user_id);

create table last_promise_check (
  checked_at timestamptz not null,
  is_only_row boolean primary key default true check (is_only_row)
);

-- When and by whom the money was recorded is new.
create or replace view account_money as
  select account_id, payment_date as value_date, amount_minor, id as payment_id, null::bigint as credit_move_id, created_at, created_by
  from payments where status = 'matched'
  union all
  select account_id, value_date, -amount_minor, null, id, created_at, created_by from credit_moves
  union all
  select to_account_id, value_date, amount_minor, null, id, created_at, created_by from credit_moves where to_account_id is not null;
