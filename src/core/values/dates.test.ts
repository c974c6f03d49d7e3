import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it, vi } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import {
  addDays,
  addMonthsKeepingDay,
  businessDay,
  compareDates,
  daysBetween,
  earlier,
  firstOfMonth,
  isTimeZone,
  lastOfMonth,
  later,
  localTimeUtc,
  mondayOf,
  type PlainDate,
  parseCompactTime,
  parsePlainDate,
  parseTimestamp,
  startOfDayUtc,
  systemClock,
  wholeMonthsBetween,
} from './dates.ts';

const RUNS = { numRuns: PROPERTY_RUNS };
const NAIROBI = 'Africa/Nairobi';

function date(text: string): PlainDate {
  const parsed = parsePlainDate(text);
  if (parsed === undefined) throw new Error(`${text} is not a date`);
  return parsed;
}

const temporal = (d: PlainDate) => Temporal.PlainDate.from(d);

// Half of the random days are at the end of a month, where calendar code often fails.
const dateArb = fc
  .record({
    year: fc.oneof(fc.integer({ min: 1900, max: 2999 }), fc.constantFrom(1900, 2000, 2024, 2100, 2400)),
    month: fc.integer({ min: 1, max: 12 }),
    day: fc.oneof(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 28, max: 31 })),
  })
  .map((fields) => date(Temporal.PlainDate.from(fields).toString()));

describe('parsePlainDate', () => {
  it.each(['1900-01-01', '2999-12-31', '2024-02-29', '2000-02-29', '2023-02-28'])('reads %s', (text) => {
    expect(parsePlainDate(text)).toBe(text);
  });

  it.each([
    '',
    '2023-02-29',
    '1900-02-29',
    '2100-02-29',
    '2024-13-01',
    '2024-00-10',
    '2024-01-00',
    '2024-04-31',
    '1899-12-31',
    '3000-01-01',
    '2024-1-1',
    '24-01-01',
    '2024/01/01',
    '20240101',
    ' 2024-01-01',
    '2024-01-01 ',
    '2024-01-01\n',
    '2024-01-01T00:00:00Z',
    '+002024-01-01',
    '٢٠٢٤-٠١-٠١',
  ])('refuses %j', (text) => {
    expect(parsePlainDate(text)).toBeUndefined();
  });

  it('accepts exactly the dates of 1900..2999 that Temporal accepts', () => {
    const part = (max: number, width: number) =>
      fc.integer({ min: 0, max }).map((n) => String(n).padStart(width, '0'));
    fc.assert(
      fc.property(fc.integer({ min: 1890, max: 3010 }), part(13, 2), part(32, 2), (year, month, day) => {
        const text = `${year}-${month}-${day}`;
        let real = year >= 1900 && year <= 2999;
        try {
          Temporal.PlainDate.from(text, { overflow: 'reject' });
        } catch {
          real = false;
        }
        expect(parsePlainDate(text) !== undefined).toBe(real);
      }),
      RUNS,
    );
  });
});

