alter table customers add column second_phone text;
