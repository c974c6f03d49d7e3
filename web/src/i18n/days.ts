// Pure functions of calendar dates, YYYY-MM-DD.

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** The first and the last day. An empty text means no limit. */
export interface Days {
  from: string;
  until: string;
}

export const PERIODS = ['today', 'yesterday', 'thisWeek', 'thisMonth', 'lastMonth'] as const;
export type Period = (typeof PERIODS)[number];

/** The days of a period. A week begins on Monday. */
export function daysOf(period: Period, today: string): Days {
  const yesterday = addDays(today, -1);
  const monday = addDays(today, -((new Date(today).getUTCDay() + 6) % 7));
  const first = firstOfMonth(today);
  const lastOfPrevious = addDays(first, -1);
  switch (period) {
    case 'today':
      return { from: today, until: today };
    case 'yesterday':
      return { from: yesterday, until: yesterday };
    case 'thisWeek':
      return { from: monday, until: addDays(monday, 6) };
    case 'thisMonth':
      return { from: first, until: addDays(firstOfMonth(addDays(first, 31)), -1) };
    case 'lastMonth':
      return { from: firstOfMonth(lastOfPrevious), until: lastOfPrevious };
  }
}

export function periodOf({ from, until }: Days, today: string): Period | undefined {
  return PERIODS.find((period) => {
    const days = daysOf(period, today);
    return days.from === from && days.until === until;
  });
}

function firstOfMonth(day: string): string {
  return `${day.slice(0, 7)}-01`;
}
