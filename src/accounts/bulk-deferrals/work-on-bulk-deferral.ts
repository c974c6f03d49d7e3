import { type Actor, amountOf, type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inSnapshot, inTransaction } from '../../core/database/transactions.ts';
import { AppError } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import { maxMinor } from '../../core/values/money.ts';
import { type Attempt, addJob, jobOf } from '../../platform/jobs/queue.ts';
import { apiKeyActor } from '../../staff/api-keys/rules.ts';
import { getApiKey } from '../../staff/api-keys/store.ts';
import { getApproval } from '../../staff/approvals/commands.ts';
import { actorOfJob } from '../../staff/users/view.ts';
import type { AccountRow } from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import { applyChange, type Effect, effectOf } from '../plan-changes/change-plan.ts';
import { statusProblem } from '../plan-changes/request-rules.ts';
import type { NewPlanChange } from '../plan-changes/schema.ts';
import { findChangesInEffect } from '../plan-changes/store.ts';
import { BULK_DEFERRAL_TASK, endWork, failPreview } from './commands.ts';
import { type Problem, problemOf, problemOfUndo, statusProblemOf } from './rules.ts';
import {
  type BulkDeferralRow,
  findAccounts,
  findBulkDeferralRow,
  findNextAccounts,
  lockBulkDeferral,
  lockSelectedAccounts,
  type Previewed,
  type SelectedAccountRow,
  setAccountState,
  setPreviewed,
  storePreviewed,
} from './store.ts';

// A transaction changes a few accounts, so that their payments wait only for a moment. The states of the accounts change in the same
// transaction, so the work can stop at any time, and continues with the next accounts.

const PREVIEWED_PER_STEP = 100;
/** Their statements are sent together, so the accounts are locked for about as long as one of them would be alone. */
const CHANGED_AT_ONCE = 5;

/** Works on a bulk deferral for at most `bulkDeferralTurnMs`. The rest follows in the next turn. */
export async function workOnBulkDeferral(
  context: Context,
  log: Log,
  id: number,
  { isLast, signal }: Attempt,
): Promise<void> {
  const turn = AbortSignal.any([signal, AbortSignal.timeout(context.config.limits.bulkDeferralTurnMs)]);
  try {
    const takeStep = await chooseStep(context, log, id, isLast);
    let afterId: number | undefined = 0;
    while (afterId !== undefined && !turn.aborted) afterId = await takeStep(afterId);
    if (afterId === undefined) return;
  } catch (error) {
    log.error({ err: error, bulkDeferral: id }, 'the work on a bulk deferral failed');
    if (isLast) await failPreview(context, id);
    throw error;
  }
  await addJob(context.db, jobOf(BULK_DEFERRAL_TASK, id));
}

/** Works on the accounts after the one with this id. @returns the id of the last of them. Undefined if the work is complete. */
type TakeStep = (afterId: number) => Promise<number | undefined>;

async function chooseStep(context: Context, log: Log, id: number, isLast: boolean): Promise<TakeStep> {
  const row = await findBulkDeferralRow(context.db, id);
  switch (row?.status) {
    case 'previewing':
      return (afterId) => previewNext(context, row, afterId);
    case 'running':
    case 'undoing': {
      const actor = await actorOfWork(context, row);
      const work = row.status === 'running' ? DEFERRAL : UNDO;
      return (afterId) => changeNext(context, log, { row, actor, isLast, afterId }, work);
    }
    default:
      return async () => undefined;
  }
}

async function previewNext(
  context: Context,
  row: BulkDeferralRow,
  afterId: number,
): Promise<number | undefined> {
  const { db } = context;
  if (today(context) !== row.prepared_on) return undefined; // It expires within a minute.
  const selected = await findNextAccounts(db, row.id, { state: 'selected', afterId }, PREVIEWED_PER_STEP);
  if (selected.length === 0) {
    await inTransaction(db, async (tx) => {
      const locked = await lockBulkDeferral(tx, row.id);
      if (locked?.status === 'previewing') await setPreviewed(tx, row.id);
    });
    return undefined;
  }
  const previewed = await inSnapshot(db, async (tx) => {
    const accounts = await findAccounts(
      tx,
      selected.map(({ account_id }) => account_id),
    );
    return Promise.all(
      selected.map(({ id, account_id }) => preview(tx, context, row, id, accounts.get(account_id))),
    );
  });
  await storePreviewed(db, row.id, previewed);
  return selected.at(-1)?.id;
}

async function preview(
  tx: Tx,
  context: Context,
  { body }: BulkDeferralRow,
  id: number,
  account: AccountRow | undefined,
): Promise<Previewed> {
  if (!account) throw new Error(`An account of the bulk deferral does not exist.`);
  const effect = await effectOrProblem(tx, context, account, body);
  if ('code' in effect) return { id, state: 'refused', problem: effect.code, problem_text: effect.text };
  return {
    id,
    state: 'waiting',
    plan_version: account.plan_version,
    paid_minor: account.paid_minor,
    balance_minor: maxMinor(BigInt(account.total_minor) - BigInt(account.paid_minor), 0n),
    arrears_moved_minor: effect.arrearsMovedMinor,
  };
}

