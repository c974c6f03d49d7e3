-- Generated from the migrations by `npm run generate`.

create type account_status as enum ('pending', 'active', 'suspended', 'defaulted', 'repossessed', 'completed', 'written_off', 'cancelled');

create type approval_action as enum ('reverse_payment', 'correct_payment', 'unassign_payment', 'refund_credit', 'transfer_credit', 'write_off_account', 'cancel_account', 'change_plan', 'start_bulk_deferral', 'undo_bulk_deferral');

create type approval_status as enum ('pending', 'approved', 'rejected', 'withdrawn', 'obsolete');

create type balance_gap_state as enum ('open', 'payments_found', 'money_left');

create type bulk_deferral_problem as enum ('status', 'plan_changed', 'money_posted', 'not_possible', 'later_change', 'already_undone', 'failed', 'stopped');

create type bulk_deferral_state as enum ('selected', 'refused', 'waiting', 'deferred', 'skipped', 'undone', 'not_undone');

create type bulk_deferral_status as enum ('previewing', 'draft', 'expired', 'running', 'done', 'undoing', 'undone', 'failed');

create type call_kind as enum ('call', 'visit');

create type call_result as enum ('no_answer', 'wrong_number', 'reached', 'promise', 'dispute', 'other');

create type cash_count_status as enum ('open', 'closed');

create type cash_handover_status as enum ('pending', 'received', 'unequal', 'withdrawn', 'deposited', 'confirmed', 'rejected');

create type cash_settlement_kind as enum ('difference', 'closing');

create type cash_settlement_status as enum ('requested', 'confirmed', 'rejected');

create type commission_status as enum ('calculated', 'approved', 'paid');

create type customer_language as enum ('en', 'sw');

create type frequency as enum ('daily', 'weekly', 'monthly');

create type import_status as enum ('uploading', 'checking', 'checked', 'running', 'done', 'failed', 'undoing', 'undone');

create type invitation_purpose as enum ('sign_up', 'link_identity');

create type invoice_status as enum ('issued', 'void');

create type judged_promise_state as enum ('kept', 'partly_kept', 'broken', 'void', 'replaced');

create type ledger_account as enum ('receivable', 'sales', 'clearing', 'customer_credit', 'unmatched', 'bad_debt', 'recovery');

create type ledger_event as enum ('account_opened', 'account_cancelled', 'account_written_off', 'payment_received', 'payment_assigned', 'payment_unassigned', 'payment_reversed', 'credit_transferred', 'credit_refunded', 'price_discounted', 'price_corrected', 'price_raised');

create type match_method as enum ('account_number', 'national_id', 'phone', 'account_id', 'payer_phone', 'learned', 'manual_entry', 'assigned', 'payment_request');

create type notification_outcome as enum ('matched', 'unmatched', 'linked', 'conflict', 'differs', 'repeated');

create type notification_status as enum ('pending', 'processed', 'rejected');

create type payment_request_status as enum ('requested', 'sent', 'unknown', 'paid', 'declined', 'expired');

create type payment_source as enum ('manual', 'webhook', 'import', 'pull');

create type payment_status as enum ('matched', 'unmatched', 'reversed');

create type phone_problem as enum ('invalid', 'other_customer', 'other_account');

create type plan_change_kind as enum ('deferral', 'revision', 'discount', 'price_correction', 'price_rise', 'sale_correction', 'payoff', 'undo', 'imported');

create type provider_line_result as enum ('matched', 'conflict', 'amount_differs', 'missing_in_books', 'reversed_in_books', 'reversed_at_provider', 'missing_at_provider', 'other', 'repeated', 'contradictory', 'unreadable');

create type provider_statement_status as enum ('received', 'matching', 'importing', 'reconciling', 'done', 'failed');

create type status_cause as enum ('non_payment', 'payment');

create type status_query_state as enum ('requested', 'answered', 'not_found', 'failed', 'unanswered');

create type user_role as enum ('admin', 'manager', 'finance', 'agent', 'collector', 'viewer');

create type verification_status as enum ('pending', 'verified', 'rejected', 'expired');

create type verification_type as enum ('national_id', 'passport', 'alien_id', 'driving_licence', 'voter_id', 'tax_pin', 'business_registration');

create table account_status_changes (
  id bigint not null generated always as identity,
  account_id bigint not null,
  from_status account_status,
  to_status account_status not null,
  reason text,
  cause status_cause,
  actor_user_id bigint,
  changed_on date not null,
  created_at timestamp(3) with time zone not null default business_now(),
  api_key_id bigint,
  constraint account_status_changes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint account_status_changes_actor_user_id_fkey FOREIGN KEY (actor_user_id) REFERENCES users(id),
  constraint account_status_changes_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint account_status_changes_pkey PRIMARY KEY (id)
);
CREATE INDEX account_status_changes_account ON public.account_status_changes USING btree (account_id, id);
CREATE INDEX account_status_changes_day ON public.account_status_changes USING btree (changed_on);

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
  total_minor bigint not null default 0,
  paid_minor bigint not null default 0,
  receivable_minor bigint not null,
  credit_minor bigint not null default 0,
  written_off_minor bigint not null default 0,
  paid_month date,
  paid_month_minor bigint not null default 0,
  written_off_on date,
  reprieved_on date,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  next_due_date date,
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  event_count bigint not null default 0,
  import_id bigint,
  run_anchor date[],
  run_unit text[],
  run_every integer[],
  run_place integer[],
  run_count integer[],
  run_amount_minor bigint[],
  run_from date[],
  run_before_minor bigint[],
  plan_version integer not null default 0,
  restructured_kind plan_change_kind,
  restructured_on date,
  original_due_date date,
  constraint accounts_check CHECK (((paid_month IS NOT NULL) OR (paid_month_minor = 0))),
  constraint accounts_credit_minor_check CHECK ((credit_minor >= 0)),
  constraint accounts_deposit_minor_check CHECK ((deposit_minor >= 0)),
  constraint accounts_grace_days_check CHECK ((grace_days >= 0)),
  constraint accounts_instalment_count_check CHECK ((instalment_count >= 0)),
  constraint accounts_instalment_minor_check CHECK ((instalment_minor > 0)),
  constraint accounts_paid_minor_check CHECK (((paid_minor >= '-999999999999999'::bigint) AND (paid_minor <= '999999999999999'::bigint))),
  constraint accounts_paid_month_check CHECK ((EXTRACT(day FROM paid_month) = (1)::numeric)),
  constraint accounts_receivable_minor_check CHECK ((receivable_minor >= 0)),
  constraint accounts_runs_check CHECK (((num_nonnulls(run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor) = 0) OR (((num_nonnulls(run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor) = 8) AND are_parallel_runs(run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor) AND (run_unit <@ ARRAY['day'::text, 'month'::text]) AND (0 < ALL (run_every)) AND (0 <= ALL (run_place)) AND (0 < ALL (run_count)) AND (0 < ALL (run_amount_minor)) AND (run_before_minor[1] = deposit_minor)) IS TRUE))),
  constraint accounts_total_check CHECK ((total_minor >= 0)),
  constraint accounts_written_off_minor_check CHECK ((written_off_minor >= 0)),
  constraint accounts_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
  constraint accounts_employee_id_fkey FOREIGN KEY (employee_id) REFERENCES employees(id),
  constraint accounts_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint accounts_payplan_id_fkey FOREIGN KEY (payplan_id) REFERENCES pay_plans(id),
  constraint accounts_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id),
  constraint accounts_pkey PRIMARY KEY (id)
);
CREATE INDEX accounts_created ON public.accounts USING btree (created_at, id);
CREATE INDEX accounts_credit ON public.accounts USING btree (credit_minor, id) WHERE (credit_minor > 0);
CREATE INDEX accounts_customer ON public.accounts USING btree (customer_id, id);
CREATE INDEX accounts_employee ON public.accounts USING btree (employee_id, activation_date) WHERE (employee_id IS NOT NULL);
CREATE INDEX accounts_grace ON public.accounts USING btree (payplan_id, ((GREATEST(next_due_date, reprieved_on) + grace_days))) WHERE (status = 'active'::account_status);
CREATE INDEX accounts_import ON public.accounts USING btree (import_id) WHERE (import_id IS NOT NULL);
CREATE INDEX accounts_metadata ON public.accounts USING gin (metadata jsonb_path_ops) WHERE (metadata <> '{}'::jsonb);
CREATE INDEX accounts_next_due ON public.accounts USING btree (next_due_date, id);
CREATE INDEX accounts_original_due ON public.accounts USING btree (original_due_date) WHERE (original_due_date IS NOT NULL);
CREATE INDEX accounts_pending ON public.accounts USING btree (activation_date) WHERE (status = 'pending'::account_status);
CREATE INDEX accounts_quoted_external_id ON public.accounts USING btree (without_quotes(external_id)) WHERE (external_id <> without_quotes(external_id));
CREATE INDEX accounts_restructured ON public.accounts USING btree (restructured_on, id) WHERE (restructured_on IS NOT NULL);
CREATE INDEX accounts_status_created ON public.accounts USING btree (status, created_at, id);
CREATE INDEX accounts_with_runs ON public.accounts USING btree (id) WHERE (run_anchor IS NOT NULL);
CREATE INDEX accounts_written_off ON public.accounts USING btree (written_off_on) WHERE (written_off_on IS NOT NULL);
CREATE UNIQUE INDEX accounts_external_id_unique ON public.accounts USING btree (external_id) WHERE (external_id IS NOT NULL);

create table api_key_secrets (
  secret_hash bytea not null,
  api_key_id bigint not null,
  hint text not null,
  replaced_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  constraint api_key_secrets_sha256 CHECK ((octet_length(secret_hash) = 32)),
  constraint api_key_secrets_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint api_key_secrets_pkey PRIMARY KEY (secret_hash)
);
CREATE INDEX api_key_secrets_key ON public.api_key_secrets USING btree (api_key_id);
CREATE UNIQUE INDEX api_key_secrets_newest ON public.api_key_secrets USING btree (api_key_id) WHERE (replaced_at IS NULL);

create table api_keys (
  id bigint not null generated always as identity,
  name text not null,
  role user_role,
  permissions text[],
  networks text[],
  expires_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  last_used_address text,
  created_by bigint,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  constraint api_keys_one_grant CHECK (((role IS NULL) <> (permissions IS NULL))),
  constraint api_keys_some_network CHECK ((cardinality(networks) > 0)),
  constraint api_keys_some_permission CHECK ((cardinality(permissions) > 0)),
  constraint api_keys_used_wholly CHECK (((last_used_at IS NULL) = (last_used_address IS NULL))),
  constraint api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint api_keys_pkey PRIMARY KEY (id)
);
CREATE INDEX api_keys_created ON public.api_keys USING btree (created_at, id);

create table approvals (
  id bigint not null generated always as identity,
  action approval_action not null,
  status approval_status not null default 'pending'::approval_status,
  account_id bigint,
  payment_id bigint,
  to_account_id bigint,
  amount_minor bigint not null,
  counted_minor bigint not null,
  reason text not null,
  body jsonb not null,
  facts jsonb not null,
  requested_by bigint,
  api_key_id bigint,
  responsible_user_id bigint,
  decided_by bigint,
  decision_reason text,
  final_facts jsonb,
  credit_move_id bigint,
  ended_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  bulk_deferral_id bigint,
  constraint approvals_amount CHECK (((amount_minor > 0) AND (counted_minor >= amount_minor))),
  constraint approvals_credit_move CHECK (((credit_move_id IS NOT NULL) = ((status = 'approved'::approval_status) AND (action = ANY (ARRAY['refund_credit'::approval_action, 'transfer_credit'::approval_action]))))),
  constraint approvals_decided CHECK (((status = ANY (ARRAY['approved'::approval_status, 'rejected'::approval_status])) = (decided_by IS NOT NULL))),
  constraint approvals_ended CHECK (((status = 'pending'::approval_status) = (ended_at IS NULL))),
  constraint approvals_obsolete CHECK (((status = 'obsolete'::approval_status) = (final_facts IS NOT NULL))),
  constraint approvals_of_account CHECK (((account_id IS NOT NULL) OR ((action)::text = ANY (ARRAY['reverse_payment'::text, 'start_bulk_deferral'::text, 'undo_bulk_deferral'::text])))),
  constraint approvals_of_bulk_deferral CHECK (((bulk_deferral_id IS NOT NULL) = ((action)::text = ANY (ARRAY['start_bulk_deferral'::text, 'undo_bulk_deferral'::text])))),
  constraint approvals_of_payment CHECK (((payment_id IS NOT NULL) = ((action)::text = ANY (ARRAY['reverse_payment'::text, 'correct_payment'::text, 'unassign_payment'::text])))),
  constraint approvals_of_transfer CHECK (((to_account_id IS NOT NULL) = (action = 'transfer_credit'::approval_action))),
  constraint approvals_one_requester CHECK ((num_nonnulls(requested_by, api_key_id) = 1)),
  constraint approvals_rejection CHECK (((status = 'rejected'::approval_status) = (decision_reason IS NOT NULL))),
  constraint approvals_responsible CHECK (((requested_by IS NULL) OR (NOT (responsible_user_id IS DISTINCT FROM requested_by)))),
  constraint approvals_two_people CHECK ((decided_by <> responsible_user_id)),
  constraint approvals_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint approvals_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint approvals_bulk_deferral_id_fkey FOREIGN KEY (bulk_deferral_id) REFERENCES bulk_deferrals(id),
  constraint approvals_credit_move_id_fkey FOREIGN KEY (credit_move_id) REFERENCES credit_moves(id),
  constraint approvals_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users(id),
  constraint approvals_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint approvals_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES users(id),
  constraint approvals_responsible_user_id_fkey FOREIGN KEY (responsible_user_id) REFERENCES users(id),
  constraint approvals_to_account_id_fkey FOREIGN KEY (to_account_id) REFERENCES accounts(id),
  constraint approvals_pkey PRIMARY KEY (id)
);
CREATE INDEX approvals_account ON public.approvals USING btree (account_id, id);
CREATE INDEX approvals_created ON public.approvals USING btree (created_at, id);
CREATE INDEX approvals_credit_move ON public.approvals USING btree (credit_move_id) WHERE (credit_move_id IS NOT NULL);
CREATE INDEX approvals_payment ON public.approvals USING btree (payment_id) WHERE (payment_id IS NOT NULL);
CREATE UNIQUE INDEX approvals_pending_account ON public.approvals USING btree (account_id) WHERE ((status = 'pending'::approval_status) AND (payment_id IS NULL));
CREATE UNIQUE INDEX approvals_pending_bulk_deferral ON public.approvals USING btree (bulk_deferral_id) WHERE ((status = 'pending'::approval_status) AND (bulk_deferral_id IS NOT NULL));
CREATE UNIQUE INDEX approvals_pending_payment ON public.approvals USING btree (payment_id) WHERE ((status = 'pending'::approval_status) AND (payment_id IS NOT NULL));

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
  created_at timestamp(3) with time zone not null default business_now(),
  api_key_id bigint,
  has_event boolean not null default false,
  constraint audit_entries_actor_user_id_fkey FOREIGN KEY (actor_user_id) REFERENCES users(id),
  constraint audit_entries_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint audit_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_entries_api_key ON public.audit_entries USING btree (api_key_id, created_at, id) WHERE (api_key_id IS NOT NULL);
