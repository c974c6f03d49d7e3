-- The first table that payments read, so that this migration and a payment cannot wait for each other.
lock table payment_methods in access exclusive mode;

-- The payment whose amount was wrong, and which was reversed when this one was recorded in its place. The next migration validates it.
alter table payments add column corrects_payment_id bigint;
alter table payments add constraint payments_corrects_payment_id_fkey
  foreign key (corrects_payment_id) references payments not valid;

alter type approval_action add value 'correct_payment' after 'reverse_payment';
alter table approvals drop constraint approvals_of_payment;
-- As text, because a transaction cannot use an enumeration value that it has added.
alter table approvals add constraint approvals_of_payment check (
  (payment_id is not null) = (action::text in ('reverse_payment', 'correct_payment', 'unassign_payment'))) not valid;

-- The payments whose receipt was handed out once. Each further print says that it is a copy.
create table payment_receipts (
  payment_id bigint primary key references payments,
  first_printed_at timestamptz(3) not null default business_now()
);
