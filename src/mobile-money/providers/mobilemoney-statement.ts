import type { Currency } from '../../core/context.ts';
import { businessDay, compareDates, parsePlainDate, parseTimestamp } from '../../core/values/dates.ts';
import { type Minor, maxAmountMinor, parseMinor } from '../../core/values/money.ts';
import { withoutQuotes } from '../../core/values/quoted-text.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { classifySpreadsheetChange } from '../../core/values/spreadsheet-change.ts';
import { readLocalTime } from './mobilemoney-time.ts';
import { isChargeWord, isTransferType, isUnitOf, meaningOfStatus } from './mobilemoney-words.ts';
import type {
  Delimiter,
  Head,
  LineRules,
  StatementLine,
  StatementPeriod,
  StatementPreamble,
  StatementReader,
} from './provider.ts';
import { MAX_TRANSACTION_ID_LENGTH, OLDEST_TIME } from './rules.ts';

/**
 * Reads the CSV statement of the mobile-money provider's portal. The statement has some lines about the organisation, then the
 * line of column names (the header), then one line for each transaction.
 */

/** The names of the columns that we read. The columns can have any order. Other columns are ignored. */
const COLUMNS = {
  receipt: 'Receipt No.',
  completedAt: 'Completion Time',
  status: 'Transaction Status',
  paidIn: 'Paid In',
  withdrawn: 'Withdrawn',
  balance: 'Balance',
  details: 'Details',
  type: 'Reason Type',
  otherParty: 'Other Party Info',
  linkedReceipt: 'Linked Transaction ID',
  reference: 'A/C No.',
} as const;
type Column = keyof typeof COLUMNS;

const REQUIRED: readonly Column[] = ['receipt', 'completedAt', 'status', 'paidIn'];
/** Their names can be followed by the currency in brackets. */
const AMOUNTS: readonly Column[] = ['paidIn', 'withdrawn', 'balance'];

const MAX_TEXT_LENGTH = 256;
const MAX_UNREADABLE_LENGTH = 1_000;

