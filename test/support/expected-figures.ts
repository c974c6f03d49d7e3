import type { AccountStatus } from '../../src/core/database/tables.ts';
import { STATUS_MODEL, STATUSES } from './status-model.ts';

/**
 * Computes the figures of a portfolio from the accounts, status changes and payments of the API, account by
 * account. Shares no code with the service, so that a mistake in the service is found. Amounts are bigint in hundredths.
 */

/** Fields of the API: of an account, a status change (`/accounts/:id/history`), a payment and a move of credit. */
export interface RawAccount {
  id: number;
  productId: number;
  status: AccountStatus;
  activationDate: string;
  createdAt: string;
  deposit: number;
  instalmentAmount: number;
  instalmentCount: number;
  frequency: 'daily' | 'weekly' | 'monthly';
}
export interface RawMove {
  id: number;
  from: AccountStatus | null;
  to: AccountStatus;
  date: string;
}
export interface RawPayment {
  accountId: number | null;
  status: string;
  paymentDate: string;
  amount: number;
}
export interface RawCreditMove {
  accountId: number;
  toAccountId: number | null;
  valueDate: string;
  amount: number;
}
/** The schedule that an account has from a day on. The item with the number 0 is the deposit. */
export interface RawTerms {
  from: string;
  items: readonly { number: number; dueDate: string; amount: number }[];
}
export interface RawPortfolio {
  accounts: readonly RawAccount[];
  /**
   * The terms of accounts whose instalments are not equal, or whose plan was changed, by the id of the account, in the order of the changes.
   * The other accounts have the equal instalments that they show.
   */
  terms?: ReadonlyMap<number, readonly RawTerms[]>;
  payments: readonly RawPayment[];
  /** Each move once, although two accounts show it. */
  creditMoves: readonly RawCreditMove[];
  /** By the id of the account. */
  moves: ReadonlyMap<number, readonly RawMove[]>;
}

export interface Span {
  startDate: string;
  endDate: string;
  today: string;
  /** How many hours the business time zone is ahead of UTC. */
  utcOffsetHours: number;
}

/** Sends a GET below /api. @returns the body of the answer. */
// biome-ignore lint/suspicious/noExplicitAny: other tests compare the answers with openapi.json.
export type Get = (path: string) => Promise<any>;

/** Reads the data for the figures, page by page. */
export async function readPortfolio(get: Get): Promise<RawPortfolio> {
  const accounts = await readAll<RawAccount>(get, '/accounts');
  const moves = new Map<number, RawMove[]>();
  for (const { id } of accounts) moves.set(id, await readAll<RawMove>(get, `/accounts/${id}/history`));
  const creditMoves: RawCreditMove[] = [];
  for (const { id } of accounts) {
    const all = await readAll<RawCreditMove>(get, `/accounts/${id}/credit/moves`);
    creditMoves.push(...all.filter((move) => move.accountId === id));
  }
  return { accounts, moves, creditMoves, payments: await readAll<RawPayment>(get, '/payments') };
}

/** All rows of a list that match the filters. */
export async function readAll<T>(get: Get, path: string, filters: Record<string, string> = {}): Promise<T[]> {
  const rows: T[] = [];
  for (let page = 1; ; page += 1) {
    const query = new URLSearchParams({ ...filters, limit: '100', sort: 'id:asc', page: String(page) });
    const { data, pagination } = await get(`${path}?${query}`);
    rows.push(...data);
    if (page >= pagination.totalPages) return rows;
  }
}

const BUCKETS = [
  [0, 0],
  [1, 30],
  [31, 60],
  [61, 90],
  [91, 180],
  [181, null],
] as const;

