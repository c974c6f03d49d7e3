-- What the service has learned from the notifications of a provider. A job reads them after they are stored.
create table provider_watches (
  provider text primary key,
  -- The job has read the notifications up to this position.
  read_until timestamptz(3) not null,
  read_id bigint not null default 0,
  last_heard_at timestamptz(3),
  -- The last notification before a silence that is longer than usual. Null while the provider is heard.
  silent_since timestamptz(3)
);

-- The known stretches of the running balance of a short code. With no gap there is only one.
create table provider_balances (
  provider text not null,
  short_code text not null,
  segments json not null,
  primary key (provider, short_code)
);

create type balance_gap_state as enum ('open', 'payments_found', 'money_left');

-- The balance after a notification differs from the balance before the next one.
create table balance_gaps (
  id bigint generated always as identity primary key,
  provider text not null,
  short_code text not null,
  state balance_gap_state not null default 'open',
  -- The times of the two payments around the gap.
  from_time timestamptz(3) not null,
  until_time timestamptz(3) not null,
  -- The growth of the balance without a notification. Negative if the balance fell.
  difference_minor bigint not null check (difference_minor <> 0),
  -- The part that payments explain: reported late, or found by a pull or on a statement.
  late_minor bigint not null default 0,
  found_minor bigint not null default 0,
  created_at timestamptz(3) not null default business_now(),
  explained_at timestamptz(3),
  constraint balance_gaps_period check (from_time <= until_time),
  constraint balance_gaps_explained check ((state = 'open') = (explained_at is null))
);
create index balance_gaps_open on balance_gaps (provider, short_code, id) where state = 'open';
-- Payments that explain a gap. Only lost notifications are in this index.
create index notifications_not_posted on notifications (trans_time) where source <> 'webhook';
