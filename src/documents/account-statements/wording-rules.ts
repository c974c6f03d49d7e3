import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { ChangedInstalments } from '../../accounts/plan-changes/outcome-rules.ts';
import { chargesOf } from '../../accounts/schedule/rules.ts';
import type { PlanChangeKind } from '../../core/database/tables.ts';
import { unreachable } from '../../core/http/errors.ts';
import type { Language } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, minorToText, printedAmount } from '../../core/values/money.ts';
import { coveredBy, coverRuns, type MoneyMove } from './allocation-rules.ts';
import type { Row, TermsChange } from './rules.ts';

// The texts of a statement. JSON, CSV and the printed document differ only in the format of dates and amounts. The texts are for the
// customer, so they do not contain the reasons that staff enter for a reversal, a transfer, a refund, a cancellation or a write-off.
// The reason of a change of the terms is shown beside the text.

interface Spelling {
  language: Language;
  date(date: PlainDate): string;
  /** Two different days. */
  span(first: PlainDate, last: PlainDate): string;
  amount(minor: Minor): string;
}

/** For example 2026-11-02 and 1234.50. */
export function plainSpelling(decimals: number, language: Language): Spelling {
  return {
    language,
    date: (date) => date,
    span: (first, last) => `${first} – ${last}`,
    amount: (minor) => minorToText(minor, decimals),
  };
}

/** For example 2 Nov 2026, 2–30 Nov 2026 and 1,234.50. */
export function printedSpelling(decimals: number, language: Language): Spelling {
  const partsOf = (date: PlainDate) => {
    const [year = '', month, day] = date.split('-');
    return [String(Number(day)), MONTHS[language][Number(month) - 1] ?? '', year];
  };
  return {
    language,
    date: (date) => partsOf(date).join(' '),
    span: (first, last) => {
      const [begin, end] = [partsOf(first), partsOf(last)];
      while (begin.length > 1 && begin.at(-1) === end[begin.length - 1]) begin.pop();
      return [begin.join(' '), end.join(' ')].join(begin.length === 1 ? '–' : ' – ');
    },
    amount: (minor) => printedAmount(minor, decimals),
  };
}

const MONTHS = {
  en: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
  sw: ['Jan', 'Feb', 'Mac', 'Apr', 'Mei', 'Jun', 'Jul', 'Ago', 'Sep', 'Okt', 'Nov', 'Des'],
};

interface Words {
  opened(amount: string): string;
  deposit: string;
  instalment(item: number | null, count: number): string;
  /** @param amount - the sum of the instalments, such as 415.00 or 7 × 60.00. */
  instalmentRun(first: number, last: number, count: number, amount: string): string;
  /** The change of the terms. A price that rose or fell is `price`. */
  planChange: Record<Exclude<PlanChangeKind, 'discount' | 'price_correction' | 'price_rise'>, string>;
  /** The first and the last of some new instalments, or the first of some instalments before and after they were moved. */
  made(count: number, first: string, last: string): string;
  moved(count: number, from: string, to: string): string;
  discount(amount: string): string;
  price: { lower(amount: string): string; higher(amount: string): string };
  payment(method: string): string;
  payments(count: number, methods: string): string;
  reversedPayment(method: string, date: string): string;
  transferIn(account: string): string;
  transferOut(account: string): string;
  otherAccount: string;
  refund(method: string): string;
  reversal(amount: string, method: string, date: string): string;
  cancelled: string;
  writtenOff(amount: string): string;
  recovery(amount: string): string;
  depositPart: string;
  instalments(first: number, last: number): string;
  part(amount: string, name: string): string;
  credit(amount: string): string;
  open: string;
  paid(date: string): string;
  partlyPaid(paid: string, open: string): string;
  opening: string;
  closing: string;
}

