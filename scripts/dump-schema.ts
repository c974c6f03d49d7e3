import type { ClientBase } from 'pg';

/**
 * Returns the schema of a database as SQL. Asks PostgreSQL for the definition of each object, because the embedded PostgreSQL has
 * no pg_dump.
 */
export async function dumpSchema(client: ClientBase): Promise<string> {
  const parts = [
    '-- Generated from the migrations by `npm run generate`.\n',
    ...(await read(client, ENUMS)),
    ...(await tables(client)),
    ...(await read(client, FUNCTIONS)).map((text) => `${text.trim()};\n`),
    ...(await read(client, TRIGGERS)),
  ];
  return parts.join('\n');
}

const ENUMS = `
  select format(E'create type %s as enum (%s);\\n',
    t.typname, string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)) as text
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = 'public'::regnamespace
  group by t.typname order by t.typname`;

const FUNCTIONS = `
  select pg_get_functiondef(p.oid) as text from pg_proc p
  where p.pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by p.proname`;

const TRIGGERS = `
  select pg_get_triggerdef(oid) || E';\\n' as text from pg_trigger where not tgisinternal order by tgname`;

async function read(client: ClientBase, query: string, values: unknown[] = []): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(query, values);
  return rows.map(({ text }) => text);
}

async function tables(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ oid: number; name: string }>(`
    select oid, relname as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace and relname not like 'kysely%'
    order by relname`);
  const texts: string[] = [];
  for (const table of rows) texts.push(await tableText(client, table));
  return texts;
}

async function tableText(client: ClientBase, { oid, name }: { oid: number; name: string }): Promise<string> {
  const columns = await read(
    client,
    `select format('  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        case when a.attnotnull then ' not null' else '' end,
        case
          when a.attidentity <> '' then ' generated always as identity'
          when a.attgenerated <> '' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
          when d.adbin is not null then format(' default %s', pg_get_expr(d.adbin, d.adrelid))
          else '' end) as text
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [oid],
  );
  const constraints = await read(
    client,
    `select format('  constraint %I %s', conname, pg_get_constraintdef(oid)) as text
      from pg_constraint where conrelid = $1 and contype in ('p', 'u', 'c', 'f') order by contype, conname`,
    [oid],
  );
  const indexes = await read(
    client,
    `select pg_get_indexdef(indexrelid) || ';' as text from pg_index i
      where indrelid = $1 and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
      order by 1`,
    [oid],
  );
  const lines = [...columns, ...constraints].join(',\n');
  return [`create table ${name} (\n${lines}\n);`, ...indexes, ''].join('\n');
}
