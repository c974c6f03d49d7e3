-- The first table that payments read, so that this migration and a payment cannot wait for each other.
lock table payment_methods in access exclusive mode;

-- The discount for a customer who pays all that is left on one day. Null if the plan offers none. The next migration validates the check.
alter table pay_plans
  add column payoff_basis_points integer,
  -- The last day of the offer. Null for an offer without end.
  add column payoff_until date,
  add column payoff_min_dues integer,
  add constraint pay_plans_payoff_check check (
    num_nonnulls(payoff_basis_points, payoff_until, payoff_min_dues) = 0
    or (payoff_basis_points between 1 and 9999 and payoff_min_dues between 1 and 10000) is true
  ) not valid;

-- An earlier version posts money without the discount, and does not undo an early payoff when a payment is reversed.
create or replace function oldest_usable_migration() returns text language sql stable return case
  when exists (select from pay_plans where payoff_basis_points is not null) then '0112_early_payoff'
  when exists (select from plan_changes where kind = 'payoff') then '0112_early_payoff'
  when exists (select from plan_changes) then '0110_original_terms'
  when exists (select from approvals where action::text = 'change_plan' and status = 'pending') then '0110_original_terms'
  when exists (select from accounts where run_anchor is not null)
    or exists (select from pay_plans where price_minor is not null or every <> 1 or months_without_dues <> '{}')
    then '0099_versions_with_runs'
  else '0036_oldest_usable_migration'
end;
