-- Requests continue while the rows are read.
alter table pay_plans validate constraint pay_plans_payoff_check;
