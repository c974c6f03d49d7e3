import { formatAccountNumber } from '../accounts/account-number.ts';
import { balanceOf, canTake } from '../accounts/rules.ts';
import { type AccountRow, booksOf, findAccountRow } from '../accounts/store.ts';
import type { Context } from '../core/context.ts';
import type { Minor } from '../core/money.ts';
import { readReference } from './matching.ts';
import { findMatch } from './matching-store.ts';

/** A payment that has not been made yet. */
export interface Proposal {
  amountMinor: Minor;
  reference: string | null;
  payer: string | null;
}

export interface Judgement {
  verdict: 'accepted' | 'wrong_account' | 'wrong_amount';
  /** The account that would be paid; null where none would be. */
  accountNumber: string | null;
}

/**
 * Whether a payment may be made: its money would find one account by itself, or the reference is the number
 * of one, and that account may be paid. Writes nothing.
 */
export async function validatePayment(
  { db, config }: Context,
  { amountMinor, reference, payer }: Proposal,
): Promise<Judgement> {
  const match = await findMatch(db, readReference(reference, payer, config.PHONE_REGION));
  // A number that exists is not refused as unknown, even where a person must still say whose money it is.
  const accountId =
    match.accountId ?? match.candidates.find(({ method }) => method === 'account_number')?.accountId;
  const account = accountId === undefined ? undefined : await findAccountRow(db, accountId);
  if (!account || isSettled(account)) {
    return { verdict: 'wrong_account', accountNumber: null };
  }
  if (!canTake(booksOf(account), amountMinor)) return { verdict: 'wrong_amount', accountNumber: null };
  return { verdict: 'accepted', accountNumber: formatAccountNumber(account.id) };
}

/** Nothing is owed, nor will be. A cancelled account may owe what was refunded of payments that were reversed later. */
function isSettled(account: AccountRow): boolean {
  if (account.status === 'completed') return true;
  return account.status === 'cancelled' && balanceOf(booksOf(account)) === 0n;
}
