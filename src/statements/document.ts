import { dueDate } from '../accounts/schedule.ts';
import { termsOf } from '../accounts/store.ts';
import type { Currency } from '../core/context.ts';
import type { Frequency } from '../core/database/tables.ts';
import { type Minor, printedAmount } from '../core/values/money.ts';
import type { PrintedDocument, Printer } from '../platform/printing/printer.ts';
import type { Figures, Row } from './rules.ts';
import type { AccountStatement } from './store.ts';
import { coverageOfItem, coverageOfPayment, describeRow, printedSpelling } from './words.ts';

/** All that stands in a printed statement, as text; dates are YYYY-MM-DD. */
export interface StatementDocument extends PrintedDocument {
  customer: { name: string; phone: string };
  accountNumber: string;
  period: { from: string; to: string };
  currency: string;
  product: string;
  terms: {
    activationDate: string;
    deposit: string | null;
    instalment: string;
    count: number;
    frequency: Frequency;
    lastDate: string;
    total: string;
  };
  opening: PrintedFigures;
  rows: (PrintedFigures & {
    date: string;
    type: Row['type'];
    description: string;
    detail: string;
    due: string;
    paid: string;
    /** What a reversed payment would have paid; else null. */
    struck: string | null;
  })[];
  totals: { due: string; paid: string };
  closing: PrintedFigures & {
    isToday: boolean;
    state: 'open' | 'paid' | 'cancelled' | 'written_off';
    paid: string;
    balance: string;
    arrears: string;
    /** The date of the oldest item that is due and not fully paid. */
    dueSince: string | null;
    credit: string | null;
    paidUntil: string | null;
    /** The first item that falls due later, where nothing is due. */
    nextDueDate: string | null;
    nextDueAmount: string | null;
  };
  paybill: string | null;
}

interface PrintedFigures {
  dueSoFar: string;
  owedInTotal: string;
}

export function statementDocument(
  currency: Currency,
  { company, paybill }: Pick<Printer, 'company' | 'paybill'>,
  { account, accountNumber, customer, productName, period, isToday, statement }: AccountStatement,
): StatementDocument {
  const { decimals } = currency;
  const terms = termsOf(account);
  const amount = (minor: Minor) => printedAmount(minor, decimals);
  const unlessZero = (minor: Minor) => (minor === 0n ? null : amount(minor));
  const cell = (minor: Minor) => unlessZero(minor) ?? '';
  const figures = ({ dueSoFarMinor, owedInTotalMinor }: Figures) => ({
    dueSoFar: amount(dueSoFarMinor),
    owedInTotal: amount(owedInTotalMinor),
  });
  const { at, closing } = statement;
  const isDue = at.arrearsMinor > 0n;
  const spelling = printedSpelling(decimals);
  return {
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
    rows: statement.rows.map((row) => ({
      date: row.date,
      type: row.type,
      description: describeRow(row, terms, spelling),
      detail: [row.money?.transactionRef, coverage(row)].filter(Boolean).join(' · '),
      due: cell(row.dueMinor),
      paid: cell(row.paidMinor),
      struck: row.type === 'payment' && row.money?.reversedOn ? amount(row.amountMinor) : null,
      ...figures(row),
    })),
    totals: { due: amount(statement.totals.dueMinor), paid: amount(statement.totals.paidMinor) },
    closing: {
      ...figures(closing),
      isToday,
      state:
        at.paymentState === 'paid_off' && statement.end !== 'cancelled' ? 'paid' : (statement.end ?? 'open'),
      paid: amount(statement.paidMinor),
      balance: amount(statement.balanceMinor),
      arrears: amount(at.arrearsMinor),
      dueSince: isDue ? at.nextDueDate : null,
      credit: unlessZero(statement.creditMinor),
      paidUntil: at.paidUntil,
      nextDueDate: isDue ? null : at.nextDueDate,
      nextDueAmount: isDue || at.nextDueAmountMinor === null ? null : amount(at.nextDueAmountMinor),
    },
    company,
    paybill,
  };

  function coverage(row: Row): string {
    return row.item === null ? coverageOfPayment(row, terms, spelling) : coverageOfItem(row, spelling);
  }
}
