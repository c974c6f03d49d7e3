-- How often a user reset the health of an endpoint, so that the owner of the lease does not overwrite the reset with an older state.
alter table webhook_endpoints add column health_resets integer not null default 0;
