-- Jobs, their locks and their attempts are in the schema graphile_worker, which the library creates at the start.
alter table provider_statements drop column attempts, drop column progressed_at;
