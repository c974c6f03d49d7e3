-- Outside a transaction: requests continue while the indexes are built. Both are empty until the first change of a plan.
drop index concurrently if exists accounts_original_due;
create index concurrently accounts_original_due on accounts (original_due_date) where original_due_date is not null;
drop index concurrently if exists accounts_restructured;
create index concurrently accounts_restructured on accounts (restructured_on, id) where restructured_on is not null;
