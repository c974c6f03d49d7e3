-- Configurations, KYC, reconciliation, commissions, and stored answers for repeated requests.

create table product_configurations (
  id bigint generated always as identity primary key,
  product_id bigint not null references products,
  name text not null,
  attributes jsonb not null,
  price_minor bigint check (price_minor >= 0), -- null: the product's price
  is_default boolean not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint product_configurations_name_unique unique (product_id, name)
);
create unique index product_configurations_one_default on product_configurations (product_id) where is_default;

-- KYC: each submission adds a record; the customer shows the newest status ------------------------

create type verification_type as enum (
  'national_id', 'passport', 'alien_id', 'driving_licence', 'voter_id', 'tax_pin', 'business_registration'
);
create type verification_status as enum ('pending', 'verified', 'rejected', 'expired');

create table kyc_records (
  id bigint generated always as identity primary key,
  customer_id bigint not null references customers,
  verification_type verification_type not null,
  verification_status verification_status not null,
  documents jsonb not null,
  created_by bigint references users,
  created_at timestamptz(3) not null default now()
);
create index kyc_records_customer on kyc_records (customer_id, id);

alter table customers add column kyc_status verification_status;

-- Reconciliation: a batch proves that money arrived ------------------------------------------------

create table reconciliations (
  id bigint generated always as identity primary key,
  reconciliation_date date not null,
  total_minor bigint not null,
  payment_ids bigint[] not null, -- ascending
  payment_count integer not null generated always as (cardinality(payment_ids)) stored check (payment_count > 0),
  created_by bigint references users,
  created_at timestamptz(3) not null default now()
);
create index reconciliations_created on reconciliations (created_at, id);

alter table payments
  add column reconciliation_id bigint references reconciliations,
  add column reconciliation_date date,
  add constraint payments_reconciled_wholly check ((reconciliation_id is null) = (reconciliation_date is null));
-- Most payments are written twice: when they are received, and when they are reconciled. The second write changes no index, as long
-- as no index contains the written columns, and the page has room for a second version of the row. That version is a little longer.
alter table payments set (fillfactor = 45);

create function payment_is_reconciled_once() returns trigger language plpgsql as $$
begin
  raise exception 'payment % is reconciled already', old.id using errcode = 'restrict_violation';
end $$;

create trigger payments_reconciled_once before update on payments for each row
  when (old.reconciliation_id is not null
    and (old.reconciliation_id, old.reconciliation_date)
      is distinct from (new.reconciliation_id, new.reconciliation_date))
  execute function payment_is_reconciled_once();

-- Commissions --------------------------------------------------------------------------------------

-- The newest version of a category's rule applies. The empty category has the default rule for all other categories.
create table commission_rules (
  id bigint generated always as identity primary key,
  category text not null,
  version integer not null check (version > 0),
  rate_basis_points integer not null check (rate_basis_points between 0 and 10000),
  created_by bigint references users,
  created_at timestamptz(3) not null default now(),
  constraint commission_rules_version_unique unique (category, version)
);

create type commission_status as enum ('calculated', 'approved', 'paid');

create table commissions (
  id bigint generated always as identity primary key,
  employee_id bigint not null references employees,
  period text not null check (period ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  status commission_status not null,
  total_minor bigint not null,
  paid_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint commissions_period_unique unique (employee_id, period)
);

create table commission_lines (
  commission_id bigint not null references commissions,
  line_number integer not null,
  account_id bigint references accounts,
  product_id bigint references products,
  sale_date date,
  quantity integer not null check (quantity > 0),
  base_minor bigint not null check (base_minor >= 0),
  rule_id bigint references commission_rules, -- null: the built-in default of 0
  rate_basis_points integer not null,
  amount_minor bigint not null,
  primary key (commission_id, line_number)
);
create index accounts_employee on accounts (employee_id, activation_date) where employee_id is not null;

-- Stored answers for requests that are repeated with the same Idempotency-Key -------------------------

create table idempotency_keys (
  user_id bigint not null references users,
  path text not null,
  key text not null,
  body_hash bytea not null,
  status integer,
  answer text,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, path, key)
);
create index idempotency_keys_created on idempotency_keys (created_at);
