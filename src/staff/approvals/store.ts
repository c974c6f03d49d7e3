import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { lookUp } from '../../core/database/statements.ts';
import type { ApprovalAction, ApprovalStatus } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Minor } from '../../core/values/money.ts';
import type { ApprovalRow, Facts, Subject, SubjectState } from './rules.ts';

const STATE = sql`
  jsonb_build_object('paymentStatus', p.status, 'paymentAccountId', p.account_id, 'reconciliationId', p.reconciliation_id,
    'accountStatus', a.status, 'toAccountStatus', t.status, 'balanceMinor', a.receivable_minor, 'creditMinor', a.credit_minor,
    'planVersion', a.plan_version, 'paidMinor', a.paid_minor)`;
const SUBJECTS = sql`
  left join payments p on p.id = r.payment_id
  left join accounts a on a.id = r.account_id
  left join accounts t on t.id = r.to_account_id`;
const APPROVAL = sql<ApprovalRow>`
  select r.*, coalesce(u.email, 'api key ' || k.name) as requester, d.email as decider,
    c.first_name || ' ' || c.last_name as customer, m.name as payment_method, r.body->>'transactionRef' as transaction_ref,
    y.name as payplan, ${STATE} as state
  from approvals r ${SUBJECTS}
  left join customers c on c.id = a.customer_id
  left join payment_methods m on m.id = (r.body->>'paymentMethodId')::bigint
  left join pay_plans y on y.id = (r.body->>'payplanId')::bigint
  left join users u on u.id = r.requested_by
  left join api_keys k on k.id = r.api_key_id
  left join users d on d.id = r.decided_by`;

/** The present state of the subject of a request. */
export async function getSubjectState(
  db: Db,
  { paymentId, accountId, toAccountId }: Subject,
): Promise<SubjectState> {
  const { rows } = await sql<{ state: SubjectState }>`
    select ${STATE} as state
    from (values (${paymentId}::bigint, ${accountId}::bigint, ${toAccountId}::bigint)) as r (payment_id, account_id, to_account_id)
    ${SUBJECTS}`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('Reading the state of a subject returned no row.');
  return row.state;
}

export interface NewApprovalRow extends Subject {
  amountMinor: Minor;
  countedMinor: Minor;
  reason: string;
  body: object;
  facts: Facts;
  requestedBy: number | null;
  apiKeyId: number | null;
}

