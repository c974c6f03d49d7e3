import {
  chargesOf,
  completionDate,
  hasEqualInstalments,
  rhythmOf,
  totalOf,
} from '../../accounts/schedule/rules.ts';
import type { Currency } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { type Minor, printedAmount } from '../../core/values/money.ts';
import type { Printer } from '../../platform/printing/printer.ts';
import { explainDebt } from './explanation-rules.ts';
import { MAX_AMOUNTS, sayWhy } from './explanation-wording-rules.ts';
import type { Line } from './folding-rules.ts';
import { quoteOf } from './quote-rules.ts';
import type { Row, StatementFigures } from './rules.ts';
import type { AccountStatement } from './view.ts';
import { coverageOfRow, describeDays, describeRow, describeRows, printedSpelling } from './wording-rules.ts';

/** The data of a printed statement. Date fields are YYYY-MM-DD. Dates in the texts of the rows look like 2 Nov 2026. */
export function statementDocument(
  currency: Currency,
  { company, paybill }: Pick<Printer, 'company' | 'paybill'>,
  made: AccountStatement,
  lines: readonly Line[],
  language: Language,
) {
  const { accountNumber, customer, productName, period, isToday, statement } = made;
  const { decimals } = currency;
  const { terms } = statement;
  const { instalments } = chargesOf(terms);
  const amount = (minor: Minor) => printedAmount(minor, decimals);
  const unlessZero = (minor: Minor) => (minor === 0n ? null : amount(minor));
  const cell = (minor: Minor) => unlessZero(minor) ?? '';
  const figures = ({ dueSoFarMinor, owedInTotalMinor }: StatementFigures) => ({
    dueSoFar: amount(dueSoFarMinor),
    owedInTotal: amount(owedInTotalMinor),
  });
  const { position, closing } = statement;
  const isDue = position.arrearsMinor > 0n;
  const spelling = printedSpelling(decimals, language);
  const describe = (rows: Line['rows']) =>
    rows.length > 1 ? describeRows(rows, spelling) : describeOne(rows[0]);
  const describeOne = (row: Row) => ({
    description: describeRow(row, spelling),
    detail: [row.change?.reason, row.money?.transactionRef, coverageOfRow(row, spelling)]
      .filter(Boolean)
      .join(' · '),
  });
  const toLine = ({ rows, dueMinor, paidMinor, after }: Line) => {
    const last = rows.at(-1) ?? rows[0];
    return {
      days: describeDays(
        rows.map(({ date }) => date),
        spelling,
      ),
      ...describe(rows),
      due: cell(dueMinor),
      paid: cell(paidMinor),
      // The amount of a reversed payment is printed with a line through it.
      struck: last.type === 'payment' && last.money?.reversedOn ? amount(last.amountMinor) : null,
      ...(after ? figures(after) : { dueSoFar: '', owedInTotal: '' }),
    };
  };
  return {
    language,
    customer,
    accountNumber,
    period,
    currency: currency.code,
    product: productName,
    terms: {
      activationDate: terms.activationDate,
      deposit: unlessZero(terms.depositMinor),
      instalment: amount(terms.instalmentMinor),
      count: terms.instalmentCount,
      frequency: terms.frequency,
      isEqual: hasEqualInstalments(terms),
      rhythm: rhythmOf(terms),
      /** The amounts of the instalments, none if there are too many. */
      amounts:
        instalments.length > MAX_AMOUNTS
          ? []
          : instalments.map(({ count, amountMinor }) => ({ count, amount: amount(amountMinor) })),
      lastDate: completionDate(terms),
      total: amount(totalOf(terms)),
    },
    opening: figures(statement.opening),
    why: whyOf(made, language, decimals),
    rows: lines.map(toLine),
    /** Whether the lines are those of months. */
    isFolded: lines.some(
      ({ rows, after }) => after === null || (rows.length > 1 && rows[0].type !== 'instalment'),
    ),
    isCut: made.isCut,
    totals: { due: amount(statement.totals.dueMinor), paid: amount(statement.totals.paidMinor) },
    closing: {
      ...figures(closing),
      isToday,
      state:
        position.paymentState === 'paid_off' && statement.end !== 'cancelled'
          ? 'paid'
          : (statement.end ?? 'open'),
      paid: amount(statement.paidMinor),
      balance: amount(statement.balanceMinor),
      arrears: amount(position.arrearsMinor),
      // With arrears, `position.nextDueDate` is the date of the oldest unpaid item. Otherwise it is the next date to pay.
      dueSince: isDue ? position.nextDueDate : null,
      credit: unlessZero(statement.creditMinor),
      paidUntil: position.paidUntil,
      nextDueDate: isDue ? null : position.nextDueDate,
      nextDueAmount:
        isDue || position.nextDueAmountMinor === null ? null : amount(position.nextDueAmountMinor),
    },
    company,
    paybill,
  };
}

/** Why the customer owes the closing balance, in one sentence. */
function whyOf(made: AccountStatement, language: Language, decimals: number): string {
  const { status, period, isToday, statement } = made;
  const explained = { terms: statement.terms, status, paidMinor: statement.paidMinor };
  const quote = quoteOf(explained, { date: period.to, amountMinor: null });
  return sayWhy(explainDebt(explained, quote, period.to), { date: period.to, isToday, decimals, language });
}
