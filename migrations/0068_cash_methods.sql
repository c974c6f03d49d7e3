-- Methods whose money staff take in their hands.
alter table payment_methods add column cash boolean not null default false;
update payment_methods set cash = true where code = 'cash';
