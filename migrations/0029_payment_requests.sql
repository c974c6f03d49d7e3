-- Before this migration, a payment with a reference read this table first. Without this lock, the migration and such a payment
-- would wait for each other.
lock table payments in access exclusive mode;

-- How the account was found: the payer was asked to pay for it.
alter type match_method add value 'payment_request';

create type payment_request_status as enum ('requested', 'sent', 'unknown', 'paid', 'declined', 'expired');

-- Requests to a customer's phone to pay. See docs/payment-requests.md.
create table payment_requests (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  provider text not null,
  phone text not null,
  amount_minor bigint not null check (amount_minor > 0),
  status payment_request_status not null default 'requested',
  -- Why the request was declined or has expired.
  reason text,
  -- The provider's own words.
  provider_message text,
  -- The last part of the address to which the provider posts its answer.
  callback_key text not null unique,
  -- The provider's ids of the request. Null until it has accepted the request.
  provider_request_id text,
  merchant_request_id text,
  -- Null if the request was certainly not sent.
  send_started_at timestamptz(3),
  send_attempts integer not null default 0,
  query_attempts integer not null default 0,
  -- When to send the request, or to ask for its outcome. Null if there is nothing to do.
  next_step_at timestamptz(3) default business_now(),
  -- Whether the customer may still be looking at the request, so that the phone gets no other request.
  holds_phone boolean not null default true,
  -- The answer in which the provider reported the payment, and its transaction in the form of payments.reference_key.
  paid_body text,
  receipt text,
  payment_id bigint unique references payments (id),
  created_by bigint references users (id),
  api_key_id bigint references api_keys (id),
  requested_by text not null,
  created_at timestamptz(3) not null default business_now(),
  updated_at timestamptz(3) not null default business_now(),
  sent_at timestamptz(3),
  ended_at timestamptz(3),
  constraint payment_requests_receipt_unique unique (receipt, provider),
  constraint payment_requests_ended check ((status in ('paid', 'declined', 'expired')) = (ended_at is not null)),
  constraint payment_requests_phone_released check (ended_at is null or not holds_phone),
  constraint payment_requests_reason check ((status in ('declined', 'expired')) = (reason is not null)),
  constraint payment_requests_payment check (status = 'paid' or payment_id is null and receipt is null),
  constraint payment_requests_sent check (status in ('requested', 'declined', 'expired') or send_started_at is not null)
);
-- One open request for each phone.
create unique index payment_requests_phone_held on payment_requests (phone) where holds_phone;
create index payment_requests_phone on payment_requests (phone, created_at);
create index payment_requests_account on payment_requests (account_id, id);
create index payment_requests_created on payment_requests (created_at, id);
create index payment_requests_due on payment_requests (next_step_at) where next_step_at is not null;
create index payment_requests_without_payment on payment_requests (id) where status = 'paid' and payment_id is null;

-- The request whose answer the notification is. Null for a notification of its own.
alter table notifications add column payment_request_id bigint references payment_requests (id);
