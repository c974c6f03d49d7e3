-- Addresses of other programs that receive events. One instance at a time delivers to an endpoint: the owner of its lease.
create table webhook_endpoints (
  id bigint generated always as identity primary key,
  url text not null,
  types text[] not null,
  description text,
  in_order boolean not null,
  active boolean not null default true,
  disabled_reason text,
  disabled_at timestamptz(3),
  secret bytea not null,
  -- The previous secret. Messages are also signed with it until the time in the next column.
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  -- Every matching event with this id or a lower one was delivered, given up, or is in webhook_retries.
  cursor bigint not null,
  -- How often a user moved the cursor back, so that the owner of the lease notices.
  cursor_moves integer not null default 0,
  failures_in_a_row integer not null default 0,
  -- The first failure since the latest success.
  failing_since timestamptz(3),
  paused_until timestamptz(3),
  lease_owner uuid,
  -- Real time, not the time of the test clock.
  lease_expires_at timestamptz(3),
  -- A deleted endpoint stays until the minute jobs have deleted its deliveries.
  deleted_at timestamptz(3),
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint webhook_endpoints_disabled check (
    active = (disabled_reason is null) and active = (disabled_at is null)
    and disabled_reason in ('user', 'gone', 'failing')
  ),
  constraint webhook_endpoints_secrets check ((previous_secret is null) = (previous_secret_expires_at is null)),
  constraint webhook_endpoints_failing check ((failures_in_a_row = 0) = (failing_since is null))
);

-- Events that an endpoint did not accept, or that a user resends. If the endpoint wants events in order, also the events that wait for
-- an earlier one.
create table webhook_retries (
  endpoint_id bigint not null references webhook_endpoints (id) on delete cascade,
  event_id bigint not null,
  -- Events with the same key are delivered one after the other, if the endpoint wants them in order.
  order_key text not null,
  attempts integer not null,
  first_attempt_at timestamptz(3),
  next_attempt_at timestamptz(3) not null,
  primary key (endpoint_id, event_id)
);
create index webhook_retries_due on webhook_retries (endpoint_id, next_attempt_at);
create index webhook_retries_key on webhook_retries (endpoint_id, order_key, event_id);

-- One row for each attempt. The sent body is not stored, because it can be made again from the event.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  endpoint_id bigint not null references webhook_endpoints (id),
  event_id bigint, -- null for a test
  event_type text not null,
  message_id text not null,
  signature text not null,
  attempt integer not null,
  outcome text not null constraint webhook_deliveries_outcome check (outcome in ('delivered', 'failed', 'given_up')),
  status integer,
  answer text,
  error text,
  duration_ms integer not null,
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null default business_now(),
  constraint webhook_deliveries_answer check ((status is null) = (error is not null))
);
create index webhook_deliveries_newest on webhook_deliveries (endpoint_id, created_at, id);
-- For the deletion of old rows. BRIN is enough, because old rows are next to each other in the table.
create index webhook_deliveries_created on webhook_deliveries using brin (created_at);
