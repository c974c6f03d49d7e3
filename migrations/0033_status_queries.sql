create type status_query_state as enum ('requested', 'answered', 'failed', 'unanswered');

-- Status queries: staff ask a provider about one transaction. They change no money. See docs/missed-payments.md.
create table status_queries (
  id bigint generated always as identity primary key,
  provider text not null,
  -- In the form of payments.reference_key.
  transaction_ref text not null,
  -- The payment or the notification that staff asked about.
  payment_id bigint references payments (id),
  notification_id bigint references notifications (id),
  state status_query_state not null default 'requested',
  -- The last part of the address to which the provider posts its answer.
  callback_key text not null unique,
  -- The provider's id of the query. Null until it has accepted the query.
  conversation_id text,
  sent_at timestamptz(3),
  send_attempts integer not null default 0,
  -- When to send the query. Null if there is nothing to send.
  next_send_at timestamptz(3) default business_now(),
  -- Why there is no answer, or what else the provider said.
  message text,
  -- The answer as the service read it, and as the provider sent it.
  answer jsonb,
  answer_body text,
  created_by bigint references users (id),
  api_key_id bigint references api_keys (id),
  asked_by text not null,
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  ended_at timestamptz(3),
  constraint status_queries_subject check (num_nonnulls(payment_id, notification_id) = 1),
  constraint status_queries_ended check ((state = 'requested') = (ended_at is null)),
  constraint status_queries_answered check ((state = 'answered') = (answer is not null)),
  constraint status_queries_next_send check (next_send_at is null or state = 'requested')
);
-- One open query for each transaction.
create unique index status_queries_open on status_queries (transaction_ref, provider) where state = 'requested';
create index status_queries_payment on status_queries (payment_id, id) where payment_id is not null;
create index status_queries_notification on status_queries (notification_id, id) where notification_id is not null;
create index status_queries_created on status_queries (created_at, id);
create index status_queries_due on status_queries (next_send_at) where next_send_at is not null;
