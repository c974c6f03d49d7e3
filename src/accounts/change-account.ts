import { event } from '../changes/events/change-rules.ts';
import { audit } from '../changes/events/change-store.ts';
import { type Actor, type Context, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { invalidField, notFound } from '../core/http/errors.ts';
import { type ExternalValues, externalFieldsOf } from '../core/http/external-ids.ts';
import { refuseSpreadsheetChange } from '../core/http/validation.ts';
import { type ApprovableAction, requestApproval } from '../staff/approvals/commands.ts';
import { type ApprovalRow, accountIdOf, type DoneOrRequested } from '../staff/approvals/rules.ts';
import { post } from './ledger/commands.ts';
import type { AccountRow } from './ledger/rules.ts';
import { lockAccounts } from './ledger/store.ts';
import type { AccountChanges } from './schema.ts';
import { adjustStatusToPaidAmount, changeStatus } from './status/commands.ts';
import type { StatusChange } from './status/paid-amount-rules.ts';
import { checkStatusMove, moneyEventOf } from './status/rules.ts';
import { updateExternalFields } from './store.ts';

/**
 * Changes the external fields and the status of an account. A status that the account already has changes nothing. A write-off or
 * cancellation of a balance above the approval limit is sent for approval instead; the body must then have no external fields.
 */
export async function changeAccount(
  context: Context,
  actor: Actor,
  id: number,
  body: AccountChanges,
): Promise<DoneOrRequested<AccountRow>> {
  return inTransaction(context.db, async (tx) => {
    const found = (await lockAccounts(tx, [id])).get(id);
    if (!found) throw notFound('account', id);
    refuseSpreadsheetChange('externalId', body.externalId, found.external_id);
    const { status: to = found.status, reason } = body;
    if (body.status === undefined && reason !== undefined)
      throw invalidField(
        'status',
        'is required if a reason is given, because the reason explains the change of status',
      );
    if (to !== found.status) {
      checkStatusMove(found.status, to, reason);
      const requested = await requestApprovalOfLoss(tx, context, actor, found, body);
      if (requested) return { requested };
    }
    const account = await changeExternalFields(tx, actor, found, externalFieldsOf(body));
    if (to === account.status) return { done: account };
    const moved = await moveAccount(tx, context, actor, account, { to, reason: reason ?? null });
    return { done: await adjustStatusToPaidAmount(tx, context, moved) };
  });
}

/** Requests approval for a write-off or cancellation of a balance above the limit. @returns undefined if none is needed. */
async function requestApprovalOfLoss(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  body: AccountChanges,
): Promise<ApprovalRow | undefined> {
  const moneyEvent = body.status && moneyEventOf(body.status);
  if (!moneyEvent) return undefined;
  const { externalId, metadata, ...change } = body;
  const requested = await requestApproval(tx, context, actor, {
    action: moneyEvent === 'account_written_off' ? 'write_off_account' : 'cancel_account',
    accountId: account.id,
    paymentId: null,
    toAccountId: null,
    amountMinor: BigInt(account.receivable_minor),
    reason: body.reason ?? '',
    body: change,
    isRepeatable: true,
  });
  // Refuse external fields: the approver decides only about the balance, and others can change the fields before the decision.
  if (requested && (externalId !== undefined || metadata !== undefined))
    throw invalidField(
      externalId === undefined ? 'metadata' : 'externalId',
      `cannot change in the same request as the status, because the status ${body.status} needs approval; send this field in a separate request`,
    );
  return requested;
}

/** The actions on accounts that can need approval. */
export const ACCOUNT_ACTIONS = {
  write_off_account: { lock: lockAccountOf, execute: executeChange },
  cancel_account: { lock: lockAccountOf, execute: executeChange },
} as const satisfies Record<string, ApprovableAction>;

async function lockAccountOf(tx: Tx, _context: Context, request: ApprovalRow): Promise<void> {
  await lockAccounts(tx, [accountIdOf(request)]);
}

async function executeChange(context: Context, actor: Actor, request: ApprovalRow): Promise<null> {
  await changeAccount(context, actor, accountIdOf(request), request.body as AccountChanges);
  return null;
}

async function changeExternalFields(
  tx: Tx,
  actor: Actor,
  account: AccountRow,
  changes: ExternalValues,
): Promise<AccountRow> {
  if (Object.keys(changes).length === 0) return account;
  const changed = await updateExternalFields(tx, account.id, changes);
  await audit(tx, actor, {
    action: 'account.change',
    resource: 'account',
    resourceId: account.id,
    before: { externalId: account.external_id, metadata: account.metadata },
    after: changes,
    event: event('account.updated', { changedFields: Object.keys(changes) }),
  });
  return changed;
}

/** Changes the status, and posts the money event that belongs to the new status. */
async function moveAccount(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  change: StatusChange,
): Promise<AccountRow> {
  const moneyEvent = moneyEventOf(change.to);
  if (!moneyEvent) return changeStatus(tx, context, actor, account, change);
  const kind = moneyEvent === 'account_cancelled' ? 'cancel' : 'write_off';
  const posted = await post(tx, context, new Map([[account.id, { ...account, early_payoff: null }]]), {
    event: moneyEvent,
    actor,
    valueDate: change.date ?? today(context),
    movements: [{ accountId: account.id, movement: { kind } }],
    contra: [],
  });
  return changeStatus(tx, context, actor, posted.get(account.id) ?? account, change);
}