const WORDS: Record<Language, Words> = {
  en: {
    opened: (amount) => `Account opened: ${amount} in total`,
    deposit: 'Deposit',
    instalment: (item, count) => `Instalment ${item} of ${count}`,
    instalmentRun: (first, last, count, amount) => `Instalments ${first} to ${last} of ${count}: ${amount}`,
    planChange: {
      deferral: 'Instalments deferred',
      revision: 'Instalments revised',
      sale_correction: 'Pay plan corrected',
      payoff: 'Discount for early payoff',
      undo: 'Change of the instalments undone',
      imported: 'Instalments changed before the import',
    },
    made: (count, first, last) => `${count} from ${first} to ${last}`,
    moved: (count, from, to) =>
      count === 1 ? `from ${from} to ${to}` : `the first of ${count} from ${from} to ${to}`,
    discount: (amount) => `Discount of ${amount}`,
    price: {
      lower: (amount) => `price lowered by ${amount}`,
      higher: (amount) => `price raised by ${amount}`,
    },
    payment: (method) => `Payment by ${method}`,
    payments: (count, methods) => `${count} payments by ${methods}`,
    reversedPayment: (method, date) => `Payment by ${method}, reversed on ${date}: does not count`,
    transferIn: (account) => `Credit received from ${account}`,
    transferOut: (account) => `Credit given to ${account}`,
    otherAccount: 'another account',
    refund: (method) => `Credit paid back by ${method}`,
    reversal: (amount, method, date) => `Reversal of the payment of ${amount} by ${method} on ${date}`,
    cancelled: 'Account cancelled',
    writtenOff: (amount) => `${amount} written off`,
    recovery: (amount) => `Recovered: ${amount} of the written-off amount`,
    depositPart: 'deposit',
    instalments: (first, last) =>
      first === last ? `instalment ${first}` : `instalments ${first} to ${last}`,
    part: (amount, name) => `${amount} of ${name}`,
    credit: (amount) => `${amount} credit`,
    open: 'open',
    paid: (date) => `paid ${date}`,
    partlyPaid: (paid, open) => `${paid} paid, ${open} open`,
    opening: 'Balances before this day',
    closing: 'Balances at the end of this day, and sums of the period',
  },
  sw: {
    opened: (amount) => `Akaunti imefunguliwa: jumla ${amount}`,
    deposit: 'Malipo ya awali',
    instalment: (item, count) => `Awamu ya ${item} kati ya ${count}`,
    instalmentRun: (first, last, count, amount) =>
      `Awamu ya ${first} hadi ${last} kati ya ${count}: ${amount}`,
    planChange: {
      deferral: 'Awamu zimeahirishwa',
      revision: 'Awamu zimepangwa upya',
      sale_correction: 'Mpango wa malipo umesahihishwa',
      payoff: 'Punguzo la malipo ya mapema',
      undo: 'Badiliko la awamu limetenguliwa',
      imported: 'Awamu zilibadilishwa kabla ya kuletwa',
    },
    made: (count, first, last) => `${count} kuanzia ${first} hadi ${last}`,
    moved: (count, from, to) =>
      count === 1 ? `kutoka ${from} hadi ${to}` : `ya kwanza kati ya ${count} kutoka ${from} hadi ${to}`,
    discount: (amount) => `Punguzo la ${amount}`,
    price: {
      lower: (amount) => `bei imepunguzwa kwa ${amount}`,
      higher: (amount) => `bei imeongezwa kwa ${amount}`,
    },
    payment: (method) => `Malipo kwa ${method}`,
    payments: (count, methods) => `Malipo ${count} kwa ${methods}`,
    reversedPayment: (method, date) => `Malipo kwa ${method}, yalibatilishwa ${date}: hayahesabiwi`,
    transferIn: (account) => `Salio la ziada limepokelewa kutoka ${account}`,
    transferOut: (account) => `Salio la ziada limehamishiwa ${account}`,
    otherAccount: 'akaunti nyingine',
    refund: (method) => `Salio la ziada limerejeshwa kwa ${method}`,
    reversal: (amount, method, date) => `Kubatilishwa kwa malipo ya ${amount} kwa ${method} ya ${date}`,
    cancelled: 'Mauzo yametenguliwa',
    writtenOff: (amount) => `Deni la ${amount} limefutwa vitabuni`,
    recovery: (amount) => `Limelipwa baada ya kufutwa: ${amount}`,
    depositPart: 'malipo ya awali',
    instalments: (first, last) => (first === last ? `awamu ya ${first}` : `awamu ya ${first} hadi ${last}`),
    part: (amount, name) => `${amount} ya ${name}`,
    credit: (amount) => `${amount} salio la ziada`,
    open: 'haijalipwa',
    paid: (date) => `imelipwa ${date}`,
    partlyPaid: (paid, open) => `${paid} imelipwa, ${open} bado`,
    opening: 'Masalio kabla ya siku hii',
    closing: 'Masalio mwisho wa siku hii, na jumla za kipindi',
  },
};

/** The texts of the first and the last line of a CSV file. */
export function describeEnds(language: Language): Pick<Words, 'opening' | 'closing'> {
  return WORDS[language];
}

export function describeRow(row: Row, { language, date, amount }: Spelling): string {
  const words = WORDS[language];
  const { type, money } = row;
  const rowAmount = amount(row.amountMinor);
  const method = String(money?.paymentMethod);
  switch (type) {
    case 'opened':
      return words.opened(rowAmount);
    case 'deposit':
      return words.deposit;
    case 'instalment':
      return words.instalment(row.item, chargesOf(row.terms).instalmentCount);
    case 'plan_change':
      return row.change ? describeChange(row.change, row, words, { date, amount }) : '';
    case 'payment':
      return money?.reversedOn
        ? words.reversedPayment(method, date(money.reversedOn))
        : words.payment(method);
    case 'transfer_in':
      return words.transferIn(otherAccount(money, words));
    case 'transfer_out':
      return words.transferOut(otherAccount(money, words));
    case 'refund':
      return words.refund(method);
    case 'reversal':
      return words.reversal(rowAmount, method, money ? date(money.date) : '');
    case 'cancelled':
      return words.cancelled;
    case 'written_off':
      return words.writtenOff(rowAmount);
    case 'recovery':
      return words.recovery(rowAmount);
    default:
      return unreachable(type);
  }
}

