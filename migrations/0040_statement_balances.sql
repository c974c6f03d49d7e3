-- The balances and sums of the lines of a provider's statement, and those that the file states above its header. Null for a
-- statement that an earlier version read, and for a figure that the file does not have.
alter table provider_statements
  add column opening_balance_minor bigint,
  add column closing_balance_minor bigint,
  add column paid_in_minor bigint,
  add column withdrawn_minor bigint, -- not negative
  add column stated_opening_balance_minor bigint,
  add column stated_closing_balance_minor bigint,
  add column stated_paid_in_minor bigint,
  add column stated_withdrawn_minor bigint; -- not negative
