-- Amounts are bigint in minor units of the one currency in `settings`. The names of their columns end in _minor.
-- Calendar dates are business days.

create extension if not exists pg_trgm;

create table settings (
  key text primary key,
  value text not null
);

-- Sign-in ---------------------------------------------------------------------------------------

create table employees (
  id bigint generated always as identity primary key,
  name text not null,
  phone text,
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create type user_role as enum ('admin', 'manager', 'finance', 'agent', 'viewer');

create table users (
  id bigint generated always as identity primary key,
  email text not null,
  email_key text not null, -- the e-mail in lower case: two addresses with the same key are the same
  first_name text not null,
  last_name text not null,
  password_hash text, -- null: signs in through an identity provider only
  role user_role not null,
  active boolean not null default true,
  employee_id bigint references employees,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint users_email_unique unique (email_key)
);

create table sessions (
  id uuid primary key,
  user_id bigint not null references users,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3)
);
create index sessions_user on sessions (user_id) where revoked_at is null;
create index sessions_expiry on sessions (expires_at);

-- Each refresh token of a session is used once, and is then replaced by the next one.
create table refresh_tokens (
  token_hash bytea primary key, -- SHA-256; the token itself is never stored
  session_id uuid not null references sessions on delete cascade,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index refresh_tokens_session on refresh_tokens (session_id);
create index refresh_tokens_expiry on refresh_tokens (expires_at);

-- Catalogue -------------------------------------------------------------------------------------

create table products (
  id bigint generated always as identity primary key,
  sku text not null,
  name text not null,
  category text not null,
  description text not null default '',
  price_minor bigint not null check (price_minor >= 0),
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint products_sku_unique unique (sku)
);

create type frequency as enum ('daily', 'weekly', 'monthly');

create table pay_plans (
  id bigint generated always as identity primary key,
  name text not null,
  product_id bigint references products,
  deposit_minor bigint not null check (deposit_minor >= 0),
  instalment_minor bigint not null check (instalment_minor > 0),
  instalment_count integer not null check (instalment_count between 1 and 10000),
  frequency frequency not null,
  grace_days integer not null check (grace_days between 0 and 365),
  auto_suspend boolean not null default false,
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint pay_plans_name_unique unique (name)
);

create table payment_methods (
  id bigint generated always as identity primary key,
  code text not null,
  name text not null,
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint payment_methods_code_unique unique (code)
);

-- Customers and accounts ------------------------------------------------------------------------

create table customers (
  id bigint generated always as identity primary key,
  first_name text not null,
  last_name text not null,
  email text,
  email_key text,
  phone text not null, -- E.164
  phone_sha256 bytea not null, -- SHA-256 of the digits: some providers send only this
  national_id text,
  national_id_key text, -- letters and digits in upper case
  search_text text not null, -- names, e-mail, phone and national id, folded like a search
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint customers_email_unique unique (email_key),
  constraint customers_national_id_unique unique (national_id_key)
);
create index customers_phone on customers (phone);
create index customers_phone_sha256 on customers (phone_sha256);
create index customers_search on customers using gin (search_text gin_trgm_ops);
create index customers_created on customers (created_at, id);

create type account_status as enum (
  'pending', 'active', 'suspended', 'defaulted', 'repossessed', 'completed', 'written_off', 'cancelled'
);

create table accounts (
  id bigint generated always as identity primary key,
  customer_id bigint not null references customers,
  product_id bigint not null references products,
  payplan_id bigint not null references pay_plans,
  employee_id bigint references employees,
  activation_date date not null,
  status account_status not null,
  status_reason text,
  -- The pay plan's terms as they were when the account was opened.
  deposit_minor bigint not null check (deposit_minor >= 0),
  instalment_minor bigint not null check (instalment_minor > 0),
  instalment_count integer not null check (instalment_count >= 1),
  frequency frequency not null,
  grace_days integer not null check (grace_days >= 0),
  total_minor bigint not null generated always as (deposit_minor + instalment_minor * instalment_count) stored,
  -- The balances of the account in the ledger. The transaction that posts entries locks the row and updates the balances.
  -- The limits keep every amount exact as a JSON number. paid_minor is below 0 if a payment was reversed after the credit from it
  -- had been transferred or refunded: the customer then owes this credit.
  paid_minor bigint not null default 0 check (paid_minor between -999999999999999 and 999999999999999),
  receivable_minor bigint not null check (receivable_minor >= 0),
  credit_minor bigint not null default 0 check (credit_minor >= 0),
  written_off_minor bigint not null default 0 check (written_off_minor >= 0),
  -- The first day of the latest month with money of the account, and the part of paid_minor that counts for this month.
  -- Without these columns, a report of a month would add up all payments of the month.
  paid_month date check (extract(day from paid_month) = 1),
  paid_month_minor bigint not null default 0 check (paid_month is not null or paid_month_minor = 0),
  next_due_date date, -- the date of the first item that is not fully paid; null if all items are paid
  written_off_on date, -- kept even if the account is later paid in full
  reprieved_on date, -- the day on which staff made the account active: its days of grace start again on this day
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index accounts_customer on accounts (customer_id, id);
create index accounts_status_created on accounts (status, created_at, id);
create index accounts_created on accounts (created_at, id);
create index accounts_next_due on accounts (next_due_date, id);
create index accounts_written_off on accounts (written_off_on) where written_off_on is not null;
create index accounts_pending on accounts (activation_date) where status = 'pending';
-- The last day before automatic suspension of each account, by pay plan.
create index accounts_grace on accounts (payplan_id, (greatest(next_due_date, reprieved_on) + grace_days))
  where status = 'active';

-- Why the lateness policy changed the status of an account. Later changes depend on this cause.
create type status_cause as enum ('non_payment', 'payment');

create table account_status_changes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  from_status account_status,
  to_status account_status not null,
  reason text, -- a sentence for staff
  cause status_cause,
  actor_user_id bigint references users, -- null: the system
  -- The business day. It cannot be derived from created_at, because it depends on the clock and the time zone of the business.
  changed_on date not null,
  created_at timestamptz(3) not null default now()
);
create index account_status_changes_day on account_status_changes (changed_on);
create index account_status_changes_account on account_status_changes (account_id, id);

-- Payments --------------------------------------------------------------------------------------

create type payment_status as enum ('matched', 'unmatched', 'reversed');
create type payment_source as enum ('manual', 'webhook', 'import');
create type match_method as enum (
  'account_number', 'national_id', 'phone', 'account_id', 'payer_phone', 'learned', 'hand_entry', 'assigned'
);

create table payments (
  id bigint generated always as identity primary key,
  account_id bigint references accounts,
  amount_minor bigint not null check (amount_minor > 0),
  payment_method_id bigint not null references payment_methods,
  transaction_ref text,
  reference_key text, -- in upper case, without white space and invisible characters, like a provider's TransID
  payment_date date not null,
  status payment_status not null,
  source payment_source not null,
  match_method match_method, -- null: staff named the account when they recorded it
  provider text,
  provider_trans_id text,
  reversed_at timestamptz(3),
  reversal_reason text,
  created_by bigint references users,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'reversed') = (reversed_at is not null)),
  check (status <> 'matched' or account_id is not null),
  check (status <> 'unmatched' or account_id is null),
  check ((provider is null) = (provider_trans_id is null)),
  check ((transaction_ref is null) = (reference_key is null)),
  -- The transaction id comes first, so that no search for payments without a provider uses this index.
  constraint payments_trans_id_unique unique (provider_trans_id, provider)
);
create unique index payments_transaction_ref_unique on payments (payment_method_id, reference_key)
  where status <> 'reversed' and transaction_ref is not null;