function describeChange(
  { kind, instalments }: TermsChange,
  { chargedMinor, amountMinor }: Row,
  words: Words,
  { date, amount }: Pick<Spelling, 'date' | 'amount'>,
): string {
  if (kind === 'discount') return words.discount(amount(amountMinor));
  const price =
    chargedMinor === 0n ? '' : words.price[chargedMinor < 0n ? 'lower' : 'higher'](amount(amountMinor));
  if (kind === 'price_correction' || kind === 'price_rise')
    return price.charAt(0).toUpperCase() + price.slice(1);
  return [words.planChange[kind], instalments && describeDates(instalments, words, date), price]
    .filter(Boolean)
    .join(', ');
}

function describeDates(
  { count, firstDueDate, lastDueDate, movedFrom }: ChangedInstalments,
  words: Words,
  date: Spelling['date'],
): string {
  return movedFrom === null
    ? words.made(count, date(firstDueDate), date(lastDueDate))
    : words.moved(count, date(movedFrom), date(firstDueDate));
}

/** The texts of several rows of one type in one line, such as `Instalments 3 to 9 of 289: 7 × 60.00`. */
export function describeRows(
  rows: readonly [Row, ...Row[]],
  spelling: Spelling,
): { description: string; detail: string } {
  const words = WORDS[spelling.language];
  const first = rows[0];
  switch (first.type) {
    case 'instalment': {
      const last = rows.at(-1) ?? first;
      const areEqual = rows.every(({ amountMinor }) => amountMinor === first.amountMinor);
      const amount = areEqual
        ? `${rows.length} × ${spelling.amount(first.amountMinor)}`
        : spelling.amount(rows.reduce((sum, { amountMinor }) => sum + amountMinor, 0n));
      const { instalmentCount } = chargesOf(first.terms);
      return {
        description: words.instalmentRun(first.item ?? 0, last.item ?? 0, instalmentCount, amount),
        detail: coverageOfItems(rows, spelling),
      };
    }
    case 'payment': {
      const methods = new Set(rows.map(({ money }) => String(money?.paymentMethod)));
      return {
        description: words.payments(rows.length, [...methods].join(', ')),
        detail: coverageOfPayments(rows, spelling),
      };
    }
    case 'recovery': {
      const total = rows.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
      return { description: words.recovery(spelling.amount(total)), detail: '' };
    }
    default:
      throw new Error(`Rows of the type ${first.type} are not folded into one line.`);
  }
}

/** The first and the last of some days. */
export function describeDays(days: readonly PlainDate[], { date, span }: Spelling): string {
  const sorted = days.toSorted();
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (!first || !last) return '';
  return first === last ? date(first) : span(first, last);
}

function otherAccount(money: MoneyMove | null, words: Words): string {
  return money?.otherAccountId ? formatAccountNumber(money.otherAccountId) : words.otherAccount;
}

/** Which items a payment covers, or how much of an item is paid. */
export function coverageOfRow(row: Row, spelling: Spelling): string {
  return row.item === null ? coverageOfPayments([row], spelling) : coverageOfItem(row, spelling);
}

/** For example `deposit, instalments 1 to 3, 150.00 of instalment 4, 20.00 credit`. */
function coverageOfPayments(rows: readonly [Row, ...Row[]], { language, amount }: Spelling): string {
  const words = WORDS[language];
  const covers = rows.flatMap((row) => row.covers);
  const parts = coverRuns(covers, rows[0].terms).map(({ firstItem, lastItem, isWhole, amountMinor }) => {
    const name = firstItem === 0 ? words.depositPart : words.instalments(firstItem, lastItem);
    return isWhole ? name : words.part(amount(amountMinor), name);
  });
  const creditMinor = rows.reduce((sum, row) => sum + row.creditMinor, 0n);
  if (creditMinor > 0n) parts.push(words.credit(amount(creditMinor)));
  return parts.join(', ');
}

/** For example `paid 2026-11-09`, `100.00 paid, 300.00 open` or `open`. */
function coverageOfItem(row: Row, spelling: Spelling): string {
  const last = row.covers.at(-1);
  const isPaid = last !== undefined && coveredBy(row.covers) === row.amountMinor;
  return isPaid ? WORDS[spelling.language].paid(spelling.date(last.paymentDate)) : openPart([row], spelling);
}

/** For example `paid 2026-11-02 – 2026-11-09`, `100.00 paid, 300.00 open` or `open`. */
function coverageOfItems(rows: readonly Row[], spelling: Spelling): string {
  const payments = rows.flatMap(({ covers }) => covers.map(({ paymentDate }) => paymentDate));
  const isPaid = rows.every(({ covers, amountMinor }) => coveredBy(covers) === amountMinor);
  return isPaid ? WORDS[spelling.language].paid(describeDays(payments, spelling)) : openPart(rows, spelling);
}

function openPart(rows: readonly Row[], { language, amount }: Spelling): string {
  const words = WORDS[language];
  const due = rows.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const covered = rows.reduce((sum, { covers }) => sum + coveredBy(covers), 0n);
  return covered === 0n ? words.open : words.partlyPaid(amount(covered), amount(due - covered));
}