describe('date arithmetic', () => {
  it('adds days as Temporal does', () => {
    fc.assert(
      fc.property(dateArb, fc.integer({ min: -200_000, max: 200_000 }), (d, n) => {
        expect(addDays(d, n)).toBe(temporal(d).add({ days: n }).toString());
      }),
      RUNS,
    );
  });

  it('counts days as Temporal does', () => {
    fc.assert(
      fc.property(dateArb, dateArb, (a, b) => {
        expect(daysBetween(a, b)).toBe(temporal(a).until(temporal(b), { largestUnit: 'days' }).days);
        expect(addDays(a, daysBetween(a, b))).toBe(b);
        expect(compareDates(a, b)).toBe(Temporal.PlainDate.compare(temporal(a), temporal(b)));
      }),
      RUNS,
    );
  });

  it('reaches every day of 1900..2999 by adding one day at a time', () => {
    let d = date('1900-01-01');
    let days = 0;
    while (d !== '2999-12-31') {
      d = addDays(d, 1);
      days += 1;
      if (parsePlainDate(d) === undefined) throw new Error(`${d} is not a date`);
    }
    expect(days).toBe(daysBetween(date('1900-01-01'), date('2999-12-31')));
    expect(days).toBe(401_766);
  });

  it('adds months as Temporal does, always from the start', () => {
    fc.assert(
      fc.property(dateArb, fc.integer({ min: -1200, max: 5000 }), (d, n) => {
        expect(addMonthsKeepingDay(d, n)).toBe(temporal(d).add({ months: n }).toString());
      }),
      RUNS,
    );
  });

  it('returns to the 31st after a shorter month', () => {
    const start = date('2024-01-31');
    expect([1, 2, 3, 13].map((n) => addMonthsKeepingDay(start, n))).toEqual([
      '2024-02-29',
      '2024-03-31',
      '2024-04-30',
      '2025-02-28',
    ]);
  });

  it('counts as many whole months as possible without passing the date', () => {
    fc.assert(
      fc.property(dateArb, dateArb, (a, b) => {
        const n = wholeMonthsBetween(a, b);
        expect(addMonthsKeepingDay(a, n) <= b).toBe(true);
        expect(addMonthsKeepingDay(a, n + 1) > b).toBe(true);
      }),
      RUNS,
    );
  });

  it('fails outside the years 0000..9999 and for parts of a day or month', () => {
    expect(addDays(date('2999-12-31'), 2_556_697)).toBe('9999-12-31');
    expect(() => addDays(date('2999-12-31'), 2_556_698)).toThrow(RangeError);
    expect(addDays(date('1900-01-01'), -693_961)).toBe('0000-01-01');
    expect(() => addDays(date('1900-01-01'), -693_962)).toThrow(RangeError);
    expect(() => addDays(date('2024-01-01'), 0.5)).toThrow(RangeError);
    expect(() => addDays(date('2024-01-01'), NaN)).toThrow(RangeError);
    expect(addMonthsKeepingDay(date('2024-01-31'), 95_711)).toBe('9999-12-31');
    expect(() => addMonthsKeepingDay(date('2024-01-01'), 95_712)).toThrow(RangeError);
    expect(addMonthsKeepingDay(date('2024-01-01'), -24_288)).toBe('0000-01-01');
    expect(() => addMonthsKeepingDay(date('2024-01-01'), 96_000)).toThrow(RangeError);
    expect(() => addMonthsKeepingDay(date('2024-01-01'), -24_289)).toThrow(RangeError);
    expect(() => addMonthsKeepingDay(date('2024-01-01'), 1.5)).toThrow(RangeError);
  });

  it('finds the earlier and the later of two dates', () => {
    const [a, b] = [date('2023-12-31'), date('2024-01-01')];
    expect([earlier(a, b), earlier(b, a), earlier(a, a)]).toEqual([a, a, a]);
    expect([later(a, b), later(b, a), later(b, b)]).toEqual([b, b, b]);
  });

  it.each([
    ['2026-11-02', '2026-11-02'],
    ['2026-11-08', '2026-11-02'],
    ['2026-11-09', '2026-11-09'],
    ['2024-03-01', '2024-02-26'],
    ['1970-01-04', '1969-12-29'],
    ['1969-12-29', '1969-12-29'],
  ])('finds the Monday of the week of %s', (day, monday) => {
    expect(mondayOf(date(day))).toBe(monday);
  });

  it('finds the first and the last day of a month', () => {
    expect(firstOfMonth(date('2024-02-17'))).toBe('2024-02-01');
    expect(lastOfMonth(date('2024-02-17'))).toBe('2024-02-29');
    expect(lastOfMonth(date('2023-12-31'))).toBe('2023-12-31');
  });
});

