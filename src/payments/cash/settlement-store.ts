import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Minor } from '../../core/values/money.ts';
import { IS_DIFFERENCE } from './count-store.ts';
import type { HolderKey, SettlementRow } from './rules.ts';

export interface NewSettlement extends HolderKey {
  kind: 'difference' | 'closing';
  amountMinor: Minor | null;
  countedMinor: Minor | null;
  reason: string;
  requestedBy: number;
}

/** @returns undefined if another settlement of the holder waits for a second person. */
export function insertSettlement(tx: Tx, settlement: NewSettlement): Promise<SettlementRow | undefined> {
  return tx
    .insertInto('cash_settlements')
    .values({
      kind: settlement.kind,
      holder_id: settlement.holderId,
      payment_method_id: settlement.paymentMethodId,
      amount_minor: settlement.amountMinor,
      counted_minor: settlement.countedMinor,
      reason: settlement.reason,
      requested_by: settlement.requestedBy,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function findSettlementRow(db: Db, id: number): Promise<SettlementRow | undefined> {
  return db.selectFrom('cash_settlements').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Locks a settlement. Lock its holder first. */
export async function lockSettlement(tx: Tx, id: number): Promise<SettlementRow> {
  return tx
    .selectFrom('cash_settlements')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

export function endSettlement(
  tx: Tx,
  id: number,
  ending: {
    status: 'confirmed' | 'rejected';
    decidedBy: number;
    amountMinor?: Minor;
    decisionReason?: string;
  },
): Promise<SettlementRow> {
  return tx
    .updateTable('cash_settlements')
    .set({
      status: ending.status,
      decided_by: ending.decidedBy,
      decided_at: sql`business_now()`,
      amount_minor: ending.amountMinor,
      decision_reason: ending.decisionReason,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'requested')
    .returningAll()
    .executeTakeFirstOrThrow();
}

export type ListedSettlement = SettlementRow & {
  holder: string;
  requester: string;
  decider: string | null;
  method: string;
};

const SETTLEMENTS = sql`
  from cash_settlements s join users h on h.id = s.holder_id join users r on r.id = s.requested_by
  left join users d on d.id = s.decided_by join payment_methods m on m.id = s.payment_method_id`;
const SETTLEMENT = sql<ListedSettlement>`
  select s.*, h.first_name || ' ' || h.last_name as holder, r.first_name || ' ' || r.last_name as requester,
    d.first_name || ' ' || d.last_name as decider, m.name as method ${SETTLEMENTS}`;

export function listSettlements(db: Db, plan: ListPlan): Promise<Page<ListedSettlement>> {
  return fetchPage<ListedSettlement>(db, plan, { select: SETTLEMENT, from: SETTLEMENTS });
}

export async function findSettlement(db: Db, id: number): Promise<ListedSettlement | undefined> {
  const { rows } = await sql<ListedSettlement>`${SETTLEMENT} where s.id = ${id}`.execute(db);
  return rows[0];
}

/** The sum of a holder's differences that are neither offset by other differences nor settled. */
export async function sumOpenDifference(tx: Tx, { holderId, paymentMethodId }: HolderKey): Promise<Minor> {
  const { rows } = await sql<{ sum: string }>`
    select ((select coalesce(sum(c.difference_minor), 0) from cash_counts c
        where c.holder_id = ${holderId} and c.payment_method_id = ${paymentMethodId} and ${IS_DIFFERENCE})
      - (select coalesce(sum(s.amount_minor), 0) from cash_settlements s
        where s.holder_id = ${holderId} and s.payment_method_id = ${paymentMethodId} and s.status = 'confirmed'))::text as sum`.execute(
    tx,
  );
  return BigInt(rows[0]?.sum ?? 0);
}
