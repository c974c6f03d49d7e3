-- Sign-in through identity providers (OpenID Connect).

-- Who a provider says somebody is: issuer and subject, never the e-mail, which may change hands.
create table identities (
  issuer text not null,
  subject text not null,
  user_id bigint not null references users,
  created_at timestamptz(3) not null default now(),
  constraint identities_pkey primary key (issuer, subject)
);
create index identities_user on identities (user_id);

-- Sign-ins on their way through a provider. Deleted by their one use, or when they expire.
create table oauth_states (
  state_hash bytea primary key, -- SHA-256; the state itself is with the browser and the provider alone
  browser_hash bytea not null, -- SHA-256 of the cookie of the browser that started
  provider text not null,
  redirect_uri text not null,
  nonce text not null,
  code_verifier text not null,
  expires_at timestamptz(3) not null
);
create index oauth_states_expiry on oauth_states (expires_at);
