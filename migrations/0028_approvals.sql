-- Requests for actions above APPROVAL_LIMIT. A second user approves or rejects each of them.
create type approval_action as enum (
  'reverse_payment', 'unassign_payment', 'refund_credit', 'transfer_credit', 'write_off_account', 'cancel_account');
create type approval_status as enum ('pending', 'approved', 'rejected', 'withdrawn', 'obsolete');

create table approvals (
  id bigint generated always as identity primary key,
  action approval_action not null,
  status approval_status not null default 'pending',
  account_id bigint references accounts, -- null: an unmatched payment
  payment_id bigint references payments,
  to_account_id bigint references accounts,
  amount_minor bigint not null,
  counted_minor bigint not null, -- the amount that was compared with the limit
  reason text not null,
  body jsonb not null,           -- the body of the call
  facts jsonb not null,          -- the facts at the request
  requested_by bigint references users,
  api_key_id bigint references api_keys,
  responsible_user_id bigint references users, -- the requesting user, or the creator of the API key
  decided_by bigint references users,
  decision_reason text,
  final_facts jsonb,             -- of an obsolete request: the facts that made it obsolete
  credit_move_id bigint references credit_moves,
  ended_at timestamptz(3),
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint approvals_amount check (amount_minor > 0 and counted_minor >= amount_minor),
  constraint approvals_of_payment check ((payment_id is not null) = (action in ('reverse_payment', 'unassign_payment'))),
  constraint approvals_of_account check (account_id is not null or action = 'reverse_payment'),
  constraint approvals_of_transfer check ((to_account_id is not null) = (action = 'transfer_credit')),
  constraint approvals_one_requester check (num_nonnulls(requested_by, api_key_id) = 1),
  constraint approvals_responsible check (requested_by is null or responsible_user_id is not distinct from requested_by),
  constraint approvals_two_people check (decided_by <> responsible_user_id),
  constraint approvals_decided check ((status in ('approved', 'rejected')) = (decided_by is not null)),
  constraint approvals_ended check ((status = 'pending') = (ended_at is null)),
  constraint approvals_rejection check ((status = 'rejected') = (decision_reason is not null)),
  constraint approvals_obsolete check ((status = 'obsolete') = (final_facts is not null)),
  constraint approvals_credit_move check (
    (credit_move_id is not null) = (status = 'approved' and action in ('refund_credit', 'transfer_credit')))
);
create index approvals_created on approvals (created_at, id);
create index approvals_account on approvals (account_id, id);
create unique index approvals_pending_payment on approvals (payment_id) where status = 'pending' and payment_id is not null;
create unique index approvals_pending_account on approvals (account_id) where status = 'pending' and payment_id is null;

create function approvals_end_once() returns trigger language plpgsql as $$
begin
  if old.status <> 'pending'
    or to_jsonb(old) - '{status,decided_by,decision_reason,final_facts,credit_move_id,ended_at,updated_at}'::text[]
      is distinct from to_jsonb(new) - '{status,decided_by,decision_reason,final_facts,credit_move_id,ended_at,updated_at}'::text[]
  then
    raise exception 'approval % can only end, and only once', old.id using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger approvals_end_once before update on approvals for each row execute function approvals_end_once();
create trigger approvals_stay before delete or truncate on approvals
  for each statement execute function rows_are_never_edited();
