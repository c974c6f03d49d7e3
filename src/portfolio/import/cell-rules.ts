import { LARGEST_IMPORTED_ID, readAccountNumber } from '../../accounts/account-number-rules.ts';
import {
  areInOrder,
  type HarvestEntry,
  harvestProblems,
  MAX_RUNS,
  type Run,
} from '../../catalogue/pay-plans/rules.ts';
import { METADATA_KEY } from '../../core/http/fields.ts';
import {
  EARLIEST_ENTRY,
  localTimeUtc,
  type PlainDate,
  parsePlainDate,
  parseTimestamp,
  startOfDayUtc,
} from '../../core/values/dates.ts';
import { isEmail } from '../../core/values/email.ts';
import { maxAmountMinor, maxAmountText, minorToText, parseMinor } from '../../core/values/money.ts';
import { isE164, readPhone } from '../../core/values/phone.ts';
import { withoutQuotes } from '../../core/values/quoted-text.ts';
import { classifySpreadsheetChange } from '../../core/values/spreadsheet-change.ts';
import { isVisibleId, isVisibleText } from '../../core/values/text.ts';
import type { Column, FileName } from '../format-rules.ts';
import { type FormatVersion, unguarded } from '../spreadsheet-guard-rules.ts';

// Reads the cells of CSV files that a person may have edited in a spreadsheet. The values are texts for COPY: an amount is in
// minor units, a date is YYYY-MM-DD, and an account number is an account id.

/** The settings on which the value of a cell depends. */
export interface CellSettings {
  decimals: number;
  phoneRegion: string;
  timeZone: string;
  /** A spreadsheet that separates cells by semicolons writes decimals after a comma. */
  allowsDecimalComma: boolean;
  version: FormatVersion;
}

/** To find the order of day and month, the service reads the dates of this number of rows at the start of a file. */
export const SAMPLED_ROWS = 5_000;

/** The order of day and month in the dates of a column, such as 31/12/2026. Undefined if no sampled date shows the order. */
export type DateOrder = 'day_first' | 'month_first' | undefined;

export type Cell =
  | { value: string | null; warning?: string }
  /** `allowed` completes the sentence "Allowed: …". */
  | { problem: string; allowed: string };

const EMPTY: Cell = { value: null };
const SPREADSHEET_NUMBER = /^[+-]?\d+(?:[.,]\d+)?E[+-]?\d+$/i;
const DECIMALS_ADDED: Cell = {
  problem: 'has decimals that a spreadsheet or a program has added to a number',
  allowed: 'the digits alone: format the column as text, and save the file again',
};
const ROUNDED: Cell = {
  problem: 'is a number that the spreadsheet has shortened, so its last digits are lost',
  allowed: 'the full digits: format the column as text, enter the value again, and save the file again',
};
const TOO_LARGE_NUMBER: Cell = {
  problem:
    'has too many digits: new accounts get higher numbers than all imported ones, and the search finds numbers of at most ten digits',
  allowed: 'an account number of at most ten digits, or an empty cell for a new number',
};
/** An amount such as 2.400, which means 2400 in some countries. */
const MAYBE_THOUSANDS = /^[1-9]\d{0,2}[.,]\d{3}$/;
const SLASH_DATE = /^(\d{1,2})([/-])(\d{1,2})\2(\d{4})$/;
const DOTTED_DATE = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/;
const YEAR_FIRST = /^(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})$/;
const SHORT_YEAR = /^\d{1,2}([/.-])\d{1,2}\1\d{2}$/;
const TWELVE_HOURS = /\d\s*[ap]\.?\s*m?\.?$/i;
const TIME = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?$/;
const AMBIGUOUS = `is ambiguous: the day or the month may come first, and no date of this column in the first ${SAMPLED_ROWS.toLocaleString('en')} rows shows which`;
/** What to write instead of dates whose order of day and month is not known. */
export const ISO_DATES =
  'dates such as 2026-12-31. Format the whole column as YYYY-MM-DD, and save the file again';
const MAX_METADATA_KEYS = 20;
const MAX_METADATA_VALUE = 500;

