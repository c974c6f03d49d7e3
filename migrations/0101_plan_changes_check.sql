-- Requests continue while the rows are read.
alter table accounts validate constraint accounts_instalment_count_check;
alter table accounts validate constraint accounts_total_check;
