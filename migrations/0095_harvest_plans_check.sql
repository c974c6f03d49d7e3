alter table pay_plans validate constraint pay_plans_harvest_check;