/** @param order - the order of day and month in the column. */
export function readCell(column: Column, raw: string, settings: CellSettings, order: DateOrder): Cell {
  const text = unguarded(raw, settings.version);
  const isGuarded = text !== raw;
  const trimmed = text.trim();
  if (trimmed === '')
    return column.required ? { problem: 'is empty, but is required', allowed: allowedIn(column) } : EMPTY;
  const changed = isGuarded ? undefined : classifySpreadsheetChange(trimmed);
  if (changed === 'shortened' && (IDS.has(column.kind) || TEXTS.has(column.kind))) return ROUNDED;
  if (changed === 'decimals' && (IDS.has(column.kind) || (TEXTS.has(column.kind) && /\d{7}/.test(trimmed))))
    return DECIMALS_ADDED;
  const cell = readText(column, text, trimmed, settings, order);
  return cell ?? { problem: problemIn(column), allowed: allowedIn(column) };
}

const IDS: ReadonlySet<Column['kind']> = new Set([
  'external_id',
  'reference',
  'national_id',
  'account_number',
]);
/** A text such as 2.0 can be a name. */
const TEXTS: ReadonlySet<Column['kind']> = new Set(['text', 'name']);

/** @returns undefined if the kind of the column does not allow the text, and no more exact problem is known. */
function readText(
  column: Column,
  text: string,
  trimmed: string,
  settings: CellSettings,
  order: DateOrder,
): Cell | undefined {
  // Texts and ids stay as they were typed.
  const plain = withoutQuotes(trimmed);
  switch (column.kind) {
    case 'text':
      return isVisibleText(text) ? textUpTo(column.maxLength, text) : undefined;
    case 'name':
      return isVisibleText(text)
        ? textUpTo(column.maxLength, isExported(settings) ? text : trimmed)
        : undefined;
    case 'paragraph':
      if (/[^\P{Cc}\r\n\t]/u.test(text) || !text.isWellFormed()) return undefined;
      return textUpTo(column.maxLength, text);
    case 'external_id':
      return readId(trimmed);
    case 'reference':
      return { value: isExported(settings) ? text : trimmed.normalize('NFC') };
    case 'code':
      return /^[a-z][a-z0-9_]*$/.test(plain) ? textUpTo(column.maxLength, plain) : undefined;
    case 'national_id':
      return isVisibleText(text) && /[\p{L}\p{N}]/u.test(text) ? textUpTo(50, text) : undefined;
    case 'amount':
      return readAmount(plain, column.allowsZero, settings);
    case 'count': {
      const number = /^\d{1,9}$/.test(plain) ? Number(plain) : undefined;
      const fits = number !== undefined && number >= column.min && number <= column.max;
      return fits ? { value: String(number) } : undefined;
    }
    case 'date': {
      const read = readDate(plain, settings, order);
      if ('problem' in read) return read;
      return read.time === null || read.time === 0 ? { value: read.date } : undefined;
    }
    case 'timestamp':
      return readTimestamp(plain, settings, order);
    case 'phone':
      return readPhoneCell(plain, settings);
    case 'email':
      return isEmail(plain) ? { value: plain } : undefined;
    case 'account_number': {
      const id = readAccountNumber(trimmed);
      if (id === undefined) return undefined;
      return id > LARGEST_IMPORTED_ID ? TOO_LARGE_NUMBER : { value: String(id) };
    }
    case 'flag': {
      const flag = FLAGS[plain.toLowerCase()];
      return flag === undefined ? undefined : { value: flag };
    }
    case 'choice': {
      const choice = plain.toLowerCase().replace(/[\s-]+/g, '_');
      return column.values.includes(choice) ? { value: choice } : undefined;
    }
    case 'metadata':
      return readMetadata(trimmed);
    case 'assignments':
      return readAssignments(trimmed);
    case 'runs':
      return readRuns(trimmed, settings);
    case 'months':
      return readMonths(plain);
    case 'harvest':
      return readHarvest(plain);
  }
}

const FLAGS: Readonly<Record<string, string>> = {
  yes: 'true',
  true: 'true',
  '1': 'true',
  no: 'false',
  false: 'false',
  '0': 'false',
};

