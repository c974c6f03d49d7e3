-- Periods in which no notifications of the provider arrived, although it usually sends some: the provider was silent, or the service did
-- not run.
create table missed_periods (
  id bigint generated always as identity primary key,
  provider text not null,
  from_time timestamptz(3) not null,
  until_time timestamptz(3) not null
);
