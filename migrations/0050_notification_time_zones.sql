-- The IANA zone in which the time of a call was read, so that a repeat is read in the same zone after the setting has changed.
-- Null: the zone of the provider's own API. Earlier versions read all times in this zone.
alter table notifications add column time_zone text;
