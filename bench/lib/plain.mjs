// Tables and statements for two programs that record a payment with little work: by one insert, and by an insert and an update of
// the balance. The benchmarks compare the service with them.

/**
 * Creates tables with as many rows as the books, in the schema `plain`. Accounts have a balance. Payments have foreign keys, and
 * indexes on the account, the time and the reference.
 */
export async function createPlainTables(database, { payments, accounts }) {
  await dropPlainTables(database);
  await database.query(`
    create schema plain;
    create table plain.accounts (id bigint primary key, balance bigint not null, updated_at timestamptz not null default now());
    insert into plain.accounts select n, 0 from generate_series(1, ${accounts}) n;
    create table plain.methods (id bigint primary key, name text not null);
    insert into plain.methods values (1, 'Mobile money'), (2, 'Cash');
    create table plain.payments (
      id bigint generated always as identity primary key,
      account_id bigint not null references plain.accounts,
      amount bigint not null,
      method_id bigint not null references plain.methods,
      reference text not null,
      paid_on date not null default current_date,
      created_at timestamptz not null default now());
    insert into plain.payments (account_id, amount, method_id, reference, paid_on, created_at)
    select 1 + (n * 7919::bigint) % ${accounts}, 1234, 2, 'P' || n, current_date - (n % 365)::int,
      now() - make_interval(secs => ${payments} - n)
    from generate_series(1, ${payments}) n;
    create unique index on plain.payments (reference);
    create index on plain.payments (account_id, id);
    create index on plain.payments (created_at);`);
  await database.query('vacuum analyze plain.accounts, plain.payments');
}

export async function dropPlainTables(database) {
  await database.query('drop schema if exists plain cascade');
}

/** The only statement of plain-handler.mjs. Its parameters are the account and the reference. */
export const PLAIN_INSERT =
  'insert into plain.payments (account_id, amount, method_id, reference) values ($1, 1234, 2, $2) returning *';

/** A pgbench script. Its transaction locks an account, inserts a payment, and updates the balance of the account. */
export function minimalTransaction([from, to]) {
  return `\\set account random(${from}, ${to})
\\set reference random(1, 9000000000000000000)
begin;
select balance from plain.accounts where id = :account for update;
insert into plain.payments (account_id, amount, method_id, reference) values (:account, 1234, 2, 'E' || :reference);
update plain.accounts set balance = balance + 1234, updated_at = now() where id = :account;
commit;
`;
}