CREATE INDEX audit_entries_created ON public.audit_entries USING btree (created_at, id);
CREATE INDEX audit_entries_resource ON public.audit_entries USING btree (resource, resource_id, id);
CREATE INDEX audit_entries_user ON public.audit_entries USING btree (actor_user_id, created_at, id) WHERE (actor_user_id IS NOT NULL);

create table balance_gaps (
  id bigint not null generated always as identity,
  provider text not null,
  short_code text not null,
  state balance_gap_state not null default 'open'::balance_gap_state,
  from_time timestamp(3) with time zone not null,
  until_time timestamp(3) with time zone not null,
  difference_minor bigint not null,
  late_minor bigint not null default 0,
  found_minor bigint not null default 0,
  created_at timestamp(3) with time zone not null default business_now(),
  explained_at timestamp(3) with time zone,
  constraint balance_gaps_difference_minor_check CHECK ((difference_minor <> 0)),
  constraint balance_gaps_explained CHECK (((state = 'open'::balance_gap_state) = (explained_at IS NULL))),
  constraint balance_gaps_period CHECK ((from_time <= until_time)),
  constraint balance_gaps_pkey PRIMARY KEY (id)
);
CREATE INDEX balance_gaps_open ON public.balance_gaps USING btree (provider, short_code, id) WHERE (state = 'open'::balance_gap_state);

create table bulk_deferral_accounts (
  bulk_deferral_id bigint not null,
  id bigint not null generated always as identity,
  account_id bigint not null,
  state bulk_deferral_state not null default 'selected'::bulk_deferral_state,
  plan_version integer,
  paid_minor bigint,
  balance_minor bigint,
  arrears_moved_minor bigint,
  problem bulk_deferral_problem,
  problem_text text,
  change_id bigint,
  constraint bulk_deferral_accounts_change CHECK (((change_id IS NOT NULL) = (state = ANY (ARRAY['deferred'::bulk_deferral_state, 'undone'::bulk_deferral_state, 'not_undone'::bulk_deferral_state])))),
  constraint bulk_deferral_accounts_preview CHECK (((state = ANY (ARRAY['selected'::bulk_deferral_state, 'refused'::bulk_deferral_state])) OR (num_nulls(plan_version, paid_minor, balance_minor, arrears_moved_minor) = 0))),
  constraint bulk_deferral_accounts_problem CHECK ((((problem IS NOT NULL) = (state = ANY (ARRAY['refused'::bulk_deferral_state, 'skipped'::bulk_deferral_state, 'not_undone'::bulk_deferral_state]))) AND ((problem IS NULL) = (problem_text IS NULL)))),
  constraint bulk_deferral_accounts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint bulk_deferral_accounts_bulk_deferral_id_fkey FOREIGN KEY (bulk_deferral_id) REFERENCES bulk_deferrals(id),
  constraint bulk_deferral_accounts_change_id_fkey FOREIGN KEY (change_id) REFERENCES plan_changes(id),
  constraint bulk_deferral_accounts_pkey PRIMARY KEY (bulk_deferral_id, id),
  constraint bulk_deferral_accounts_bulk_deferral_id_account_id_key UNIQUE (bulk_deferral_id, account_id)
);
CREATE INDEX bulk_deferral_accounts_account ON public.bulk_deferral_accounts USING btree (account_id);
CREATE INDEX bulk_deferral_accounts_state ON public.bulk_deferral_accounts USING btree (bulk_deferral_id, state, id);
CREATE UNIQUE INDEX bulk_deferral_accounts_of_change ON public.bulk_deferral_accounts USING btree (change_id) WHERE (change_id IS NOT NULL);

create table bulk_deferrals (
  id bigint not null generated always as identity,
  status bulk_deferral_status not null default 'previewing'::bulk_deferral_status,
  filter jsonb not null,
  body jsonb not null,
  prepared_on date not null,
  selected_count integer not null,
  deferrable_count integer,
  balance_minor bigint,
  arrears_moved_minor bigint,
  created_by bigint,
  created_by_key_id bigint,
  actor_user_id bigint,
  api_key_id bigint,
  approval_id bigint,
  undo_reason text,
  failure text,
  started_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint bulk_deferrals_preview CHECK (((status = ANY (ARRAY['previewing'::bulk_deferral_status, 'expired'::bulk_deferral_status, 'failed'::bulk_deferral_status])) OR (num_nulls(deferrable_count, balance_minor, arrears_moved_minor) = 0))),
  constraint bulk_deferrals_selected_count_check CHECK ((selected_count > 0)),
  constraint bulk_deferrals_started CHECK (((started_at IS NOT NULL) = (status = ANY (ARRAY['running'::bulk_deferral_status, 'done'::bulk_deferral_status, 'undoing'::bulk_deferral_status, 'undone'::bulk_deferral_status])))),
  constraint bulk_deferrals_actor_user_id_fkey FOREIGN KEY (actor_user_id) REFERENCES users(id),
  constraint bulk_deferrals_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint bulk_deferrals_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint bulk_deferrals_created_by_key_id_fkey FOREIGN KEY (created_by_key_id) REFERENCES api_keys(id),
  constraint bulk_deferrals_pkey PRIMARY KEY (id)
);
CREATE INDEX bulk_deferrals_approval ON public.bulk_deferrals USING btree (approval_id) WHERE (approval_id IS NOT NULL);
CREATE INDEX bulk_deferrals_at_work ON public.bulk_deferrals USING btree (status) WHERE (status = ANY (ARRAY['previewing'::bulk_deferral_status, 'draft'::bulk_deferral_status, 'running'::bulk_deferral_status, 'undoing'::bulk_deferral_status]));
CREATE INDEX bulk_deferrals_created ON public.bulk_deferrals USING btree (created_at, id);

create table call_leases (
  phone text not null,
  user_id bigint not null,
  expires_at timestamp(3) with time zone not null,
  constraint call_leases_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint call_leases_pkey PRIMARY KEY (phone)
);
CREATE INDEX call_leases_user ON public.call_leases USING btree (user_id);

create table call_mistakes (
  call_id bigint not null,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint call_mistakes_call_id_fkey FOREIGN KEY (call_id) REFERENCES calls(id),
  constraint call_mistakes_pkey PRIMARY KEY (call_id)
);

create table call_states (
  account_id bigint not null,
  assignee_id bigint,
  last_called_at timestamp(3) with time zone,
  hidden_until date,
  has_dispute boolean not null default false,
  wrong_phones text[],
  constraint call_states_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint call_states_assignee_id_fkey FOREIGN KEY (assignee_id) REFERENCES users(id),
  constraint call_states_pkey PRIMARY KEY (account_id)
);
CREATE INDEX call_states_assignee ON public.call_states USING btree (assignee_id) WHERE (assignee_id IS NOT NULL);
CREATE INDEX call_states_hidden_until ON public.call_states USING btree (hidden_until) WHERE (hidden_until IS NOT NULL);
CREATE INDEX call_states_last_called ON public.call_states USING btree (last_called_at, account_id) WHERE (last_called_at IS NOT NULL);

create table calls (
  id bigint not null generated always as identity,
  account_id bigint not null,
  kind call_kind not null,
  result call_result not null,
  phone text,
  note text,
  next_call_on date,
  called_on date not null,
  created_by bigint not null,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint calls_next_call CHECK (((next_call_on IS NOT NULL) = (result = ANY (ARRAY['reached'::call_result, 'other'::call_result])))),
  constraint calls_phone CHECK (((phone IS NOT NULL) = (kind = 'call'::call_kind))),
  constraint calls_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint calls_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint calls_pkey PRIMARY KEY (id)
);
CREATE INDEX calls_account ON public.calls USING btree (account_id, id);
CREATE INDEX calls_created ON public.calls USING btree (created_at, id);
CREATE INDEX calls_day ON public.calls USING btree (called_on, id);
CREATE INDEX calls_phone ON public.calls USING btree (phone, id) WHERE (phone IS NOT NULL);

create table cash_count_entries (
  entry_id bigint not null,
  count_id bigint not null,
  event ledger_event not null,
  payment_id bigint,
  constraint cash_count_entries_pkey PRIMARY KEY (entry_id),
  constraint cash_count_entries_payment_id_event_key UNIQUE (payment_id, event)
);
CREATE INDEX cash_count_entries_count ON public.cash_count_entries USING btree (count_id);

create table cash_count_moves (
  move_id bigint not null,
  count_id bigint not null,
  constraint cash_count_moves_count_id_fkey FOREIGN KEY (count_id) REFERENCES cash_counts(id) DEFERRABLE INITIALLY DEFERRED,
  constraint cash_count_moves_move_id_fkey FOREIGN KEY (move_id) REFERENCES cash_moves(id),
  constraint cash_count_moves_pkey PRIMARY KEY (move_id)
);
CREATE INDEX cash_count_moves_count ON public.cash_count_moves USING btree (count_id);

create table cash_counts (
  id bigint not null generated always as identity,
  holder_id bigint not null,
  payment_method_id bigint not null,
  number integer not null,
  counted_minor bigint not null,
  previous_minor bigint not null,
  entries_minor bigint not null,
  moves_minor bigint not null,
  expected_minor bigint not null generated always as (((previous_minor + entries_minor) + moves_minor)) stored,
  difference_minor bigint not null generated always as ((((counted_minor - previous_minor) - entries_minor) - moves_minor)) stored,
  is_earlier_cash boolean,
  status cash_count_status not null,
  reason text,
  counted_by bigint not null,
  confirmed_by bigint,
  closed_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint cash_counts_closed CHECK (((status = 'closed'::cash_count_status) = (closed_at IS NOT NULL))),
  constraint cash_counts_confirmed CHECK ((((confirmed_by IS NOT NULL) = ((number = 1) AND (status = 'closed'::cash_count_status))) AND ((confirmed_by IS NOT NULL) = (is_earlier_cash IS NOT NULL)))),
  constraint cash_counts_counted_minor_check CHECK ((counted_minor >= 0)),
  constraint cash_counts_explained CHECK (((status = 'open'::cash_count_status) OR (reason IS NOT NULL) OR (number = 1) OR (counted_minor = ((previous_minor + entries_minor) + moves_minor)))),
  constraint cash_counts_number_check CHECK ((number > 0)),
  constraint cash_counts_opening CHECK (((number > 1) OR (previous_minor = 0))),
  constraint cash_counts_previous_minor_check CHECK ((previous_minor >= 0)),
  constraint cash_counts_two_people CHECK (((confirmed_by <> holder_id) AND (confirmed_by <> counted_by))),
  constraint cash_counts_confirmed_by_fkey FOREIGN KEY (confirmed_by) REFERENCES users(id),
  constraint cash_counts_counted_by_fkey FOREIGN KEY (counted_by) REFERENCES users(id),
  constraint cash_counts_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES users(id),
  constraint cash_counts_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint cash_counts_pkey PRIMARY KEY (id),
  constraint cash_counts_holder_id_payment_method_id_number_key UNIQUE (holder_id, payment_method_id, number)
);
CREATE INDEX cash_counts_created ON public.cash_counts USING btree (created_at, id);
CREATE UNIQUE INDEX cash_counts_open ON public.cash_counts USING btree (holder_id, payment_method_id) WHERE (status = 'open'::cash_count_status);

