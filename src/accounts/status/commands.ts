import { writeChanges } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { Row } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { changesForPaidAmount, rowsOfChange, type StatusChange } from './paid-amount-rules.ts';
import { isStatusIn, moneyEventOfMove } from './rules.ts';
import { findStatusHistories, insertStatusChanges, updateStatuses } from './store.ts';

type AccountRow = Row<'accounts'>;

/** Changes the status of an account that the transaction has locked, and records the change. */
export async function changeStatus(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow,
  change: StatusChange,
): Promise<AccountRow> {
  const [changed = account] = await changeStatuses(tx, context, actor, [{ account, ...change }]);
  return changed;
}

/**
 * Changes the statuses of different accounts that the transaction has locked, and records the changes. The number of SQL statements
 * does not depend on the number of accounts.
 *
 * @returns the changed accounts in the order of the changes.
 */
export async function changeStatuses(
  tx: Tx,
  context: Context,
  actor: Actor,
  wanted: readonly (StatusChange & { account: AccountRow })[],
): Promise<AccountRow[]> {
  if (wanted.length === 0) return [];
  const made = wanted.map(({ account, date = today(context), ...change }) => {
    const { account: after, row, changes } = rowsOfChange(actor, account, { ...change, date });
    const { id, status, status_reason, event_count } = after;
    const restartsGrace = isStatusIn(status, 'suspendedWhenLate') && actor.role !== 'system';
    // If a recovered account goes back from completed to written off, it keeps the date of the original write-off.
    const isWrittenOff = moneyEventOfMove(account.status, status) === 'account_written_off';
    const columns = {
      ...{ id, status, status_reason, event_count },
      ...(restartsGrace && { reprieved_on: date }),
      ...(isWrittenOff && { written_off_on: date }),
    };
    return { columns, row, changes };
  });
  const changed = await updateStatuses(
    tx,
    made.map(({ columns }) => columns),
  );
  await insertStatusChanges(
    tx,
    made.map(({ row }) => row),
  );
  await writeChanges(
    tx,
    made.flatMap(({ changes }) => changes),
  );
  return wanted.map(({ account: { id } }) => {
    const account = changed.get(id);
    if (!account) throw new Error(`Account ${id} does not exist.`);
    return account;
  });
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
  const histories = await findStatusHistories(tx, [account]);
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