/** @returns the id of the new request; undefined if a request for the same payment, account or bulk deferral is pending. */
export async function insertApproval(tx: Tx, request: NewApprovalRow): Promise<number | undefined> {
  const inserted = await tx
    .insertInto('approvals')
    .values({
      action: request.action,
      account_id: request.accountId,
      payment_id: request.paymentId,
      to_account_id: request.toAccountId,
      bulk_deferral_id: request.bulkDeferralId ?? null,
      amount_minor: request.amountMinor,
      counted_minor: request.countedMinor,
      reason: request.reason,
      body: JSON.stringify(request.body),
      facts: JSON.stringify(request.facts),
      requested_by: request.requestedBy,
      api_key_id: request.apiKeyId,
      responsible_user_id:
        request.requestedBy ?? sql`(select created_by from api_keys where id = ${request.apiKeyId})`,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted?.id;
}

/** The pending request for the same payment, account or bulk deferral. */
export async function findPendingApproval(
  tx: Tx,
  { paymentId, accountId, bulkDeferralId = null }: Omit<Subject, 'action' | 'toAccountId'>,
): Promise<ApprovalRow | undefined> {
  const isSame =
    bulkDeferralId !== null
      ? sql`r.bulk_deferral_id = ${bulkDeferralId}`
      : paymentId === null
        ? sql`r.payment_id is null and r.account_id = ${accountId}`
        : sql`r.payment_id = ${paymentId}`;
  const { rows } = await sql<ApprovalRow>`${APPROVAL} where r.status = 'pending' and ${isSame}`.execute(tx);
  return rows[0];
}

export interface PendingApproval {
  id: number;
  action: ApprovalAction;
  paymentId: number | null;
}

/** The pending requests for a payment, or for an account and its payments. */
export function findPendingApprovals(
  db: Db,
  subject: { paymentId: number } | { accountId: number },
): Promise<PendingApproval[]> {
  const [column, id] =
    'paymentId' in subject
      ? (['payment_id', subject.paymentId] as const)
      : (['account_id', subject.accountId] as const);
  return lookUp(
    db,
    sql<PendingApproval>`
      select id, action, payment_id as "paymentId" from approvals
      where status = 'pending' and ${sql.ref(column)} = ${id} order by id`,
  );
}

export async function findApproval(db: Db, id: number): Promise<ApprovalRow | undefined> {
  const { rows } = await sql<ApprovalRow>`${APPROVAL} where r.id = ${id}`.execute(db);
  return rows[0];
}

export function listApprovals(db: Db, plan: ListPlan) {
  return fetchPage<ApprovalRow>(db, plan, { select: APPROVAL, from: sql`from approvals r` });
}

/** The pending requests with one of the actions that a user may decide on: neither the user nor a key that the user has seen sent them. */
export async function countDecidable(
  db: Db,
  { userId, actions }: { userId: number; actions: readonly ApprovalAction[] },
): Promise<number> {
  const [row] = await lookUp(
    db,
    sql<{ count: number }>`select count(*)::integer as count from approvals r
    where r.status = 'pending' and r.action::text = any(${actions}::text[]) and r.responsible_user_id is distinct from ${userId}
      and not exists (
        select from audit_entries where resource = 'api_key' and resource_id = r.api_key_id and actor_user_id = ${userId}
          and action in ('api_key.create', 'api_key.rotate'))`,
  );
  return row?.count ?? 0;
}

/** Locks a request. To avoid deadlocks, lock its accounts and payments before the request, as `approve` does. */
export async function lockApproval(tx: Tx, id: number): Promise<ApprovalRow | undefined> {
  const { rows } = await sql<ApprovalRow>`${APPROVAL} where r.id = ${id} for no key update of r`.execute(tx);
  return rows[0];
}

/** Locks pending requests with larger ids than `afterId`. Skips requests that another transaction has locked. */
export async function lockPendingApprovals(tx: Tx, afterId: number, limit: number): Promise<ApprovalRow[]> {
  const { rows } = await sql<ApprovalRow>`
    ${APPROVAL} where r.status = 'pending' and r.id > ${afterId} order by r.id limit ${limit}
    for no key update of r skip locked`.execute(tx);
  return rows;
}

export interface Ending {
  status: Exclude<ApprovalStatus, 'pending'>;
  decidedBy?: number | null;
  decisionReason?: string;
  creditMoveId?: number | null;
  finalFacts?: Facts;
}

/** Ends a request that the transaction has locked. */
export async function setEnded(tx: Tx, id: number, ending: Ending): Promise<void> {
  await tx
    .updateTable('approvals')
    .set({
      status: ending.status,
      decided_by: ending.decidedBy ?? null,
      decision_reason: ending.decisionReason ?? null,
      credit_move_id: ending.creditMoveId ?? null,
      final_facts: ending.finalFacts === undefined ? null : JSON.stringify(ending.finalFacts),
      ended_at: sql`business_now()`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
}

/** Which of the API keys have a secret that a user has seen: the user created or rotated the key. */
export async function findSeenKeys(
  db: Db,
  userId: number | null,
  apiKeyIds: readonly number[],
): Promise<ReadonlySet<number>> {
  if (userId === null || apiKeyIds.length === 0) return new Set();
  const { rows } = await sql<{ id: number }>`
    select distinct resource_id as id from audit_entries
    where resource = 'api_key' and resource_id = any(${apiKeyIds}::bigint[]) and actor_user_id = ${userId}
      and action in ('api_key.create', 'api_key.rotate')`.execute(db);
  return new Set(rows.map(({ id }) => id));
}