async function effectOrProblem(
  tx: Tx,
  context: Context,
  account: AccountRow,
  body: NewPlanChange,
): Promise<Effect | Problem> {
  if (statusProblem(body.kind, account.status)) return statusProblemOf(account.status);
  try {
    return await effectOf(tx, context, account, body);
  } catch (error) {
    if (error instanceof AppError) return problemOf(error);
    throw error;
  }
}

/** Changes an account that the transaction has locked. */
type ChangeAccount = (
  tx: Tx,
  context: Context,
  actor: Actor,
  change: { row: BulkDeferralRow; selected: SelectedAccountRow; account: AccountRow },
) => Promise<void>;

interface Work {
  /** The state of the accounts that are not yet changed. */
  from: 'waiting' | 'deferred';
  /** The state of an account whose change fails. */
  failed: 'skipped' | 'not_undone';
  /** The status after the work. */
  to: 'done' | 'undone';
  change: ChangeAccount;
}

async function changeNext(
  context: Context,
  log: Log,
  { row, actor, isLast, afterId }: { row: BulkDeferralRow; actor: Actor; isLast: boolean; afterId: number },
  { from, failed, to, change }: Work,
): Promise<number | undefined> {
  const { db } = context;
  const next = await findNextAccounts(db, row.id, { state: from, afterId }, CHANGED_AT_ONCE);
  const changeAll = (rows: readonly SelectedAccountRow[]) =>
    inTransaction(
      db,
      async (tx) => {
        const ids = rows.map(({ account_id }) => account_id);
        const [accounts, locked] = await Promise.all([
          lockAccounts(tx, ids),
          lockSelectedAccounts(tx, rows, from),
        ]);
        await Promise.all(
          locked.map(async (selected) => {
            const account = accounts.get(selected.account_id);
            if (account) await change(tx, context, actor, { row, selected, account });
          }),
        );
      },
      { startsWithReads: true },
    );
  const skip = (one: SelectedAccountRow) =>
    inTransaction(db, async (tx) => {
      const [selected] = await lockSelectedAccounts(tx, [one], from);
      if (selected) await setAccountState(tx, selected, failed, { problem: FAILED });
    });
  // If one of them fails, the others are changed without it. At the last attempt, it is left out.
  await changeAll(next).catch(async () => {
    for (const one of next)
      await changeAll([one]).catch(async (error: unknown) => {
        if (!isLast) throw error;
        log.error({ err: error, bulkDeferral: row.id, account: one.account_id }, 'an account was left out');
        await skip(one);
      });
  });
  const last = next.at(-1);
  if (last) return last.id;
  await inTransaction(db, async (tx) => {
    const locked = await lockBulkDeferral(tx, row.id);
    if (locked?.status === row.status) await endWork(tx, actor, locked, to);
  });
  return undefined;
}

const FAILED: Problem = { code: 'failed', text: 'the change failed several times; the reason is in the log' };

const deferAccount: ChangeAccount = async (tx, context, actor, { row, selected, account }) => {
  const confirm = {
    version: selected.plan_version ?? 0,
    paid: amountOf(selected.paid_minor ?? 0, context.currency),
  };
  const body = { ...row.body, confirm };
  const effect = await effectOrProblem(tx, context, account, body);
  if ('code' in effect) return setAccountState(tx, selected, 'skipped', { problem: effect });
  const { id } = await applyChange(tx, context, actor, account, { body, effect, bulkDeferralId: row.id });
  await setAccountState(tx, selected, 'deferred', { changeId: id });
};

const undoAccount: ChangeAccount = async (tx, context, actor, { row, selected, account }) => {
  const changes = await findChangesInEffect(tx, account.id);
  const body = {
    kind: 'undo' as const,
    reason: row.undo_reason ?? '',
    confirm: { version: account.plan_version },
  };
  const effect =
    problemOfUndo(
      selected.change_id,
      changes.map(({ id }) => id),
    ) ?? (await effectOrProblem(tx, context, account, body));
  if ('code' in effect) return setAccountState(tx, selected, 'not_undone', { problem: effect });
  await applyChange(tx, context, actor, account, { body, effect, bulkDeferralId: row.id });
  await setAccountState(tx, selected, 'undone');
};

const DEFERRAL: Work = { from: 'waiting', failed: 'skipped', to: 'done', change: deferAccount };
const UNDO: Work = { from: 'deferred', failed: 'not_undone', to: 'undone', change: undoAccount };

/** The user or the API key that confirmed the work, or the user who approved it. */
async function actorOfWork({ db }: Pick<Context, 'db'>, row: BulkDeferralRow): Promise<Actor> {
  const { actor_user_id: userId, api_key_id: keyId, approval_id: approvalId } = row;
  const actor = keyId === null ? await actorOfJob(db, userId) : apiKeyActor(await getApiKey(db, keyId), null);
  if (approvalId === null) return actor;
  const { id, requester } = await getApproval(db, approvalId);
  return { ...actor, approval: { id, requestedBy: requester } };
}
