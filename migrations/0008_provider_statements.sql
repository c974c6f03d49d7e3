-- The statements of the mobile-money provider. Every line should correspond to one recorded payment, and every payment to one line.

create type provider_statement_status as enum (
  'received', 'matching', 'taking_in', 'reconciling', 'done', 'failed'
);

create table provider_statements (
  id bigint generated always as identity primary key,
  status provider_statement_status not null,
  content_sha256 bytea, -- null only in the transaction of the upload, until the whole file has arrived
  organisation text,
  short_code text,
  line_count integer not null default 0,
  payment_count integer not null default 0, -- the number of lines to compare: completed, paid in, the first with their receipt
  first_completed_at timestamptz(3),
  last_completed_at timestamptz(3),
  -- The business days of first_completed_at and last_completed_at.
  period_start date,
  period_end date,
  compared_count integer not null default 0,
  taken_in_count integer not null default 0,
  reconciled_count integer not null default 0,
  -- The progress of the work, so that another process can continue if a process dies.
  compared_to_line integer not null default 0,
  searched_to_date date,
  searched_to_payment bigint,
  taken_in_to_line integer not null default 0,
  reconciled_to_line integer not null default 0,
  -- The user who requested the reconciliation, and its date.
  reconciling_by bigint references users,
  reconciling_date date,
  attempts integer not null default 0, -- failed attempts since the last progress
  failure text,
  created_by bigint references users,
  progressed_at timestamptz(3) not null default now(),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'failed') = (failure is not null)),
  constraint provider_statements_content_unique unique (content_sha256)
);
create index provider_statements_created on provider_statements (created_at, id);
create index provider_statements_at_work on provider_statements (progressed_at) where status not in ('done', 'failed');

create type provider_line_result as enum (
  'matched', 'amount_differs', 'missing_in_books', 'reversed_in_books', 'reversed_at_provider', 'missing_at_provider',
  'other', 'repeated', 'contradictory', 'unreadable'
);

create table provider_statement_lines (
  id bigint generated always as identity primary key,
  statement_id bigint not null references provider_statements,
  line_number integer, -- null for a payment that the file lacks
  is_payment boolean not null, -- whether the line is compared: completed, paid in, the first with its receipt
  is_reversal boolean not null default false, -- completed, withdrawn: the provider took back the payment in linked_receipt
  result provider_line_result, -- null until it is compared
  problem text,
  receipt text, -- in the form of payments.reference_key
  completed_at timestamptz(3),
  amount_minor bigint, -- negative for a withdrawal
  reference text, -- the account that the payer typed
  payer text,
  payer_name text,
  provider_status text,
  details text,
  linked_receipt text,
  payment_id bigint references payments,
  day_differs boolean -- the books have the payment on another day
);
create index provider_statement_lines_number on provider_statement_lines (statement_id, line_number);
create index provider_statement_lines_result on provider_statement_lines (statement_id, result, line_number);
create index provider_statement_lines_receipt on provider_statement_lines (receipt) where is_payment;
create index provider_statement_lines_reversal on provider_statement_lines (linked_receipt) where is_reversal;
create index provider_statement_lines_payment on provider_statement_lines (payment_id) where payment_id is not null;

-- Stored sums of the lines, so that a list of statements need not add up lines.
create table provider_statement_totals (
  statement_id bigint not null references provider_statements,
  result provider_line_result not null,
  line_count integer not null,
  amount_minor bigint not null,
  primary key (statement_id, result)
);

alter table reconciliations add column provider_statement_id bigint references provider_statements;
create index reconciliations_statement on reconciliations (provider_statement_id)
  where provider_statement_id is not null;

-- Whether the provider posted the notification, or it was imported from a statement.
alter table notifications add column source payment_source not null default 'webhook';
