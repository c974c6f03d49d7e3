import { settings } from '../api/settings.ts';
import { currentLanguage } from './catalogue.ts';

export { addDays } from './days.ts';

// Dates of the API are calendar dates, so that their time zone is UTC. Timestamps are shown in the time zone of the business.

const LOCALES = { en: 'en-KE', sw: 'sw-KE' } as const;

export function locale(): string {
  return LOCALES[currentLanguage()];
}

/** With the ISO code of the currency, as in fields for amounts, documents, exports and answers of the API. */
export function money(amount: number): string {
  const { currency, currencyDecimals } = settings();
  return formatter(`money ${currency}`, () => {
    const digits = { minimumFractionDigits: currencyDecimals, maximumFractionDigits: currencyDecimals };
    const style = { style: 'currency', currency, currencyDisplay: 'code' } as const;
    return new Intl.NumberFormat(locale(), { ...style, ...digits });
  }).format(amount);
}

/** Without the currency, for tables of amounts. */
export function amount(value: number): string {
  const { currencyDecimals: digits } = settings();
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return formatter('amount', () => new Intl.NumberFormat(locale(), options)).format(value);
}

/** An amount for an input of type number. */
export function plainAmount(amount: number): string {
  return String(amount);
}

export function number(value: number): string {
  return formatter('number', () => new Intl.NumberFormat(locale())).format(value);
}

/** "12.4K" or "124K", for charts. Can be broken at its space. */
export function compact(value: number): string {
  const options = { notation: 'compact', maximumSignificantDigits: 3 } as const;
  return formatter('compact', () => new Intl.NumberFormat(locale(), options))
    .format(value)
    .replace('\u00a0', ' ');
}

export function percent(share: number): string {
  const options = { style: 'percent', maximumFractionDigits: 1 } as const;
  return formatter('percent', () => new Intl.NumberFormat(locale(), options)).format(share);
}

/** A commission rate, exact. */
export function rate(basisPoints: number): string {
  const options = { style: 'percent', maximumFractionDigits: 2 } as const;
  return formatter('rate', () => new Intl.NumberFormat(locale(), options)).format(basisPoints / 10_000);
}

/** @param date YYYY-MM-DD */
export function date(date: string): string {
  const options = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  return formatter('date', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(date));
}

/** "15–21 Nov 2026", or one date if both are the same. @param first, last YYYY-MM-DD */
export function dateRange(first: string, last: string): string {
  const options = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  return formatter('date', () => new Intl.DateTimeFormat(locale(), options)).formatRange(
    new Date(first),
    new Date(last),
  );
}

/** Without the year, for dates near today. @param date YYYY-MM-DD */
export function dayAndMonth(date: string): string {
  const options = { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' } as const;
  return formatter('day', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(date));
}

/** "Mon". @param date YYYY-MM-DD */
export function weekday(date: string): string {
  const options = { weekday: 'short', timeZone: 'UTC' } as const;
  return formatter('weekday', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(date));
}

/** "Nov" or "November 2026". @param month YYYY-MM or YYYY-MM-DD */
export function month(month: string, style: 'short' | 'long'): string {
  const year = style === 'long' ? ({ year: 'numeric' } as const) : {};
  const options = { month: style, ...year, timeZone: 'UTC' } as const;
  return formatter(`month ${style}`, () => new Intl.DateTimeFormat(locale(), options)).format(
    new Date(month),
  );
}

/** @param timestamp ISO 8601 with a time zone */
export function dateTime(timestamp: string): string {
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: settings().timeZone } as const;
  return formatter('dateTime', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(timestamp));
}

/** The day of a timestamp, without the time. @param timestamp ISO 8601 with a time zone */
export function dayOf(timestamp: string): string {
  const options = { dateStyle: 'medium', timeZone: settings().timeZone } as const;
  return formatter('dayOf', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(timestamp));
}

/** "in 3 days", "yesterday". @param date YYYY-MM-DD */
export function relativeDay(date: string): string {
  const days = Math.round(daysBetween(settings().today, date));
  const form = formatter('relative', () => new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }));
  return Math.abs(days) < 60 ? form.format(days, 'day') : form.format(Math.round(days / 30), 'month');
}

/** "3 hours ago". @param timestamp ISO 8601 with a time zone */
export function relativeTime(timestamp: string): string {
  const minutes = (Date.parse(timestamp) - Date.now()) / 60_000;
  const form = formatter('relative', () => new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }));
  if (Math.abs(minutes) < 60) return form.format(Math.round(minutes), 'minute');
  if (Math.abs(minutes) < 48 * 60) return form.format(Math.round(minutes / 60), 'hour');
  return form.format(Math.round(minutes / 60 / 24), 'day');
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000;
}

const formatters = new Map<string, unknown>();

/** Formatters are expensive to make. */
function formatter<Formatter>(name: string, make: () => Formatter): Formatter {
  const key = `${locale()} ${name}`;
  const made = formatters.get(key) ?? make();
  formatters.set(key, made);
  return made as Formatter;
}
