import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { type AccountRow, booksOf } from '../../accounts/ledger/rules.ts';
import {
  discountEarned,
  type OfferFacts,
  payoffShown,
  withMoney,
} from '../../accounts/payoffs/posting-rules.ts';
import {
  hasEqualInstalments,
  rhythmOf,
  type Terms,
  termsOf,
  totalOf,
} from '../../accounts/schedule/rules.ts';
import { statusOn } from '../../accounts/status/rules.ts';
import { toPaymentState } from '../../accounts/view.ts';
import { amountOf, type Currency } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { coveredBy, coverRuns, isOut, signed } from './allocation-rules.ts';
import { explainDebt } from './explanation-rules.ts';
import { sayWhy } from './explanation-wording-rules.ts';
import { quoteOf } from './quote-rules.ts';
import type { CoveringMoney, Row, StatementFigures } from './rules.ts';
import type { AccountStatement } from './view.ts';
import { describeRow, plainSpelling } from './wording-rules.ts';

export function toStatement(
  { account, accountNumber, customer, productName, period, statement }: AccountStatement,
  currency: Currency,
  language: Language,
) {
  const { rows, totals, position, terms } = statement;
  const amount = (minor: Minor) => amountOf(minor, currency);
  const figures = ({ dueSoFarMinor, owedInTotalMinor }: StatementFigures) => ({
    dueSoFar: amount(dueSoFarMinor),
    owedInTotal: amount(owedInTotalMinor),
  });
  const spelling = plainSpelling(currency.decimals, language);
  return {
    accountId: account.id,
    accountNumber,
    customerName: customer.name,
    productName,
    status: account.status,
    currency: currency.code,
    terms: {
      activationDate: terms.activationDate,
      deposit: amount(terms.depositMinor),
      instalmentAmount: amount(terms.instalmentMinor),
      instalmentCount: terms.instalmentCount,
      frequency: terms.frequency,
      hasEqualInstalments: hasEqualInstalments(terms),
      rhythm: rhythmOf(terms),
      total: amount(totalOf(terms)),
    },
    period,
    opening: figures(statement.opening),
    rows: rows.map((row) => ({
      date: row.date,
      type: row.type,
      description: describeRow(row, spelling),
      amount: amount(row.amountMinor),
      due: amount(row.dueMinor),
      charged: amount(row.chargedMinor),
      paid: amount(row.paidMinor),
      ...figures(row),
      item: row.item,
      covers: row.covers.map(({ amountMinor, ...cover }) => ({ ...cover, amount: amount(amountMinor) })),
      coverRuns: row.item === null ? toCoverRuns(row, row.terms, currency) : [],
      covered: row.item === null ? null : amount(coveredBy(row.covers)),
      credit: row.type === 'payment' || row.type === 'transfer_in' ? amount(row.creditMinor) : null,
      planChangeId: row.change?.id ?? null,
      reason: row.change?.reason ?? null,
      ...sourceOf(row),
    })),
    totals: {
      due: amount(totals.dueMinor),
      charged: amount(totals.chargedMinor),
      paid: amount(totals.paidMinor),
    },
    closing: {
      ...figures(statement.closing),
      balance: amount(statement.balanceMinor),
      credit: amount(statement.creditMinor),
      arrears: amount(position.arrearsMinor),
      ...toPaymentState(position, currency),
    },
  };
}

/** A payment or a credit move, with what it covers. */
export function toCoverage(money: CoveringMoney, terms: Terms, currency: Currency) {
  const { date, type, amountMinor, paymentId, creditMoveId, paymentMethod, transactionRef, reversedOn } =
    money;
  return {
    ...{ date, type, amount: amountOf(amountMinor, currency) },
    paid: amountOf(reversedOn === null ? signed(money) : 0n, currency),
    coverRuns: toCoverRuns(money, terms, currency),
    credit: isOut(money) ? null : amountOf(money.creditMinor, currency),
    ...{ paymentId, creditMoveId, paymentMethod, transactionRef, reversedOn },
  };
}

