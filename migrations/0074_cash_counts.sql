lock table payment_methods in access exclusive mode;

create type cash_count_status as enum ('open', 'closed');
create type cash_handover_status as enum ('pending', 'received', 'unequal', 'withdrawn', 'deposited', 'confirmed', 'rejected');
create type cash_settlement_kind as enum ('difference', 'closing');
create type cash_settlement_status as enum ('requested', 'confirmed', 'rejected');

-- The holders of cash. The row is the lock of a holder: counts, hand-overs and settlements take it, and payments never do.
create table cash_holders (
  user_id bigint not null references users,
  payment_method_id bigint not null references payment_methods,
  count_number integer not null default 0,
  created_at timestamptz(3) not null default business_now(),
  primary key (user_id, payment_method_id)
);

create table cash_counts (
  id bigint generated always as identity primary key,
  holder_id bigint not null references users,
  payment_method_id bigint not null references payment_methods,
  -- The number of the count among the counts of the holder and the method. The count 1 is the opening count.
  number integer not null check (number > 0),
  counted_minor bigint not null check (counted_minor >= 0),
  -- The counted amount of the count before. 0 for the opening count.
  previous_minor bigint not null check (previous_minor >= 0),
  -- The sums of the ledger entries and of the moves that the count took.
  entries_minor bigint not null,
  moves_minor bigint not null,
  expected_minor bigint not null generated always as (previous_minor + entries_minor + moves_minor) stored,
  difference_minor bigint not null generated always as (counted_minor - previous_minor - entries_minor - moves_minor) stored,
  -- Only for an opening count that is confirmed: whether its difference is cash from before cash counts, and not a difference.
  is_earlier_cash boolean,
  status cash_count_status not null,
  reason text,
  counted_by bigint not null references users,
  confirmed_by bigint references users,
  closed_at timestamptz(3),
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  unique (holder_id, payment_method_id, number),
  constraint cash_counts_opening check (number > 1 or previous_minor = 0),
  constraint cash_counts_closed check ((status = 'closed') = (closed_at is not null)),
  constraint cash_counts_confirmed check (
    (confirmed_by is not null) = (number = 1 and status = 'closed') and (confirmed_by is not null) = (is_earlier_cash is not null)),
  constraint cash_counts_two_people check (confirmed_by <> holder_id and confirmed_by <> counted_by),
  constraint cash_counts_explained check (
    status = 'open' or reason is not null or number = 1 or counted_minor = previous_minor + entries_minor + moves_minor)
);
create unique index cash_counts_open on cash_counts (holder_id, payment_method_id) where status = 'open';
create index cash_counts_created on cash_counts (created_at, id);

-- The ledger entries that counts took. A count can take thousands, so they have no foreign keys: `verify` checks them.
create table cash_count_entries (
  entry_id bigint primary key,
  count_id bigint not null,
  event ledger_event not null,
  payment_id bigint,
  unique (payment_id, event)
);
create index cash_count_entries_count on cash_count_entries (count_id);

create table cash_handovers (
  id bigint generated always as identity primary key,
  from_user_id bigint not null references users,
  payment_method_id bigint not null references payment_methods,
  -- Null: the bank.
  to_user_id bigint references users,
  amount_minor bigint not null check (amount_minor > 0),
  received_minor bigint check (received_minor >= 0),
  slip_number text,
  -- The slip number in upper case, without spaces.
  slip_key text,
  status cash_handover_status not null,
  decided_by bigint references users,
  decided_at timestamptz(3),
  statement_date date,
  statement_text text,
  reason text,
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint cash_handovers_other_user check (to_user_id <> from_user_id),
  constraint cash_handovers_bank check (
    (to_user_id is null) = (status in ('deposited', 'confirmed', 'rejected')) and (to_user_id is null) = (slip_number is not null)
    and (slip_number is null) = (slip_key is null)),
  constraint cash_handovers_counts check (case status
    when 'received' then coalesce(received_minor = amount_minor, false)
    when 'unequal' then coalesce(received_minor <> amount_minor, false)
    else received_minor is null end),
  constraint cash_handovers_decided check (
    (status in ('pending', 'deposited')) = (decided_at is null) and (decided_at is null) = (decided_by is null)),
  constraint cash_handovers_statement check (
    (status = 'confirmed') = (statement_date is not null) and (statement_date is null) = (statement_text is null)),
  constraint cash_handovers_reason check ((status = 'rejected') = (reason is not null)),
  constraint cash_handovers_two_people check (status not in ('confirmed', 'rejected') or decided_by <> from_user_id),
  constraint cash_handovers_receiver check (status not in ('received', 'unequal') or decided_by = to_user_id)
);
create unique index cash_handovers_slip on cash_handovers (slip_key, payment_method_id) where slip_key is not null and status <> 'rejected';
create index cash_handovers_from on cash_handovers (from_user_id, id);
create index cash_handovers_to on cash_handovers (to_user_id, id) where to_user_id is not null;
create index cash_handovers_open on cash_handovers (id) where status in ('pending', 'deposited');
create index cash_handovers_created on cash_handovers (created_at, id);