function readHead(cells: readonly string[], currency: Currency): Head | { problem: string } | undefined {
  const names = cells.map(normalized);
  const units = cells.map((cell) => /^(.*?)\(([^()]*)\)\s*$/.exec(clean(cell).replace(/"$/, '')) ?? []);
  const columns: Partial<Record<Column, number>> = {};
  const problems: string[] = [];
  for (const [column, name] of Object.entries(COLUMNS) as [Column, string][]) {
    const key = normalized(name);
    const withUnit = units.flatMap(([, label = '', unit = ''], index) =>
      AMOUNTS.includes(column) && normalized(label) === key ? [{ index, unit }] : [],
    );
    const right = withUnit.find(({ unit }) => isUnitOf(unit, currency.code));
    const index = names.includes(key) ? names.indexOf(key) : (right ?? withUnit[0])?.index;
    if (index === undefined) continue;
    columns[column] = index;
    if (!names.includes(key) && !right)
      problems.push(`The column ${clean(cells[index] ?? '')} must be in ${currency.code}.`);
  }
  if (!REQUIRED.every((column) => column in columns)) return undefined;
  if (problems.length > 0) return { problem: problems.join(' ') };
  return { columns, width: cells.findLastIndex((cell) => clean(cell) !== '') + 1 };
}

/** In countries with a decimal comma, spreadsheets separate columns by semicolons. */
const DELIMITERS: readonly Delimiter[] = [',', ';', '\t'];

function findDelimiter(line: string, currency: Currency): Delimiter | undefined {
  return DELIMITERS.find((delimiter) => readHead(line.split(delimiter), currency) !== undefined);
}

/** The figures that a line above the header can state, by their labels. */
const STATED: Record<
  string,
  'openingBalanceMinor' | 'closingBalanceMinor' | 'paidInMinor' | 'withdrawnMinor'
> = {
  openingbalance: 'openingBalanceMinor',
  closingbalance: 'closingBalanceMinor',
  totalpaidin: 'paidInMinor',
  totalwithdrawn: 'withdrawnMinor',
};

/** A label and its value are in one cell or in two. */
function readPreamble(cells: readonly string[], rules: LineRules): StatementPreamble {
  const text = cells.map((cell) => withoutQuotes(clean(cell))).filter((cell) => cell !== '');
  const [, label = '', value = ''] = /^([^:]{1,40}):?(.*)$/.exec(text.join(' ').replace(/:\s*/, ':')) ?? [];
  const shortCode = /^short\s*code\s*:?\s*([0-9]{3,12})\b/i.exec(text.join(' '))?.[1];
  if (shortCode !== undefined) return { shortCode };
  const period = readPeriod(text.join(' '));
  if (period) return { period };
  const isOrganisation = /^organi[sz]ation(\s+name)?$/i.test(label.trim());
  if (isOrganisation && value.trim() !== '') return { organisation: clean(value) };
  return readStated(text, rules);
}

/**
 * Reads `Time Period: From 02-11-2026 00:00:00 To 02-11-2026 23:59:59`. A spreadsheet changes no date within a text, so the day is
 * first, as the portal writes it.
 */
function readPeriod(text: string): StatementPeriod | undefined {
  const [, from = '', to = ''] =
    /\bfrom\s+(\d{2}[-/]\d{2}[-/]\d{4})\b.*\bto\s+(\d{2}[-/]\d{2}[-/]\d{4})\b/i.exec(text) ?? [];
  const [start, end] = [from, to].map((date) => parsePlainDate(date.split(/[-/]/).reverse().join('-')));
  return start !== undefined && end !== undefined ? { start, end } : undefined;
}

/** Reads `Opening Balance:`, `0.00`, `Total Paid In: 1,500.00`. One line can have several figures. */
function readStated(cells: readonly string[], rules: LineRules): StatementPreamble {
  const stated: StatementPreamble = {};
  for (const [index, cell] of cells.entries()) {
    const [, label = '', unit, inCell = ''] = /^([^:(]*)(?:\(([^()]*)\))?\s*:?(.*)$/.exec(cell) ?? [];
    if (unit !== undefined && !isUnitOf(unit, rules.currency.code)) continue;
    const figure = STATED[normalized(label)];
    const amount = figure && readMoney(inCell.trim() || (cells[index + 1] ?? ''), rules);
    if (figure === undefined || amount === undefined || amount === null) continue;
    stated[figure] = figure === 'withdrawnMinor' && amount < 0n ? -amount : amount;
  }
  return stated;
}

function readLine(head: Head, cells: readonly string[], rules: LineRules): StatementLine {
  const cell = (column: Column) => clean(cells[head.columns[column] ?? -1] ?? '');
  const receipt = referenceKey(cell('receipt'));
  const completedAt = readTime(withoutQuotes(cell('completedAt')), rules) ?? null;
  const status = withoutQuotes(cell('status'));
  const paidIn = readMoney(cell('paidIn'), rules);
  const withdrawn = readMoney(cell('withdrawn'), rules);
  const facts = {
    receipt: receipt.slice(0, MAX_TRANSACTION_ID_LENGTH) || null,
    completedAt,
    status: status || null,
    balanceMinor: readMoney(cell('balance'), rules) ?? null,
  };
  const unreadable = (problem: string) => asUnreadable({ ...EMPTY_LINE, ...facts }, cells, problem);

  if (hasSurplus(head, cells)) return unreadable(SURPLUS);
  const changed = (['receipt', 'linkedReceipt'] as const).find((column) =>
    classifySpreadsheetChange(cell(column)),
  );
  if (changed) return unreadable(`${COLUMNS[changed]} ${CHANGED}`);
  const meaning = meaningOfStatus(status);
  const texts = textsOf(head, cell, paidIn ? 'in' : 'out');
  const isLinked = texts.linkedReceipt !== null && texts.linkedReceipt !== facts.receipt;
  const isFee = isCharge(texts.details, cell('type'));
  const takesBack = isLinked && !isFee;
  if (meaning !== 'completed' && status !== '') {
    const amountMinor = paidIn ? paidIn : negative(withdrawn ?? null);
    const mayMatter =
      paidIn === undefined || paidIn || withdrawn === undefined || takesBack || /\d/.test(status);
    if (meaning === 'unknown' && mayMatter) return unreadable(`Transaction Status "${status}" is unknown`);
    return { ...EMPTY_LINE, ...facts, ...texts, result: 'other', amountMinor };
  }
  const problem =
    (status === '' && 'Transaction Status is empty') ||
    (paidIn === undefined && 'Paid In is not an amount') ||
    (withdrawn === undefined && 'Withdrawn is not an amount') ||
    (paidIn !== undefined && paidIn !== null && paidIn < 0n && 'Paid In is below 0') ||
    (paidIn && withdrawn && 'Paid In and Withdrawn both hold an amount') ||
    (paidIn === null && withdrawn === null && 'neither Paid In nor Withdrawn holds an amount') ||
    ((['paidIn', 'withdrawn', 'balance'] as const).some((column) => isRestOfAmount(cell(column))) && SPLIT) ||
    (paidIn && problemOfPayment(receipt, cell('completedAt'), completedAt, rules)) ||
    null;
  if (problem !== null) return unreadable(problem);
  const completed = { ...EMPTY_LINE, ...facts, ...texts, isCompleted: true };
  if (!paidIn) {
    const amountMinor = negative(withdrawn ?? null) ?? 0n;
    const withdrawal = { ...completed, result: 'other' as const, amountMinor };
    if (amountMinor === 0n || isFee) return withdrawal;
    if (isLinked) return { ...withdrawal, isReversal: true };
    const linkedReceipt = reversedIn(texts.details) ?? facts.receipt;
    return {
      ...withdrawal,
      isReversal: linkedReceipt !== null,
      isInferred: linkedReceipt !== null,
      linkedReceipt,
    };
  }
  // The line reverses an earlier withdrawal: the money belongs to the organisation, and no customer sent it.
  if (isLinked) return { ...completed, result: 'other', amountMinor: paidIn };
  if (isOwnTransfer(texts, cell('type'), rules))
    return { ...completed, isOwnTransfer: true, result: 'other', amountMinor: paidIn };
  return { ...completed, isPayment: true, amountMinor: paidIn };
}

const SURPLUS =
  'the line has more cells than the header has columns: perhaps a text with a comma is not in quotes';
const CHANGED =
  'is a number that a spreadsheet has changed, such as 7.1E8 or 12345678.0: format the column as text in a new download';
const SPLIT = 'an amount starts with 0: perhaps an amount with a comma is not in quotes';

/** Empty cells at the end do not count. */
function hasSurplus({ width }: Head, cells: readonly string[]): boolean {
  return cells.slice(width).some((cell) => clean(cell) !== '');
}

/** Whether an amount is the second part of one such as `1,000.00`, which the comma has split into two cells. */
function isRestOfAmount(text: string): boolean {
  return /^0\d\d(\.\d+)?$/.test(text);
}

function asUnreadable(line: StatementLine, cells: readonly string[], problem: string): StatementLine {
  const { receipt, completedAt, status } = line;
  const details = cells.map(clean).join(', ').slice(0, MAX_UNREADABLE_LENGTH);
  return { ...EMPTY_LINE, receipt, completedAt, status, details, result: 'unreadable', problem };
}

const EMPTY_LINE: StatementLine = {
  isPayment: false,
  isReversal: false,
  isInferred: false,
  isOwnTransfer: false,
  isCompleted: false,
  result: null,
  problem: null,
  receipt: null,
  completedAt: null,
  amountMinor: null,
  balanceMinor: null,
  reference: null,
  payer: null,
  payerName: null,
  status: null,
  details: null,
  linkedReceipt: null,
};

function problemOfPayment(
  receipt: string,
  time: string,
  completedAt: Date | null,
  rules: LineRules,
): string | false {
  if (receipt === '' || receipt.length > MAX_TRANSACTION_ID_LENGTH) {
    return `Receipt No. must have 1 to ${MAX_TRANSACTION_ID_LENGTH} characters`;
  }
  if (completedAt === null && TWELVE_HOURS.test(time))
    return 'Completion Time has AM or PM: export the file again with times of 24 hours';
  if (completedAt === null || completedAt < OLDEST_TIME) return 'Completion Time is not a time';
  const isLater = compareDates(businessDay(completedAt, rules.timeZone), rules.today) > 0;
  return isLater && 'Completion Time is later than today';
}

const TWELVE_HOURS = /\d\s*[ap]\.?\s*m\.?['"]?$/i;

/** Newer files have no columns for the payer and the reference. The details of money that was paid in contain both. */
function textsOf({ columns }: Head, cell: (column: Column) => string, direction: 'in' | 'out') {
  const details = cell('details');
  const inDetails = direction === 'in' ? readDetails(details) : NOTHING_IN_DETAILS;
  return {
    ...('otherParty' in columns ? readParty(withoutQuotes(cell('otherParty'))) : inDetails.party),
    reference: ('reference' in columns ? cell('reference') : inDetails.reference) || null,
    details: details || null,
    linkedReceipt: readLinkedReceipt(cell('linkedReceipt')),
  };
}

const NOTHING_IN_DETAILS = { party: { payer: null, payerName: null }, reference: '' };

/**
 * Reads `Pay Bill from 2547****777 - GRACE DOE Acc. ACC10000012`. The reference is all the rest, because payers type anything.
 * @returns no payer and no reference if the text has another form, or is so long that its end may be missing.
 */
function readDetails(details: string) {
  const [, first, reference = ''] = /^(.*?) Acc\.(?: (.*))?$/i.exec(details) ?? [];
  const party = /^.*? (?:from|by) (.+)$/i.exec(first ?? '')?.[1];
  if (party === undefined || details.length >= MAX_TEXT_LENGTH) return NOTHING_IN_DETAILS;
  return { party: readParty(party.trim()), reference: reference.trim() };
}

/** The receipt that the details say is taken back: `Reversal of SKB2XQ19ZT`. Null if they name none or several. */
function reversedIn(details: string | null): string | null {
  const [, rest = ''] = /\b(?:reversal of|original)\b(.*)$/i.exec(details ?? '') ?? [];
  const named = new Set(
    rest.match(/\b(?=[a-z0-9]*\d)(?=[a-z0-9]*[a-z])[a-z0-9]{8,12}\b/gi)?.map(referenceKey),
  );
  const [receipt = null] = named;
  return named.size === 1 ? receipt : null;
}

/** Whether the line names no payer, and its type or its other party shows that the organisation moved its own money. */
function isOwnTransfer(
  { payer, payerName, details }: Pick<StatementLine, 'payer' | 'payerName' | 'details'>,
  type: string,
  { ownShortCodes, organisation }: LineRules,
): boolean {
  const inDetails = readDetails(details ?? '').party;
  const numbers = [payer, inDetails.payer].filter((number) => number !== null);
  if (numbers.length > 0) return numbers.every((number) => ownShortCodes.includes(number));
  const isOwnName = (name: string | null) => name === null || sameName(name, organisation);
  if (!isOwnName(payerName) || !isOwnName(inDetails.payerName)) return false;
  return isTransferType(type) || (inDetails.payerName === null && isTransferType(details ?? ''));
}

function sameName(name: string, organisation: string | null): boolean {
  return organisation !== null && normalized(name) !== '' && normalized(name) === normalized(organisation);
}

/** The portal writes a dash if there is no linked receipt. */
function readLinkedReceipt(text: string): string | null {
  return /[a-z0-9]/i.test(text) ? referenceKey(text).slice(0, MAX_TRANSACTION_ID_LENGTH) : null;
}

/** The line of a charge can have a payment as its linked transaction, but does not reverse this payment. */
function isCharge(details: string | null, type: string): boolean {
  const text = `${(details ?? '').replace(TEXT_OF_PAYER, '')} ${type}`;
  return isChargeWord(text) && !/revers/i.test(text);
}

/** The name of a person and what the payer typed: ` from 2547****777 - GRACE LEVY Acc. SCHOOL FEES`. */
const TEXT_OF_PAYER = / (?:(?:from|to|by) (?:\+?[\d*][\d*\s]{4,30}|[0-9a-f]{64})\s*- |Acc\.(?: |$)).*$/i;

/** Reads `254712345678 - WANJIRU KAMAU`. The number may be masked or hashed, and either part may be missing. */
export function readParty(text: string): { payer: string | null; payerName: string | null } {
  const [, payer = '', name = ''] =
    /^((?:\+?[\d*][\d*\s]{4,30}|[0-9a-f]{64})?)\s*(?:-\s*)?(.*)$/i.exec(text) ?? [];
  return { payer: payer.replace(/\s/g, '') || null, payerName: name.trim() || null };
}

/**
 * Reads `02-11-2026 10:15:30`, `02/11/2026`, or ISO 8601; seconds and the time of day may be missing. A time without a
 * zone is in the zone of the rules. @returns undefined for anything else.
 */
function readTime(
  text: string,
  { providerTimeZone, dateOrder }: Pick<LineRules, 'providerTimeZone' | 'dateOrder'>,
): Date | undefined {
  const withZone = parseTimestamp(text.replace(' ', 'T'));
  if (withZone) return withZone;
  const [, date = '', hours = '00', minutes = '00', seconds = '00'] =
    /^([\d/-]{10})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?)?$/.exec(text) ?? [];
  const [, first, second, year] = /^(\d{2})[-/](\d{2})[-/](\d{4})$/.exec(date) ?? [];
  const [day, month] = dateOrder === 'day_first' ? [first, second] : [second, first];
  const digits = year
    ? `${year}${month}${day}`
    : /^\d{4}-\d{2}-\d{2}$/.test(date)
      ? date.replaceAll('-', '')
      : '';
  return readLocalTime(`${digits}${hours.padStart(2, '0')}${minutes}${seconds}`, providerTimeZone);
}

/**
 * Reads `1,500.00` or `1500`. If commas do not separate the columns, also reads `1.500,00` and `1 500,0`. An amount in brackets or with
 * a minus sign at its end is negative.
 * @returns null for an empty cell, undefined for anything that is not an amount within the limits.
 */
function readMoney(cell: string, { currency, delimiter }: LineRules): Minor | null | undefined {
  const [, unit, number = ''] = /^([a-z]+\.?)?\s*(.*)$/i.exec(withoutQuotes(cell)) ?? [];
  if (unit !== undefined && !isUnitOf(unit, currency.code)) return undefined;
  if (number === '') return unit === undefined ? null : undefined;
  const text = number.replace(/^\(([\d.,\s]+)\)$|^([\d.,\s]*\d)\s?-$/, '-$1$2');
  const plain = plainAmount(text, delimiter, currency);
  const minor = plain === undefined ? undefined : parseMinor(plain, currency.decimals);
  if (minor === undefined) return undefined;
  const most = maxAmountMinor(currency.decimals);
  return minor <= most && minor >= -most ? minor : undefined;
}

/** Removes separators of thousands. @returns undefined if a separator could mean thousands or decimals. */
function plainAmount(text: string, delimiter: Delimiter, { decimals }: Currency): string | undefined {
  const mayHaveDecimalComma = delimiter !== ',';
  if (mayHaveDecimalComma && /^-?(\d+|\d{1,3}([.\s]\d{3})+),\d{1,2}$/.test(text)) {
    return text.replace(/[.\s]/g, '').replace(',', '.');
  }
  if (mayHaveDecimalComma && /^-?\d{1,3}\.\d{3}$/.test(text)) return undefined;
  if (!/^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text)) return text;
  const isUnclear = mayHaveDecimalComma && decimals === 3 && /^-?\d{1,3},\d{3}$/.test(text);
  return isUnclear ? undefined : text.replaceAll(',', '');
}

/** Portals print a withdrawal with or without a minus sign. */
function negative(amount: Minor | null): Minor | null {
  return amount === null ? null : amount < 0n ? amount : -amount;
}

function normalized(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Makes text visible, one line long, and of limited length. */
function clean(text: string): string {
  const plain = VISIBLE_ASCII.test(text)
    ? text
    : text
        .toWellFormed()
        .replace(/[\r\n\t]+/g, ' ')
        .replace(/[\p{Cc}\p{Cf}]/gu, '');
  return plain.trim().slice(0, MAX_TEXT_LENGTH).toWellFormed();
}

const VISIBLE_ASCII = /^[ -~]*$/;

export const mobilemoneyStatement: StatementReader = {
  requiredColumns: REQUIRED.map((column) => COLUMNS[column]),
  findDelimiter,
  readHead,
  readPreamble,
  readLine,
  asUnreadable,
  timeCell: ({ columns }, cells) => clean(cells[columns.completedAt ?? -1] ?? ''),
};