create table cash_handovers (
  id bigint not null generated always as identity,
  from_user_id bigint not null,
  payment_method_id bigint not null,
  to_user_id bigint,
  amount_minor bigint not null,
  received_minor bigint,
  slip_number text,
  slip_key text,
  status cash_handover_status not null,
  decided_by bigint,
  decided_at timestamp(3) with time zone,
  statement_date date,
  statement_text text,
  reason text,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint cash_handovers_amount_minor_check CHECK ((amount_minor > 0)),
  constraint cash_handovers_bank CHECK ((((to_user_id IS NULL) = (status = ANY (ARRAY['deposited'::cash_handover_status, 'confirmed'::cash_handover_status, 'rejected'::cash_handover_status]))) AND ((to_user_id IS NULL) = (slip_number IS NOT NULL)) AND ((slip_number IS NULL) = (slip_key IS NULL)))),
  constraint cash_handovers_counts CHECK (
CASE status
    WHEN 'received'::cash_handover_status THEN COALESCE((received_minor = amount_minor), false)
    WHEN 'unequal'::cash_handover_status THEN COALESCE((received_minor <> amount_minor), false)
    ELSE (received_minor IS NULL)
END),
  constraint cash_handovers_decided CHECK ((((status = ANY (ARRAY['pending'::cash_handover_status, 'deposited'::cash_handover_status])) = (decided_at IS NULL)) AND ((decided_at IS NULL) = (decided_by IS NULL)))),
  constraint cash_handovers_other_user CHECK ((to_user_id <> from_user_id)),
  constraint cash_handovers_reason CHECK (((status = 'rejected'::cash_handover_status) = (reason IS NOT NULL))),
  constraint cash_handovers_received_minor_check CHECK ((received_minor >= 0)),
  constraint cash_handovers_receiver CHECK (((status <> ALL (ARRAY['received'::cash_handover_status, 'unequal'::cash_handover_status])) OR (decided_by = to_user_id))),
  constraint cash_handovers_statement CHECK ((((status = 'confirmed'::cash_handover_status) = (statement_date IS NOT NULL)) AND ((statement_date IS NULL) = (statement_text IS NULL)))),
  constraint cash_handovers_two_people CHECK (((status <> ALL (ARRAY['confirmed'::cash_handover_status, 'rejected'::cash_handover_status])) OR (decided_by <> from_user_id))),
  constraint cash_handovers_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users(id),
  constraint cash_handovers_from_user_id_fkey FOREIGN KEY (from_user_id) REFERENCES users(id),
  constraint cash_handovers_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint cash_handovers_to_user_id_fkey FOREIGN KEY (to_user_id) REFERENCES users(id),
  constraint cash_handovers_pkey PRIMARY KEY (id)
);
CREATE INDEX cash_handovers_created ON public.cash_handovers USING btree (created_at, id);
CREATE INDEX cash_handovers_from ON public.cash_handovers USING btree (from_user_id, id);
CREATE INDEX cash_handovers_open ON public.cash_handovers USING btree (id) WHERE (status = ANY (ARRAY['pending'::cash_handover_status, 'deposited'::cash_handover_status]));
CREATE INDEX cash_handovers_to ON public.cash_handovers USING btree (to_user_id, id) WHERE (to_user_id IS NOT NULL);
CREATE UNIQUE INDEX cash_handovers_slip ON public.cash_handovers USING btree (slip_key, payment_method_id) WHERE ((slip_key IS NOT NULL) AND (status <> 'rejected'::cash_handover_status));

create table cash_holders (
  user_id bigint not null,
  payment_method_id bigint not null,
  count_number integer not null default 0,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint cash_holders_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint cash_holders_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint cash_holders_pkey PRIMARY KEY (user_id, payment_method_id)
);

create table cash_moves (
  id bigint not null generated always as identity,
  holder_id bigint not null,
  payment_method_id bigint not null,
  amount_minor bigint not null,
  handover_id bigint,
  settlement_id bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint cash_moves_amount_minor_check CHECK ((amount_minor <> 0)),
  constraint cash_moves_cause CHECK ((num_nonnulls(handover_id, settlement_id) = 1)),
  constraint cash_moves_handover_id_fkey FOREIGN KEY (handover_id) REFERENCES cash_handovers(id),
  constraint cash_moves_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES users(id),
  constraint cash_moves_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint cash_moves_settlement_id_fkey FOREIGN KEY (settlement_id) REFERENCES cash_settlements(id),
  constraint cash_moves_pkey PRIMARY KEY (id)
);
CREATE INDEX cash_moves_holder ON public.cash_moves USING btree (holder_id, payment_method_id, created_at);
CREATE UNIQUE INDEX cash_moves_of_handover ON public.cash_moves USING btree (handover_id, holder_id, ((amount_minor < 0))) WHERE (handover_id IS NOT NULL);
CREATE UNIQUE INDEX cash_moves_of_settlement ON public.cash_moves USING btree (settlement_id, holder_id) WHERE (settlement_id IS NOT NULL);

create table cash_settlements (
  id bigint not null generated always as identity,
  kind cash_settlement_kind not null,
  holder_id bigint not null,
  payment_method_id bigint not null,
  amount_minor bigint,
  counted_minor bigint,
  reason text not null,
  status cash_settlement_status not null default 'requested'::cash_settlement_status,
  requested_by bigint not null,
  decided_by bigint,
  decided_at timestamp(3) with time zone,
  decision_reason text,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint cash_settlements_check CHECK (((amount_minor <> 0) OR (kind = 'closing'::cash_settlement_kind))),
  constraint cash_settlements_counted_minor_check CHECK ((counted_minor >= 0)),
  constraint cash_settlements_decided CHECK ((((status = 'requested'::cash_settlement_status) = (decided_by IS NULL)) AND ((decided_by IS NULL) = (decided_at IS NULL)) AND ((status = 'rejected'::cash_settlement_status) = (decision_reason IS NOT NULL)))),
  constraint cash_settlements_kind CHECK ((((kind = 'closing'::cash_settlement_kind) = (counted_minor IS NOT NULL)) AND ((kind = 'closing'::cash_settlement_kind) OR (amount_minor IS NOT NULL)) AND ((status <> 'confirmed'::cash_settlement_status) OR (amount_minor IS NOT NULL)))),
  constraint cash_settlements_two_people CHECK (((requested_by <> holder_id) AND ((status <> 'confirmed'::cash_settlement_status) OR ((decided_by <> requested_by) AND (decided_by <> holder_id))))),
  constraint cash_settlements_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users(id),
  constraint cash_settlements_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES users(id),
  constraint cash_settlements_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint cash_settlements_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES users(id),
  constraint cash_settlements_pkey PRIMARY KEY (id)
);
CREATE INDEX cash_settlements_created ON public.cash_settlements USING btree (created_at, id);
CREATE INDEX cash_settlements_holder ON public.cash_settlements USING btree (holder_id, payment_method_id);
CREATE UNIQUE INDEX cash_settlements_requested ON public.cash_settlements USING btree (holder_id, payment_method_id) WHERE (status = 'requested'::cash_settlement_status);

create table closed_disputes (
  call_id bigint not null,
  reason text not null,
  created_by bigint not null,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint closed_disputes_call_id_fkey FOREIGN KEY (call_id) REFERENCES calls(id),
  constraint closed_disputes_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint closed_disputes_pkey PRIMARY KEY (call_id)
);

create table commission_lines (
  commission_id bigint not null,
  line_number integer not null,
  account_id bigint,
  product_id bigint,
  sale_date date,
  quantity integer not null,
  base_minor bigint not null,
  rule_id bigint,
  rate_basis_points integer not null,
  amount_minor bigint not null,
  share_basis_points integer not null,
  constraint commission_lines_base_minor_check CHECK ((base_minor >= 0)),
  constraint commission_lines_quantity_check CHECK ((quantity > 0)),
  constraint commission_lines_share_basis_points_check CHECK (((share_basis_points >= 0) AND (share_basis_points <= 10000))),
  constraint commission_lines_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint commission_lines_commission_id_fkey FOREIGN KEY (commission_id) REFERENCES commissions(id),
  constraint commission_lines_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id),
  constraint commission_lines_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES commission_rules(id),
  constraint commission_lines_pkey PRIMARY KEY (commission_id, line_number)
);
CREATE UNIQUE INDEX commission_lines_account_unique ON public.commission_lines USING btree (account_id, commission_id) WHERE (account_id IS NOT NULL);

create table commission_rules (
  id bigint not null generated always as identity,
  category text not null,
  version integer not null,
  rate_basis_points integer not null,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint commission_rules_rate_basis_points_check CHECK (((rate_basis_points >= 0) AND (rate_basis_points <= 10000))),
  constraint commission_rules_version_check CHECK ((version > 0)),
  constraint commission_rules_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint commission_rules_pkey PRIMARY KEY (id),
  constraint commission_rules_version_unique UNIQUE (category, version)
);

create table commission_sales (
  account_id bigint not null,
  share_basis_points integer not null,
  constraint commission_sales_shared_once CHECK (((share_basis_points >= 0) AND (share_basis_points <= 10000))),
  constraint commission_sales_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint commission_sales_pkey PRIMARY KEY (account_id)
);

create table commissions (
  id bigint not null generated always as identity,
  employee_id bigint not null,
  period text not null,
  status commission_status not null,
  total_minor bigint not null,
  paid_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  calculated_by bigint,
  payment_reference text,
  is_derived boolean not null default false,
  constraint commissions_period_check CHECK ((period ~ '^\d{4}-(0[1-9]|1[0-2])$'::text)),
  constraint commissions_calculated_by_fkey FOREIGN KEY (calculated_by) REFERENCES users(id),
  constraint commissions_employee_id_fkey FOREIGN KEY (employee_id) REFERENCES employees(id),
  constraint commissions_pkey PRIMARY KEY (id),
  constraint commissions_period_unique UNIQUE (employee_id, period)
);

create table credit_moves (
  id bigint not null generated always as identity,
  account_id bigint not null,
  to_account_id bigint,
  amount_minor bigint not null,
  reason text not null,
  payment_method_id bigint,
  transaction_ref text,
  reference_key text,
  value_date date not null,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  import_id bigint,
  constraint credit_moves_amount_minor_check CHECK ((amount_minor > 0)),
  constraint credit_moves_check CHECK ((account_id <> to_account_id)),
  constraint credit_moves_check1 CHECK (((to_account_id IS NULL) = (payment_method_id IS NOT NULL))),
  constraint credit_moves_check2 CHECK (((transaction_ref IS NULL) OR (to_account_id IS NULL))),
  constraint credit_moves_check3 CHECK (((transaction_ref IS NULL) = (reference_key IS NULL))),
  constraint credit_moves_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint credit_moves_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint credit_moves_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint credit_moves_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint credit_moves_to_account_id_fkey FOREIGN KEY (to_account_id) REFERENCES accounts(id),
  constraint credit_moves_pkey PRIMARY KEY (id)
);
CREATE INDEX credit_moves_account ON public.credit_moves USING btree (account_id, id);
CREATE INDEX credit_moves_created ON public.credit_moves USING btree (created_at, id);
CREATE INDEX credit_moves_date ON public.credit_moves USING btree (value_date);
CREATE INDEX credit_moves_refunds ON public.credit_moves USING btree (payment_method_id, created_at) WHERE (to_account_id IS NULL);
CREATE INDEX credit_moves_to_account ON public.credit_moves USING btree (to_account_id, id) WHERE (to_account_id IS NOT NULL);
CREATE UNIQUE INDEX credit_moves_reference_unique ON public.credit_moves USING btree (reference_key, payment_method_id) WHERE (reference_key IS NOT NULL);

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
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  kyc_status verification_status,
  kyc_review_pending boolean not null default false,
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  import_id bigint,
  phone_problem phone_problem,
  second_phone text,
  language customer_language,
  constraint customers_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint customers_pkey PRIMARY KEY (id),
  constraint customers_email_unique UNIQUE (email_key),
  constraint customers_national_id_unique UNIQUE (national_id_key)
);
CREATE INDEX customers_created ON public.customers USING btree (created_at, id);
CREATE INDEX customers_import ON public.customers USING btree (import_id) WHERE (import_id IS NOT NULL);
CREATE INDEX customers_kyc_review ON public.customers USING btree (created_at, id) WHERE kyc_review_pending;
CREATE INDEX customers_metadata ON public.customers USING gin (metadata jsonb_path_ops) WHERE (metadata <> '{}'::jsonb);
CREATE INDEX customers_phone ON public.customers USING btree (phone);
CREATE INDEX customers_phone_end ON public.customers USING btree ("right"(phone, 3));
CREATE INDEX customers_phone_problem ON public.customers USING btree (created_at, id) WHERE (phone_problem IS NOT NULL);
CREATE INDEX customers_phone_sha256 ON public.customers USING btree (phone_sha256);
CREATE INDEX customers_quoted_external_id ON public.customers USING btree (without_quotes(external_id)) WHERE (external_id <> without_quotes(external_id));
CREATE INDEX customers_search ON public.customers USING gin (search_text gin_trgm_ops);
CREATE INDEX customers_search_key ON public.customers USING gin (search_key(search_text) gin_trgm_ops);
CREATE INDEX customers_second_phone ON public.customers USING btree (second_phone) WHERE (second_phone IS NOT NULL);
CREATE UNIQUE INDEX customers_external_id_unique ON public.customers USING btree (external_id) WHERE (external_id IS NOT NULL);

