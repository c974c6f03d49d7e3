import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { balanceOf, hasRoomFor } from '../../accounts/ledger/money-on-account-rules.ts';
import type { AccountRow } from '../../accounts/ledger/rules.ts';
import { booksOf } from '../../accounts/ledger/rules.ts';
import { isStatusIn } from '../../accounts/status/rules.ts';
import { findAccountRow } from '../../accounts/store.ts';
import type { Context } from '../../core/context.ts';
import type { Minor } from '../../core/values/money.ts';
import type { Verdict } from '../rules.ts';
import { decideMatch, readReference } from './rules.ts';
import { findCandidates } from './store.ts';

/** A payment that a provider asks the service to validate before the money moves. */
interface PaymentToValidate {
  /** Whether the money would go to a short code of the business. */
  isOurs: boolean;
  /** Undefined for an invalid amount. */
  amountMinor: Minor | undefined;
  reference: string | null;
  payer: string | null;
}

/**
 * Decides whether to accept a payment, and writes nothing. The payment must match an account, or its reference must be the number
 * of an account. This account must have room for the amount. A completed account, or a cancelled account that owes nothing, is
 * refused.
 *
 * @returns the verdict, and the number of the account that would be paid (null if the payment is not accepted).
 */
export async function validatePayment(
  { db, config }: Context,
  { isOurs, amountMinor, reference, payer }: PaymentToValidate,
): Promise<{ verdict: Verdict; accountNumber: string | null }> {
  if (!isOurs) return { verdict: 'wrong_short_code', accountNumber: null };
  if (amountMinor === undefined) return { verdict: 'wrong_amount', accountNumber: null };
  const interpretations = readReference(reference, payer, config.PHONE_REGION);
  const [candidates = []] = await findCandidates(db, [interpretations]);
  const match = decideMatch(candidates, interpretations.referenceIsEmpty);
  // A payment without a match is accepted if its reference is an existing account number. Staff assign the payment later.
  const accountId =
    match.accountId ?? match.candidates.find(({ method }) => method === 'account_number')?.accountId;
  const account = accountId === undefined ? undefined : await findAccountRow(db, accountId);
  if (!account || owesNothing(account)) return { verdict: 'wrong_account', accountNumber: null };
  if (!hasRoomFor(booksOf(account), amountMinor)) return { verdict: 'wrong_amount', accountNumber: null };
  return { verdict: 'accepted', accountNumber: formatAccountNumber(account.id) };
}

/** A cancelled account owes something only if a payment was reversed after its money had been refunded. */
function owesNothing(account: AccountRow): boolean {
  return isStatusIn(account.status, 'refusesPaymentsWithoutBalance') && balanceOf(booksOf(account)) === 0n;
}