/** What is wrong with a value that the column does not allow. */
function problemIn(column: Column): string {
  switch (column.kind) {
    case 'amount':
      return column.allowsZero ? 'is not an amount' : 'is not an amount above 0';
    case 'count':
      return 'is not a whole number in the allowed range';
    case 'date':
      return 'is not a date, or has a time';
    case 'phone':
      return 'is not a phone number';
    case 'email':
      return 'is not an e-mail address';
    case 'account_number':
      return 'is not an account number';
    case 'flag':
      return 'is neither yes nor no';
    case 'choice':
      return 'is not one of the allowed values';
    case 'metadata':
      return 'is not a JSON object of texts';
    case 'assignments':
      return 'is not a JSON array of earlier assignments in the order of time';
    case 'runs':
      return 'is not a JSON array of runs of instalments in the order of their dates';
    case 'months':
      return 'is not a list of at most 10 months';
    case 'harvest':
      return 'is not a list of different days with shares that sum to 10000';
    default:
      return 'is too long, or has characters that are not allowed';
  }
}

/** What a column allows, to complete the sentence "Allowed: …". */
export function allowedIn(column: Column): string {
  switch (column.kind) {
    case 'text':
    case 'name':
    case 'paragraph':
      return `text of at most ${column.maxLength} characters, without control characters`;
    case 'external_id':
      return 'an id of at most 100 visible characters';
    case 'reference':
      return allowedReference(column.file);
    case 'code':
      return `at most ${column.maxLength} lower-case letters, digits and underscores, with a letter first`;
    case 'national_id':
      return 'text of at most 50 characters, with a letter or a digit';
    case 'amount':
      return `an amount ${column.allowsZero ? 'from 0' : 'above 0'}, such as 1250.00, without currency and without separators of thousands`;
    case 'count':
      return `a whole number from ${column.min} to ${column.max}`;
    case 'date':
      return 'a date such as 2026-12-31';
    case 'timestamp':
      return 'a date such as 2026-12-31, or a time such as 2026-12-31T23:59:59Z';
    case 'phone':
      return 'a phone number with + and the country code, such as +254712345678, or a national number with its 0';
    case 'email':
      return 'an e-mail address such as name@example.com';
    case 'account_number':
      return 'an account number of this service, such as ACC10000012, or an empty cell';
    case 'flag':
      return 'yes or no';
    case 'choice':
      return `${column.values.join(', ')}${column.required ? '' : ', or an empty cell'}`;
    case 'metadata':
      return `a JSON object such as {"region":"north"}, with at most ${MAX_METADATA_KEYS} texts of at most ${MAX_METADATA_VALUE} characters`;
    case 'assignments':
      return 'an array such as [{"account":"LOAN-2001","assigned_at":null,"unassigned_at":"2026-02-02T09:00:00Z"}], in which only the first assigned_at may be null';
    case 'runs':
      return `an array such as [{"anchor":"2026-01-05","unit":"month","every":1,"place":1,"count":11,"amount":"700.00"},{"anchor":"2026-01-05","unit":"month","every":1,"place":12,"count":1,"amount":"650.00"}], with at most ${MAX_RUNS} runs, or an empty cell`;
    case 'months':
      return 'numbers of months with spaces between them, such as 5 6, or an empty cell';
    case 'harvest':
      return 'days (month and day) with shares that sum to 10000, such as 03-15 6000; 09-30 4000, or an empty cell';
  }
}

/** An account must be in the same import. All other rows can already be in the database. */
export function allowedReference(file: FileName): string {
  return file === 'accounts'
    ? 'a row of accounts.csv'
    : `a row of ${file}.csv, or a row that this service already has`;
}

function textUpTo(maxLength: number, text: string): Cell | undefined {
  return text.length <= maxLength ? { value: text } : undefined;
}

function readId(trimmed: string): Cell | undefined {
  const id = trimmed.normalize('NFC');
  return isVisibleId(id) && id.length <= 100 ? { value: id } : undefined;
}

