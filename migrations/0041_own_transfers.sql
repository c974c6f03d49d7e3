alter table provider_statement_lines
  -- The line moves the organisation's own money. It is `contradictory` if the books have a payment with its receipt.
  add column is_own_transfer boolean not null default false,
  -- The column of linked receipts does not name the receipt that the line takes back, but its details do, or the line has the
  -- same receipt. So only an earlier payment of the same amount counts as taken back.
  add column is_inferred boolean not null default false;
