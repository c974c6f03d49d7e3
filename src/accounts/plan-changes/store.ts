import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { PlanChangeKind, PlanChanges } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { AccountRow } from '../ledger/rules.ts';
import {
  type RecordedTerms,
  recordedTermsOf,
  storedRuns,
  type Terms,
  termColumns,
  totalOf,
} from '../schedule/rules.ts';
import type { OriginalTerms } from './original-rules.ts';
import type { NewPlanChange } from './schema.ts';

export type PlanChangeRow = Omit<Selectable<PlanChanges>, 'before' | 'after' | 'body'> & {
  before: RecordedTerms;
  after: RecordedTerms;
  body: Omit<NewPlanChange, 'confirm'>;
};

/** A change with the names of its users, and with the undo of the change. */
export type ListedPlanChange = PlanChangeRow & {
  actor: string;
  requester: string | null;
  undone_by: number | null;
  customer_id: number;
  customer_name: string;
} & ChangeDetails;

/** What other rows say about a change. */
interface ChangeDetails {
  /** The pay plan of a sale correction. */
  payplan_name: string | null;
  /** The change that an undo undid. */
  undone_kind: PlanChangeKind | null;
  undone_on: PlainDate | null;
}

/** The columns from which `toOutcome` says what a change did. */
export type DescribedPlanChange = Pick<
  PlanChangeRow,
  'kind' | 'price_change_minor' | 'arrears_moved_minor' | 'body' | 'before' | 'after'
> &
  ChangeDetails;

/** The new values of an account, which the transaction has locked. */
export interface NewTerms extends Pick<AccountRow, 'payplan_id' | 'restructured_kind' | 'restructured_on'> {
  terms: Terms;
  /** The day on which the days of grace start again. Null: they do not. */
  graceRestartsOn: PlainDate | null;
}

/** Sets the terms of an account that the transaction has locked. */
export function updateTerms(tx: Tx, id: number, changed: NewTerms): Promise<AccountRow> {
  const { terms, graceRestartsOn, payplan_id, restructured_kind, restructured_on } = changed;
  return tx
    .updateTable('accounts')
    .set({
      ...termColumns(terms),
      // A trigger computes them for an account with runs.
      ...(terms.runs === undefined && { run_from: null, run_before_minor: null }),
      ...{ payplan_id, restructured_kind, restructured_on },
      ...(graceRestartsOn !== null && { reprieved_on: graceRestartsOn }),
      plan_version: sql`plan_version + 1`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * The sum by which staff have lowered the price of an account on a day without an approval. Early payoffs do not count, nor changes that are
 * undone.
 */
export async function sumLowered(tx: Tx, accountId: number, day: PlainDate): Promise<Minor> {
  const { rows } = await sql<{ lowered: string }>`
    select coalesce(sum(-c.price_change_minor), 0)::text as lowered from plan_changes c ${UNDO}
    where c.account_id = ${accountId} and c.effective_on = ${day} and c.price_change_minor < 0 and c.approval_id is null and c.kind <> 'payoff'
      and n.id is null
  `.execute(tx);
  return BigInt(rows[0]?.lowered ?? 0);
}

/** The changes of an account that are not undone, without undos, in their order. */
export async function findChangesInEffect(tx: Tx, accountId: number): Promise<PlanChangeRow[]> {
  const { rows } = await sql<PlanChangeRow>`
    select c.* from plan_changes c ${UNDO}
    where c.account_id = ${accountId} and c.kind <> 'undo' and n.id is null order by c.id`.execute(tx);
  return rows;
}

/** Records the original terms of an account from a change on. The transaction has locked the account. */
export async function insertOriginalTerms(
  tx: Tx,
  account: { id: number; version: number; effectiveOn: PlainDate },
  { terms, correctedMinor }: OriginalTerms,
): Promise<void> {
  await tx
    .insertInto('original_terms')
    .values({
      account_id: account.id,
      version: account.version,
      effective_on: account.effectiveOn,
      corrected_minor: correctedMinor,
      ...(terms && { total_minor: totalOf(terms), ...storedRuns(terms) }),
    })
    .execute();
}

export interface NewPlanChangeRow {
  kind: PlanChangeKind;
  effectiveOn: PlainDate;
  reason: string | null;
  reasonCode: string | null;
  body: object;
  before: AccountRow;
  after: AccountRow;
  priceChangeMinor: Minor;
  arrearsMovedMinor: Minor;
  aheadMovedMinor: Minor;
  undoes: number | null;
  actorUserId: number | null;
  apiKeyId: number | null;
  approvalId: number | null;
  bulkDeferralId: number | null;
}

/** @returns the id of the change. */
export async function insertPlanChange(tx: Tx, change: NewPlanChangeRow): Promise<number> {
  const { before, after } = change;
  const { id } = await tx
    .insertInto('plan_changes')
    .values({
      account_id: after.id,
      version: after.plan_version,
      kind: change.kind,
      effective_on: change.effectiveOn,
      reason: change.reason,
      reason_code: change.reasonCode,
      body: JSON.stringify(change.body),
      before: JSON.stringify(recordedTermsOf(before)),
      after: JSON.stringify(recordedTermsOf(after)),
      price_change_minor: change.priceChangeMinor,
      arrears_moved_minor: change.arrearsMovedMinor,
      ahead_moved_minor: change.aheadMovedMinor,
      undoes: change.undoes,
      actor_user_id: change.actorUserId,
      api_key_id: change.apiKeyId,
      approval_id: change.approvalId,
      bulk_deferral_id: change.bulkDeferralId,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

const UNDO = sql`left join plan_changes n on n.undoes = c.id`;

const SELECT = sql<ListedPlanChange>`
  select c.*, coalesce(u.email, 'api key ' || k.name, 'system') as actor,
    coalesce(r.email, 'api key ' || q.name) as requester, n.id as undone_by, a.customer_id,
    o.first_name || ' ' || o.last_name as customer_name, y.name as payplan_name, w.kind as undone_kind, w.effective_on as undone_on
  from plan_changes c ${UNDO}
    join accounts a on a.id = c.account_id join customers o on o.id = a.customer_id
    left join plan_changes w on w.id = c.undoes
    left join pay_plans y on y.id = (c.body->>'payplanId')::bigint
    left join users u on u.id = c.actor_user_id left join api_keys k on k.id = c.api_key_id
    left join approvals p on p.id = c.approval_id
    left join users r on r.id = p.requested_by left join api_keys q on q.id = p.api_key_id`;

export async function getPlanChange(db: Db | Tx, id: number): Promise<ListedPlanChange> {
  const { rows } = await sql<ListedPlanChange>`${SELECT} where c.id = ${id}`.execute(db);
  if (!rows[0]) throw new Error(`The change ${id} of a plan does not exist.`);
  return rows[0];
}

/** @param accountId - limits the list to the changes of an account. */
export function listPlanChanges(db: Db, plan: ListPlan, accountId?: number) {
  return fetchPage<ListedPlanChange>(db, plan, {
    computed: { undone: sql`(n.id is not null)` },
    select: SELECT,
    from: sql`from plan_changes c ${UNDO}`,
    where: accountId === undefined ? [] : [sql<boolean>`c.account_id = ${accountId}`],
    byKey: accountId !== undefined,
  });
}