function readAmount(trimmed: string, allowsZero: boolean, settings: CellSettings): Cell | undefined {
  const { decimals } = settings;
  if (SPREADSHEET_NUMBER.test(trimmed)) return ROUNDED;
  if (decimals < 3 && MAYBE_THOUSANDS.test(trimmed))
    return {
      problem: 'is ambiguous: its separator may be for thousands or for decimals',
      allowed: `an amount such as ${minorToText(125_000n, decimals)}: format the column without separators of thousands, and save the file again`,
    };
  const text = settings.allowsDecimalComma ? trimmed.replace(/^(-?\d+),(\d+)$/, '$1.$2') : trimmed;
  const minor = parseMinor(text, decimals);
  if (minor === undefined) return undefined;
  if (minor > maxAmountMinor(decimals))
    return { problem: 'is too large', allowed: `at most ${maxAmountText(decimals)}` };
  return minor > 0n || (allowsZero && minor === 0n) ? { value: String(minor) } : undefined;
}

function readPhoneCell(trimmed: string, settings: CellSettings): Cell | undefined {
  if (SPREADSHEET_NUMBER.test(trimmed)) return ROUNDED;
  // An export can contain numbers that earlier versions accepted.
  if (isExported(settings) && isE164(trimmed)) return { value: trimmed };
  const phone = readPhone(trimmed, settings.phoneRegion);
  if (phone === undefined) return undefined;
  const hasStart = /^[+(0]/.test(trimmed);
  return hasStart
    ? { value: phone }
    : { value: phone, warning: `has no + and no 0 at its start, and is imported as ${phone}` };
}

function readMetadata(trimmed: string): Cell | undefined {
  const parsed = parseJson(trimmed);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  const entries = Object.entries(parsed);
  const key = new RegExp(METADATA_KEY.pattern);
  const isAllowed = entries.every(
    ([name, value]) =>
      key.test(name) &&
      typeof value === 'string' &&
      value.length <= MAX_METADATA_VALUE &&
      !/\p{Cc}/u.test(value),
  );
  return isAllowed && entries.length <= MAX_METADATA_KEYS ? { value: JSON.stringify(parsed) } : undefined;
}

function readAssignments(trimmed: string): Cell | undefined {
  const parsed = parseJson(trimmed);
  if (!Array.isArray(parsed)) return undefined;
  let last = Number.NEGATIVE_INFINITY;
  const assignments: Record<string, string | null>[] = [];
  for (const [at, one] of parsed.entries()) {
    const {
      account,
      assigned_at: from,
      unassigned_at: to,
      ...others
    } = Object(one) as Record<string, unknown>;
    if (typeof account !== 'string' || Object.keys(others).length > 0) return undefined;
    const start = typeof from === 'string' ? parseTimestamp(from) : undefined;
    const end = typeof to === 'string' ? parseTimestamp(to) : undefined;
    if (end === undefined || (start === undefined && (at > 0 || from !== null))) return undefined;
    for (const moment of [start, end]) {
      if (moment === undefined) continue;
      if (moment.getTime() < last) return undefined;
      last = moment.getTime();
    }
    assignments.push({
      account: account.normalize('NFC'),
      assigned_at: start?.toISOString() ?? null,
      unassigned_at: end.toISOString(),
    });
  }
  return { value: assignments.length === 0 ? null : JSON.stringify(assignments) };
}

/** The runs with their amounts in minor units. Each run must begin after the last due of the run before. */
function readRuns(trimmed: string, { decimals }: CellSettings): Cell | undefined {
  const parsed = parseJson(trimmed);
  if (!Array.isArray(parsed) || parsed.length === 0 || parsed.length > MAX_RUNS) return undefined;
  const runs: Run[] = [];
  for (const one of parsed) {
    const { anchor, unit, every, place, count, amount, ...others } = Object(one) as Record<string, unknown>;
    const date = typeof anchor === 'string' ? parsePlainDate(anchor) : undefined;
    const amountMinor = typeof amount === 'string' ? parseMinor(amount, decimals) : undefined;
    if (date === undefined || (unit !== 'day' && unit !== 'month') || Object.keys(others).length > 0)
      return undefined;
    if (!isWhole(every, 1, 3_650) || !isWhole(place, 0, 100_000) || !isWhole(count, 1, 10_000))
      return undefined;
    if (amountMinor === undefined || amountMinor <= 0n || amountMinor > maxAmountMinor(decimals))
      return undefined;
    runs.push({ anchor: date, unit, every, place, count, amountMinor });
  }
  if (!areInOrder(runs) || runs.reduce((sum, { count }) => sum + count, 0) > 10_000) return undefined;
  const staged: StagedRun[] = runs.map(({ amountMinor, ...run }) => ({
    ...run,
    amount: Number(amountMinor),
  }));
  return { value: JSON.stringify(staged) };
}

function readMonths(text: string): Cell | undefined {
  const months = text.split(/[ ,;]+/).map(Number);
  const areMonths = months.every((month) => isWhole(month, 1, 12)) && new Set(months).size === months.length;
  return areMonths && months.length <= 10
    ? { value: `{${months.toSorted((a, b) => a - b).join()}}` }
    : undefined;
}

function readHarvest(text: string): Cell | undefined {
  const entries: HarvestEntry[] = [];
  for (const part of text.split(';')) {
    const [, month, day, share] = /^\s*(\d{1,2})-(\d{1,2})\s+(\d{1,5})\s*$/.exec(part) ?? [];
    entries.push({ month: Number(month), day: Number(day), shareBasisPoints: Number(share) });
  }
  if (entries.length > 12 || harvestProblems(entries).length > 0) return undefined;
  const staged = {
    months: entries.map(({ month }) => month),
    days: entries.map(({ day }) => day),
    shares: entries.map(({ shareBasisPoints }) => shareBasisPoints),
  };
  return { value: JSON.stringify(staged) };
}

/** A run as the staging table has it, with its amount in minor units. */
export type StagedRun = Omit<Run, 'amountMinor'> & { amount: number };

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/** @returns undefined for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `time` is in milliseconds from midnight; null for a date alone. */
type ReadDate = { date: PlainDate; time: number | null } | { problem: string; allowed: string };

function readDate(trimmed: string, settings: CellSettings, order: DateOrder): ReadDate {
  const read = readAnyDate(trimmed, order);
  return 'date' in read && isTooEarly(read.date, settings) ? TOO_EARLY : read;
}

const TOO_EARLY = {
  problem: `is before ${EARLIEST_ENTRY}`,
  allowed: `a date from ${EARLIEST_ENTRY}, such as 2026-12-31`,
};

/** An export can contain dates that earlier versions accepted. */
function isTooEarly(date: string, settings: CellSettings): boolean {
  return date < EARLIEST_ENTRY && !isExported(settings);
}

function isExported({ version }: CellSettings): boolean {
  return version > 1;
}

function readAnyDate(trimmed: string, order: DateOrder): ReadDate {
  const iso = trimmed.length === 10 ? parsePlainDate(trimmed) : undefined;
  if (iso !== undefined) return { date: iso, time: null };
  if (TWELVE_HOURS.test(trimmed))
    return {
      problem: 'has a time with AM or PM',
      allowed: 'a time of 24 hours, such as 2026-12-31 23:59, or a date such as 2026-12-31',
    };
  const [day = '', clock, ...rest] = trimmed.split(/[ T]/);
  const time = clock === undefined ? null : timeOf(clock);
  const unreadable = { problem: 'is not a date', allowed: 'a date such as 2026-12-31' };
  if (rest.length > 0 || time === undefined) return unreadable;
  if (SHORT_YEAR.test(day)) {
    return {
      problem: 'has a year of two digits',
      allowed:
        'a date such as 2026-12-31: format the column as YYYY-MM-DD in the spreadsheet, and save the file again',
    };
  }
  if (/^\d{5}$/.test(day)) {
    return {
      problem: 'is the number by which the spreadsheet stores a date',
      allowed: 'a date such as 2026-12-31: format the column as YYYY-MM-DD, and save the file again',
    };
  }
  if (order === undefined && isAmbiguous(day)) return { problem: AMBIGUOUS, allowed: ISO_DATES };
  const date = dayOf(day, order);
  if (date !== undefined) return { date, time };
  if (order !== undefined && SLASH_DATE.test(day))
    return {
      ...unreadable,
      problem: `does not have the ${order === 'day_first' ? 'day' : 'month'} first, but the other dates of the column do`,
    };
  return unreadable;
}

function dayOf(text: string, order: DateOrder): PlainDate | undefined {
  const yearFirst = YEAR_FIRST.exec(text);
  if (yearFirst) return dateFrom(yearFirst[1], yearFirst[2], yearFirst[3]);
  const dotted = DOTTED_DATE.exec(text);
  if (dotted) return dateFrom(dotted[3], dotted[2], dotted[1]);
  const [, first, , second, year] = SLASH_DATE.exec(text) ?? [];
  if (order === 'month_first') return dateFrom(year, first, second);
  return dateFrom(year, second, first);
}

/** Whether a date such as 03/04/2026 has two meanings. */
function isAmbiguous(day: string): boolean {
  const [, first, , second] = SLASH_DATE.exec(day) ?? [];
  return Number(first) <= 12 && Number(second) <= 12 && Number(first) !== Number(second);
}

function dateFrom(year = '', month = '', day = ''): PlainDate | undefined {
  return parsePlainDate(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`);
}

function timeOf(clock: string): number | undefined {
  const [, hour, minute, second = '0'] = TIME.exec(clock) ?? [];
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  return ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000;
}

const startsOfDays = new Map<string, string>();
const MAX_KEPT_DAYS = 20_000;

function readTimestamp(trimmed: string, settings: CellSettings, order: DateOrder): Cell {
  const { timeZone } = settings;
  const instant = parseTimestamp(trimmed);
  if (instant !== undefined)
    return isTooEarly(trimmed, settings) ? TOO_EARLY : { value: instant.toISOString() };
  const read = readDate(trimmed, settings, order);
  if ('problem' in read) return read;
  const { date, time } = read;
  if (time !== null && time !== 0) return { value: localTimeUtc(date, time, timeZone).toISOString() };
  const key = `${date} ${timeZone}`;
  const known = startsOfDays.get(key);
  if (known !== undefined) return { value: known };
  const start = startOfDayUtc(date, timeZone).toISOString();
  if (startsOfDays.size < MAX_KEPT_DAYS) startsOfDays.set(key, start);
  return { value: start };
}

/** A date that helps to find the order of day and month in its column. */
export interface DateSample {
  line: number;
  text: string;
}

/** The order of day and month in a column, or why the column has none. */
export function dateOrderOf(
  samples: readonly DateSample[],
): { order: DateOrder } | { sample: DateSample; problem: string } {
  let dayFirst: DateSample | undefined;
  let monthFirst: DateSample | undefined;
  let unclear: DateSample | undefined;
  /** Dates with the year first: with a day after 12, and with a day and a month that could be swapped. */
  let certain: DateSample | undefined;
  let converted: DateSample | undefined;
  for (const sample of samples) {
    const day = withoutQuotes(sample.text).split(/[ T]/)[0] ?? '';
    const [, first, , second] = SLASH_DATE.exec(day) ?? [];
    if (Number(first) > 12) dayFirst ??= sample;
    else if (Number(second) > 12) monthFirst ??= sample;
    else if (isAmbiguous(day)) unclear ??= sample;
    const [, , month, monthDay] = YEAR_FIRST.exec(day) ?? [];
    if (Number(monthDay) > 12) certain ??= sample;
    else if (month !== undefined && Number(month) !== Number(monthDay)) converted ??= sample;
  }
  const left = dayFirst ?? monthFirst;
  if (left && converted && !certain && !unclear) {
    return {
      sample: converted,
      problem: `may have day and month swapped: all dates like it have a day up to 12, but ${left.text.trim()} on line ${left.line} has another form, as if the spreadsheet had converted only the dates that it understood`,
    };
  }
  if (dayFirst && monthFirst) {
    return {
      sample: monthFirst,
      problem: `has the month first, but ${dayFirst.text.trim()} on line ${dayFirst.line} has the day first, so the dates of this column cannot be read`,
    };
  }
  if (dayFirst) return { order: 'day_first' };
  if (monthFirst) return { order: 'month_first' };
  if (unclear) return { sample: unclear, problem: AMBIGUOUS };
  return { order: undefined };
}
