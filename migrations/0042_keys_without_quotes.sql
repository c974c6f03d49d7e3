-- The first table that payments read, so that this migration and a payment cannot wait for each other.
lock table payment_methods in access exclusive mode;

-- The same as withoutQuotes in src/core/values/quoted-text.ts, for text without blanks at its ends. A test compares them.
create function without_quotes(text) returns text language sql immutable parallel safe strict
  return regexp_replace(
    regexp_replace($1,
      '^[''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07]*(=[''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07]+)*(?=[^''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07])',
      ''),
    '(?<=[^''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07])[''"`\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\u02b9\u02bc\uff02\uff07]+$',
    '');

-- Earlier versions, which can run beside this one, keep the quotes in the keys that they write. The names of the triggers precede
-- those of the triggers that compare the keys.
create function payments_key_has_no_quotes() returns trigger language plpgsql as $$
begin
  new.reference_key := without_quotes(new.reference_key);
  new.provider_trans_id := without_quotes(new.provider_trans_id);
  return new;
end $$;

create trigger payments_key before insert on payments for each row
  when (new.reference_key <> without_quotes(new.reference_key)) execute function payments_key_has_no_quotes();

create function notifications_key_has_no_quotes() returns trigger language plpgsql as $$
begin
  new.trans_id := without_quotes(new.trans_id);
  return new;
end $$;

create trigger notifications_key before insert on notifications for each row
  when (new.trans_id <> without_quotes(new.trans_id)) execute function notifications_key_has_no_quotes();

create function credit_moves_key_has_no_quotes() returns trigger language plpgsql as $$
begin
  new.reference_key := without_quotes(new.reference_key);
  return new;
end $$;

create trigger credit_moves_key before insert on credit_moves for each row
  when (new.reference_key <> without_quotes(new.reference_key)) execute function credit_moves_key_has_no_quotes();

-- A key that two refunds of a method would share stays as it is.
alter table credit_moves disable trigger credit_moves_append_only;
update credit_moves c set reference_key = without_quotes(c.reference_key)
where c.reference_key <> without_quotes(c.reference_key) and not exists (
  select from credit_moves o
  where o.id <> c.id and o.payment_method_id = c.payment_method_id
    and without_quotes(o.reference_key) = without_quotes(c.reference_key));
alter table credit_moves enable trigger credit_moves_append_only;

-- An external id with quotes and one without them are the same id. The unique index only compares the texts, so that it can be built
-- for rows that earlier versions wrote. An import checks the ids of its files before it writes them.
create function external_id_is_taken() returns trigger language plpgsql as $$
declare
  is_taken boolean;
begin
  execute format(
    'select exists (
      select from %s
      where id <> $1 and (external_id = $2
        or external_id <> without_quotes(external_id) and without_quotes(external_id) = $2))', tg_relid::regclass)
    into is_taken using new.id, without_quotes(new.external_id);
  if is_taken then
    raise exception 'the external id % is taken', new.external_id
      using errcode = 'unique_violation', constraint = tg_table_name || '_external_id_unique';
  end if;
  return new;
end $$;

create trigger accounts_external_id before insert or update of external_id on accounts for each row
  when (new.external_id is not null and new.import_id is null) execute function external_id_is_taken();
create trigger customers_external_id before insert or update of external_id on customers for each row
  when (new.external_id is not null and new.import_id is null) execute function external_id_is_taken();
create trigger employees_external_id before insert or update of external_id on employees for each row
  when (new.external_id is not null and new.import_id is null) execute function external_id_is_taken();
create trigger products_external_id before insert or update of external_id on products for each row
  when (new.external_id is not null and new.import_id is null) execute function external_id_is_taken();
