import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { amountOf, type Currency } from '../../core/context.ts';
import type { PromiseLimits } from './rules.ts';
import type { PromiseRow } from './store.ts';

export function toPromise(row: PromiseRow, currency: Currency) {
  return {
    id: row.id,
    callId: row.call_id,
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    amount: amountOf(row.amount_minor, currency),
    madeOn: row.made_on,
    date: row.due_on,
    state: row.state,
    collected: amountOf(row.collected_minor, currency),
    replacesId: row.replaces_id,
    userId: row.created_by,
    officer: row.officer,
    createdAt: row.created_at,
  };
}

export function toPromiseLimits(limits: PromiseLimits, currency: Currency) {
  return {
    minimum: amountOf(limits.minimumMinor, currency),
    maximum: amountOf(limits.maximumMinor, currency),
    from: limits.from,
    until: limits.until,
  };
}
