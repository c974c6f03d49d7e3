import { Type } from 'typebox';
import { CalendarDate, DateText } from '../core/http/fields.ts';

/** Query parameters. */
export const periodProperties = {
  startDate: Type.Optional(
    CalendarDate({
      format: 'calendar-date',
      description:
        'First business day. Default: the first day of the current month, or of the month of endDate if that is earlier.',
      examples: ['2026-11-01'],
    }),
  ),
  endDate: Type.Optional(
    CalendarDate({
      format: 'calendar-date',
      description:
        'Last business day. Default: the last day of the current month, or of the month of startDate if that is later.',
      examples: ['2026-11-30'],
    }),
  ),
};

export const Period = Type.Object({ startDate: DateText, endDate: DateText });
