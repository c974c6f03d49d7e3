import { settings } from '../api/settings.ts';
import { currentLanguage } from './catalogue.ts';

export { addDays } from './days.ts';

// `new Date` reads the calendar dates of the API as UTC, so they are formatted in UTC. Timestamps are shown in the time zone of the
// business.

const LOCALES = { en: 'en-KE', sw: 'sw-KE' } as const;

function locale(): string {
  return LOCALES[currentLanguage()];
}

/** The ISO code of the currency. */
export function currency(): string {
  return settings().currency;
}

/** With the currency. */
export function money(amount: number): string {
  const style = { style: 'currency', currency: currency(), currencyDisplay: 'code' } as const;
  return numbers(`money ${currency()}`, { ...style, ...decimals() }).format(amount);
}

/** Without the currency, for tables of amounts. */
export function amount(value: number): string {
  return numbers('amount', decimals()).format(value);
}

/** The smallest amount that the currency has, such as 0.01. */
export function smallestAmount(): number {
  return 10 ** -settings().currencyDecimals;
}

export function number(value: number): string {
  return numbers('number', {}).format(value);
}

/** "12.4K", or "elfu 12.4" in Swahili, for charts. A line can break at the space. */
export function compact(value: number): string {
  return numbers('compact', { notation: 'compact', maximumSignificantDigits: 3 })
    .format(value)
    .replace('\u00a0', ' ');
}

export function percent(share: number): string {
  return numbers('percent', { style: 'percent', maximumFractionDigits: 1 }).format(share);
}

/** A commission rate, with all its decimals. */
export function rate(basisPoints: number): string {
  return numbers('rate', { style: 'percent', maximumFractionDigits: 2 }).format(basisPoints / 10_000);
}

const DAY = { day: 'numeric', month: 'short', timeZone: 'UTC' } as const;

/** @param date YYYY-MM-DD */
export function date(date: string): string {
  return dates('date', { ...DAY, year: 'numeric' }).format(new Date(date));
}

/** "15–21 Nov 2026", or one date if both are the same. @param first, last YYYY-MM-DD */
export function dateRange(first: string, last: string): string {
  // In Swahili, browsers leave out the first of two months of a year.
  if (first.slice(0, 7) !== last.slice(0, 7)) return `${date(first)} – ${date(last)}`;
  return dates('date', { ...DAY, year: 'numeric' }).formatRange(new Date(first), new Date(last));
}

/** "Mon, 16 Nov", for dates near today. @param date YYYY-MM-DD */
export function dayAndMonth(date: string): string {
  return dates('day', { ...DAY, weekday: 'short' }).format(new Date(date));
}

/** "Mon". @param date YYYY-MM-DD */
export function weekday(date: string): string {
  return dates('weekday', { weekday: 'short', timeZone: 'UTC' }).format(new Date(date));
}

/** "Nov" or "November 2026". @param month YYYY-MM or YYYY-MM-DD */
export function month(month: string, style: 'short' | 'long'): string {
  const year = style === 'long' ? ({ year: 'numeric' } as const) : {};
  return dates(`month ${style}`, { month: style, ...year, timeZone: 'UTC' }).format(new Date(month));
}

/** "November". @param month 1 is January */
export function monthName(month: number): string {
  return dates('monthName', { month: 'long', timeZone: 'UTC' }).format(Date.UTC(2024, month - 1));
}

/** "15 Mar". @param month 1 is January */
export function dayOfYear(month: number, day: number): string {
  return dates('dayOfYear', DAY).format(Date.UTC(2024, month - 1, day));
}

/** @param timestamp ISO 8601 with a time zone */
export function dateTime(timestamp: string): string {
  const { timeZone } = settings();
  return dates('dateTime', { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(new Date(timestamp));
}

/** The day of a timestamp, without the time. @param timestamp ISO 8601 with a time zone */
export function dayOf(timestamp: string): string {
  const { timeZone } = settings();
  return dates('dayOf', { dateStyle: 'medium', timeZone }).format(new Date(timestamp));
}

/** "in 3 days", "yesterday". @param date YYYY-MM-DD */
export function relativeDay(date: string): string {
  const days = Math.round((Date.parse(date) - Date.parse(settings().today)) / 86_400_000);
  const form = relative();
  return Math.abs(days) < 60 ? form.format(days, 'day') : form.format(Math.round(days / 30), 'month');
}

/** "3 hours ago". @param timestamp ISO 8601 with a time zone */
export function relativeTime(timestamp: string): string {
  const minutes = (Date.parse(timestamp) - Date.now()) / 60_000;
  const form = relative();
  if (Math.abs(minutes) < 60) return form.format(Math.round(minutes), 'minute');
  if (Math.abs(minutes) < 48 * 60) return form.format(Math.round(minutes / 60), 'hour');
  return form.format(Math.round(minutes / 60 / 24), 'day');
}

function decimals() {
  const { currencyDecimals } = settings();
  return { minimumFractionDigits: currencyDecimals, maximumFractionDigits: currencyDecimals };
}

function numbers(name: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  return formatter(name, () => new Intl.NumberFormat(locale(), options));
}

function dates(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return formatter(name, () => new Intl.DateTimeFormat(locale(), options));
}

function relative(): Intl.RelativeTimeFormat {
  return formatter('relative', () => new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }));
}

const formatters = new Map<string, unknown>();

/** Formatters are expensive to make. */
function formatter<Formatter>(name: string, make: () => Formatter): Formatter {
  const key = `${locale()} ${name}`;
  const made = formatters.get(key) ?? make();
  formatters.set(key, made);
  return made as Formatter;
}
