import { dueDate, termsOf } from '../../accounts/schedule/rules.ts';
import type { Currency } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { type Minor, printedAmount } from '../../core/values/money.ts';
import type { Printer } from '../../platform/printing/printer.ts';
import { groupRows, type Row, type StatementFigures } from './rules.ts';
import type { AccountStatement } from './view.ts';
import { coverageOfRow, describeRow, describeRun, printedSpelling } from './wording-rules.ts';

/** The data of a printed statement. Date fields are YYYY-MM-DD. Dates in `description` and `detail` look like 2 Nov 2026. */
export function statementDocument(
  currency: Currency,
  { company, paybill }: Pick<Printer, 'company' | 'paybill'>,
  { account, accountNumber, customer, productName, period, isToday, statement }: AccountStatement,
  language: Language,
) {
  const { decimals } = currency;
  const terms = termsOf(account);
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
  const toRow = (row: Row) => ({
    date: row.date,
    type: row.type,
    description: describeRow(row, terms, spelling),
    detail: [row.money?.transactionRef, coverageOfRow(row, terms, spelling)].filter(Boolean).join(' · '),
    due: cell(row.dueMinor),
    paid: cell(row.paidMinor),
    // The amount of a reversed payment is printed with a line through it.
    struck: row.type === 'payment' && row.money?.reversedOn ? amount(row.amountMinor) : null,
    ...figures(row),
  });
  /** A run of instalments has the balances after its last instalment. */
  const toRun = (run: readonly [Row, ...Row[]]) => ({
    ...toRow(run.at(-1) ?? run[0]),
    ...describeRun(run, terms, spelling),
    due: cell(run.reduce((sum, { dueMinor }) => sum + dueMinor, 0n)),
  });
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
      lastDate: dueDate(terms, terms.instalmentCount),
      total: amount(BigInt(account.total_minor)),
    },
    opening: figures(statement.opening),
    rows: groupRows(statement.rows).map((group) => (group.length === 1 ? toRow(group[0]) : toRun(group))),
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
