import { sql } from 'kysely';
import type { Tx } from '../../core/database/db.ts';
import type { UserRole } from '../../core/database/tables.ts';

/**
 * Whether the cash of a payment has left the hand of its holder: the holder handed cash over since the payment was recorded, or the
 * payment is cash from before the opening count. Cash has no names, so every hand-over since then counts. A payment that corrects
 * another one is as old as the first one.
 */
export async function isHandedOver(tx: Tx, { id }: { id: number }): Promise<boolean> {
  const { rows } = await sql<{ handedOver: boolean }>`
    with recursive versions as (
      select id, created_at, corrects_payment_id from payments where id = ${id}
      union all
      select p.id, p.created_at, p.corrects_payment_id from versions v join payments p on p.id = v.corrects_payment_id
    )
    select exists (
      select from cash_moves v
      where v.holder_id = p.created_by and v.payment_method_id = p.payment_method_id and v.amount_minor < 0
        and v.created_at >= (select min(created_at) from versions)
    ) or exists (
      select from cash_count_entries t join cash_counts c on c.id = t.count_id
      where t.payment_id in (select id from versions) and t.event = 'payment_received' and c.number = 1 and c.is_earlier_cash is distinct from false
    ) as "handedOver"
    from payments p join payment_methods m on m.id = p.payment_method_id and m.cash
    where p.id = ${id} and p.source = 'manual' and p.created_by is not null and p.import_id is null`.execute(
    tx,
  );
  return rows[0]?.handedOver ?? false;
}

/** The role of the user who sent a request for approval. Null for an API key. */
export async function findRequesterRole(tx: Tx, approvalId: number): Promise<UserRole | null> {
  const { rows } = await sql<{ role: UserRole | null }>`
    select u.role from approvals a left join users u on u.id = a.requested_by where a.id = ${approvalId}`.execute(
    tx,
  );
  return rows[0]?.role ?? null;
}
