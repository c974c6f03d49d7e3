-- A plan with a price: its instalments are instalment_minor, and the last takes the rest of the price. instalment_count is the number that
-- was asked for; there can be fewer instalments. Without a price, the price is the deposit and instalment_count instalments.
alter table pay_plans
  add column price_minor bigint,
  add column rounding_minor bigint,
  add column every integer not null default 1,
  add column months_without_dues integer[] not null default '{}';
alter table pay_plans add constraint pay_plans_price_check check (
  (price_minor is null) = (rounding_minor is null)
  and (price_minor is null or price_minor > deposit_minor and rounding_minor > 0
    and (price_minor - deposit_minor - 1) / instalment_minor < instalment_count)
) not valid;
alter table pay_plans add constraint pay_plans_rhythm_check check (
  every between 1 and 365 and cardinality(months_without_dues) <= 10
  and months_without_dues <@ array[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
) not valid;