/** The expected answer of `GET /reports/accounts/summary` for the span, without names and URLs of lists. */
export function portfolioOf(raw: RawPortfolio, span: Span) {
  const [asOf = span.today] = [span.endDate, span.today].sort();
  const [dayBefore = asOf] = [dayBeforeOf(span.startDate), asOf].sort();
  const moneyOf = new Map<number, Money[]>();
  function addMoney(accountId: number | null, date: string, amount: bigint): void {
    if (accountId === null) return;
    const list = moneyOf.get(accountId) ?? [];
    list.push({ date, amount });
    moneyOf.set(accountId, list);
  }
  for (const { accountId, status, paymentDate, amount } of raw.payments) {
    if (status === 'matched') addMoney(accountId, paymentDate, hundredths(amount));
  }
  for (const { accountId, toAccountId, valueDate, amount } of raw.creditMoves) {
    addMoney(accountId, valueDate, -hundredths(amount));
    addMoney(toAccountId, valueDate, hundredths(amount));
  }
  const all = raw.accounts.map((account) =>
    figuresOf(account, {
      ...{ span, dayBefore, asOf },
      money: moneyOf.get(account.id) ?? [],
      moves: raw.moves.get(account.id) ?? [],
      terms: raw.terms?.get(account.id),
    }),
  );
  const existing = all.filter((a) => a.statusThen !== undefined);
  const sold = all.filter((a) => a.model?.ends !== 'undone');
  const contracts = existing.filter((a) => a.model?.ends !== 'undone');
  const receivable = existing.filter((a) => a.model?.isReceivable);
  const outstanding = sum(receivable, (a) => a.balance);
  const ratio = (numerator: bigint, denominator: bigint, accounts: readonly unknown[]) => ({
    numerator: units(numerator),
    denominator: units(denominator),
    ratio: fourDecimals(numerator, denominator),
    asOf,
    count: accounts.length,
  });
  const atRisk = (days: number) => {
    const late = receivable.filter((a) => a.daysPastDue > days);
    return ratio(
      sum(late, (a) => a.balance),
      outstanding,
      late,
    );
  };
  const totals = (accounts: typeof all) => {
    const owing = accounts.filter((a) => a.model?.isReceivable);
    return {
      count: accounts.length,
      receivableCount: owing.length,
      contractValue: units(sum(accounts, (a) => a.total)),
      outstanding: units(sum(owing, (a) => a.balance)),
      arrears: units(sum(owing, (a) => a.arrears)),
    };
  };
  /** The accounts of the period, and by how much the value of all contracts changed: the price of an earlier account can change. */
  const soldIn = (accounts: typeof all, dayOf: (account: (typeof all)[number]) => string) => ({
    count: accounts.filter((a) => dayOf(a) >= span.startDate).length,
    contractValue: units(sum(accounts, (a) => a.total - (dayOf(a) < span.startDate ? a.totalBefore : 0n))),
  });
  return {
    period: { startDate: span.startDate, endDate: span.endDate },
    asOf,
    opened: soldIn(
      all.filter((a) => a.recordedOn <= span.endDate),
      (a) => a.recordedOn,
    ),
    activated: soldIn(
      existing.filter((a) => a.activationDate <= asOf && a.model?.isSold),
      (a) => a.activationDate,
    ),
    contractValue: units(sum(contracts, (a) => a.total)),
    collected: units(sum(all, (a) => a.collected)),
    outstanding: units(outstanding),
    arrears: units(sum(receivable, (a) => a.arrears)),
    byStatus: STATUSES.map((status) => ({
      status,
      ...totals(existing.filter((a) => a.statusThen === status)),
    })),
    byProduct: [...new Set(contracts.map((a) => a.productId))]
      .sort((a, b) => a - b)
      .map((productId) => ({ productId, ...totals(contracts.filter((a) => a.productId === productId)) })),
    collectionRate: ratio(
      sum(sold, (a) => a.collectedForInstalments),
      sum(sold, (a) => a.dueInPeriod),
      sold.filter((a) => a.statusThen !== undefined),
    ),
    repaymentRate: ratio(
      sum(sold, (a) => a.repaid),
      sum(sold, (a) => a.dueToDate),
      sold.filter((a) => a.statusThen !== undefined && a.activationDate <= asOf),
    ),
    par30: atRisk(30),
    par60: atRisk(60),
    par90: atRisk(90),
    daysPastDue: BUCKETS.map(([from, to]) => {
      const inside = receivable.filter((a) => a.daysPastDue >= from && (to === null || a.daysPastDue <= to));
      return { from, to, count: inside.length, balance: units(sum(inside, (a) => a.balance)) };
    }),
    writeOffs: {
      count: all.filter((a) => a.writtenOff !== undefined).length,
      amount: units(sum(all, (a) => a.writtenOff ?? 0n)),
      recovered: units(sum(all, (a) => a.recovered)),
      asOf,
    },
  };
}

