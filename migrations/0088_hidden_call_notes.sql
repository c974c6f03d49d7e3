-- Notes of calls that a manager hid, because they contained what must not be there. The note stays in `calls`, which is never edited.
create table hidden_call_notes (
  call_id bigint primary key references calls,
  reason text not null,
  created_by bigint not null references users,
  created_at timestamptz(3) not null default business_now()
);
create trigger hidden_call_notes_append_only before update or delete or truncate on hidden_call_notes
  for each statement execute function rows_are_never_edited();