create table employees (
  id bigint not null generated always as identity,
  name text not null,
  phone text,
  active boolean not null default true,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  import_id bigint,
  constraint employees_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint employees_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX employees_external_id_unique ON public.employees USING btree (external_id) WHERE (external_id IS NOT NULL);

create table event_feed (
  deleted_to_id bigint not null,
  is_only_row boolean not null default true,
  constraint event_feed_is_only_row_check CHECK (is_only_row),
  constraint event_feed_pkey PRIMARY KEY (is_only_row)
);

create table events (
  id bigint not null,
  type text not null,
  version smallint not null,
  resource text not null,
  resource_id bigint,
  account_id bigint,
  account_version bigint,
  actor_user_id bigint,
  actor text not null,
  request_id text,
  data json not null,
  created_at timestamp(3) with time zone not null default business_now(),
  api_key_id bigint,
  constraint events_account_version CHECK (((account_id IS NULL) = (account_version IS NULL))),
  constraint events_pkey PRIMARY KEY (id)
);

create table hidden_call_notes (
  call_id bigint not null,
  reason text not null,
  created_by bigint not null,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint hidden_call_notes_call_id_fkey FOREIGN KEY (call_id) REFERENCES calls(id),
  constraint hidden_call_notes_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint hidden_call_notes_pkey PRIMARY KEY (call_id)
);

create table idempotency_keys (
  path text not null,
  key text not null,
  body_hash bytea not null,
  status integer,
  answer text,
  created_at timestamp(3) with time zone not null default business_now(),
  caller text not null,
  constraint idempotency_keys_pkey PRIMARY KEY (caller, path, key)
);
CREATE INDEX idempotency_keys_created ON public.idempotency_keys USING btree (created_at);

create table identities (
  issuer text not null,
  subject text not null,
  user_id bigint not null,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint identities_subject CHECK ((subject <> ''::text)),
  constraint identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint identities_pkey PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON public.identities USING btree (user_id);

create table import_chunks (
  import_id bigint not null,
  file text not null,
  number integer not null,
  content bytea not null,
  constraint import_chunks_import_id_file_fkey FOREIGN KEY (import_id, file) REFERENCES import_files(import_id, file) ON DELETE CASCADE,
  constraint import_chunks_pkey PRIMARY KEY (import_id, file, number)
);

create table import_differences (
  id bigint not null generated always as identity,
  import_id bigint not null,
  line integer not null,
  account text not null,
  figure text not null,
  source_value text not null,
  computed_value text not null,
  constraint import_differences_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint import_differences_pkey PRIMARY KEY (id)
);
CREATE INDEX import_differences_import ON public.import_differences USING btree (import_id, id);

create table import_files (
  import_id bigint not null,
  file text not null,
  size_bytes bigint not null,
  sha256 bytea not null,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint import_files_sha256_check CHECK ((octet_length(sha256) = 32)),
  constraint import_files_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint import_files_pkey PRIMARY KEY (import_id, file)
);

create table import_problems (
  id bigint not null generated always as identity,
  import_id bigint not null,
  severity text not null,
  file text not null,
  line integer,
  column_name text,
  value text,
  problem text not null,
  allowed text,
  constraint import_problems_severity_check CHECK ((severity = ANY (ARRAY['error'::text, 'warning'::text]))),
  constraint import_problems_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint import_problems_pkey PRIMARY KEY (id)
);
CREATE INDEX import_problems_import ON public.import_problems USING btree (import_id, id);

create table imports (
  id bigint not null generated always as identity,
  status import_status not null default 'uploading'::import_status,
  progress integer not null default 0,
  error_count integer not null default 0,
  warning_count integer not null default 0,
  difference_count integer not null default 0,
  row_counts jsonb,
  proof jsonb,
  failure text,
  requested_by bigint,
  created_by bigint,
  done_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint imports_done CHECK (((status = ANY (ARRAY['done'::import_status, 'undoing'::import_status, 'undone'::import_status])) = (done_at IS NOT NULL))),
  constraint imports_failure CHECK (((status = 'failed'::import_status) <= (failure IS NOT NULL))),
  constraint imports_progress_check CHECK (((progress >= 0) AND (progress <= 100))),
  constraint imports_pkey PRIMARY KEY (id)
);
CREATE INDEX imports_created ON public.imports USING btree (created_at, id);

create table incomplete_pulls (
  id bigint not null generated always as identity,
  provider text not null,
  short_code text not null,
  from_time timestamp(3) with time zone not null,
  until_time timestamp(3) with time zone not null,
  reason text not null,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint incomplete_pulls_period CHECK ((from_time < until_time)),
  constraint incomplete_pulls_pkey PRIMARY KEY (id)
);
CREATE INDEX incomplete_pulls_until ON public.incomplete_pulls USING btree (provider, short_code, until_time);

create table invitations (
  id bigint not null generated always as identity,
  purpose invitation_purpose not null,
  email text not null,
  email_key text not null,
  role user_role,
  employee_id bigint,
  user_id bigint,
  token_hash bytea not null,
  expires_at timestamp(3) with time zone not null,
  accepted_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_by bigint,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  constraint invitations_ended_once CHECK (((accepted_at IS NULL) OR (revoked_at IS NULL))),
  constraint invitations_role CHECK (((purpose = 'sign_up'::invitation_purpose) = (role IS NOT NULL))),
  constraint invitations_user CHECK (
CASE purpose
    WHEN 'sign_up'::invitation_purpose THEN ((user_id IS NOT NULL) = (accepted_at IS NOT NULL))
    ELSE (user_id IS NOT NULL)
END),
  constraint invitations_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint invitations_employee_id_fkey FOREIGN KEY (employee_id) REFERENCES employees(id),
  constraint invitations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_token_unique UNIQUE (token_hash)
);
CREATE INDEX invitations_created ON public.invitations USING btree (created_at, id);
CREATE UNIQUE INDEX invitations_one_open ON public.invitations USING btree (email_key, purpose) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL));

create table invoice_items (
  invoice_id bigint not null,
  "position" integer not null,
  description text not null,
  quantity_milli bigint not null,
  unit_price_minor bigint not null,
  line_total_minor bigint not null,
  constraint invoice_items_check CHECK (((line_total_minor)::numeric = div((((quantity_milli)::numeric * (unit_price_minor)::numeric) + (500)::numeric), (1000)::numeric))),
  constraint invoice_items_position_check CHECK ((("position" >= 1) AND ("position" <= 200))),
  constraint invoice_items_quantity_milli_check CHECK ((quantity_milli > 0)),
  constraint invoice_items_unit_price_minor_check CHECK ((unit_price_minor >= 0)),
  constraint invoice_items_invoice_id_fkey FOREIGN KEY (invoice_id) REFERENCES invoices(id),
  constraint invoice_items_pkey PRIMARY KEY (invoice_id, "position")
);

create table invoice_numbers (
  year integer not null,
  last_number integer not null,
  constraint invoice_numbers_last_number_check CHECK ((last_number > 0)),
  constraint invoice_numbers_pkey PRIMARY KEY (year)
);

create table invoices (
  id bigint not null generated always as identity,
  year integer not null,
  year_number integer not null,
  number text not null generated always as (((('INV-'::text || (year)::text) || '-'::text) || lpad((year_number)::text, GREATEST(6, length((year_number)::text)), '0'::text))) stored,
  account_id bigint not null,
  customer_name text not null,
  customer_phone text not null,
  issued_on date not null,
  total_minor bigint not null,
  status invoice_status not null default 'issued'::invoice_status,
  voided_at timestamp(3) with time zone,
  void_reason text,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  due_on date,
  constraint invoices_check CHECK (((status = 'void'::invoice_status) = (voided_at IS NOT NULL))),
  constraint invoices_check1 CHECK (((status = 'void'::invoice_status) = (void_reason IS NOT NULL))),
  constraint invoices_check2 CHECK ((EXTRACT(year FROM issued_on) = (year)::numeric)),
  constraint invoices_due_after_issue CHECK ((due_on >= issued_on)),
  constraint invoices_total_minor_check CHECK ((total_minor >= 0)),
  constraint invoices_year_number_check CHECK ((year_number > 0)),
  constraint invoices_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint invoices_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint invoices_year_fkey FOREIGN KEY (year) REFERENCES invoice_numbers(year),
  constraint invoices_pkey PRIMARY KEY (id),
  constraint invoices_number_unique UNIQUE (number),
  constraint invoices_year_number_unique UNIQUE (year, year_number)
);
CREATE INDEX invoices_account ON public.invoices USING btree (account_id, id);
CREATE INDEX invoices_created ON public.invoices USING btree (created_at, id);
CREATE INDEX invoices_issued ON public.invoices USING btree (issued_on, id);

create table kyc_records (
  id bigint not null generated always as identity,
  customer_id bigint not null,
  verification_type verification_type not null,
  verification_status verification_status not null,
  documents jsonb not null,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint kyc_records_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint kyc_records_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
  constraint kyc_records_pkey PRIMARY KEY (id)
);
CREATE INDEX kyc_records_customer ON public.kyc_records USING btree (customer_id, id);
CREATE INDEX kyc_records_expiry ON public.kyc_records USING btree (earliest_expiry(documents)) WHERE (earliest_expiry(documents) IS NOT NULL);

create table last_kyc_expiry (
  expired_on date not null,
  is_only_row boolean not null default true,
  constraint last_kyc_expiry_is_only_row_check CHECK (is_only_row),
  constraint last_kyc_expiry_pkey PRIMARY KEY (is_only_row)
);

create table last_promise_check (
  checked_at timestamp with time zone not null,
  is_only_row boolean not null default true,
  constraint last_promise_check_is_only_row_check CHECK (is_only_row),
  constraint last_promise_check_pkey PRIMARY KEY (is_only_row)
);

create table last_proof (
  read_at timestamp(3) with time zone not null,
  check_count integer not null,
  violation_count bigint not null,
  failed_checks text[] not null,
  is_only_row boolean not null default true,
  constraint last_proof_check_count_check CHECK ((check_count > 0)),
  constraint last_proof_failed CHECK (((violation_count = 0) = (failed_checks = '{}'::text[]))),
  constraint last_proof_is_only_row_check CHECK (is_only_row),
  constraint last_proof_violation_count_check CHECK ((violation_count >= 0)),
  constraint last_proof_pkey PRIMARY KEY (is_only_row)
);

create table learned_references (
  id bigint not null generated always as identity,
  typed_key text not null,
  payer_sha256 bytea not null,
  account_id bigint not null,
  overruled_account_id bigint,
  payment_id bigint not null,
  assigned_on date not null,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint learned_references_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint learned_references_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint learned_references_overruled_account_id_fkey FOREIGN KEY (overruled_account_id) REFERENCES accounts(id),
  constraint learned_references_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint learned_references_pkey PRIMARY KEY (id),
  constraint learned_references_payment_unique UNIQUE (payment_id)
);
CREATE INDEX learned_references_account ON public.learned_references USING btree (account_id);
CREATE INDEX learned_references_overruled ON public.learned_references USING btree (overruled_account_id) WHERE (overruled_account_id IS NOT NULL);
CREATE INDEX learned_references_payer ON public.learned_references USING btree (payer_sha256, typed_key, id);
CREATE INDEX learned_references_typed ON public.learned_references USING btree (typed_key, id);

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
  created_at timestamp(3) with time zone not null default business_now(),
  credit_move_id bigint,
  constraint ledger_entries_amount_minor_check CHECK ((amount_minor <> 0)),
  constraint ledger_entries_check CHECK (((ledger_account = 'clearing'::ledger_account) = (payment_method_id IS NOT NULL))),
  constraint ledger_entries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint ledger_entries_credit_move_id_fkey FOREIGN KEY (credit_move_id) REFERENCES credit_moves(id),
  constraint ledger_entries_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint ledger_entries_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint ledger_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX ledger_entries_account ON public.ledger_entries USING btree (account_id, id) WHERE (payment_id IS NULL);
CREATE INDEX ledger_entries_credit_move ON public.ledger_entries USING btree (credit_move_id) WHERE (credit_move_id IS NOT NULL);
CREATE INDEX ledger_entries_payment ON public.ledger_entries USING btree (payment_id);

create table missed_periods (
  id bigint not null generated always as identity,
  provider text not null,
  from_time timestamp(3) with time zone not null,
  until_time timestamp(3) with time zone not null,
  constraint missed_periods_pkey PRIMARY KEY (id)
);

create table note_corrections (
  id bigint not null generated always as identity,
  note_id bigint not null,
  earlier_text text not null,
  corrected_by bigint,
  api_key_id bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint note_corrections_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint note_corrections_corrected_by_fkey FOREIGN KEY (corrected_by) REFERENCES users(id),
  constraint note_corrections_note_id_fkey FOREIGN KEY (note_id) REFERENCES notes(id),
  constraint note_corrections_pkey PRIMARY KEY (id)
);
CREATE INDEX note_corrections_note ON public.note_corrections USING btree (note_id, id);

create table notes (
  id bigint not null generated always as identity,
  customer_id bigint not null,
  account_id bigint,
  text text not null,
  pinned boolean not null default false,
  correction_count integer not null default 0,
  created_by bigint,
  api_key_id bigint,
  hidden_at timestamp(3) with time zone,
  hidden_by bigint,
  hidden_by_key bigint,
  hidden_reason text,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint notes_hidden CHECK (((hidden_at IS NULL) = (hidden_reason IS NULL))),
  constraint notes_hidden_by CHECK (((hidden_at IS NOT NULL) OR (num_nonnulls(hidden_by, hidden_by_key) = 0))),
  constraint notes_hidden_unpinned CHECK (((hidden_at IS NULL) OR (NOT pinned))),
  constraint notes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint notes_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint notes_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint notes_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
  constraint notes_hidden_by_fkey FOREIGN KEY (hidden_by) REFERENCES users(id),
  constraint notes_hidden_by_key_fkey FOREIGN KEY (hidden_by_key) REFERENCES api_keys(id),
  constraint notes_pkey PRIMARY KEY (id)
);
CREATE INDEX notes_account ON public.notes USING btree (account_id) WHERE (account_id IS NOT NULL);
CREATE INDEX notes_customer ON public.notes USING btree (customer_id, created_at, id);

