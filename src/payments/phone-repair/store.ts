import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { PhoneProblem } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { callingCode, phoneSha256 } from '../../core/values/phone.ts';

/**
 * Locks the progress until the end of the transaction, if phones are left to check on this business day.
 * @returns the last checked customer. Undefined if all are checked, or if another instance is checking them.
 */
export async function lockProgress(tx: Tx, day: PlainDate): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select last_customer_id as id from phone_repair
    where completed_on is null or completed_on < ${day}::date for update skip locked`.execute(tx);
  return rows[0]?.id;
}

export async function saveProgress(tx: Tx, lastCustomerId: number): Promise<void> {
  await sql`update phone_repair set last_customer_id = ${lastCustomerId}`.execute(tx);
}

export async function saveCompleted(tx: Tx, day: PlainDate): Promise<void> {
  await sql`update phone_repair set last_customer_id = 0, completed_on = ${day}::date`.execute(tx);
}

export interface StoredPhone {
  id: number;
  phone: string;
  phoneProblem: PhoneProblem | null;
}

/** The phones of the next customers, in the order of their ids. */
export async function findPhones(tx: Tx, afterId: number, limit: number): Promise<StoredPhone[]> {
  const { rows } = await sql<StoredPhone>`
    select id, phone, phone_problem as "phoneProblem" from customers
    where id > ${afterId} order by id limit ${limit}`.execute(tx);
  return rows;
}

/** Locks a customer until the end of the transaction. @returns false if a request has locked it, or there is no such customer. */
export async function tryLockCustomer(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql`select from customers where id = ${id} for no key update skip locked`.execute(
    tx,
  );
  return rows.length > 0;
}

/** The phones of other customers of the same country with the same digits at their ends. */
export async function findSimilarPhones(
  tx: Tx,
  customerId: number,
  phone: string,
  region: string,
): Promise<string[]> {
  const home = `+${callingCode(region)}`;
  const sameEnd = `${home}%${phone.slice(home.length)}`;
  const { rows } = await sql<{ phone: string }>`
    select phone from customers
    where right(phone, 3) = ${phone.slice(-3)} and phone like ${sameEnd} and id <> ${customerId}`.execute(tx);
  return rows.map((row) => row.phone);
}

/** What staff have assigned of the payments of a phone: the typed references, and the customers of the accounts. */
export async function findLearnedFrom(
  tx: Tx,
  phone: string,
): Promise<{ typedKey: string; customerId: number }[]> {
  const { rows } = await sql<{ typedKey: string; customerId: number }>`
    select distinct l.typed_key as "typedKey", a.customer_id as "customerId"
    from learned_references l join accounts a on a.id = l.account_id
    where l.payer_sha256 = ${phoneSha256(phone)}`.execute(tx);
  return rows;
}

/** Employees with a phone that begins with this text, in the order of their ids. */
export async function findEmployeePhones(db: Db, start: string): Promise<{ id: number; phone: string }[]> {
  const { rows } = await sql<{ id: number; phone: string }>`
    select id, phone from employees where starts_with(phone, ${start}) order by id`.execute(db);
  return rows;
}