create table cash_settlements (
  id bigint generated always as identity primary key,
  kind cash_settlement_kind not null,
  holder_id bigint not null references users,
  payment_method_id bigint not null references payment_methods,
  -- The part of the differences that is settled. For a closing: all that remains, known when it is confirmed.
  amount_minor bigint check (amount_minor <> 0 or kind = 'closing'),
  -- Only for a closing: the cash that the requester got back.
  counted_minor bigint check (counted_minor >= 0),
  reason text not null,
  status cash_settlement_status not null default 'requested',
  requested_by bigint not null references users,
  decided_by bigint references users,
  decided_at timestamptz(3),
  decision_reason text,
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint cash_settlements_kind check (
    (kind = 'closing') = (counted_minor is not null) and (kind = 'closing' or amount_minor is not null)
    and (status <> 'confirmed' or amount_minor is not null)),
  constraint cash_settlements_decided check (
    (status = 'requested') = (decided_by is null) and (decided_by is null) = (decided_at is null)
    and (status = 'rejected') = (decision_reason is not null)),
  constraint cash_settlements_two_people check (
    requested_by <> holder_id and (status <> 'confirmed' or (decided_by <> requested_by and decided_by <> holder_id)))
);
create unique index cash_settlements_requested on cash_settlements (holder_id, payment_method_id) where status = 'requested';
create index cash_settlements_holder on cash_settlements (holder_id, payment_method_id);
create index cash_settlements_created on cash_settlements (created_at, id);

-- Each change of the cash in a holder's hand that is no payment: a hand-over, a deposit, its rejection, a closing.
create table cash_moves (
  id bigint generated always as identity primary key,
  holder_id bigint not null references users,
  payment_method_id bigint not null references payment_methods,
  amount_minor bigint not null check (amount_minor <> 0),
  handover_id bigint references cash_handovers,
  settlement_id bigint references cash_settlements,
  created_at timestamptz(3) not null default business_now(),
  constraint cash_moves_cause check (num_nonnulls(handover_id, settlement_id) = 1)
);
create unique index cash_moves_of_handover on cash_moves (handover_id, holder_id, (amount_minor < 0)) where handover_id is not null;
create unique index cash_moves_of_settlement on cash_moves (settlement_id, holder_id) where settlement_id is not null;
create index cash_moves_holder on cash_moves (holder_id, payment_method_id, created_at);

create table cash_count_moves (
  move_id bigint primary key references cash_moves,
  -- Deferred: a count takes its moves before it is written with their sum.
  count_id bigint not null references cash_counts deferrable initially deferred
);
create index cash_count_moves_count on cash_count_moves (count_id);

create trigger cash_count_entries_kept before update or delete or truncate on cash_count_entries
  for each statement execute function rows_are_never_edited();
create trigger cash_count_moves_kept before update or delete or truncate on cash_count_moves
  for each statement execute function rows_are_never_edited();
create trigger cash_moves_kept before update or delete or truncate on cash_moves
  for each statement execute function rows_are_never_edited();
create trigger cash_counts_kept before delete or truncate on cash_counts
  for each statement execute function rows_are_never_edited();
create trigger cash_handovers_kept before delete or truncate on cash_handovers
  for each statement execute function rows_are_never_edited();
create trigger cash_settlements_kept before delete or truncate on cash_settlements
  for each statement execute function rows_are_never_edited();

create function cash_rows_end_once() returns trigger language plpgsql as $$
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
end $$;
create trigger cash_counts_end_once before update on cash_counts for each row execute function cash_rows_end_once();
create trigger cash_handovers_end_once before update on cash_handovers for each row execute function cash_rows_end_once();
create trigger cash_settlements_end_once before update on cash_settlements for each row execute function cash_rows_end_once();