create table notifications (
  id bigint not null generated always as identity,
  provider text not null,
  raw_body text not null,
  trans_id text,
  content_hash bytea,
  amount_minor bigint,
  trans_time timestamp(3) with time zone,
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
  received_at timestamp(3) with time zone not null default business_now(),
  processed_at timestamp(3) with time zone,
  payer_name text,
  source payment_source not null default 'webhook'::payment_source,
  provider_statement_id bigint,
  payment_request_id bigint,
  time_zone text,
  constraint notifications_check CHECK (((status <> 'processed'::notification_status) OR (outcome IS NOT NULL))),
  constraint notifications_check1 CHECK ((((outcome = 'conflict'::notification_outcome) IS NOT TRUE) OR (conflict_payment_id IS NOT NULL))),
  constraint notifications_statement_of_import CHECK (((provider_statement_id IS NULL) OR (source = 'import'::payment_source))),
  constraint notifications_conflict_payment_id_fkey FOREIGN KEY (conflict_payment_id) REFERENCES payments(id),
  constraint notifications_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint notifications_payment_request_id_fkey FOREIGN KEY (payment_request_id) REFERENCES payment_requests(id),
  constraint notifications_provider_statement_id_fkey FOREIGN KEY (provider_statement_id) REFERENCES provider_statements(id),
  constraint notifications_pkey PRIMARY KEY (id),
  constraint notifications_content_unique UNIQUE (trans_id, provider, content_hash)
);
CREATE INDEX notifications_conflict ON public.notifications USING btree (trans_id) WHERE (outcome = 'conflict'::notification_outcome);
CREATE INDEX notifications_conflict_payment ON public.notifications USING btree (conflict_payment_id) WHERE (conflict_payment_id IS NOT NULL);
CREATE INDEX notifications_differs ON public.notifications USING btree (received_at, id) WHERE (outcome = 'differs'::notification_outcome);
CREATE INDEX notifications_not_posted ON public.notifications USING btree (trans_time) WHERE (source <> 'webhook'::payment_source);
CREATE INDEX notifications_payment ON public.notifications USING btree (payment_id);
CREATE INDEX notifications_pending ON public.notifications USING btree (id) WHERE (status = 'pending'::notification_status);
CREATE INDEX notifications_received ON public.notifications USING btree (received_at, id);
CREATE INDEX notifications_rejected ON public.notifications USING btree (received_at, id) WHERE (status = 'rejected'::notification_status);

create table oauth_states (
  state_hash bytea not null,
  browser_hash bytea not null,
  provider text not null,
  redirect_uri text not null,
  nonce text not null,
  code_verifier text not null,
  expires_at timestamp(3) with time zone not null,
  invitation_id bigint,
  constraint oauth_states_invitation_id_fkey FOREIGN KEY (invitation_id) REFERENCES invitations(id),
  constraint oauth_states_pkey PRIMARY KEY (state_hash)
);
CREATE INDEX oauth_states_expiry ON public.oauth_states USING btree (expires_at);

create table original_terms (
  account_id bigint not null,
  version integer not null,
  effective_on date not null,
  corrected_minor bigint not null,
  total_minor bigint,
  run_from date[],
  run_anchor date[],
  run_unit text[],
  run_every integer[],
  run_place integer[],
  run_count integer[],
  run_amount_minor bigint[],
  run_before_minor bigint[],
  constraint original_terms_check CHECK ((num_nonnulls(total_minor, run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor) = ANY (ARRAY[0, 9]))),
  constraint original_terms_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint original_terms_pkey PRIMARY KEY (account_id, version)
);

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
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  import_id bigint,
  price_minor bigint,
  rounding_minor bigint,
  every integer not null default 1,
  months_without_dues integer[] not null default '{}'::integer[],
  harvest_months integer[],
  harvest_days integer[],
  harvest_shares integer[],
  harvest_cycles integer,
  lead_days integer,
  payoff_basis_points integer,
  payoff_until date,
  payoff_min_dues integer,
  constraint pay_plans_deposit_minor_check CHECK ((deposit_minor >= 0)),
  constraint pay_plans_grace_days_check CHECK (((grace_days >= 0) AND (grace_days <= 365))),
  constraint pay_plans_harvest_check CHECK (((num_nonnulls(harvest_months, harvest_days, harvest_shares, harvest_cycles, lead_days) = 0) OR (((num_nonnulls(harvest_months, harvest_days, harvest_shares, harvest_cycles, lead_days) = 5) AND (price_minor IS NOT NULL) AND (frequency = 'monthly'::frequency) AND (every = 12) AND (months_without_dues = '{}'::integer[]) AND ((cardinality(harvest_months) >= 1) AND (cardinality(harvest_months) <= 12)) AND (cardinality(harvest_days) = cardinality(harvest_months)) AND (cardinality(harvest_shares) = cardinality(harvest_months)) AND (1 <= ALL (harvest_months)) AND (12 >= ALL (harvest_months)) AND (1 <= ALL (harvest_days)) AND (31 >= ALL (harvest_days)) AND (0 < ALL (harvest_shares)) AND ((harvest_cycles >= 1) AND (harvest_cycles <= 20)) AND ((lead_days >= 0) AND (lead_days <= 365))) IS TRUE))),
  constraint pay_plans_instalment_count_check CHECK (((instalment_count >= 1) AND (instalment_count <= 10000))),
  constraint pay_plans_instalment_minor_check CHECK ((instalment_minor > 0)),
  constraint pay_plans_payoff_check CHECK (((num_nonnulls(payoff_basis_points, payoff_until, payoff_min_dues) = 0) OR ((((payoff_basis_points >= 1) AND (payoff_basis_points <= 9999)) AND ((payoff_min_dues >= 1) AND (payoff_min_dues <= 10000))) IS TRUE))),
  constraint pay_plans_price_check CHECK ((((price_minor IS NULL) = (rounding_minor IS NULL)) AND ((price_minor IS NULL) OR ((price_minor > deposit_minor) AND (rounding_minor > 0) AND ((((price_minor - deposit_minor) - 1) / instalment_minor) < instalment_count))))),
  constraint pay_plans_rhythm_check CHECK ((((every >= 1) AND (every <= 365)) AND (cardinality(months_without_dues) <= 10) AND (months_without_dues <@ ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]))),
  constraint pay_plans_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint pay_plans_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id),
  constraint pay_plans_pkey PRIMARY KEY (id),
  constraint pay_plans_name_unique UNIQUE (name)
);

create table payment_methods (
  id bigint not null generated always as identity,
  code text not null,
  name text not null,
  active boolean not null default true,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  import_id bigint,
  cash boolean not null default false,
  constraint payment_methods_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint payment_methods_pkey PRIMARY KEY (id),
  constraint payment_methods_code_unique UNIQUE (code)
);

create table payment_receipts (
  payment_id bigint not null,
  first_printed_at timestamp(3) with time zone not null default business_now(),
  constraint payment_receipts_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint payment_receipts_pkey PRIMARY KEY (payment_id)
);

create table payment_requests (
  id bigint not null generated always as identity,
  account_id bigint not null,
  provider text not null,
  phone text not null,
  amount_minor bigint not null,
  status payment_request_status not null default 'requested'::payment_request_status,
  reason text,
  provider_message text,
  callback_key text not null,
  provider_request_id text,
  merchant_request_id text,
  send_started_at timestamp(3) with time zone,
  send_attempts integer not null default 0,
  query_attempts integer not null default 0,
  next_step_at timestamp(3) with time zone default business_now(),
  holds_phone boolean not null default true,
  paid_body text,
  receipt text,
  payment_id bigint,
  created_by bigint,
  api_key_id bigint,
  requested_by text not null,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  sent_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  payment_tried_at timestamp(3) with time zone,
  constraint payment_requests_amount_minor_check CHECK ((amount_minor > 0)),
  constraint payment_requests_ended CHECK (((status = ANY (ARRAY['paid'::payment_request_status, 'declined'::payment_request_status, 'expired'::payment_request_status])) = (ended_at IS NOT NULL))),
  constraint payment_requests_payment CHECK (((status = 'paid'::payment_request_status) OR ((payment_id IS NULL) AND (receipt IS NULL)))),
  constraint payment_requests_phone_released CHECK (((ended_at IS NULL) OR (NOT holds_phone))),
  constraint payment_requests_reason CHECK (((status = ANY (ARRAY['declined'::payment_request_status, 'expired'::payment_request_status])) = (reason IS NOT NULL))),
  constraint payment_requests_sent CHECK (((status = ANY (ARRAY['requested'::payment_request_status, 'declined'::payment_request_status, 'expired'::payment_request_status])) OR (send_started_at IS NOT NULL))),
  constraint payment_requests_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payment_requests_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint payment_requests_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint payment_requests_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint payment_requests_pkey PRIMARY KEY (id),
  constraint payment_requests_callback_key_key UNIQUE (callback_key),
  constraint payment_requests_payment_id_key UNIQUE (payment_id),
  constraint payment_requests_receipt_unique UNIQUE (receipt, provider)
);
CREATE INDEX payment_requests_account ON public.payment_requests USING btree (account_id, id);
CREATE INDEX payment_requests_created ON public.payment_requests USING btree (created_at, id);
CREATE INDEX payment_requests_due ON public.payment_requests USING btree (next_step_at) WHERE (next_step_at IS NOT NULL);
CREATE INDEX payment_requests_phone ON public.payment_requests USING btree (phone, created_at);
CREATE INDEX payment_requests_unanswerable ON public.payment_requests USING btree (payment_tried_at NULLS FIRST, id) WHERE ((status = 'unknown'::payment_request_status) AND (provider_request_id IS NULL));
CREATE INDEX payment_requests_without_payment ON public.payment_requests USING btree (payment_tried_at NULLS FIRST, id) WHERE ((status = 'paid'::payment_request_status) AND (payment_id IS NULL));
CREATE UNIQUE INDEX payment_requests_phone_held ON public.payment_requests USING btree (phone) WHERE holds_phone;

create table payments (
  id bigint not null generated always as identity,
  account_id bigint,
  amount_minor bigint not null,
  payment_method_id bigint not null,
  transaction_ref text,
  reference_key text,
  payment_date date not null,
  status payment_status not null,
  source payment_source not null,
  match_method match_method,
  provider text,
  provider_trans_id text,
  reversed_at timestamp(3) with time zone,
  reversal_reason text,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  reconciliation_id bigint,
  reconciliation_date date,
  match_reason text,
  api_key_id bigint,
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  import_id bigint,
  corrects_payment_id bigint,
  constraint payments_amount_minor_check CHECK ((amount_minor > 0)),
  constraint payments_check CHECK (((status = 'reversed'::payment_status) = (reversed_at IS NOT NULL))),
  constraint payments_check1 CHECK (((status <> 'matched'::payment_status) OR (account_id IS NOT NULL))),
  constraint payments_check2 CHECK (((status <> 'unmatched'::payment_status) OR (account_id IS NULL))),
  constraint payments_check3 CHECK (((provider IS NULL) = (provider_trans_id IS NULL))),
  constraint payments_check4 CHECK (((transaction_ref IS NULL) = (reference_key IS NULL))),
  constraint payments_reconciled_wholly CHECK (((reconciliation_id IS NULL) = (reconciliation_date IS NULL))),
  constraint payments_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payments_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint payments_corrects_payment_id_fkey FOREIGN KEY (corrects_payment_id) REFERENCES payments(id),
  constraint payments_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint payments_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint payments_payment_method_id_fkey FOREIGN KEY (payment_method_id) REFERENCES payment_methods(id),
  constraint payments_reconciliation_id_fkey FOREIGN KEY (reconciliation_id) REFERENCES reconciliations(id),
  constraint payments_pkey PRIMARY KEY (id),
  constraint payments_trans_id_unique UNIQUE (provider_trans_id, provider)
);
CREATE INDEX payments_account ON public.payments USING btree (account_id, payment_date, id);
CREATE INDEX payments_created ON public.payments USING btree (created_at, id);
CREATE INDEX payments_date ON public.payments USING btree (payment_date, id);
CREATE INDEX payments_import ON public.payments USING btree (import_id) WHERE (import_id IS NOT NULL);
CREATE INDEX payments_match_method ON public.payments USING btree (match_method, created_at, id) WHERE (match_method <> 'account_number'::match_method);
CREATE INDEX payments_metadata ON public.payments USING gin (metadata jsonb_path_ops) WHERE (metadata <> '{}'::jsonb);
CREATE INDEX payments_quoted_external_id ON public.payments USING btree (without_quotes(external_id)) WHERE (external_id <> without_quotes(external_id));
CREATE INDEX payments_quoted_reference ON public.payments USING btree (id) WHERE ((reference_key <> without_quotes(reference_key)) AND (status <> 'reversed'::payment_status));
CREATE INDEX payments_recorder ON public.payments USING btree (created_by, payment_method_id, created_at) WHERE ((source = 'manual'::payment_source) AND (created_by IS NOT NULL) AND (import_id IS NULL));
CREATE INDEX payments_recorder_reversed ON public.payments USING btree (created_by, payment_method_id, id) WHERE ((source = 'manual'::payment_source) AND (created_by IS NOT NULL) AND (import_id IS NULL) AND (status = 'reversed'::payment_status));
CREATE INDEX payments_reference_with_text ON public.payments USING btree (amount_minor, payment_date) WHERE ((provider IS NULL) AND (transaction_ref ~ '[^A-Za-z0-9]'::text));
CREATE INDEX payments_reversed ON public.payments USING btree (created_at, id) WHERE (status = 'reversed'::payment_status);
CREATE INDEX payments_reversed_ids ON public.payments USING btree (id) INCLUDE (amount_minor) WHERE (status = 'reversed'::payment_status);
CREATE INDEX payments_similar_reference ON public.payments USING btree (translate(reference_key, 'OI'::text, '01'::text)) WHERE (reference_key ~ '[OI]'::text);
CREATE INDEX payments_unmatched ON public.payments USING btree (created_at, id) WHERE (status = 'unmatched'::payment_status);
CREATE INDEX payments_without_holder ON public.payments USING btree (payment_method_id) INCLUDE (amount_minor) WHERE ((provider IS NULL) AND ((created_by IS NULL) OR (import_id IS NOT NULL)) AND (status <> 'reversed'::payment_status));
CREATE UNIQUE INDEX payments_corrects ON public.payments USING btree (corrects_payment_id) WHERE (corrects_payment_id IS NOT NULL);
CREATE UNIQUE INDEX payments_external_id_unique ON public.payments USING btree (external_id) WHERE (external_id IS NOT NULL);
CREATE UNIQUE INDEX payments_transaction_ref_unique ON public.payments USING btree (reference_key, payment_method_id, COALESCE(provider, ''::text), (
CASE
    WHEN (status = 'reversed'::payment_status) THEN id
    ELSE (0)::bigint
END)) WHERE (reference_key IS NOT NULL);

