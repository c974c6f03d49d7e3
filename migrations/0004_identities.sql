-- Sign-in through identity providers (OpenID Connect).

-- The identity of a person at a provider: issuer and subject. Not the e-mail, because an address can get another owner.
create table identities (
  issuer text not null,
  subject text not null,
  user_id bigint not null references users,
  created_at timestamptz(3) not null default now(),
  constraint identities_pkey primary key (issuer, subject)
);
create index identities_user on identities (user_id);

-- Started sign-ins through a provider. A row is deleted when it is used, or when it has expired.
create table oauth_states (
  state_hash bytea primary key, -- SHA-256; only the browser and the provider have the state itself
  browser_hash bytea not null, -- SHA-256 of the cookie of the browser that started the sign-in
  provider text not null,
  redirect_uri text not null,
  nonce text not null,
  code_verifier text not null,
  expires_at timestamptz(3) not null
);
create index oauth_states_expiry on oauth_states (expires_at);
