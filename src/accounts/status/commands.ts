import { writeChanges } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { Row } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { changesForPaidAmount, needsHistory, rowsOfChange, type StatusChange } from './change-rules.ts';
import { isStatusIn, moneyEventOf } from './rules.ts';
import { findStatusHistories, insertStatusChanges, updateStatus } from './store.ts';

type AccountRow = Row<'accounts'>;

/** Changes the status of an account that the transaction has locked, and records the change. */
export async function changeStatus(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  change: StatusChange,
): Promise<AccountRow> {
  const { date = today(context), to } = change;
  const { account: after, row, changes } = rowsOfChange(actor, account, { ...change, date });
  const changed = await updateStatus(tx, account.id, {
    status: to,
    status_reason: after.status_reason,
    event_count: after.event_count,
    ...(isStatusIn(to, 'suspendedWhenLate') && actor.role !== 'system' && { reprieved_on: date }),
    // If a recovered account goes back from completed to written off, it keeps the date of the original write-off.
    ...(moneyEventOf(to) === 'account_written_off' &&
      account.status !== 'completed' && { written_off_on: date }),
  });
  await insertStatusChanges(tx, [row]);
  await writeChanges(tx, changes);
  return changed;
}

/**
 * Changes the status of an account if its paid amount requires this (`changesForPaidAmount`). Money events change it themselves.
 * @param date - the business day of a completion; default: today.
 */
export async function adjustStatusToPaidAmount(
  tx: Tx,
  context: Context,
  account: AccountRow,
  { date }: { date?: PlainDate } = {},
): Promise<AccountRow> {
  const histories = await findStatusHistories(tx, needsHistory(account.status) ? [account.id] : []);
  const day = today(context);
  let changed = account;
  for (const change of changesForPaidAmount(account, histories.get(account.id), undefined, day)) {
    const isReactivation = change.cause === 'payment';
    changed = await changeStatus(tx, context, SYSTEM, changed, {
      ...change,
      ...(date && !isReactivation && { date }),
    });
  }
  return changed;
}