create index payments_reference_key on payments (reference_key) where status <> 'reversed' and reference_key is not null;
create index payments_account on payments (account_id, payment_date, id);
create index payments_created on payments (created_at, id);
create index payments_date on payments (payment_date, id);
create index payments_unmatched on payments (created_at, id) where status = 'unmatched';

-- The notifications of providers, as they were sent, and their outcomes.
create type notification_status as enum ('pending', 'processed', 'rejected');
create type notification_outcome as enum ('matched', 'unmatched', 'linked', 'conflict', 'differs', 'repeated');

create table notifications (
  id bigint generated always as identity primary key,
  provider text not null,
  raw_body text not null,
  trans_id text,
  content_hash bytea, -- SHA-256 of the fields: two notifications of one TransID with the same hash are equal
  amount_minor bigint,
  trans_time timestamptz(3),
  business_short_code text,
  bill_ref text,
  payer text, -- MSISDN as the provider sent it: plain, local, masked or hashed
  status notification_status not null,
  outcome notification_outcome,
  flags text[] not null default '{}',
  payment_id bigint references payments,
  conflict_payment_id bigint references payments,
  failure text,
  attempts integer not null default 0,
  received_at timestamptz(3) not null default now(),
  processed_at timestamptz(3),
  check (status <> 'processed' or outcome is not null),
  check ((outcome = 'conflict') is not true or conflict_payment_id is not null),
  constraint notifications_content_unique unique (provider, trans_id, content_hash)
);
create index notifications_pending on notifications (id) where status = 'pending';
create index notifications_conflict on notifications (trans_id) where outcome = 'conflict';
create index notifications_payment on notifications (payment_id);
create index notifications_received on notifications (received_at, id);

