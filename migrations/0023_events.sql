-- One event for each change. All ids come from the sequence of audit_entries. An audit entry has the id of its event. Derived
-- events have no audit entry.
create table events (
  id bigint primary key,
  type text not null,
  version smallint not null, -- the version of the data of this type
  resource text not null,
  resource_id bigint,
  account_id bigint,         -- set for a change of an account's money or status
  account_version bigint,    -- 1, 2, 3, … for each account
  actor_user_id bigint,
  actor text not null,       -- never the e-mail of a user
  request_id text,
  data json not null,
  created_at timestamptz(3) not null default business_now(),
  constraint events_account_version check ((account_id is null) = (account_version is null))
);

-- The feed starts after deleted_to_id: events up to this id were deleted or never existed.
create table event_feed (
  deleted_to_id bigint not null,
  is_only_row boolean primary key default true check (is_only_row)
);
insert into event_feed (deleted_to_id) select coalesce(max(id), 0) from audit_entries;

-- False for entries written by earlier versions of the service, which may still run while instances are replaced.
alter table audit_entries add column has_event boolean not null default false;

-- The account_version of the latest event of the account.
alter table accounts add column event_count bigint not null default 0;
