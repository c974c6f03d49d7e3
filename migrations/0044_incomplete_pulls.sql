-- Since when the provider's list of payments has been incomplete. Null if the list that was read last was complete.
alter table provider_pulls add column incomplete_since timestamptz(3);

-- Periods that the pulls have left, although the provider's list of the period was incomplete.
create table incomplete_pulls (
  id bigint generated always as identity primary key,
  provider text not null,
  short_code text not null,
  from_time timestamptz(3) not null,
  until_time timestamptz(3) not null,
  reason text not null,
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint incomplete_pulls_period check (from_time < until_time)
);
create index incomplete_pulls_until on incomplete_pulls (provider, short_code, until_time);
