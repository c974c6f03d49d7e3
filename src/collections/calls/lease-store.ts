import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { LEASE_MINUTES } from './rules.ts';

export interface LeaseRow {
  phone: string;
  userId: number;
  officer: string;
  expiresAt: string;
}

/** The unexpired leases of phones. */
export async function findLeases(db: Db, phones: readonly string[]): Promise<LeaseRow[]> {
  const { rows } = await sql<LeaseRow>`
    select l.phone, l.user_id as "userId", u.first_name || ' ' || u.last_name as officer, l.expires_at as "expiresAt"
    from call_leases l join users u on u.id = l.user_id
    where l.phone = any(${phones}::text[]) and l.expires_at > business_now()
    order by l.phone`.execute(db);
  return rows;
}

/**
 * Leases phones to a user, or renews the leases, and frees all other phones of the user.
 * @param phones - in the order of text, so that two users cannot wait for each other.
 * @returns false if another user has leased one of the phones. The transaction must then roll back.
 */
export async function takeLeases(
  tx: Tx,
  phones: readonly string[],
  userId: number,
  takeOver: boolean,
): Promise<boolean> {
  // Two requests of one user would otherwise both keep their phones.
  await sql`select 1 from users where id = ${userId} for no key update`.execute(tx);
  const { rows } = await sql`
    insert into call_leases as l (phone, user_id, expires_at)
    select phone, ${userId}, business_now() + make_interval(mins => ${LEASE_MINUTES})
    from unnest(${phones}::text[]) with ordinality as wanted (phone, position) order by position
    on conflict (phone) do update set user_id = excluded.user_id, expires_at = excluded.expires_at
    where l.user_id = excluded.user_id or l.expires_at <= business_now() or ${takeOver}
    returning phone`.execute(tx);
  if (rows.length < phones.length) return false;
  await free(tx, userId, sql`phone <> all(${phones}::text[])`);
  return true;
}

/** Frees those of the phones that the user has leased. */
export function freeLeases(tx: Tx, userId: number, phones: readonly string[]): Promise<void> {
  return free(tx, userId, sql`phone = any(${phones}::text[])`);
}

/** A phone that another user is taking over at this moment is skipped. */
async function free(tx: Tx, userId: number, condition: RawBuilder<unknown>): Promise<void> {
  await sql`
    delete from call_leases where phone in (
      select phone from call_leases where user_id = ${userId} and ${condition} for update skip locked)`.execute(
    tx,
  );
}
