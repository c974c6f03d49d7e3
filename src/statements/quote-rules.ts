import { isClosed, isToComplete } from '../accounts/rules.ts';
import {
  dueBy,
  itemMinor,
  nextItem,
  type Position,
  position,
  type Terms,
  totalMinor,
} from '../accounts/schedule.ts';
import type { AccountStatus } from '../core/database/tables.ts';
import { addDays, type PlainDate } from '../core/values/dates.ts';
import { type Minor, minMinor } from '../core/values/money.ts';
import { balanceOf } from '../ledger/rules.ts';
import { isActivated } from './rules.ts';

/** What an account has, for a quote. */
interface QuotedAccount {
  terms: Terms;
  status: AccountStatus;
  /** As known now. */
  paidMinor: Minor;
}

export interface Quote {
  /** What of amountDueMinor was dated before the day, and what is dated on it. */
  overdueMinor: Minor;
  dueOnDateMinor: Minor;
  amountDueMinor: Minor;
  /** What pays all that is owed. */
  settlementMinor: Minor;
  at: Position;
  /** Where an amount paid on the day would leave the account. */
  after: QuotedPayment | null;
}

interface QuotedPayment {
  amountMinor: Minor;
  at: Position;
  /** The items, the deposit too, that the amount would cover to the end. */
  itemsCovered: number;
  /** What of the amount would lie on the next item without covering it. */
  remainderMinor: Minor;
  balanceMinor: Minor;
  creditMinor: Minor;
  /** Whether the account is completed once the amount is paid on the day. */
  completes: boolean;
}

/**
 * What a customer could pay on a day, if nothing else is paid until then. A pending account counts as active
 * from its activation date on.
 */
export function quoteOf(
  account: QuotedAccount,
  { date, amountMinor }: { date: PlainDate; amountMinor: Minor | null },
): Quote {
  const { terms, paidMinor } = account;
  const activated = isActivated(account.status, terms, date);
  const status = account.status === 'pending' && activated ? 'active' : account.status;
  const total = totalMinor(terms);
  const closed = isClosed(status);
  const positionOf = (paid: Minor) => position(terms, { paidMinor: paid, today: date, closed, activated });
  const at = positionOf(paidMinor);
  const before = dueBy(terms, addDays(date, -1)) - paidMinor;
  const overdueMinor = at.arrearsMinor === 0n || before < 0n ? 0n : before;
  return {
    overdueMinor,
    dueOnDateMinor: at.arrearsMinor - overdueMinor,
    amountDueMinor: at.arrearsMinor,
    settlementMinor: balanceOf({ status, totalMinor: total, paidMinor }),
    at,
    after: amountMinor === null ? null : quotedPayment(amountMinor),
  };

  function quotedPayment(amount: Minor): QuotedPayment {
    const paid = paidMinor + amount;
    const owed = (status === 'cancelled' ? 0n : total) - paid;
    const next = status === 'cancelled' ? undefined : nextItem(terms, paid);
    const begun = next === undefined ? 0n : itemMinor(terms, next.index) - next.remainderMinor;
    return {
      amountMinor: amount,
      at: positionOf(paid),
      itemsCovered: status === 'cancelled' ? 0 : itemsCovered(terms, paid) - itemsCovered(terms, paidMinor),
      remainderMinor: minMinor(amount, begun),
      balanceMinor: owed > 0n ? owed : 0n,
      creditMinor: owed < 0n ? -owed : 0n,
      completes: isToComplete(status, paid, total),
    };
  }
}

function itemsCovered(terms: Terms, paidMinor: Minor): number {
  return nextItem(terms, paidMinor)?.index ?? terms.instalmentCount + 1;
}
