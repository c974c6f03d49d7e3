import { isStatusIn } from '../accounts/status/rules.ts';
import type { AccountStatus, CommissionStatus } from '../core/database/tables.ts';
import { type AppError, invalidField } from '../core/http/errors.ts';

// A cancelled sale earns nothing: a calculation leaves it out, and refuses a request that names it. A commission that was calculated
// before the cancellation can be neither approved nor paid until it is calculated again. A paid commission stays as it is.

/** Why the sale of an account earns no commission. Undefined if it earns one. */
export function problemOfUnsold(status: AccountStatus): string | undefined {
  if (!isStatusIn(status, 'unsold')) return undefined;
  return `must not be a ${status} account: it earns no commission`;
}

/** The error for a commission with accounts that were cancelled after its calculation. */
export function cancelledAccounts(accountIds: readonly number[], to: CommissionStatus): AppError {
  const [first, more] = [accountIds.slice(0, 10).join(', '), accountIds.length > 10 ? ', …' : ''];
  return invalidField(
    'status',
    `cannot become ${to} because accounts were cancelled (${first}${more}). Calculate the commission again.`,
  );
}
