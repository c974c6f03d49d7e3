-- Generated from the migrations by `npm run generate`.

create type account_status as enum ('pending', 'active', 'suspended', 'defaulted', 'repossessed', 'completed', 'written_off', 'cancelled');

create type frequency as enum ('daily', 'weekly', 'monthly');

create type ledger_account as enum ('receivable', 'sales', 'clearing', 'customer_credit', 'unmatched', 'bad_debt', 'recovery');

create type ledger_event as enum ('account_opened', 'account_cancelled', 'account_written_off', 'payment_received', 'payment_assigned', 'payment_reversed');

create type match_method as enum ('account_number', 'national_id', 'phone', 'account_id', 'payer_phone', 'hand_entry', 'assigned');

create type notification_outcome as enum ('matched', 'unmatched', 'linked', 'conflict', 'differs');

create type notification_status as enum ('pending', 'processed', 'rejected');

create type payment_source as enum ('manual', 'webhook');

create type payment_status as enum ('matched', 'unmatched', 'reversed');

create type user_role as enum ('admin', 'manager', 'finance', 'agent', 'viewer');

create table account_status_changes (
  id bigint not null generated always as identity,
  account_id bigint not null,
  from_status account_status,
  to_status account_status not null,
  reason text,
  actor_user_id bigint,
  created_at timestamp with time zone not null default now(),
  constraint account_status_changes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint account_status_changes_actor_user_id_fkey FOREIGN KEY (actor_user_id) REFERENCES users(id),
  constraint account_status_changes_pkey PRIMARY KEY (id)
);
CREATE INDEX account_status_changes_account ON public.account_status_changes USING btree (account_id, id);

create table accounts (
  id bigint not null generated always as identity,
  customer_id bigint not null,
  product_id bigint not null,
  payplan_id bigint not null,
  employee_id bigint,
  activation_date date not null,
  status account_status not null,
  status_reason text,
  deposit_minor bigint not null,
  instalment_minor bigint not null,
  instalment_count integer not null,
  frequency frequency not null,
  grace_days integer not null,
  total_minor bigint not null generated always as ((deposit_minor + (instalment_minor * instalment_count))) stored,
  paid_minor bigint not null default 0,
  receivable_minor bigint not null,
  credit_minor bigint not null default 0,
  written_off_minor bigint not null default 0,
  next_due_date date,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint accounts_credit_minor_check CHECK ((credit_minor >= 0)),
  constraint accounts_deposit_minor_check CHECK ((deposit_minor >= 0)),
  constraint accounts_grace_days_check CHECK ((grace_days >= 0)),
  constraint accounts_instalment_count_check CHECK ((instalment_count >= 1)),
  constraint accounts_instalment_minor_check CHECK ((instalment_minor > 0)),
  constraint accounts_paid_minor_check CHECK ((paid_minor >= 0)),
  constraint accounts_receivable_minor_check CHECK ((receivable_minor >= 0)),
  constraint accounts_written_off_minor_check CHECK ((written_off_minor >= 0)),
  constraint accounts_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
  constraint accounts_employee_id_fkey FOREIGN KEY (employee_id) REFERENCES employees(id),
  constraint accounts_payplan_id_fkey FOREIGN KEY (payplan_id) REFERENCES pay_plans(id),
  constraint accounts_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id),
  constraint accounts_pkey PRIMARY KEY (id)
);
CREATE INDEX accounts_created ON public.accounts USING btree (created_at, id);
CREATE INDEX accounts_customer ON public.accounts USING btree (customer_id, id);
CREATE INDEX accounts_pending ON public.accounts USING btree (activation_date) WHERE (status = 'pending'::account_status);
CREATE INDEX accounts_status_created ON public.accounts USING btree (status, created_at, id);