describe('the business day', () => {
  it('changes at midnight of the zone, not of UTC', () => {
    expect(businessDay(new Date('2024-01-31T20:59:59.999Z'), NAIROBI)).toBe('2024-01-31');
    expect(businessDay(new Date('2024-01-31T21:00:00Z'), NAIROBI)).toBe('2024-02-01');
    expect(startOfDayUtc(date('2024-02-01'), NAIROBI).toISOString()).toBe('2024-01-31T21:00:00.000Z');
  });

  it('agrees with Intl', () => {
    const zones = [
      NAIROBI,
      'UTC',
      'Africa/Cairo',
      'America/Sao_Paulo',
      'Pacific/Kiritimati',
      'Asia/Kathmandu',
    ];
    const formats = new Map(
      zones.map((timeZone) => [
        timeZone,
        new Intl.DateTimeFormat('en-u-ca-iso8601', {
          timeZone,
          year: 'numeric',
          month: '2-digit',
          day: '2-digit',
        }),
      ]),
    );
    const instantArb = fc.date({
      min: new Date('1971-01-01T00:00:00Z'),
      max: new Date('2100-01-01T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instantArb, fc.constantFrom(...zones), (instant, timeZone) => {
        const parts = formats.get(timeZone)?.formatToParts(instant);
        const part = (type: string) => parts?.find((p) => p.type === type)?.value;
        expect(businessDay(instant, timeZone)).toBe(`${part('year')}-${part('month')}-${part('day')}`);
      }),
      RUNS,
    );
  });

  it('starts at the first instant that has its date, also where summer time skips midnight', () => {
    const zones = [NAIROBI, 'UTC', 'Africa/Cairo', 'Asia/Beirut', 'America/Sao_Paulo', 'Pacific/Kiritimati'];
    const days = fc.integer({ min: 0, max: 25_000 }).map((n) => addDays(date('2000-01-01'), n));
    fc.assert(
      fc.property(days, fc.constantFrom(...zones), (d, timeZone) => {
        const start = startOfDayUtc(d, timeZone);
        expect(businessDay(start, timeZone)).toBe(d);
        expect(businessDay(new Date(start.getTime() - 1), timeZone)).toBe(addDays(d, -1));
      }),
      RUNS,
    );
    // Beirut's clocks went from 00:00 to 01:00 on this day.
    expect(startOfDayUtc(date('2022-03-27'), 'Asia/Beirut').toISOString()).toBe('2022-03-26T22:00:00.000Z');
    expect(businessDay(new Date('2022-03-26T22:00:00Z'), 'Asia/Beirut')).toBe('2022-03-27');
  });

  it('fails for an unknown zone and an invalid instant', () => {
    expect(() => businessDay(new Date(0), 'Africa/Nowhere')).toThrow(RangeError);
    expect(() => startOfDayUtc(date('2024-01-01'), 'Africa/Nowhere')).toThrow(RangeError);
    expect(() => businessDay(new Date(NaN), NAIROBI)).toThrow(RangeError);
    expect(() => businessDay(new Date(8.64e15), NAIROBI)).toThrow(RangeError);
    expect(() => businessDay(new Date(-8.64e15), NAIROBI)).toThrow(RangeError);
  });

  it('is known in the years 0000..9999', () => {
    expect(businessDay(new Date('0000-01-01T00:00:00Z'), 'UTC')).toBe('0000-01-01');
    expect(businessDay(new Date('9999-12-31T23:59:59Z'), 'UTC')).toBe('9999-12-31');
  });

  it.each(['UTC', NAIROBI, 'America/Argentina/Buenos_Aires', 'America/Port-au-Prince', 'Etc/GMT+3'])(
    'accepts the time zone %s',
    (name) => {
      expect(isTimeZone(name)).toBe(true);
    },
  );

  it.each([
    '',
    'CET',
    'GMT',
    '+03:00',
    'Africa/Nowhere',
    'Africa/',
    'Africa/Nairobi ',
    ' Africa/Nairobi',
    'xUTC',
    'UTCx',
  ])('refuses the time zone %j, which PostgreSQL could read in another way', (name) => {
    expect(isTimeZone(name)).toBe(false);
  });

  it('has local times, also on the days on which summer time begins or ends', () => {
    const at = (day: string, hours: number) =>
      localTimeUtc(date(day), hours * 3_600_000, 'America/New_York').toISOString();
    expect(at('2024-03-09', 2.5)).toBe('2024-03-09T07:30:00.000Z');
    expect(at('2024-03-10', 2.5)).toBe('2024-03-10T07:30:00.000Z'); // The clocks skip 02:30 and show 03:30.
    expect(at('2024-03-10', 12)).toBe('2024-03-10T16:00:00.000Z');
    expect(at('2024-11-03', 12)).toBe('2024-11-03T17:00:00.000Z');
  });

  it('has a system clock that returns the current time', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-01T08:15:30.123Z') });
    try {
      expect(systemClock.now()).toEqual(new Date('2026-11-01T08:15:30.123Z'));
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('parseTimestamp', () => {
  it.each([
    '2026-11-01T24:00:00Z',
    '2026-11-01T10:60Z',
    '2026-11-01T10:15:60Z',
    '2026-02-30T10:15Z',
    '2026-11-01T10:15',
    '2026-11-01',
    '2026-11-01 10:15Z',
    ' 2026-11-01T10:15Z',
    '2026-11-01T10:15Z ',
    '2026-11-01T10Z',
    '2026-11-01T1:15Z',
    '2026-11-01T10:5Z',
    '2026-11-01T10:15:3Z',
    '2026-11-01T10:15:30.Z',
    '2026-11-01T10:15:30.1234567890Z',
    '2026-11-01T10:15.5Z',
    '2026-11-01T10:15+0300',
    '2026-11-01T10:15+03',
    '2026-11-01T10:15+3:00',
    '2026-11-01T10:15+25:00',
    '20261101T10:15Z',
    // JavaScript ignores the text after an opening bracket.
    '2026-11-01 (0000000000T10:15Z',
  ])('refuses %s', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('reads a time with a zone', () => {
    expect(parseTimestamp('2026-11-01T23:59:59.5+03:00')?.toISOString()).toBe('2026-11-01T20:59:59.500Z');
    expect(parseTimestamp('2026-11-01T10:15Z')?.toISOString()).toBe('2026-11-01T10:15:00.000Z');
    expect(parseTimestamp('2026-11-01T10:15:30Z')?.toISOString()).toBe('2026-11-01T10:15:30.000Z');
    expect(parseTimestamp('2026-11-01T10:15-03:30')?.toISOString()).toBe('2026-11-01T13:45:00.000Z');
    expect(parseTimestamp('2026-11-01T10:15:30.123456789Z')?.toISOString()).toBe('2026-11-01T10:15:30.123Z');
  });
});

describe('parseCompactTime', () => {
  it('reads a time in UTC+3', () => {
    expect(parseCompactTime('20240229140503', 3)?.toISOString()).toBe('2024-02-29T11:05:03.000Z');
    expect(parseCompactTime('20240101000000', 3)?.toISOString()).toBe('2023-12-31T21:00:00.000Z');
    expect(parseCompactTime('20240101235959', 0)?.toISOString()).toBe('2024-01-01T23:59:59.000Z');
  });

  it.each([
    ['20240229140503', 'Africa/Nairobi', '2024-02-29T11:05:03.000Z'],
    ['20240101003000', 'Africa/Maputo', '2023-12-31T22:30:00.000Z'],
    ['20240701120000', 'Africa/Cairo', '2024-07-01T09:00:00.000Z'],
    ['20240101120000', 'Africa/Cairo', '2024-01-01T10:00:00.000Z'],
    ['20240426003000', 'Africa/Cairo', '2024-04-25T22:30:00.000Z'], // skipped by the clocks
    ['20241031233000', 'Africa/Cairo', '2024-10-31T20:30:00.000Z'], // shown twice
  ])('reads %s in %s', (text, zone, instant) => {
    expect(parseCompactTime(text, zone)?.toISOString()).toBe(instant);
    expect(parseCompactTime(`${text.slice(0, 8)}240000`, zone)).toBeUndefined();
  });

  it.each([
    '',
    '2024022914050',
    '202402291405030',
    '20230229140503',
    '20240229240000',
    '20240229146003',
    '20240229140560',
    '2024-02-29 14:05',
    ' 20240229140503',
    '20240229140503\n',
    '00000000000000',
  ])('refuses %j', (text) => {
    expect(parseCompactTime(text, 3)).toBeUndefined();
  });

  it('agrees with Temporal for random dates and times', () => {
    const secondArb = fc.integer({ min: 0, max: 86_399 });
    fc.assert(
      fc.property(dateArb, secondArb, (d, second) => {
        const time = Temporal.PlainTime.from('00:00').add({ seconds: second });
        const text = `${d}${time.toString({ smallestUnit: 'second' })}`.replace(/[-:]/g, '');
        const expected = temporal(d).toPlainDateTime(time).toZonedDateTime('+03:00').epochMilliseconds;
        expect(parseCompactTime(text, 3)?.getTime()).toBe(expected);
      }),
      RUNS,
    );
  });
});