create table phone_repair (
  last_customer_id bigint not null default 0,
  completed_on date,
  is_only_row boolean not null default true,
  constraint phone_repair_is_only_row_check CHECK (is_only_row),
  constraint phone_repair_pkey PRIMARY KEY (is_only_row)
);

create table plan_changes (
  id bigint not null generated always as identity,
  account_id bigint not null,
  version integer not null,
  kind plan_change_kind not null,
  effective_on date not null,
  reason_code text,
  reason text,
  body jsonb not null,
  before jsonb not null,
  after jsonb not null,
  price_change_minor bigint not null,
  arrears_moved_minor bigint not null default 0,
  ahead_moved_minor bigint not null default 0,
  undoes bigint,
  actor_user_id bigint,
  api_key_id bigint,
  approval_id bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  bulk_deferral_id bigint,
  constraint plan_changes_ahead_moved_minor_check CHECK ((ahead_moved_minor >= 0)),
  constraint plan_changes_arrears_moved_minor_check CHECK ((arrears_moved_minor >= 0)),
  constraint plan_changes_reason CHECK (((reason IS NOT NULL) OR (kind = ANY (ARRAY['payoff'::plan_change_kind, 'imported'::plan_change_kind])))),
  constraint plan_changes_undo CHECK (((kind = 'undo'::plan_change_kind) = (undoes IS NOT NULL))),
  constraint plan_changes_version_check CHECK ((version > 0)),
  constraint plan_changes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint plan_changes_actor_user_id_fkey FOREIGN KEY (actor_user_id) REFERENCES users(id),
  constraint plan_changes_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint plan_changes_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES approvals(id),
  constraint plan_changes_bulk_deferral_id_fkey FOREIGN KEY (bulk_deferral_id) REFERENCES bulk_deferrals(id),
  constraint plan_changes_undoes_fkey FOREIGN KEY (undoes) REFERENCES plan_changes(id),
  constraint plan_changes_pkey PRIMARY KEY (id),
  constraint plan_changes_account_id_version_key UNIQUE (account_id, version),
  constraint plan_changes_undoes_key UNIQUE (undoes)
);
CREATE INDEX plan_changes_approval ON public.plan_changes USING btree (approval_id) WHERE (approval_id IS NOT NULL);
CREATE INDEX plan_changes_bulk_deferral ON public.plan_changes USING btree (bulk_deferral_id) WHERE (bulk_deferral_id IS NOT NULL);
CREATE INDEX plan_changes_created ON public.plan_changes USING btree (created_at, id);
CREATE INDEX plan_changes_day ON public.plan_changes USING btree (effective_on);
CREATE INDEX plan_changes_payoff ON public.plan_changes USING btree (account_id) WHERE (kind = 'payoff'::plan_change_kind);

create table product_configurations (
  id bigint not null generated always as identity,
  product_id bigint not null,
  name text not null,
  attributes jsonb not null,
  price_minor bigint,
  is_default boolean not null,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint product_configurations_price_minor_check CHECK ((price_minor >= 0)),
  constraint product_configurations_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id),
  constraint product_configurations_pkey PRIMARY KEY (id),
  constraint product_configurations_name_unique UNIQUE (product_id, name)
);
CREATE UNIQUE INDEX product_configurations_one_default ON public.product_configurations USING btree (product_id) WHERE is_default;

create table products (
  id bigint not null generated always as identity,
  sku text not null,
  name text not null,
  category text not null,
  description text not null default ''::text,
  price_minor bigint not null,
  active boolean not null default true,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  import_id bigint,
  constraint products_price_minor_check CHECK ((price_minor >= 0)),
  constraint products_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint products_pkey PRIMARY KEY (id),
  constraint products_sku_unique UNIQUE (sku)
);
CREATE UNIQUE INDEX products_external_id_unique ON public.products USING btree (external_id) WHERE (external_id IS NOT NULL);

create table promises (
  id bigint not null generated always as identity,
  call_id bigint not null,
  account_id bigint not null,
  amount_minor bigint not null,
  made_on date not null,
  due_on date not null,
  replaces_id bigint,
  created_by bigint not null,
  created_at timestamp(3) with time zone not null default business_now(),
  judged_state judged_promise_state,
  judged_version bigint,
  constraint promises_amount CHECK ((amount_minor > 0)),
  constraint promises_days CHECK (((due_on >= made_on) AND (due_on <= (made_on + 30)))),
  constraint promises_judged CHECK (((judged_state IS NULL) = (judged_version IS NULL))),
  constraint promises_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint promises_call_id_fkey FOREIGN KEY (call_id) REFERENCES calls(id),
  constraint promises_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint promises_replaces_id_fkey FOREIGN KEY (replaces_id) REFERENCES promises(id),
  constraint promises_pkey PRIMARY KEY (id),
  constraint promises_call_id_key UNIQUE (call_id)
);
CREATE INDEX promises_account ON public.promises USING btree (account_id, id);
CREATE INDEX promises_created ON public.promises USING btree (created_at, id);
CREATE INDEX promises_due ON public.promises USING btree (due_on, id);
CREATE INDEX promises_replaces ON public.promises USING btree (replaces_id) WHERE (replaces_id IS NOT NULL);
CREATE INDEX promises_unjudged ON public.promises USING btree (due_on, id) WHERE (judged_state IS NULL);

create table provider_balances (
  provider text not null,
  short_code text not null,
  segments json not null,
  constraint provider_balances_pkey PRIMARY KEY (provider, short_code)
);

create table provider_pulls (
  provider text not null,
  short_code text not null,
  registered_at timestamp(3) with time zone,
  complete_until timestamp(3) with time zone,
  lost_from timestamp(3) with time zone,
  lost_until timestamp(3) with time zone,
  next_at timestamp(3) with time zone not null default business_now(),
  succeeded_at timestamp(3) with time zone,
  failures_in_a_row integer not null default 0,
  failure text,
  found_count bigint not null default 0,
  incomplete_since timestamp(3) with time zone,
  constraint provider_pulls_failure CHECK (((failures_in_a_row = 0) = (failure IS NULL))),
  constraint provider_pulls_lost CHECK ((((lost_from IS NULL) = (lost_until IS NULL)) AND (lost_from < lost_until))),
  constraint provider_pulls_pkey PRIMARY KEY (provider, short_code)
);

create table provider_statement_lines (
  id bigint not null generated always as identity,
  statement_id bigint not null,
  line_number integer,
  is_payment boolean not null,
  is_reversal boolean not null default false,
  result provider_line_result,
  problem text,
  receipt text,
  completed_at timestamp(3) with time zone,
  amount_minor bigint,
  reference text,
  payer text,
  payer_name text,
  provider_status text,
  details text,
  linked_receipt text,
  payment_id bigint,
  day_differs boolean,
  is_own_transfer boolean not null default false,
  is_inferred boolean not null default false,
  constraint provider_statement_lines_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint provider_statement_lines_statement_id_fkey FOREIGN KEY (statement_id) REFERENCES provider_statements(id),
  constraint provider_statement_lines_pkey PRIMARY KEY (id)
);
CREATE INDEX provider_statement_lines_number ON public.provider_statement_lines USING btree (statement_id, line_number);
CREATE INDEX provider_statement_lines_payment ON public.provider_statement_lines USING btree (payment_id) WHERE (payment_id IS NOT NULL);
CREATE INDEX provider_statement_lines_receipt ON public.provider_statement_lines USING btree (receipt) WHERE is_payment;
CREATE INDEX provider_statement_lines_result ON public.provider_statement_lines USING btree (statement_id, result, line_number);
CREATE INDEX provider_statement_lines_reversal ON public.provider_statement_lines USING btree (linked_receipt) WHERE is_reversal;
CREATE INDEX provider_statement_lines_reversal_receipt ON public.provider_statement_lines USING btree (receipt) WHERE is_reversal;

create table provider_statement_totals (
  statement_id bigint not null,
  result provider_line_result not null,
  line_count integer not null,
  amount_minor bigint not null,
  constraint provider_statement_totals_statement_id_fkey FOREIGN KEY (statement_id) REFERENCES provider_statements(id),
  constraint provider_statement_totals_pkey PRIMARY KEY (statement_id, result)
);

create table provider_statements (
  id bigint not null generated always as identity,
  status provider_statement_status not null,
  content_sha256 bytea,
  organisation text,
  short_code text,
  line_count integer not null default 0,
  payment_count integer not null default 0,
  first_completed_at timestamp(3) with time zone,
  last_completed_at timestamp(3) with time zone,
  period_start date,
  period_end date,
  compared_count integer not null default 0,
  imported_count integer not null default 0,
  reconciled_count integer not null default 0,
  compared_to_line integer not null default 0,
  searched_to_date date,
  searched_to_payment bigint,
  imported_to_line integer not null default 0,
  reconciled_to_line integer not null default 0,
  reconciling_by bigint,
  reconciling_date date,
  failure text,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  reconciling_api_key_id bigint,
  opening_balance_minor bigint,
  closing_balance_minor bigint,
  paid_in_minor bigint,
  withdrawn_minor bigint,
  stated_opening_balance_minor bigint,
  stated_closing_balance_minor bigint,
  stated_paid_in_minor bigint,
  stated_withdrawn_minor bigint,
  constraint provider_statements_check CHECK (((status = 'failed'::provider_statement_status) = (failure IS NOT NULL))),
  constraint provider_statements_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint provider_statements_reconciling_api_key_id_fkey FOREIGN KEY (reconciling_api_key_id) REFERENCES api_keys(id),
  constraint provider_statements_reconciling_by_fkey FOREIGN KEY (reconciling_by) REFERENCES users(id),
  constraint provider_statements_pkey PRIMARY KEY (id),
  constraint provider_statements_content_unique UNIQUE (content_sha256)
);
CREATE INDEX provider_statements_created ON public.provider_statements USING btree (created_at, id);

create table provider_watches (
  provider text not null,
  read_until timestamp(3) with time zone not null,
  read_id bigint not null default 0,
  last_heard_at timestamp(3) with time zone,
  silent_since timestamp(3) with time zone,
  constraint provider_watches_pkey PRIMARY KEY (provider)
);

create table reconciliations (
  id bigint not null generated always as identity,
  reconciliation_date date not null,
  total_minor bigint not null,
  payment_ids bigint[] not null,
  payment_count integer not null generated always as (cardinality(payment_ids)) stored,
  created_by bigint,
  created_at timestamp(3) with time zone not null default business_now(),
  provider_statement_id bigint,
  import_id bigint,
  constraint reconciliations_payment_count_check CHECK ((payment_count > 0)),
  constraint reconciliations_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint reconciliations_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports(id),
  constraint reconciliations_provider_statement_id_fkey FOREIGN KEY (provider_statement_id) REFERENCES provider_statements(id),
  constraint reconciliations_pkey PRIMARY KEY (id)
);
CREATE INDEX reconciliations_created ON public.reconciliations USING btree (created_at, id);
CREATE INDEX reconciliations_statement ON public.reconciliations USING btree (provider_statement_id) WHERE (provider_statement_id IS NOT NULL);

