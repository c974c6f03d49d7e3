import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { itemMinor, type Terms } from '../../accounts/schedule/rules.ts';
import { unreachable } from '../../core/http/errors.ts';
import type { Language } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, minorToText, printedAmount } from '../../core/values/money.ts';
import { coveredBy, type MoneyMove } from './allocation-rules.ts';
import type { Row } from './rules.ts';

// The texts of a statement. JSON, CSV and the printed document differ only in the format of dates and amounts. The texts are for the
// customer, so they do not contain the reasons that staff enter for a reversal, a transfer, a refund, a cancellation or a write-off.

interface Spelling {
  language: Language;
  date(date: PlainDate): string;
  amount(minor: Minor): string;
}

/** For example 2026-11-02 and 1234.50. */
export function plainSpelling(decimals: number, language: Language): Spelling {
  return { language, date: (date) => date, amount: (minor) => minorToText(minor, decimals) };
}

/** For example 2 Nov 2026 and 1,234.50. */
export function printedSpelling(decimals: number, language: Language): Spelling {
  return {
    language,
    date: (date) => {
      const [year, month, day] = date.split('-');
      return `${Number(day)} ${MONTHS[language][Number(month) - 1]} ${year}`;
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
  instalmentRun(first: number, last: number, count: number, amount: string): string;
  payment(method: string): string;
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
    instalmentRun: (first, last, count, amount) =>
      `Instalments ${first} to ${last} of ${count}: ${last - first + 1} × ${amount}`,
    payment: (method) => `Payment by ${method}`,
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
      `Awamu ya ${first} hadi ${last} kati ya ${count}: ${last - first + 1} × ${amount}`,
    payment: (method) => `Malipo kwa ${method}`,
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

export function describeRow(
  row: Row,
  { instalmentCount }: Terms,
  { language, date, amount }: Spelling,
): string {
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
      return words.instalment(row.item, instalmentCount);
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

/** The description and the detail of a run of `groupRows`, such as `Instalments 3 to 9 of 289: 7 × 60.00`, and its days. */
export function describeRun(
  run: readonly [Row, ...Row[]],
  { instalmentCount }: Terms,
  { language, date, amount }: Spelling,
): { description: string; detail: string } {
  const words = WORDS[language];
  const first = run[0];
  const last = run.at(-1) ?? first;
  const until = (from: PlainDate, to: PlainDate) =>
    from === to ? date(from) : `${date(from)} – ${date(to)}`;
  const payments = run.flatMap(({ covers }) => covers.map(({ paymentDate }) => paymentDate)).sort();
  const [firstPaid, lastPaid] = [payments[0], payments.at(-1)];
  const state = firstPaid && lastPaid ? words.paid(until(firstPaid, lastPaid)) : words.open;
  return {
    description: words.instalmentRun(
      first.item ?? 0,
      last.item ?? 0,
      instalmentCount,
      amount(first.amountMinor),
    ),
    detail: `${until(first.date, last.date)} · ${state}`,
  };
}

function otherAccount(money: MoneyMove | null, words: Words): string {
  return money?.otherAccountId ? formatAccountNumber(money.otherAccountId) : words.otherAccount;
}

/** Which items a payment covers, or how much of an item is paid. */
export function coverageOfRow(row: Row, terms: Terms, spelling: Spelling): string {
  return row.item === null ? coverageOfPayment(row, terms, spelling) : coverageOfItem(row, spelling);
}

/** For example `deposit, instalments 1 to 3, 150.00 of instalment 4, 20.00 credit`. */
function coverageOfPayment(
  { covers, creditMinor }: Row,
  terms: Terms,
  { language, amount }: Spelling,
): string {
  const words = WORDS[language];
  const parts: string[] = [];
  let run: { first: number; last: number } | undefined;
  for (const { item, amountMinor } of covers) {
    const whole = amountMinor === itemMinor(terms, item);
    if (whole && run?.last === item - 1) {
      run.last = item;
      continue;
    }
    endRun();
    const name = item === 0 ? words.depositPart : words.instalments(item, item);
    if (!whole) parts.push(words.part(amount(amountMinor), name));
    else if (item === 0) parts.push(name);
    else run = { first: item, last: item };
  }
  endRun();
  if (creditMinor > 0n) parts.push(words.credit(amount(creditMinor)));
  return parts.join(', ');

  function endRun(): void {
    if (run) parts.push(words.instalments(run.first, run.last));
    run = undefined;
  }
}

/** For example `paid 2026-11-09`, `100.00 paid, 300.00 open` or `open`. */
function coverageOfItem({ covers, amountMinor }: Row, { language, date, amount }: Spelling): string {
  const words = WORDS[language];
  const covered = coveredBy(covers);
  const last = covers.at(-1);
  if (last === undefined) return words.open;
  if (covered === amountMinor) return words.paid(date(last.paymentDate));
  return words.partlyPaid(amount(covered), amount(amountMinor - covered));
}
