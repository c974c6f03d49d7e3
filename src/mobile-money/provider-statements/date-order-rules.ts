import { compareDates, type PlainDate, parsePlainDate } from '../../core/values/dates.ts';
import { withoutQuotes } from '../../core/values/quoted-text.ts';
import type { DateOrder, StatementPeriod } from '../providers/provider.ts';

// The portal writes the day first. A spreadsheet that has opened the file can write the month first, or can swap the two in some of
// the dates, so the dates of a file are read only if they show their order.

const TEXT_DATE = /^(\d{1,2})([-/])(\d{1,2})\2(\d{4})(?!\d)/;
const YEAR_FIRST = /^\d{4}-(\d{2})-(\d{2})/;

export interface DateRules {
  today: PlainDate;
  /** The order that the user has declared. */
  declared: DateOrder | undefined;
}

interface FoundDate {
  line: number;
  text: string;
}

/** Collects what the dates of a file show about the order of day and month. */
export function followDateOrder({ today, declared }: DateRules) {
  const found: Partial<Record<'dayFirst' | 'monthFirst' | 'unclear' | 'certain' | 'converted', FoundDate>> =
    {};
  let isPortalForm = false;

  function add(line: number, cell: string, period: StatementPeriod | undefined): void {
    const text = withoutQuotes(cell);
    const [, first, separator, second, year] = TEXT_DATE.exec(text) ?? [];
    if (first === undefined || second === undefined) {
      const [, month, day] = YEAR_FIRST.exec(text) ?? [];
      if (month !== day) found[Number(day) > 12 ? 'certain' : 'converted'] ??= { line, text };
      return;
    }
    const dayFirst = dateFrom(year, second, first);
    const monthFirst = dateFrom(year, first, second);
    if (Number(first) > 12) found.dayFirst ??= { line, text };
    else if (Number(second) > 12) found.monthFirst ??= { line, text };
    else if (first !== second) {
      // No spreadsheet writes the month first with dashes, unless somebody chooses this form.
      if (separator === '-') isPortalForm = true;
      else if (!isPossible(monthFirst, period) && isPossible(dayFirst, period)) isPortalForm = true;
      else if (period && !isPossible(dayFirst, period) && isPossible(monthFirst, period))
        found.monthFirst ??= { line, text };
      else found.unclear ??= { line, text };
    }
  }

  function isPossible(date: PlainDate | undefined, period: StatementPeriod | undefined): boolean {
    if (date === undefined || compareDates(date, today) > 0) return false;
    return period === undefined || (date >= period.start && date <= period.end);
  }

  /** Why the dates of the file cannot be read for certain. Undefined if they can. */
  function problem(): { path: 'body' | 'dateOrder'; message: string } | undefined {
    const { dayFirst, monthFirst, unclear, certain, converted } = found;
    const left = dayFirst ?? monthFirst;
    if (left && converted && !certain && !unclear && !isPortalForm) {
      return {
        path: 'body',
        message: `Day and month may be swapped: ${placed(converted)} has another form than ${placed(left)}, as if a spreadsheet had converted only the dates that it understood. Export the file again, and upload it without changes.`,
      };
    }
    if (declared !== undefined) return undefined;
    if (monthFirst) {
      return {
        path: 'dateOrder',
        message: `${capitalized(placed(monthFirst))} has the month first${dayFirst ? `, but ${placed(dayFirst)} has the day first` : ''}. Upload the file as the portal exports it, or declare the order with dateOrder.`,
      };
    }
    if (unclear && !dayFirst && !isPortalForm) {
      return {
        path: 'dateOrder',
        message: `${capitalized(placed(unclear))} can have the day or the month first, and no date of the file shows which. Declare the order with dateOrder: day_first, as the portal writes dates, or month_first.`,
      };
    }
    return undefined;
  }

  return { add, problem };
}

function placed({ line, text }: FoundDate): string {
  return `the time ${text} on line ${line}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function dateFrom(year = '', month: string, day: string): PlainDate | undefined {
  return parsePlainDate(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`);
}