-- Ledger ----------------------------------------------------------------------------------------

create type ledger_account as enum (
  'receivable', 'sales', 'clearing', 'customer_credit', 'unmatched', 'bad_debt', 'recovery'
);
create type ledger_event as enum (
  'account_opened', 'account_cancelled', 'account_written_off',
  'payment_received', 'payment_assigned', 'payment_unassigned', 'payment_reversed',
  'credit_transferred', 'credit_refunded'
);

create sequence ledger_event_ids;

create table ledger_entries (
  id bigint generated always as identity primary key,
  event_id bigint not null,
  event ledger_event not null,
  ledger_account ledger_account not null,
  payment_method_id bigint references payment_methods,
  account_id bigint references accounts,
  payment_id bigint references payments,
  amount_minor bigint not null check (amount_minor <> 0), -- debit positive, credit negative
  value_date date not null,
  created_at timestamptz(3) not null default now(),
  check ((ledger_account = 'clearing') = (payment_method_id is not null))
);
create index ledger_entries_account on ledger_entries (account_id, id);
create index ledger_entries_payment on ledger_entries (payment_id);

create function ledger_events_must_balance() returns trigger language plpgsql as $$
begin
  if exists (select from added group by event_id having sum(amount_minor) <> 0) then
    raise exception 'the entries of a ledger event must sum to zero' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger ledger_events_balance after insert on ledger_entries
  referencing new table as added for each statement execute function ledger_events_must_balance();

create function rows_are_never_edited() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
  for each statement execute function rows_are_never_edited();

create function payment_money_is_frozen() returns trigger language plpgsql as $$
begin
  raise exception 'the money of payment % cannot be edited', old.id using errcode = 'restrict_violation';
end $$;

create trigger payments_money_frozen before update on payments for each row
  when ((old.amount_minor, old.payment_method_id, old.payment_date, old.transaction_ref)
    is distinct from (new.amount_minor, new.payment_method_id, new.payment_date, new.transaction_ref))
  execute function payment_money_is_frozen();

-- Audit -----------------------------------------------------------------------------------------

create table audit_entries (
  id bigint generated always as identity primary key,
  actor_user_id bigint references users, -- null: the system or the provider
  actor text not null,
  action text not null,
  resource text not null,
  resource_id bigint,
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamptz(3) not null default now()
);
create index audit_entries_resource on audit_entries (resource, resource_id, id);
create index audit_entries_created on audit_entries (created_at, id);

create trigger audit_entries_append_only before update or delete or truncate on audit_entries
  for each statement execute function rows_are_never_edited();

insert into payment_methods (code, name) values
  ('mobile_money', 'Mobile money'),
  ('cash', 'Cash'),
  ('bank_transfer', 'Bank transfer'),
  ('card', 'Card');
