-- A payment that the service found by asking the provider, because its notification was lost or late.
alter type payment_source add value 'pull';

-- How far the service has asked a provider for the payments of a short code.
create table provider_pulls (
  provider text not null,
  short_code text not null,
  -- The provider lists payments only after this.
  registered_at timestamptz(3),
  -- Every payment before this that the provider lists is in the inbox. Null before the first pull.
  complete_until timestamptz(3),
  -- The provider no longer lists this period, and it was never pulled completely.
  lost_from timestamptz(3),
  lost_until timestamptz(3),
  next_at timestamptz(3) not null default business_now(),
  succeeded_at timestamptz(3),
  failures_in_a_row integer not null default 0,
  failure text,
  found_count bigint not null default 0,
  primary key (provider, short_code),
  constraint provider_pulls_failure check ((failures_in_a_row = 0) = (failure is null)),
  constraint provider_pulls_lost check ((lost_from is null) = (lost_until is null) and lost_from < lost_until)
);
