import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { isStatusIn } from '../../accounts/status-rules.ts';
import { findAccountRow } from '../../accounts/store.ts';
import type { Context } from '../../core/context.ts';
import type { Minor } from '../../core/values/money.ts';
import type { AccountRow } from '../../ledger/rules.ts';
import { balanceOf, booksOf, hasRoomFor } from '../../ledger/rules.ts';
import type { Verdict } from '../providers/provider.ts';
import { decideMatch, readReference } from './rules.ts';
import { findCandidates } from './store.ts';

/** A payment that a provider asks about before the money moves. */
export interface Inquiry {
  /** Whether the money would go to one of the own short codes. */
  isOurs: boolean;
  /** Undefined for what is no amount of money. */
  amountMinor: Minor | undefined;
  reference: string | null;
  payer: string | null;
}

/**
 * Whether a payment may be made: its money would find one account by itself, or the reference is the number
 * of one, and that account may be paid. Writes nothing.
 *
 * @returns the account that would be paid with the verdict; null where none would be.
 */
export async function judgePayment(
  { db, config }: Context,
  { isOurs, amountMinor, reference, payer }: Inquiry,
): Promise<{ verdict: Verdict; accountNumber: string | null }> {
  if (!isOurs) return { verdict: 'wrong_short_code', accountNumber: null };
  if (amountMinor === undefined) return { verdict: 'wrong_amount', accountNumber: null };
  const readings = readReference(reference, payer, config.PHONE_REGION);
  const [candidates = []] = await findCandidates(db, [readings]);
  const match = decideMatch(candidates, readings.referenceIsEmpty);
  // A number that exists is not refused as unknown, even where a person must still say whose money it is.
  const accountId =
    match.accountId ?? match.candidates.find(({ method }) => method === 'account_number')?.accountId;
  const account = accountId === undefined ? undefined : await findAccountRow(db, accountId);
  if (!account || isSettled(account)) return { verdict: 'wrong_account', accountNumber: null };
  if (!hasRoomFor(booksOf(account), amountMinor)) return { verdict: 'wrong_amount', accountNumber: null };
  return { verdict: 'accepted', accountNumber: formatAccountNumber(account.id) };
}

/** Nothing is owed, nor will be. A cancelled account may owe what was refunded of payments that were reversed later. */
function isSettled(account: AccountRow): boolean {
  if (account.status === 'completed') return true;
  return isStatusIn(account.status, 'saleUndone') && balanceOf(booksOf(account)) === 0n;
}
