import { type Actor, amountOf, type Context, type Currency } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { notFound } from '../../core/http/errors.ts';
import { addDays } from '../../core/values/dates.ts';
import { mayDo } from '../../rights.ts';
import { needsApproval } from '../../staff/approvals/rules.ts';
import { formatAccountNumber } from '../account-number-rules.ts';
import { nextStatuses } from './rules.ts';
import { RESTRUCTURED_DAYS } from './schema.ts';
import {
  countProblems,
  countRestructured,
  countStates,
  findBulkDeferral,
  findBulkDeferralRow,
  type ListedAccount,
  type ListedBulkDeferral,
} from './store.ts';

type ViewContext = Pick<Context, 'config' | 'currency'>;

export function toBulkDeferral(row: ListedBulkDeferral, { config, currency }: ViewContext) {
  const { body } = row;
  const next = nextStatuses(row.status, { hasWaiting: row.has_waiting, hasDeferred: row.has_deferred });
  const amount = (minor: number | null) => (minor === null ? null : amountOf(minor, currency));
  return {
    id: row.id,
    status: row.status,
    allowedMoves: row.pending_approval_id === null ? next : [],
    from: body.from,
    periods: body.periods ?? null,
    days: body.days ?? null,
    arrears: body.arrears === 'behind' ? ('behind' as const) : ('stay' as const),
    reason: body.reason,
    reasonCode: body.reasonCode ?? null,
    preparedOn: row.prepared_on,
    currency: currency.code,
    selectedCount: row.selected_count,
    deferrableCount: row.deferrable_count,
    balance: amount(row.balance_minor),
    arrearsMoved: amount(row.arrears_moved_minor),
    needsApproval: needsApproval(config, BigInt(row.balance_minor ?? 0)),
    pendingApprovalId: row.pending_approval_id,
    approvalId: row.approval_id,
    createdBy: row.creator,
    actor: row.actor,
    undoReason: row.undo_reason,
    failure: row.failure,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** @throws AppError NOT_FOUND. */
export async function requireBulkDeferral(db: Db, id: number): Promise<void> {
  if (!(await findBulkDeferralRow(db, id))) throw notFound('bulk_deferral', id);
}

/** @throws AppError NOT_FOUND. */
export async function showBulkDeferral(
  { db, ...context }: ViewContext & { db: Db },
  actor: Actor,
  id: number,
) {
  const row = await findBulkDeferral(db, id);
  if (!row) throw notFound('bulk_deferral', id);
  const { customerMetadata, ...filter } = row.filter;
  const counts = await countStates(db, id);
  const problems = await countProblems(db, id);
  const since = addDays(row.prepared_on, -RESTRUCTURED_DAYS);
  return {
    ...toBulkDeferral(row, context),
    counts: {
      selected: counts.selected ?? 0,
      refused: counts.refused ?? 0,
      waiting: counts.waiting ?? 0,
      deferred: counts.deferred ?? 0,
      skipped: counts.skipped ?? 0,
      undone: counts.undone ?? 0,
      notUndone: counts.not_undone ?? 0,
    },
    filter: mayDo(actor, 'customers:read') ? row.filter : filter,
    restructuredCount: row.status === 'draft' ? await countRestructured(db, id, since) : null,
    problems: problems.map(({ ids, ...problem }) => ({ ...problem, accountIds: ids })),
  };
}

export function toSelectedAccount(actor: Actor, row: ListedAccount, currency: Currency) {
  const amount = (minor: number | null) => (minor === null ? null : amountOf(minor, currency));
  return {
    id: row.id,
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    customerName: mayDo(actor, 'customers:read') ? row.customer : null,
    state: row.state,
    balance: amount(row.balance_minor),
    arrearsMoved: amount(row.arrears_moved_minor),
    problem: row.problem === null ? null : { code: row.problem, text: row.problem_text ?? '' },
    changeId: row.change_id,
  };
}