/** Money that an account received on a day. Negative if it left the account. */
interface Money {
  date: string;
  amount: bigint;
}

interface Facts {
  money: readonly Money[];
  moves: readonly RawMove[];
  terms: readonly RawTerms[] | undefined;
  span: Span;
  /** The day before the period. If the period begins after asOf, asOf. */
  dayBefore: string;
  asOf: string;
}

function figuresOf(account: RawAccount, { money, moves, terms, span, dayBefore, asOf }: Facts) {
  const { startDate, utcOffsetHours } = span;
  const scheduleOn = schedulesOf(account, terms);
  const schedule = scheduleOn(asOf);
  const positive = (amount: bigint) => (amount > 0n ? amount : 0n);
  const capped = (amount: bigint, { total } = schedule) => total - positive(total - amount);
  const toInstalments = (paid: bigint, on = schedule) => positive(capped(paid, on) - on.deposit);

  /** The sum paid by the end of a day. */
  const paidBy = (day: string) =>
    sum(
      money.filter(({ date }) => date <= day),
      ({ amount }) => amount,
    );
  const paid = paidBy(asOf);
  const paidBefore = paidBy(dayBefore);
  const scheduleBefore = scheduleOn(dayBefore);

  const due = sumDue(schedule.items, asOf);
  const dueToDate = instalmentsDue(schedule.items, asOf);
  const dueBefore = instalmentsDue(scheduleBefore.items, dayBefore);
  const statusThen = statusOn(account, moves, asOf, paid >= schedule.total);
  const writeOff = moves.find(
    ({ from, to }) => STATUS_MODEL[to].ends === 'lost' && from !== 'completed',
  )?.date;
  let writtenOff: bigint | undefined;
  let recovered = 0n;
  if (writeOff !== undefined && writeOff <= asOf) {
    if (writeOff >= startDate) writtenOff = positive(scheduleOn(writeOff).total - paidBy(writeOff));
    const since = writeOff >= startDate ? paidBy(writeOff) : paidBefore;
    recovered = capped(paid) - capped(since);
  }
  return {
    productId: account.productId,
    activationDate: account.activationDate,
    recordedOn: localDay(account.createdAt, utcOffsetHours),
    statusThen,
    model: statusThen && STATUS_MODEL[statusThen],
    total: schedule.total,
    totalBefore: scheduleBefore.total,
    balance: positive(schedule.total - paid),
    arrears: positive(due - paid),
    daysPastDue: daysPastDue(schedule.items, paid, asOf),
    dueToDate,
    dueInPeriod: dueToDate - dueBefore,
    repaid: dueToDate - positive(dueToDate - toInstalments(paid)),
    collected: paid - paidBefore,
    collectedForInstalments: toInstalments(paid) - toInstalments(paidBefore, scheduleBefore),
    writtenOff,
    recovered,
  };
}

/** An item of a schedule: the deposit, or an instalment. */
interface Item {
  number: number;
  date: string;
  amount: bigint;
}

/** @returns a function with the schedule of an account on a day. */
function schedulesOf(account: RawAccount, terms: readonly RawTerms[] | undefined) {
  const schedules = (terms ?? [{ from: '', items: undefined }]).map(({ from, items }) => {
    const all = items ? items.map(readItem) : equalItems(account);
    const deposit = sum(all, ({ number, amount }) => (number === 0 ? amount : 0n));
    return { from, items: all, deposit, total: sum(all, ({ amount }) => amount) };
  });
  const [first] = schedules;
  if (!first) throw new Error(`Account ${account.id} has no terms.`);
  return (day: string) => schedules.findLast(({ from }) => from <= day) ?? first;
}

const readItem = ({ number, dueDate, amount }: RawTerms['items'][number]): Item => ({
  number,
  date: dueDate,
  amount: hundredths(amount),
});

/** The deposit and the equal instalments of an account, found day by day. */
function equalItems(account: RawAccount): Item[] {
  const { activationDate, deposit, instalmentAmount, instalmentCount } = account;
  const items = [{ number: 0, date: activationDate, amount: hundredths(deposit) }];
  const amount = hundredths(instalmentAmount);
  const isDue = itemCalendar(account);
  for (let date = dayAfter(activationDate); items.length <= instalmentCount; date = dayAfter(date))
    if (isDue(date)) items.push({ number: items.length, date, amount });
  return items;
}

