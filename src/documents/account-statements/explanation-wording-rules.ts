import type { AccountStatus } from '../../core/database/tables.ts';
import { unreachable } from '../../core/http/errors.ts';
import type { Language } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, printedAmount } from '../../core/values/money.ts';
import type { DebtExplanation } from './explanation-rules.ts';
import { printedSpelling } from './wording-rules.ts';

interface Spoken {
  date: PlainDate;
  isToday: boolean;
  decimals: number;
  language: Language;
}

interface Words {
  deposit(amount: string): string;
  instalments(count: number, amount: string): string;
  /** Instalments of many amounts. */
  unequal(count: number, sum: string): string;
  nothing: string;
  until(items: string, date: string | null, sum: string): string;
  price(items: string, sum: string): string;
  paid(amount: string): string;
  late(amount: string, since: string): string;
  dueOn(amount: string, date: string | null): string;
  ahead(amount: string): string;
  upToDate: string;
  next(amount: string, date: string): string;
  paidOff: string;
  credit(amount: string): string;
  starts(date: string): string;
  cancelled: string;
  missing(amount: string): string;
  writtenOff(amount: string): string;
  /** Further sentences, for accounts of some statuses. */
  notes: Partial<Record<AccountStatus, string>>;
}

const WORDS: Record<Language, Words> = {
  en: {
    deposit: (amount) => `deposit ${amount}`,
    instalments: (count, amount) =>
      count === 1 ? `1 instalment of ${amount}` : `${count} instalments of ${amount}`,
    unequal: (count, sum) => `${count} instalments of ${sum} together`,
    nothing: 'nothing',
    until: (items, date, sum) => `${items} due until ${date ?? 'today'} = ${sum}`,
    price: (items, sum) => `${items} = ${sum}`,
    paid: (amount) => `paid ${amount}`,
    late: (amount, since) => `${amount} late since ${since}`,
    dueOn: (amount, date) => (date === null ? `${amount} due today` : `${amount} due on ${date}`),
    ahead: (amount) => `${amount} paid ahead`,
    upToDate: 'nothing is due',
    next: (amount, date) => `next ${amount} on ${date}`,
    paidOff: 'paid in full',
    credit: (amount) => `${amount} credit`,
    starts: (date) => `the first payment is due on ${date}`,
    cancelled: 'The sale is cancelled, so nothing is due',
    missing: (amount) =>
      `${amount} is missing, because a payment was reversed after its credit had left the account`,
    writtenOff: (amount) => `${amount} is unpaid and was written off`,
    notes: { suspended: 'The account is suspended.', repossessed: 'The product was taken back.' },
  },
  sw: {
    deposit: (amount) => `malipo ya awali ${amount}`,
    instalments: (count, amount) => (count === 1 ? `awamu 1 ya ${amount}` : `awamu ${count} za ${amount}`),
    unequal: (count, sum) => `awamu ${count}, jumla yake ${sum}`,
    nothing: 'hakuna',
    until: (items, date, sum) => `${items}, kufikia ${date ?? 'leo'} = ${sum}`,
    price: (items, sum) => `${items} = ${sum}`,
    paid: (amount) => `umelipa ${amount}`,
    late: (amount, since) => `${amount} imechelewa tangu ${since}`,
    dueOn: (amount, date) => (date === null ? `${amount} inadaiwa leo` : `${amount} inadaiwa ${date}`),
    ahead: (amount) => `${amount} imelipwa mapema`,
    upToDate: 'hakuna kinachodaiwa',
    next: (amount, date) => `malipo yajayo ${amount} tarehe ${date}`,
    paidOff: 'imelipwa yote',
    credit: (amount) => `salio la ziada ${amount}`,
    starts: (date) => `malipo ya kwanza ni tarehe ${date}`,
    cancelled: 'Mauzo yametenguliwa, hakuna kinachodaiwa',
    missing: (amount) =>
      `${amount} inakosekana, kwa sababu malipo yalibatilishwa baada ya salio lake kuhamishwa`,
    writtenOff: (amount) => `${amount} haijalipwa na imefutwa vitabuni`,
    notes: { suspended: 'Akaunti imesimamishwa.', repossessed: 'Bidhaa imerudishwa.' },
  },
};

/** The number of different amounts of instalments that a sentence lists. */
export const MAX_AMOUNTS = 3;

/** For example: Deposit 1,500 + 289 instalments of 60 due until today = 18,840; paid 9,540; 9,300 late since 27 Jun 2026. */
export function sayWhy(why: DebtExplanation, { date, isToday, decimals, language }: Spoken): string {
  const words = WORDS[language];
  const spelling = printedSpelling(decimals, language);
  const amount = (minor: Minor) => withoutZeros(printedAmount(minor, decimals));
  const named = isToday ? null : spelling.date(date);
  const items =
    [
      why.depositMinor > 0n ? words.deposit(amount(why.depositMinor)) : null,
      ...(why.instalments.length > MAX_AMOUNTS
        ? [words.unequal(why.instalmentCount, amount(why.instalmentsMinor))]
        : why.instalments.map(({ count, amountMinor }) => words.instalments(count, amount(amountMinor)))),
    ]
      .filter((item) => item !== null)
      .join(' + ') || words.nothing;
  const charged = amount(why.chargedMinor);
  const paid = words.paid(amount(why.paidMinor));
  const next =
    why.nextDueDate !== null && why.nextDueMinor !== null
      ? words.next(amount(why.nextDueMinor), spelling.date(why.nextDueDate))
      : null;
  const credit = why.creditMinor > 0n ? words.credit(amount(why.creditMinor)) : null;
  return sentenceOf(partsOf(), words, why);

  function partsOf(): (string | null)[] {
    switch (why.state) {
      case 'paid_off':
        return [words.price(items, charged), paid, words.paidOff, credit];
      case 'cancelled':
        return [
          words.cancelled,
          paid,
          credit,
          why.remainingMinor > 0n ? words.missing(amount(why.remainingMinor)) : null,
        ];
      case 'written_off':
        return [words.price(items, charged), paid, words.writtenOff(amount(why.remainingMinor))];
      case 'not_started':
        return [words.price(items, charged), paid, words.starts(spelling.date(why.startsOn))];
      case 'late':
        return [
          words.until(items, named, charged),
          paid,
          [
            words.late(amount(why.lateMinor), why.lateSince === null ? '' : spelling.date(why.lateSince)),
            ...(why.dueOnDateMinor > 0n ? [words.dueOn(amount(why.dueOnDateMinor), named)] : []),
          ].join(', '),
        ];
      case 'due':
        return [words.until(items, named, charged), paid, words.dueOn(amount(why.dueOnDateMinor), named)];
      case 'ahead':
        return [words.until(items, named, charged), paid, words.ahead(amount(why.aheadMinor)), next];
      case 'up_to_date':
        return [words.until(items, named, charged), paid, words.upToDate, next];
      default:
        return unreachable(why.state);
    }
  }
}

function sentenceOf(
  parts: readonly (string | null)[],
  words: Words,
  { status }: Pick<DebtExplanation, 'status'>,
): string {
  const text = parts.filter((part) => part !== null).join('; ');
  const sentence = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
  const note = words.notes[status];
  return note === undefined ? sentence : `${sentence} ${note}`;
}

/** 1,500.00 becomes 1,500; 1,500.50 stays. */
function withoutZeros(printed: string): string {
  return printed.replace(/\.0+$/, '');
}
