-- API keys, with which another system calls the API without the token of a person. They expire by real time, like sessions.

create table api_keys (
  id bigint generated always as identity primary key,
  name text not null,
  -- Either a role, or a list of permissions.
  role user_role,
  permissions text[],
  -- The networks from which the key may be used. Null allows all addresses.
  networks text[],
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  last_used_address text,
  created_by bigint references users (id),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint api_keys_one_grant check ((role is null) <> (permissions is null)),
  constraint api_keys_some_permission check (cardinality(permissions) > 0),
  constraint api_keys_some_network check (cardinality(networks) > 0),
  constraint api_keys_used_wholly check ((last_used_at is null) = (last_used_address is null))
);
create index api_keys_created on api_keys (created_at, id);

-- A rotation adds a secret and ends the earlier ones. Only hashes are stored.
create table api_key_secrets (
  secret_hash bytea primary key constraint api_key_secrets_sha256 check (octet_length(secret_hash) = 32),
  api_key_id bigint not null references api_keys (id),
  -- The last characters of the secret, by which people recognize it.
  hint text not null,
  -- When another secret replaces this one.
  replaced_at timestamptz(3),
  created_at timestamptz(3) not null
);
-- Each key has one secret that is not replaced.
create unique index api_key_secrets_newest on api_key_secrets (api_key_id) where replaced_at is null;
create index api_key_secrets_key on api_key_secrets (api_key_id);

-- The API key that made a change, in tables that also store the user who made it.
alter table audit_entries add column api_key_id bigint references api_keys (id);
create index audit_entries_api_key on audit_entries (api_key_id, created_at, id) where api_key_id is not null;
alter table account_status_changes add column api_key_id bigint references api_keys (id);
alter table payments add column api_key_id bigint references api_keys (id);
alter table provider_statements add column reconciling_api_key_id bigint references api_keys (id);

-- An idempotency key belongs to a user or to an API key.
alter table idempotency_keys add column caller text;
update idempotency_keys set caller = 'user ' || user_id;
alter table idempotency_keys drop constraint idempotency_keys_pkey;
alter table idempotency_keys drop column user_id;
alter table idempotency_keys alter column caller set not null;
alter table idempotency_keys add primary key (caller, path, key);