function sumDue(items: readonly Item[], day: string): bigint {
  return sum(
    items.filter(({ date }) => date <= day),
    ({ amount }) => amount,
  );
}

function instalmentsDue(items: readonly Item[], day: string): bigint {
  return sumDue(
    items.filter(({ number }) => number > 0),
    day,
  );
}

/** How many days ago the first item fell due that the sum paid does not cover. */
function daysPastDue(items: readonly Item[], paid: bigint, asOf: string): number {
  let dueMinor = 0n;
  for (const { date, amount } of items) {
    dueMinor += amount;
    if (date >= asOf) return 0;
    if (dueMinor > paid) return daysBetween(date, asOf);
  }
  return 0;
}

/**
 * The status of an account at the end of a day. Changes to and from `completed` are ignored, because they follow from the sum paid.
 * An account that was recorded after its activation date had its first status from its activation date.
 * @returns undefined if the account did not exist yet.
 */
function statusOn(
  account: RawAccount,
  moves: readonly RawMove[],
  day: string,
  isPaid: boolean,
): AccountStatus | undefined {
  let status: AccountStatus | undefined;
  for (const move of moves) {
    if (move.to === 'completed' || move.from === 'completed') continue;
    const isRecordedLate = move.from === null && account.activationDate <= day;
    if (move.date <= day || isRecordedLate) status = move.to;
  }
  return status !== undefined && isPaid && STATUS_MODEL[status].completesWhenPaid ? 'completed' : status;
}

/** @returns a function that says whether an instalment falls due on a day. Call it for every day after the activation date, in order. */
function itemCalendar({ activationDate, frequency, instalmentCount }: RawAccount): (day: string) => boolean {
  const anchor = Number(activationDate.slice(8));
  let days = 0;
  let items = 0;
  return (day) => {
    days += 1;
    if (items === instalmentCount) return false;
    const dayOfMonth = Number(day.slice(8));
    const isMonthEnd = dayAfter(day).slice(8) === '01';
    const isDue =
      frequency === 'daily' ||
      (frequency === 'weekly' && days % 7 === 0) ||
      (frequency === 'monthly' &&
        day.slice(0, 7) !== activationDate.slice(0, 7) &&
        (dayOfMonth === anchor || (isMonthEnd && dayOfMonth < anchor)));
    if (isDue) items += 1;
    return isDue;
  };
}

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function dayAfter(date: string): string {
  const year = Number(date.slice(0, 4));
  const month = Number(date.slice(5, 7));
  const day = Number(date.slice(8));
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const length = month === 2 && isLeap ? 29 : (MONTH_LENGTHS[month - 1] ?? 0);
  if (day < length) return text(year, month, day + 1);
  return month < 12 ? text(year, month + 1, 1) : text(year + 1, 1, 1);
}

function dayBeforeOf(date: string): string {
  let day = text(Number(date.slice(0, 4)) - 1, 12, 31);
  while (dayAfter(day) < date) day = dayAfter(day);
  return day;
}

function daysBetween(first: string, last: string): number {
  let days = 0;
  for (let day = first; day < last; day = dayAfter(day)) days += 1;
  return days;
}

function text(year: number, month: number, day: number): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

/** The date of a moment in a time zone. */
function localDay(timestamp: string, utcOffsetHours: number): string {
  const hour = Number(timestamp.slice(11, 13));
  const date = timestamp.slice(0, 10);
  return hour + utcOffsetHours >= 24 ? dayAfter(date) : date;
}

function hundredths(amount: number): bigint {
  return BigInt(amount.toFixed(2).replace('.', ''));
}

function units(minor: bigint): number {
  return Number(minor) / 100;
}

function sum<T>(rows: readonly T[], of: (row: T) => bigint): bigint {
  let total = 0n;
  for (const row of rows) total += of(row);
  return total;
}

/** Halves are rounded up. Null if the denominator is 0. */
function fourDecimals(numerator: bigint, denominator: bigint): number | null {
  if (denominator === 0n) return null;
  const tenThousandths = (numerator * 20_000n + denominator) / (2n * denominator);
  return Number(tenThousandths) / 10_000;
}
