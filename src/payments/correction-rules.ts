import { amountOf, type Currency } from '../core/context.ts';
import { type AppError, invalidField } from '../core/http/errors.ts';
import type { Minor } from '../core/values/money.ts';
import { type PaymentRow, refusedMove } from './rules.ts';

export interface CorrectionFacts {
  /** A notification in conflict with the payment. The reversal of the payment would post it. */
  conflictId: number | null;
  /** A payment of a provider that has the right amount, and a reference that is similar. */
  reportedAlike: number | undefined;
  /** A statement of the provider with a line of this transaction. Its amount is the right one. */
  statementId: number | null;
}

/** Why the amount of a payment cannot be corrected to the right one, and what staff can do instead. Undefined: it can. */
export function correctionRefusal(
  payment: PaymentRow,
  amountMinor: Minor,
  { conflictId, reportedAlike, statementId }: CorrectionFacts,
  currency: Currency,
): AppError | undefined {
  const refusal = stateRefusal(payment, { conflictId, statementId });
  if (refusal) return refusal;
  if (BigInt(payment.amount_minor) === amountMinor)
    return invalidField(
      'amount',
      `must differ from the present amount, ${amountOf(payment.amount_minor, currency)}`,
    );
  if (reportedAlike !== undefined)
    return invalidField(
      'amount',
      `must not be that of payment ${reportedAlike}, which a provider reported with a similar reference. If it is the same money, reverse this payment; if both are real, reverse it and record it again with bothAreReal: true`,
    );
  return undefined;
}

/** Why no amount of the payment can be corrected. */
export function stateRefusal(
  payment: PaymentRow,
  { conflictId, statementId }: Pick<CorrectionFacts, 'conflictId' | 'statementId'>,
): AppError | undefined {
  if (payment.status === 'reversed') return refusedMove(payment, 'reversed');
  if (payment.source !== 'manual')
    return refused(
      payment.source === 'import'
        ? 'it comes from an import. Reverse it, and record the right amount'
        : 'a provider reported it with this amount. If the money belongs to another account, unassign the payment; if the provider took it back, reverse the payment',
    );
  if (payment.provider !== null)
    return refused(
      'a provider has reported it with this amount, and it is linked to this report. If it is wrong, reverse it: the report then becomes a payment of its own',
    );
  if (payment.status === 'unmatched')
    return refused('it has no account. Assign it to its account first, then correct its amount');
  if (payment.reconciliation_id !== null)
    return refused(
      'it is reconciled: its money has arrived. If this is wrong, reverse it, and record the right amount',
    );
  if (conflictId !== null)
    return refused(
      `notification ${conflictId} is in conflict with it, and the reversal would post the notification. Resolve the conflict first with POST /api/notifications/${conflictId}/resolve`,
    );
  if (statementId !== null)
    return refused(
      `statement ${statementId} of the provider reports its transaction, with its own amount. If the amount of this payment is wrong, reverse it, and import the payment from the statement`,
    );
  return undefined;
}

function refused(reason: string): AppError {
  return invalidField('id', `must refer to a payment whose amount can be corrected: ${reason}`);
}
