import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { itemMinor, type Terms } from '../accounts/schedule-rules.ts';
import { unreachable } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { type Minor, minorToText, printedAmount } from '../core/values/money.ts';
import { coveredBy, type MoneyMove } from './allocation-rules.ts';
import type { Row } from './rules.ts';

// The texts of a statement. JSON, CSV and the printed document differ only in the format of dates and amounts.

interface Spelling {
  date(date: PlainDate): string;
  amount(minor: Minor): string;
}

/** For example 2026-11-02 and 1234.50. */
export function plainSpelling(decimals: number): Spelling {
  return { date: (date) => date, amount: (minor) => minorToText(minor, decimals) };
}

/** For example 2 Nov 2026 and 1,234.50. */
export function printedSpelling(decimals: number): Spelling {
  return {
    date: (date) => {
      const [year, month, day] = date.split('-');
      return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
    },
    amount: (minor) => printedAmount(minor, decimals),
  };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function describeRow(row: Row, { instalmentCount }: Terms, { date, amount }: Spelling): string {
  const { type, money, event } = row;
  switch (type) {
    case 'opened':
      return `Account opened: ${amount(row.amountMinor)} in total`;
    case 'deposit':
      return 'Deposit';
    case 'instalment':
      return `Instalment ${row.item} of ${instalmentCount}`;
    case 'payment':
      return money?.reversedOn
        ? `Payment by ${money.paymentMethod}, reversed on ${date(money.reversedOn)}: does not count`
        : `Payment by ${money?.paymentMethod}`;
    case 'transfer_in':
      return `Credit received from ${account(money)}: ${money?.reason}`;
    case 'transfer_out':
      return `Credit given to ${account(money)}: ${money?.reason}`;
    case 'refund':
      return `Credit paid back by ${money?.paymentMethod}: ${money?.reason}`;
    case 'reversal':
      return `Reversal of the payment of ${amount(row.amountMinor)} by ${money?.paymentMethod} on ${money && date(money.date)}: ${money?.reversalReason}`;
    case 'cancelled':
      return `Account cancelled: ${event?.reason}`;
    case 'written_off':
      return `${amount(row.amountMinor)} written off: ${event?.reason}`;
    case 'recovery':
      return `Recovered: ${amount(row.amountMinor)} of the written-off amount`;
    default:
      return unreachable(type);
  }
}

function account(money: MoneyMove | null): string {
  return money?.otherAccountId ? formatAccountNumber(money.otherAccountId) : 'another account';
}

/** Which items a payment covers, or how much of an item is paid. */
export function coverageOfRow(row: Row, terms: Terms, spelling: Spelling): string {
  return row.item === null ? coverageOfPayment(row, terms, spelling) : coverageOfItem(row, spelling);
}

/** For example `deposit, instalments 1 to 3, 150.00 of instalment 4, 20.00 credit`. */
function coverageOfPayment({ covers, creditMinor }: Row, terms: Terms, { amount }: Spelling): string {
  const parts: string[] = [];
  let run: { first: number; last: number } | undefined;
  for (const { item, amountMinor } of covers) {
    const whole = amountMinor === itemMinor(terms, item);
    if (whole && run?.last === item - 1) {
      run.last = item;
      continue;
    }
    endRun();
    const name = item === 0 ? 'deposit' : `instalment ${item}`;
    if (!whole) parts.push(`${amount(amountMinor)} of ${name}`);
    else if (item === 0) parts.push(name);
    else run = { first: item, last: item };
  }
  endRun();
  if (creditMinor > 0n) parts.push(`${amount(creditMinor)} credit`);
  return parts.join(', ');

  function endRun(): void {
    if (run)
      parts.push(
        run.first === run.last ? `instalment ${run.first}` : `instalments ${run.first} to ${run.last}`,
      );
    run = undefined;
  }
}

/** For example `paid 2026-11-09`, `100.00 paid, 300.00 open` or `open`. */
function coverageOfItem({ covers, amountMinor }: Row, { date, amount }: Spelling): string {
  const covered = coveredBy(covers);
  const last = covers.at(-1);
  if (last === undefined) return 'open';
  if (covered === amountMinor) return `paid ${date(last.paymentDate)}`;
  return `${amount(covered)} paid, ${amount(amountMinor - covered)} open`;
}
