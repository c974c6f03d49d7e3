import { settings } from '../api/settings.ts';
import { currentLanguage } from './catalogue.ts';

// Dates of the API are calendar dates, so that their time zone is UTC. Timestamps are shown in the time zone of the business.

const LOCALES = { en: 'en-KE', sw: 'sw-KE' } as const;

export function locale(): string {
  return LOCALES[currentLanguage()];
}

export function money(amount: number): string {
  const { currency, currencyDecimals } = settings();
  return formatter(`money ${currency}`, () => {
    const digits = { minimumFractionDigits: currencyDecimals, maximumFractionDigits: currencyDecimals };
    return new Intl.NumberFormat(locale(), { style: 'currency', currency, ...digits });
  }).format(amount);
}

/** An amount for an input of type number. */
export function plainAmount(amount: number): string {
  return String(amount);
}

export function number(value: number): string {
  return formatter('number', () => new Intl.NumberFormat(locale())).format(value);
}

export function percent(share: number): string {
  const options = { style: 'percent', maximumFractionDigits: 1 } as const;
  return formatter('percent', () => new Intl.NumberFormat(locale(), options)).format(share);
}

/** @param date YYYY-MM-DD */
export function date(date: string): string {
  const options = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  return formatter('date', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(date));
}

/** Without the year, for dates near today. @param date YYYY-MM-DD */
export function dayAndMonth(date: string): string {
  const options = { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' } as const;
  return formatter('day', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(date));
}

/** @param timestamp ISO 8601 with a time zone */
export function dateTime(timestamp: string): string {
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: settings().timeZone } as const;
  return formatter('dateTime', () => new Intl.DateTimeFormat(locale(), options)).format(new Date(timestamp));
}

/** "in 3 days", "yesterday". @param date YYYY-MM-DD */
export function relativeDay(date: string): string {
  const days = Math.round(daysBetween(settings().today, date));
  const form = formatter('relative', () => new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }));
  return Math.abs(days) < 60 ? form.format(days, 'day') : form.format(Math.round(days / 30), 'month');
}

export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000;
}

/** @param date YYYY-MM-DD */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

const formatters = new Map<string, unknown>();

/** Formatters are expensive to make. */
function formatter<Formatter>(name: string, make: () => Formatter): Formatter {
  const key = `${locale()} ${name}`;
  const made = formatters.get(key) ?? make();
  formatters.set(key, made);
  return made as Formatter;
}
