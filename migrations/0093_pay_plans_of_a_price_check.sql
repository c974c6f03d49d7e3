alter table pay_plans validate constraint pay_plans_price_check;
alter table pay_plans validate constraint pay_plans_rhythm_check;
