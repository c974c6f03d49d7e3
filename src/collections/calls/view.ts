import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { Actor } from '../../core/context.ts';
import type { LeaseRow } from './lease-store.ts';
import type { CallRow } from './store.ts';

export function toCall(row: CallRow) {
  return {
    id: row.id,
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    kind: row.kind,
    result: row.result,
    phone: row.phone,
    note: row.note,
    noteHiddenAt: row.note_hidden_at,
    noteHiddenBy: row.note_hidden_by,
    noteHiddenReason: row.note_hidden_reason,
    nextCallOn: row.next_call_on,
    promiseId: row.promise_id,
    isMistake: row.is_mistake,
    disputeClosedAt: row.dispute_closed_at,
    disputeClosedReason: row.dispute_closed_reason,
    date: row.called_on,
    userId: row.created_by,
    officer: row.officer,
    createdAt: row.created_at,
  };
}

export function toLease({ userId, officer, expiresAt }: LeaseRow, actor: Pick<Actor, 'userId'>) {
  return { userId, officer, isOwn: userId === actor.userId, expiresAt };
}