create table refresh_tokens (
  token_hash bytea not null,
  session_id uuid not null,
  created_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone not null,
  used_at timestamp(3) with time zone,
  constraint refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE,
  constraint refresh_tokens_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX refresh_tokens_expiry ON public.refresh_tokens USING btree (expires_at);
CREATE INDEX refresh_tokens_session ON public.refresh_tokens USING btree (session_id);

create table sessions (
  id uuid not null,
  user_id bigint not null,
  created_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone not null,
  revoked_at timestamp(3) with time zone,
  identity_provider text,
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

create table status_queries (
  id bigint not null generated always as identity,
  provider text not null,
  transaction_ref text not null,
  payment_id bigint,
  notification_id bigint,
  state status_query_state not null default 'requested'::status_query_state,
  callback_key text not null,
  conversation_id text,
  sent_at timestamp(3) with time zone,
  send_attempts integer not null default 0,
  next_send_at timestamp(3) with time zone default business_now(),
  message text,
  answer jsonb,
  answer_body text,
  created_by bigint,
  api_key_id bigint,
  asked_by text not null,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  ended_at timestamp(3) with time zone,
  constraint status_queries_answered CHECK (((state = 'answered'::status_query_state) = (answer IS NOT NULL))),
  constraint status_queries_ended CHECK (((state = 'requested'::status_query_state) = (ended_at IS NULL))),
  constraint status_queries_next_send CHECK (((next_send_at IS NULL) OR (state = 'requested'::status_query_state))),
  constraint status_queries_subject CHECK ((num_nonnulls(payment_id, notification_id) = 1)),
  constraint status_queries_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint status_queries_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint status_queries_notification_id_fkey FOREIGN KEY (notification_id) REFERENCES notifications(id),
  constraint status_queries_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  constraint status_queries_pkey PRIMARY KEY (id),
  constraint status_queries_callback_key_key UNIQUE (callback_key)
);
CREATE INDEX status_queries_created ON public.status_queries USING btree (created_at, id);
CREATE INDEX status_queries_due ON public.status_queries USING btree (next_send_at) WHERE (next_send_at IS NOT NULL);
CREATE INDEX status_queries_notification ON public.status_queries USING btree (notification_id, id) WHERE (notification_id IS NOT NULL);
CREATE INDEX status_queries_payment ON public.status_queries USING btree (payment_id, id) WHERE (payment_id IS NOT NULL);
CREATE UNIQUE INDEX status_queries_open ON public.status_queries USING btree (transaction_ref, provider) WHERE (state = 'requested'::status_query_state);

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
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  constraint users_employee_id_fkey FOREIGN KEY (employee_id) REFERENCES employees(id),
  constraint users_pkey PRIMARY KEY (id),
  constraint users_email_unique UNIQUE (email_key)
);

create table webhook_deliveries (
  id bigint not null generated always as identity,
  endpoint_id bigint not null,
  event_id bigint,
  event_type text not null,
  message_id text not null,
  signature text not null,
  attempt integer not null,
  outcome text not null,
  status integer,
  answer text,
  error text,
  duration_ms integer not null,
  next_attempt_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  constraint webhook_deliveries_answer CHECK (((status IS NULL) = (error IS NOT NULL))),
  constraint webhook_deliveries_outcome CHECK ((outcome = ANY (ARRAY['delivered'::text, 'failed'::text, 'given_up'::text]))),
  constraint webhook_deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id),
  constraint webhook_deliveries_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_deliveries_created ON public.webhook_deliveries USING brin (created_at);
CREATE INDEX webhook_deliveries_newest ON public.webhook_deliveries USING btree (endpoint_id, created_at, id);

create table webhook_endpoints (
  id bigint not null generated always as identity,
  url text not null,
  types text[] not null,
  description text,
  in_order boolean not null,
  active boolean not null default true,
  disabled_reason text,
  disabled_at timestamp(3) with time zone,
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamp(3) with time zone,
  cursor bigint not null,
  cursor_moves integer not null default 0,
  failures_in_a_row integer not null default 0,
  failing_since timestamp(3) with time zone,
  paused_until timestamp(3) with time zone,
  lease_owner uuid,
  lease_expires_at timestamp(3) with time zone,
  deleted_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default business_now(),
  updated_at timestamp(3) with time zone not null default business_now(),
  health_resets integer not null default 0,
  constraint webhook_endpoints_disabled CHECK (((active = (disabled_reason IS NULL)) AND (active = (disabled_at IS NULL)) AND (disabled_reason = ANY (ARRAY['user'::text, 'gone'::text, 'failing'::text])))),
  constraint webhook_endpoints_failing CHECK (((failures_in_a_row = 0) = (failing_since IS NULL))),
  constraint webhook_endpoints_secrets CHECK (((previous_secret IS NULL) = (previous_secret_expires_at IS NULL))),
  constraint webhook_endpoints_pkey PRIMARY KEY (id)
);

create table webhook_retries (
  endpoint_id bigint not null,
  event_id bigint not null,
  order_key text not null,
  attempts integer not null,
  first_attempt_at timestamp(3) with time zone,
  next_attempt_at timestamp(3) with time zone not null,
  constraint webhook_retries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id) ON DELETE CASCADE,
  constraint webhook_retries_pkey PRIMARY KEY (endpoint_id, event_id)
);
CREATE INDEX webhook_retries_due ON public.webhook_retries USING btree (endpoint_id, next_attempt_at);
CREATE INDEX webhook_retries_key ON public.webhook_retries USING btree (endpoint_id, order_key, event_id);

CREATE OR REPLACE FUNCTION public.account_number(account_id bigint)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select 'ACC' || (1000000 + account_id)::text || damm_check_digit(1000000 + account_id)::text
$function$;

CREATE OR REPLACE FUNCTION public.approvals_end_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.status <> 'pending'
    or to_jsonb(old) - '{status,decided_by,decision_reason,final_facts,credit_move_id,ended_at,updated_at}'::text[]
      is distinct from to_jsonb(new) - '{status,decided_by,decision_reason,final_facts,credit_move_id,ended_at,updated_at}'::text[]
  then
    raise exception 'approval % can only end, and only once', old.id using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.are_parallel_runs(run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[], run_amount_minor bigint[], run_before_minor bigint[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((array_dims(run_from) = (('[1:'::text || cardinality(run_from)) || ']'::text)) AND (cardinality(run_from) <= 250) AND (array_dims(run_anchor) = array_dims(run_from)) AND (array_dims(run_unit) = array_dims(run_from)) AND (array_dims(run_every) = array_dims(run_from)) AND (array_dims(run_place) = array_dims(run_from)) AND (array_dims(run_count) = array_dims(run_from)) AND (array_dims(run_amount_minor) = array_dims(run_from)) AND (array_dims(run_before_minor) = array_dims(run_from)));

CREATE OR REPLACE FUNCTION public.business_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select now() + coalesce(nullif(current_setting('ams.clock_offset', true), '')::interval, '0')
$function$;

CREATE OR REPLACE FUNCTION public.cash_rows_end_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  -- A trigger before an update sees generated columns as null. They follow from the columns that are compared.
  ending text[] := '{expected_minor,difference_minor,status,updated_at,closed_at,reason,confirmed_by,is_earlier_cash,decided_by,decided_at,decision_reason,received_minor,statement_date,statement_text}'::text[]
    || case when tg_table_name = 'cash_settlements' and old.status::text = 'requested' and to_jsonb(old)->>'kind' = 'closing'
      then '{amount_minor}'::text[] else '{}'::text[] end;
begin
  if old.status::text not in ('open', 'pending', 'deposited', 'requested')
    or (tg_table_name = 'cash_settlements' and new.reason is distinct from old.reason)
    or to_jsonb(old) - ending is distinct from to_jsonb(new) - ending
  then
    raise exception 'row % of % can only end, and only once', old.id, tg_table_name using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.commission_lines_give_shares_back()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update commission_sales s set share_basis_points = s.share_basis_points - r.share_basis_points
  from (
    select account_id, sum(share_basis_points) as share_basis_points from removed where account_id is not null
    group by account_id
  ) r
  where r.account_id = s.account_id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.commission_lines_take_shares()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into commission_sales as s (account_id, share_basis_points)
  select account_id, sum(share_basis_points) from added where account_id is not null
  group by account_id order by account_id
  on conflict (account_id) do update set share_basis_points = s.share_basis_points + excluded.share_basis_points;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.credit_moves_key_has_no_quotes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.reference_key := without_quotes(new.reference_key);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.csv_text(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    -- Most texts have none of these characters, and are looked at no further.
    when value !~ '[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]' then
      case when value ~ '^[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*(0[0-9]+|[0-9]{16,})[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*$' then '''' || value else value end
    else
      case
        when value ~ '^[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]'
          or value ~ '^[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*(0[0-9]+|[0-9]{16,})[\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*$'
          then ''''
        else ''
      end
      || regexp_replace(translate(value, e'\r\n', '  '),
        '([,;|\t])(?=["\t-\r \u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])', '\1''', 'g')
  end
$function$;

CREATE OR REPLACE FUNCTION public.damm_check_digit(n bigint)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select
    damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(
    damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(damm_step(0,
      n / 1000000000000000),
      n / 100000000000000 % 10),
      n / 10000000000000 % 10),
      n / 1000000000000 % 10),
      n / 100000000000 % 10),
      n / 10000000000 % 10),
      n / 1000000000 % 10),
      n / 100000000 % 10),
      n / 10000000 % 10),
      n / 1000000 % 10),
      n / 100000 % 10),
      n / 10000 % 10),
      n / 1000 % 10),
      n / 100 % 10),
      n / 10 % 10),
      n % 10)
$function$;

CREATE OR REPLACE FUNCTION public.damm_step(interim integer, digit bigint)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select get_byte(
    '\x00030107050908060402'
    '07000902010504080603'
    '04020006080701030509'
    '01070500090803040206'
    '06010203000405090708'
    '03060704020009050801'
    '05080609070200010304'
    '08090405030602000107'
    '09040308060107020005'
    '02050801040306070900'::bytea,
    interim * 10 + digit::integer)
$function$;

CREATE OR REPLACE FUNCTION public.date_of_place(unit text, anchor date, every integer, place bigint)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case unit
    when 'day' then anchor + (place * every)::integer
    else (anchor + make_interval(months => (place * every)::integer))::date
  end
$function$;

CREATE OR REPLACE FUNCTION public.derive_original_due_date()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.original_due_date := (
    select next_due_date_in_runs(
      new.activation_date, o.total_minor, new.paid_minor, o.run_anchor, o.run_unit, o.run_every, o.run_place, o.run_amount_minor,
      o.run_before_minor)
    from original_terms o
    where o.account_id = new.id and o.version = new.plan_version and o.total_minor is not null
      and new.next_due_date is not null);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.derive_schedule()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.earliest_expiry(documents jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT min((d.d ->> 'expiresAt'::text)) AS min FROM jsonb_path_query(earliest_expiry.documents, '$[*]'::jsonpath) d(d));

CREATE OR REPLACE FUNCTION public.external_id_is_taken()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  is_taken boolean;
begin
  execute format(
    'select exists (
      select from %s
      where id <> $1 and (external_id = $2
        or external_id <> without_quotes(external_id) and without_quotes(external_id) = $2))', tg_relid::regclass)
    into is_taken using new.id, without_quotes(new.external_id);
  if is_taken then
    raise exception 'the external id % is taken', new.external_id
      using errcode = 'unique_violation', constraint = tg_table_name || '_external_id_unique';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.instalments_due_by(frequency frequency, activation_date date, instalment_count integer, day date)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when day < activation_date then 0
    when frequency = 'daily' then least(instalment_count, day - activation_date)
    when frequency = 'weekly' then least(instalment_count, (day - activation_date) / 7)
    when frequency = 'monthly' then least(instalment_count, months_between(activation_date, day))
  end
$function$;

CREATE OR REPLACE FUNCTION public.instalments_due_in_runs(day date, run_from date[], run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_count integer[], run_amount_minor bigint[], run_before_minor bigint[])
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when day >= run_from[1] then run_before_minor[width_bucket(day, run_from)] - run_before_minor[1]
      + run_amount_minor[width_bucket(day, run_from)] * case run_count[width_bucket(day, run_from)]
        when 1 then 1
        else least(
          run_count[width_bucket(day, run_from)],
          case run_unit[width_bucket(day, run_from)]
            when 'day' then day - run_anchor[width_bucket(day, run_from)]
            else months_between(run_anchor[width_bucket(day, run_from)], day)
          end / run_every[width_bucket(day, run_from)] - run_place[width_bucket(day, run_from)] + 1)
      end
    else 0
  end
$function$;

CREATE OR REPLACE FUNCTION public.invoice_is_frozen()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'invoice % is frozen', old.number using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.invoice_lines_must_sum()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from invoices i
    where i.id in (select a.invoice_id from added a)
      and i.total_minor <> (select sum(l.line_total_minor) from invoice_items l where l.invoice_id = i.id)
  ) then
    raise exception 'the total of an invoice must be the sum of its lines' using errcode = 'check_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.is_reported_transaction(key text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return exists (
      select from notifications n where n.trans_id = key and n.outcome in ('matched', 'unmatched', 'linked'))
    or exists (select from provider_statement_lines l where l.receipt = key and l.is_payment);
end $function$;

CREATE OR REPLACE FUNCTION public.item_date(frequency frequency, activation_date date, item bigint)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case frequency
    when 'daily' then activation_date + item::integer
    when 'weekly' then activation_date + 7 * item::integer
    when 'monthly' then (activation_date + make_interval(months => item::integer))::date
  end
$function$;

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

CREATE OR REPLACE FUNCTION public.months_between(start date, day date)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select (date_part('year', day) * 12 + date_part('month', day)
      - date_part('year', start) * 12 - date_part('month', start))::integer
    - case
        -- The step of that many months falls in the day's own month, so only the days are left to compare.
        when date_part('day', day) >= date_part('day', start) then 0
        when date_part('month', day + 1) <> date_part('month', day) then 0
        else 1
      end
$function$;

CREATE OR REPLACE FUNCTION public.next_due_date(frequency frequency, activation_date date, deposit_minor bigint, instalment_minor bigint, total_minor bigint, paid_minor bigint)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when paid_minor >= total_minor then null
    when paid_minor < deposit_minor then activation_date
    else item_date(frequency, activation_date, (paid_minor - deposit_minor) / instalment_minor + 1)
  end
$function$;

