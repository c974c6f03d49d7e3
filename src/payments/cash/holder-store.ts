import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { UserRole } from '../../core/database/tables.ts';
import type { HolderKey } from './rules.ts';

export interface CashMethod {
  id: number;
  name: string;
}

export async function findCashMethods(db: Db): Promise<CashMethod[]> {
  const { rows } = await sql<CashMethod>`
    select id, name from payment_methods where cash order by id`.execute(db);
  return rows;
}

/** Whether it is a method with cash. It stays one until the transaction ends: changes of methods wait for this lock, payments do not. */
export async function lockCashMethod(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql`select from payment_methods where id = ${id} and cash for key share`.execute(tx);
  return rows.length > 0;
}

/** A person who counts cash, or could. */
export interface CashUser {
  id: number;
  firstName: string;
  lastName: string;
  role: UserRole;
  active: boolean;
}

export async function findCashUser(db: Db, id: number): Promise<CashUser | undefined> {
  const { rows } = await sql<CashUser>`
    select id, first_name as "firstName", last_name as "lastName", role, active from users where id = ${id}`.execute(
    db,
  );
  return rows[0];
}

/** The holders with an opening count, to whom cash can be handed over. */
export async function findReceivers(
  db: Db,
  roles: readonly UserRole[],
): Promise<(CashUser & { paymentMethodId: number })[]> {
  const { rows } = await sql<CashUser & { paymentMethodId: number }>`
    select u.id, u.first_name as "firstName", u.last_name as "lastName", u.role, u.active,
      h.payment_method_id as "paymentMethodId"
    from cash_holders h join users u on u.id = h.user_id join payment_methods m on m.id = h.payment_method_id and m.cash
    where h.count_number > 0 and u.active and u.role = any(${[...roles]}::user_role[])
    order by u.first_name, u.last_name, u.id, h.payment_method_id`.execute(db);
  return rows;
}

/**
 * Locks a holder's cash of a method. Counts, hand-overs, settlements and closings of the holder wait for each other. Payments never
 * take this lock. To avoid deadlocks, lock several holders in the order of their ids (`lockHolders`).
 * @returns the number of counts so far.
 */
async function lockHolder(tx: Tx, { holderId, paymentMethodId }: HolderKey): Promise<number> {
  await sql`
    insert into cash_holders (user_id, payment_method_id) values (${holderId}, ${paymentMethodId})
    on conflict do nothing`.execute(tx);
  const { rows } = await sql<{ count_number: number }>`
    select count_number from cash_holders where user_id = ${holderId} and payment_method_id = ${paymentMethodId}
    for no key update`.execute(tx);
  if (!rows[0]) throw new Error('The locked holder has no row.');
  return rows[0].count_number;
}

/** Locks the cash of several holders. @returns the number of counts so far, by holder. */
export async function lockHolders(
  tx: Tx,
  holderIds: readonly number[],
  paymentMethodId: number,
): Promise<Map<number, number>> {
  const numbers = new Map<number, number>();
  for (const holderId of [...new Set(holderIds)].toSorted((a, b) => a - b)) {
    numbers.set(holderId, await lockHolder(tx, { holderId, paymentMethodId }));
  }
  return numbers;
}
