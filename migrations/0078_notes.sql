-- Notes of staff about a customer, or about one account of the customer. A note is never deleted. A correction keeps the earlier text.
create table notes (
  id bigint generated always as identity primary key,
  customer_id bigint not null references customers,
  account_id bigint references accounts,
  text text not null,
  pinned boolean not null default false,
  correction_count integer not null default 0,
  created_by bigint references users,
  api_key_id bigint references api_keys,
  hidden_at timestamptz(3),
  hidden_by bigint references users,
  hidden_by_key bigint references api_keys,
  hidden_reason text,
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  constraint notes_hidden check ((hidden_at is null) = (hidden_reason is null)),
  constraint notes_hidden_by check (hidden_at is not null or num_nonnulls(hidden_by, hidden_by_key) = 0),
  constraint notes_hidden_unpinned check (hidden_at is null or not pinned)
);
create index notes_customer on notes (customer_id, created_at, id);
create index notes_account on notes (account_id) where account_id is not null;

create table note_corrections (
  id bigint generated always as identity primary key,
  note_id bigint not null references notes,
  -- The text before the correction.
  earlier_text text not null,
  corrected_by bigint references users,
  api_key_id bigint references api_keys,
  created_at timestamptz(3) not null default business_now()
);
create index note_corrections_note on note_corrections (note_id, id);

create function note_is_kept() returns trigger language plpgsql as $$
begin
  raise exception 'notes and their corrections are kept' using errcode = 'restrict_violation';
end $$;
create trigger note_is_kept before delete on notes for each row execute function note_is_kept();
create trigger note_is_kept before update or delete on note_corrections for each row execute function note_is_kept();
