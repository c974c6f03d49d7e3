-- The last period in which no notifications of the provider arrived, although it usually sends some: the provider was silent, or the
-- service did not run. Null: there was none since this migration.
alter table provider_watches add column missed_from timestamp(3) with time zone, add column missed_until timestamp(3) with time zone,
  add constraint provider_watches_missed check ((missed_from is null) = (missed_until is null));
