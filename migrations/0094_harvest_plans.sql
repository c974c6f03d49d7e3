-- A harvest plan: each year has instalments on some days (month and day), each a share of the price without the deposit, in basis points
-- of the year's part. harvest_cycles years begin with the first of these days that is at least lead_days after the activation.
alter table pay_plans
  add column harvest_months integer[],
  add column harvest_days integer[],
  add column harvest_shares integer[],
  add column harvest_cycles integer,
  add column lead_days integer;
alter table pay_plans add constraint pay_plans_harvest_check check (
  num_nonnulls(harvest_months, harvest_days, harvest_shares, harvest_cycles, lead_days) = 0
  or (
    num_nonnulls(harvest_months, harvest_days, harvest_shares, harvest_cycles, lead_days) = 5
    and price_minor is not null and frequency = 'monthly' and every = 12 and months_without_dues = '{}'
    and cardinality(harvest_months) between 1 and 12 and cardinality(harvest_days) = cardinality(harvest_months)
    and cardinality(harvest_shares) = cardinality(harvest_months)
    and 1 <= all (harvest_months) and 12 >= all (harvest_months) and 1 <= all (harvest_days) and 31 >= all (harvest_days)
    and 0 < all (harvest_shares) and harvest_cycles between 1 and 20 and lead_days between 0 and 365
  ) is true
) not valid;
