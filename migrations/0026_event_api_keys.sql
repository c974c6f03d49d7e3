-- The API key that made the change. Null for a user, a provider or a job, and for events of earlier versions of the service.
alter table events add column api_key_id bigint;