CREATE OR REPLACE FUNCTION public.next_due_date_in_runs(activation_date date, total_minor bigint, paid_minor bigint, run_anchor date[], run_unit text[], run_every integer[], run_place integer[], run_amount_minor bigint[], run_before_minor bigint[])
 RETURNS date
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
declare
  i integer := width_bucket(paid_minor, run_before_minor); -- the last run whose earlier items the sum covers, or 0
begin
  if paid_minor >= total_minor then
    return null;
  end if;
  if i = 0 then
    return activation_date;
  end if;
  return date_of_place(
    run_unit[i], run_anchor[i], run_every[i], run_place[i] + (paid_minor - run_before_minor[i]) / run_amount_minor[i]);
end $function$;

CREATE OR REPLACE FUNCTION public.note_is_kept()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'notes and their corrections are kept' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.notifications_key_has_no_quotes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.trans_id := without_quotes(new.trans_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.oldest_usable_migration()
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT '0116_bulk_deferrals'::text FROM approvals WHERE ((approvals.status = 'pending'::approval_status) AND (approvals.bulk_deferral_id IS NOT NULL)) LIMIT 1), CASE WHEN (EXISTS (SELECT FROM pay_plans WHERE (pay_plans.payoff_basis_points IS NOT NULL))) THEN '0112_early_payoff'::text WHEN (EXISTS (SELECT FROM plan_changes WHERE (plan_changes.kind = 'payoff'::plan_change_kind))) THEN '0112_early_payoff'::text WHEN (EXISTS (SELECT FROM plan_changes)) THEN '0110_original_terms'::text WHEN (EXISTS (SELECT FROM approvals WHERE (((approvals.action)::text = 'change_plan'::text) AND (approvals.status = 'pending'::approval_status)))) THEN '0110_original_terms'::text WHEN ((EXISTS (SELECT FROM accounts WHERE (accounts.run_anchor IS NOT NULL))) OR (EXISTS (SELECT FROM pay_plans WHERE ((pay_plans.price_minor IS NOT NULL) OR (pay_plans.every <> 1) OR (pay_plans.months_without_dues <> '{}'::integer[]))))) THEN '0099_versions_with_runs'::text ELSE '0036_oldest_usable_migration'::text END);

CREATE OR REPLACE FUNCTION public.only_undone_entries_are_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from removed r
      left join payments p on p.id = r.payment_id
      left join credit_moves m on m.id = r.credit_move_id
      left join accounts a on a.id = r.account_id and r.payment_id is null and r.credit_move_id is null
      left join imports i on i.id = coalesce(p.import_id, m.import_id, a.import_id)
    where i.status is distinct from 'undoing')
  then
    raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.only_undone_moves_are_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from removed r left join imports i on i.id = r.import_id where i.status is distinct from 'undoing')
  then
    raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.only_undone_plan_changes_are_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from removed r left join accounts a on a.id = r.account_id left join imports i on i.id = a.import_id
    where i.status is distinct from 'undoing')
  then
    raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.paid_to_instalments(paid_minor bigint, deposit_minor bigint, total_minor bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select greatest(0, least(paid_minor, total_minor) - deposit_minor)
$function$;

CREATE OR REPLACE FUNCTION public.payment_is_reconciled_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'payment % is reconciled already', old.id using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.payment_is_reconciled_too_early()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'payment % of % cannot be reconciled as of %', old.id, old.payment_date, new.reconciliation_date
    using errcode = 'check_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.payment_money_is_frozen()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the money of payment % cannot be edited', old.id using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.payments_key_has_no_quotes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.reference_key := without_quotes(new.reference_key);
  new.provider_trans_id := without_quotes(new.provider_trans_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.payments_manual_stands()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from payments p
    where p.reference_key = new.reference_key and p.payment_method_id = new.payment_method_id
      and p.provider is null and p.status <> 'reversed')
  then
    raise exception 'a manual payment has the reference %', new.reference_key
      using errcode = 'unique_violation', constraint = 'payments_transaction_known';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.payments_transaction_is_known()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the provider has reported the transaction %', new.reference_key
    using errcode = 'unique_violation', constraint = 'payments_transaction_known';
end $function$;

CREATE OR REPLACE FUNCTION public.rows_are_never_edited()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'rows of % are added, never edited', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.search_key(text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN replace(replace(replace(translate($1, ((',;/()'::text || 'ƀɓđðɖɗɇǝəɛƒǥɠɣħɨɩɪƙłɲŋøɔɵɍŧƭʉʊʋƴƶ'::text) || '''`´ʹʺʻʼʽʾʿˈ՚‘’‚‛′‵Ꞌꞌ"“”„.·•․-‐‑‒–—―−'::text), ('     '::text || 'bbddddeeeefggghiiiklnnooorttuuvyz'::text)), 'æ'::text, 'ae'::text), 'œ'::text, 'oe'::text), 'þ'::text, 'th'::text);

CREATE OR REPLACE FUNCTION public.without_quotes(text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN regexp_replace(regexp_replace($1, '^[''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07]*(=[''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07]+)*(?=[^''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07])'::text, ''::text), '(?<=[^''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07])[''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07]+$'::text, ''::text);

CREATE TRIGGER accounts_external_id BEFORE INSERT OR UPDATE OF external_id ON public.accounts FOR EACH ROW WHEN (((new.external_id IS NOT NULL) AND (new.import_id IS NULL))) EXECUTE FUNCTION external_id_is_taken();

CREATE TRIGGER accounts_schedule BEFORE INSERT OR UPDATE OF status, paid_minor, activation_date, frequency, deposit_minor, instalment_minor, instalment_count, total_minor, next_due_date, run_from, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, run_before_minor ON public.accounts FOR EACH ROW EXECUTE FUNCTION derive_schedule();

CREATE TRIGGER accounts_schedule_original BEFORE UPDATE OF status, paid_minor, activation_date, deposit_minor, total_minor, next_due_date, run_anchor, plan_version, original_due_date ON public.accounts FOR EACH ROW WHEN ((new.plan_version > 0)) EXECUTE FUNCTION derive_original_due_date();

CREATE TRIGGER approvals_end_once BEFORE UPDATE ON public.approvals FOR EACH ROW EXECUTE FUNCTION approvals_end_once();

CREATE TRIGGER approvals_stay BEFORE DELETE OR TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER audit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_entries FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER call_mistakes_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.call_mistakes FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER calls_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.calls FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER cash_count_entries_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.cash_count_entries FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER cash_count_moves_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.cash_count_moves FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER cash_counts_end_once BEFORE UPDATE ON public.cash_counts FOR EACH ROW EXECUTE FUNCTION cash_rows_end_once();

CREATE TRIGGER cash_counts_kept BEFORE DELETE OR TRUNCATE ON public.cash_counts FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER cash_handovers_end_once BEFORE UPDATE ON public.cash_handovers FOR EACH ROW EXECUTE FUNCTION cash_rows_end_once();

CREATE TRIGGER cash_handovers_kept BEFORE DELETE OR TRUNCATE ON public.cash_handovers FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER cash_moves_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.cash_moves FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER cash_settlements_end_once BEFORE UPDATE ON public.cash_settlements FOR EACH ROW EXECUTE FUNCTION cash_rows_end_once();

CREATE TRIGGER cash_settlements_kept BEFORE DELETE OR TRUNCATE ON public.cash_settlements FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER closed_disputes_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.closed_disputes FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER commission_lines_added AFTER INSERT ON public.commission_lines REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION commission_lines_take_shares();

CREATE TRIGGER commission_lines_frozen BEFORE UPDATE OR TRUNCATE ON public.commission_lines FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER commission_lines_removed AFTER DELETE ON public.commission_lines REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION commission_lines_give_shares_back();

CREATE TRIGGER credit_moves_append_only BEFORE UPDATE OR TRUNCATE ON public.credit_moves FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER credit_moves_key BEFORE INSERT ON public.credit_moves FOR EACH ROW WHEN ((new.reference_key <> without_quotes(new.reference_key))) EXECUTE FUNCTION credit_moves_key_has_no_quotes();

CREATE TRIGGER credit_moves_leave_with_their_import AFTER DELETE ON public.credit_moves REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION only_undone_moves_are_deleted();

CREATE TRIGGER customers_external_id BEFORE INSERT OR UPDATE OF external_id ON public.customers FOR EACH ROW WHEN (((new.external_id IS NOT NULL) AND (new.import_id IS NULL))) EXECUTE FUNCTION external_id_is_taken();

CREATE TRIGGER employees_external_id BEFORE INSERT OR UPDATE OF external_id ON public.employees FOR EACH ROW WHEN (((new.external_id IS NOT NULL) AND (new.import_id IS NULL))) EXECUTE FUNCTION external_id_is_taken();

CREATE TRIGGER hidden_call_notes_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.hidden_call_notes FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER invoice_items_frozen BEFORE DELETE OR UPDATE OR TRUNCATE ON public.invoice_items FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER invoice_items_sum AFTER INSERT ON public.invoice_items REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION invoice_lines_must_sum();

CREATE TRIGGER invoice_numbers_kept BEFORE DELETE OR TRUNCATE ON public.invoice_numbers FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER invoices_frozen BEFORE UPDATE ON public.invoices FOR EACH ROW WHEN (((old.status = 'void'::invoice_status) OR (((((((((((old.id IS DISTINCT FROM new.id) OR (old.year IS DISTINCT FROM new.year)) OR (old.year_number IS DISTINCT FROM new.year_number)) OR (old.account_id IS DISTINCT FROM new.account_id)) OR (old.customer_name IS DISTINCT FROM new.customer_name)) OR (old.customer_phone IS DISTINCT FROM new.customer_phone)) OR (old.issued_on IS DISTINCT FROM new.issued_on)) OR (old.due_on IS DISTINCT FROM new.due_on)) OR (old.total_minor IS DISTINCT FROM new.total_minor)) OR (old.created_by IS DISTINCT FROM new.created_by)) OR (old.created_at IS DISTINCT FROM new.created_at)))) EXECUTE FUNCTION invoice_is_frozen();

CREATE TRIGGER invoices_kept BEFORE DELETE OR TRUNCATE ON public.invoices FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER ledger_entries_leave_with_their_import AFTER DELETE ON public.ledger_entries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION only_undone_entries_are_deleted();

CREATE TRIGGER ledger_events_balance AFTER INSERT ON public.ledger_entries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_events_must_balance();

CREATE TRIGGER note_is_kept BEFORE DELETE ON public.notes FOR EACH ROW EXECUTE FUNCTION note_is_kept();

CREATE TRIGGER note_is_kept BEFORE DELETE OR UPDATE ON public.note_corrections FOR EACH ROW EXECUTE FUNCTION note_is_kept();

CREATE TRIGGER notifications_key BEFORE INSERT ON public.notifications FOR EACH ROW WHEN ((new.trans_id <> without_quotes(new.trans_id))) EXECUTE FUNCTION notifications_key_has_no_quotes();

CREATE TRIGGER original_terms_append_only BEFORE UPDATE OR TRUNCATE ON public.original_terms FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER payments_key BEFORE INSERT ON public.payments FOR EACH ROW WHEN ((new.reference_key <> without_quotes(new.reference_key))) EXECUTE FUNCTION payments_key_has_no_quotes();

CREATE TRIGGER payments_manual_stands BEFORE INSERT ON public.payments FOR EACH ROW WHEN ((new.provider IS NOT NULL)) EXECUTE FUNCTION payments_manual_stands();

CREATE TRIGGER payments_money_frozen BEFORE UPDATE ON public.payments FOR EACH ROW WHEN (((((old.amount_minor IS DISTINCT FROM new.amount_minor) OR (old.payment_method_id IS DISTINCT FROM new.payment_method_id)) OR (old.payment_date IS DISTINCT FROM new.payment_date)) OR (old.transaction_ref IS DISTINCT FROM new.transaction_ref))) EXECUTE FUNCTION payment_money_is_frozen();

CREATE TRIGGER payments_reconciled_from_their_day BEFORE UPDATE ON public.payments FOR EACH ROW WHEN (((old.reconciliation_id IS NULL) AND (new.reconciliation_date < new.payment_date))) EXECUTE FUNCTION payment_is_reconciled_too_early();

CREATE TRIGGER payments_reconciled_once BEFORE UPDATE ON public.payments FOR EACH ROW WHEN (((old.reconciliation_id IS NOT NULL) AND ((old.reconciliation_id IS DISTINCT FROM new.reconciliation_id) OR (old.reconciliation_date IS DISTINCT FROM new.reconciliation_date)))) EXECUTE FUNCTION payment_is_reconciled_once();

CREATE TRIGGER payments_transaction_known BEFORE INSERT ON public.payments FOR EACH ROW WHEN (((new.provider IS NULL) AND (new.reference_key IS NOT NULL) AND is_reported_transaction(new.reference_key))) EXECUTE FUNCTION payments_transaction_is_known();

CREATE TRIGGER plan_changes_append_only BEFORE UPDATE OR TRUNCATE ON public.plan_changes FOR EACH STATEMENT EXECUTE FUNCTION rows_are_never_edited();

CREATE TRIGGER plan_changes_leave_with_their_import AFTER DELETE ON public.plan_changes REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION only_undone_plan_changes_are_deleted();

CREATE TRIGGER products_external_id BEFORE INSERT OR UPDATE OF external_id ON public.products FOR EACH ROW WHEN (((new.external_id IS NOT NULL) AND (new.import_id IS NULL))) EXECUTE FUNCTION external_id_is_taken();