create table audit_entries (
  id bigint not null generated always as identity,
  actor_user_id bigint,
  actor text not null,
  action text not null,
  resource text not null,
  resource_id bigint,
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamp with time zone not null default now(),
  constraint audit_entries_actor_user_id_fkey FOREIGN KEY (actor_user_id) REFERENCES users(id),
  constraint audit_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_entries_created ON public.audit_entries USING btree (created_at, id);
CREATE INDEX audit_entries_resource ON public.audit_entries USING btree (resource, resource_id, id);

create table customers (
  id bigint not null generated always as identity,
  first_name text not null,
  last_name text not null,
  email text,
  email_key text,
  phone text not null,
  phone_sha256 bytea not null,
  national_id text,
  national_id_key text,
  search_text text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint customers_pkey PRIMARY KEY (id),
  constraint customers_email_unique UNIQUE (email_key),
  constraint customers_national_id_unique UNIQUE (national_id_key)
);
CREATE INDEX customers_created ON public.customers USING btree (created_at, id);
CREATE INDEX customers_phone ON public.customers USING btree (phone);
CREATE INDEX customers_phone_sha256 ON public.customers USING btree (phone_sha256);
CREATE INDEX customers_search ON public.customers USING gin (search_text gin_trgm_ops);

create table employees (
  id bigint not null generated always as identity,
  name text not null,
  phone text,
  active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint employees_pkey PRIMARY KEY (id)
);

create table ledger_entries (
  id bigint not null generated always as identity,
  event_id bigint not null,
  event ledger_event not null,
  ledger_account ledger_account not null,
  payment_method_id bigint,
  account_id bigint,
  payment_id bigint,
  amount_minor bigint not null,
  value_date date not null,
  created_at timestamp with time zone not null default now(),
  constraint ledger_entries_amount_minor_check CHECK ((amount_minor <> 0)),
  constraint ledger_entries_check CHECK (((ledger_account = 'clearing'::ledger_account) = (payment_method_id IS NOT NULL))),
  constraint ledger_entries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint ledger_entries_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint ledger_entries_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint ledger_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX ledger_entries_account ON public.ledger_entries USING btree (account_id, id);
CREATE INDEX ledger_entries_payment ON public.ledger_entries USING btree (payment_id);

create table notifications (
  id bigint not null generated always as identity,
  provider text not null,
  raw_body text not null,
  trans_id text,
  content_hash bytea,
  amount_minor bigint,
  trans_time timestamp with time zone,
  business_short_code text,
  bill_ref text,
  payer text,
  status notification_status not null,
  outcome notification_outcome,
  flags text[] not null default '{}'::text[],
  payment_id bigint,
  conflict_payment_id bigint,
  failure text,
  attempts integer not null default 0,
  received_at timestamp with time zone not null default now(),
  processed_at timestamp with time zone,
  constraint notifications_check CHECK (((status <> 'processed'::notification_status) OR (outcome IS NOT NULL))),
  constraint notifications_check1 CHECK ((((outcome = 'conflict'::notification_outcome) IS NOT TRUE) OR (conflict_payment_id IS NOT NULL))),
  constraint notifications_conflict_payment_id_fkey FOREIGN KEY (conflict_payment_id) REFERENCES payments(id),
  constraint notifications_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint notifications_pkey PRIMARY KEY (id),
  constraint notifications_content_unique UNIQUE (provider, trans_id, content_hash)
);
CREATE INDEX notifications_conflict ON public.notifications USING btree (conflict_payment_id) WHERE (outcome = 'conflict'::notification_outcome);
CREATE INDEX notifications_payment ON public.notifications USING btree (payment_id);
CREATE INDEX notifications_pending ON public.notifications USING btree (id) WHERE (status = 'pending'::notification_status);
CREATE INDEX notifications_received ON public.notifications USING btree (received_at, id);

create table pay_plans (
  id bigint not null generated always as identity,
  name text not null,
  product_id bigint,
  deposit_minor bigint not null,
  instalment_minor bigint not null,
  instalment_count integer not null,
  frequency frequency not null,
  grace_days integer not null,
  auto_suspend boolean not null default false,
  active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint pay_plans_deposit_minor_check CHECK ((deposit_minor >= 0)),
  constraint pay_plans_grace_days_check CHECK (((grace_days >= 0) AND (grace_days <= 365))),
  constraint pay_plans_instalment_count_check CHECK (((instalment_count >= 1) AND (instalment_count <= 10000))),
  constraint pay_plans_instalment_minor_check CHECK ((instalment_minor > 0)),
  constraint pay_plans_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id),
  constraint pay_plans_pkey PRIMARY KEY (id),
  constraint pay_plans_name_unique UNIQUE (name)
);

create table payment_methods (
  id bigint not null generated always as identity,
  code text not null,
  name text not null,
  active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint payment_methods_pkey PRIMARY KEY (id),
  constraint payment_methods_code_unique UNIQUE (code)
);

create table payments (
  id bigint not null generated always as identity,
  account_id bigint,
  amount_minor bigint not null,
  payment_method_id bigint not null,
  transaction_ref text,
  payment_date date not null,
  status payment_status not null,
  source payment_source not null,
  match_method match_method,
  provider text,
  provider_trans_id text,
  reversed_at timestamp with time zone,
  reversal_reason text,
  created_by bigint,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint payments_amount_minor_check CHECK ((amount_minor > 0)),
  constraint payments_check CHECK (((status = 'reversed'::payment_status) = (reversed_at IS NOT NULL))),
  constraint payments_check1 CHECK (((status <> 'matched'::payment_status) OR (account_id IS NOT NULL))),
  constraint payments_check2 CHECK (((status <> 'unmatched'::payment_status) OR (account_id IS NULL))),
  constraint payments_check3 CHECK (((provider IS NULL) = (provider_trans_id IS NULL))),
  constraint payments_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payments_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint payments_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint payments_pkey PRIMARY KEY (id),
  constraint payments_trans_id_unique UNIQUE (provider, provider_trans_id)
);
CREATE INDEX payments_account ON public.payments USING btree (account_id, payment_date, id);
CREATE INDEX payments_created ON public.payments USING btree (created_at, id);
CREATE INDEX payments_date ON public.payments USING btree (payment_date, id);
CREATE INDEX payments_unmatched ON public.payments USING btree (created_at, id) WHERE (status = 'unmatched'::payment_status);
CREATE UNIQUE INDEX payments_transaction_ref_unique ON public.payments USING btree (payment_method_id, upper(transaction_ref)) WHERE ((status <> 'reversed'::payment_status) AND (transaction_ref IS NOT NULL));

create table products (
  id bigint not null generated always as identity,
  sku text not null,
  name text not null,
  category text not null,
  description text not null default ''::text,
  price_minor bigint not null,
  active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint products_price_minor_check CHECK ((price_minor >= 0)),
  constraint products_pkey PRIMARY KEY (id),
  constraint products_sku_unique UNIQUE (sku)
);

create table refresh_tokens (
  token_hash bytea not null,
  session_id uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE,
  constraint refresh_tokens_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX refresh_tokens_session ON public.refresh_tokens USING btree (session_id);

create table sessions (
  id uuid not null,
  user_id bigint not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  constraint sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint sessions_pkey PRIMARY KEY (id)
);
CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_user ON public.sessions USING btree (user_id) WHERE (revoked_at IS NULL);

create table settings (
  key text not null,
  value text not null,
  constraint settings_pkey PRIMARY KEY (key)
);

create table users (
  id bigint not null generated always as identity,
  email text not null,
  email_key text not null,
  first_name text not null,
  last_name text not null,
  password_hash text,
  role user_role not null,
  active boolean not null default true,
  employee_id bigint,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint users_employee_id_fkey FOREIGN KEY (employee_id) REFERENCES employees(id),
  constraint users_pkey PRIMARY KEY (id),
  constraint users_email_unique UNIQUE (email_key)
);

CREATE OR REPLACE FUNCTION public.ledger_events_must_balance()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from added group by event_id having sum(amount_minor) <> 0) then
    raise exception 'the entries of a ledger event must sum to zero' using errcode = 'check_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.payment_money_is_frozen()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the money of payment % cannot be edited', old.id using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.rows_are_never_edited()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE TRIGGER audit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_entries FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER ledger_events_balance AFTER INSERT ON public.ledger_entries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_events_must_balance();

CREATE TRIGGER payments_money_frozen BEFORE UPDATE ON public.payments FOR EACH ROW WHEN (((((old.amount_minor IS DISTINCT FROM new.amount_minor) OR (old.payment_method_id IS DISTINCT FROM new.payment_method_id)) OR (old.payment_date IS DISTINCT FROM new.payment_date)) OR (old.transaction_ref IS DISTINCT FROM new.transaction_ref))) EXECUTE FUNCTION payment_money_is_frozen();
