import { balanceOf } from '../../accounts/ledger/money-on-account-rules.ts';
import {
  dueBy,
  itemsCovered,
  type Position,
  partOfNextItem,
  position,
  type Terms,
  totalOf,
  withLowerPrice,
} from '../../accounts/schedule/rules.ts';
import { dueRuleOf, isStatusIn, isToComplete, statusOn } from '../../accounts/status/rules.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor, minMinor } from '../../core/values/money.ts';

interface QuotedAccount {
  terms: Terms;
  status: AccountStatus;
  paidMinor: Minor;
  /** The discount for an early payoff that a payment of the amount earns. Absent if it earns none. */
  discountMinor?: Minor;
}

export interface Quote {
  /** The part of `amountDueMinor` that fell due before `date`, the parameter of `quoteOf`. */
  overdueMinor: Minor;
  /** The part of `amountDueMinor` that falls due on `date`. */
  dueOnDateMinor: Minor;
  amountDueMinor: Minor;
  /** The whole balance on `date`. */
  payoffMinor: Minor;
  position: Position;
  /** The account after a payment on `date`. Null if no amount was given. */
  after: QuotedPayment | null;
}

interface QuotedPayment {
  amountMinor: Minor;
  position: Position;
  /** The number of items, including the deposit, that the amount would complete. */
  itemsCovered: number;
  /** The part of the amount that would pay only a part of the next item. */
  remainderMinor: Minor;
  balanceMinor: Minor;
  creditMinor: Minor;
  completes: boolean;
}

/** Calculates the debt on a date and the effect of a payment on that date, if no payment is made before that date. */
export function quoteOf(
  account: QuotedAccount,
  { date, amountMinor }: { date: PlainDate; amountMinor: Minor | null },
): Quote {
  const { terms, paidMinor, discountMinor = 0n } = account;
  const status = statusOn(account.status, terms.activationDate, date);
  const isSaleUndone = isStatusIn(status, 'saleUndone');
  const total = totalOf(terms);
  const positionOf = (paid: Minor, agreed = terms) =>
    position(agreed, { paidMinor: paid, today: date, ...dueRuleOf(status) });
  const current = positionOf(paidMinor);
  const before = dueBy(terms, addDays(date, -1)) - paidMinor;
  const overdueMinor = current.arrearsMinor === 0n ? 0n : maxMinor(before, 0n);
  return {
    overdueMinor,
    dueOnDateMinor: current.arrearsMinor - overdueMinor,
    amountDueMinor: current.arrearsMinor,
    payoffMinor: balanceOf({ status, totalMinor: total, paidMinor }),
    position: current,
    after: amountMinor === null ? null : quotedPayment(amountMinor),
  };

  function quotedPayment(amount: Minor): QuotedPayment {
    const paid = paidMinor + amount;
    const agreed = discountMinor > 0n ? withLowerPrice(terms, discountMinor) : terms;
    const price = totalOf(agreed);
    const owed = (isSaleUndone ? 0n : price) - paid;
    return {
      amountMinor: amount,
      position: positionOf(paid, agreed),
      itemsCovered: isSaleUndone ? 0 : itemsCovered(agreed, paid) - itemsCovered(terms, paidMinor),
      remainderMinor: isSaleUndone ? 0n : minMinor(amount, partOfNextItem(agreed, paid)),
      balanceMinor: maxMinor(owed, 0n),
      creditMinor: maxMinor(-owed, 0n),
      completes: isToComplete(status, paid, price),
    };
  }
}
