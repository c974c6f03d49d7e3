-- All names use "manual" for payments that staff record, and "import" for payments from a provider's statement.
alter type match_method rename value 'hand_entry' to 'manual_entry';
alter type provider_statement_status rename value 'taking_in' to 'importing';
alter table provider_statements rename column taken_in_count to imported_count;
alter table provider_statements rename column taken_in_to_line to imported_to_line;