function toCoverRuns({ covers }: Pick<Row, 'covers'>, terms: Terms, currency: Currency) {
  return coverRuns(covers, terms).map(({ amountMinor, ...run }) => ({
    ...run,
    amount: amountOf(amountMinor, currency),
  }));
}

/** The payment or credit move of a statement row, and its ledger event. */
export function sourceOf({ type, money, event }: Row) {
  return {
    paymentId: money?.paymentId ?? null,
    creditMoveId: money?.creditMoveId ?? null,
    paymentMethod: money?.paymentMethod ?? null,
    transactionRef: money?.transactionRef ?? null,
    reversedOn: money?.reversedOn ?? null,
    ledgerEventId:
      event?.ledgerEventId ?? (type === 'reversal' ? money?.reversalEventId : money?.ledgerEventId) ?? null,
  };
}

/** What the account owes on a date, and the effect of a payment of the amount on that date. */
export function quoteAccount(
  account: AccountRow,
  {
    date,
    amountMinor,
    today,
    language,
    offer,
  }: {
    date: PlainDate;
    amountMinor: Minor | null;
    today: PlainDate;
    language: Language;
    /** Undefined if the pay plan offers no early payoff. */
    offer: OfferFacts | undefined;
  },
  currency: Currency,
) {
  const { status, paidMinor } = booksOf(account);
  const terms = termsOf(account);
  const quoted = { terms, status, paidMinor };
  const onDate = { ...account, status: statusOn(status, account.activation_date, date) };
  const payoff = payoffShown(onDate, offer, date);
  const isOffered = typeof payoff !== 'string';
  const earned =
    offer && amountMinor !== null
      ? discountEarned(onDate, withMoney(offer, date, amountMinor), onDate.status)
      : undefined;
  const quote = quoteOf({ ...quoted, ...earned }, { date, amountMinor });
  const why = explainDebt(quoted, quote, date);
  const amount = (minor: Minor) => amountOf(minor, currency);
  return {
    accountId: account.id,
    accountNumber: formatAccountNumber(account.id),
    currency: currency.code,
    status: account.status,
    date,
    overdue: amount(quote.overdueMinor),
    dueOnDate: amount(quote.dueOnDateMinor),
    amountDue: amount(quote.amountDueMinor),
    settlement: amount(quote.payoffMinor),
    earlyPayoff: isOffered
      ? {
          amount: amount(payoff.amountMinor),
          discount: amount(payoff.discountMinor),
          until: payoff.until,
          duesLeft: payoff.unpaidDues,
        }
      : null,
    noEarlyPayoff: isOffered ? null : payoff,
    ...toPaymentState(quote.position, currency),
    explanation: {
      language,
      sentence: sayWhy(why, { date, isToday: date === today, decimals: currency.decimals, language }),
      state: why.state,
      deposit: amount(why.depositMinor),
      instalmentCount: why.instalmentCount,
      instalmentAmount: amount(terms.instalmentMinor),
      instalments: why.instalments.map(({ count, amountMinor }) => ({ count, amount: amount(amountMinor) })),
      charged: amount(why.chargedMinor),
      paid: amount(why.paidMinor),
      late: amount(why.lateMinor),
      lateSince: why.lateSince,
      dueOnDate: amount(why.dueOnDateMinor),
      ahead: amount(why.aheadMinor),
      credit: amount(why.creditMinor),
      remaining: amount(why.remainingMinor),
    },
    payment: quote.after && {
      amount: amount(quote.after.amountMinor),
      itemsCovered: quote.after.itemsCovered,
      remainder: amount(quote.after.remainderMinor),
      balance: amount(quote.after.balanceMinor),
      credit: amount(quote.after.creditMinor),
      arrears: amount(quote.after.position.arrearsMinor),
      completes: quote.after.completes,
      ...toPaymentState(quote.after.position, currency),
    },
  };
}
