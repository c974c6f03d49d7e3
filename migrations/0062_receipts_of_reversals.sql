-- Outside a transaction: uploads continue while the index is built.

-- Finds the withdrawal that took back a payment by the withdrawal's own receipt.
drop index concurrently if exists provider_statement_lines_reversal_receipt;
create index concurrently provider_statement_lines_reversal_receipt on provider_statement_lines (receipt) where is_reversal;
