-- Provider statements -----------------------------------------------------------------------------

-- The statement that a notification was imported from: each counts the payments that it brought in itself.
alter table notifications add column provider_statement_id bigint references provider_statements;
update notifications set provider_statement_id = (raw_body::jsonb ->> 'StatementId')::bigint where source = 'import';
alter table notifications add constraint notifications_statement_of_import
  check (provider_statement_id is null or source = 'import');
