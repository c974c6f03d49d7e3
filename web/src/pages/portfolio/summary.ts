import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';

export type Summary = Schemas['AccountSummary'];
export type Bucket = Summary['daysPastDue'][number];

export interface MonthRates {
  /** The first day of the month, YYYY-MM-DD. */
  month: string;
  collectionRate: number | null;
  repaymentRate: number | null;
  par30: number | null;
}

const MONTHS = 12;
const FRESH_MS = 60_000;
const TREND_FRESH_MS = 30 * 60_000;

/** The figures of the current month. */
export function useSummary() {
  return api.useQuery('get', '/api/reports/accounts/summary', {}, { staleTime: FRESH_MS });
}

/**
 * The rates of the last 12 months, oldest first. The months are read one after the other, the newest first, because the service
 * makes only a few summaries at a time. At the first load, each month is shown as soon as it is read. The query key is not a path
 * of the API, so an event such as a payment does not cause all months to be read again.
 */
export function useTrend() {
  const queries = useQueryClient();
  const key = ['portfolio trend', settings().today.slice(0, 7)];
  return useQuery({
    queryKey: key,
    staleTime: TREND_FRESH_MS,
    queryFn: async ({ signal }): Promise<readonly MonthRates[]> => {
      const isFirst = queries.getQueryData(key) === undefined;
      let months: readonly MonthRates[] = [];
      for (let monthsAgo = 0; monthsAgo < MONTHS; monthsAgo++) {
        months = [await readMonth(monthsAgo, signal), ...months];
        if (isFirst) queries.setQueryData(key, months);
      }
      return months;
    },
  });
}

async function readMonth(monthsAgo: number, signal: AbortSignal): Promise<MonthRates> {
  const [startDate, endDate] = [firstOfMonth(-monthsAgo), format.addDays(firstOfMonth(1 - monthsAgo), -1)];
  const { data, error } = await client.GET('/api/reports/accounts/summary', {
    params: { query: { startDate, endDate } },
    signal,
  });
  if (!data) throw error;
  const { collectionRate, repaymentRate, par30 } = data.data;
  return {
    month: startDate,
    collectionRate: collectionRate.ratio,
    repaymentRate: repaymentRate.ratio,
    par30: par30.ratio,
  };
}

/** @param offset - 0 for the current month, -1 for the month before. */
export function firstOfMonth(offset: number): string {
  const [year = 0, month = 0] = settings().today.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1 + offset, 1)).toISOString().slice(0, 10);
}

export function nameOfBucket({ from, to }: Pick<Bucket, 'from' | 'to'>): string {
  if (to === 0) return t('portfolio.bucket.current');
  if (to === null) return t('portfolio.bucket.last', { days: from - 1 });
  return t('portfolio.bucket.range', { from, to });
}

/** The URL of the call list of a bucket. The filter for the status comes from `accountsUrl`. */
export function callListOf({ from, to, accountsUrl }: Bucket): string {
  const status = new URLSearchParams(accountsUrl?.split('?')[1]).get('filter[status][in]') ?? '';
  const query = new URLSearchParams({ status, from: String(from), ...(to !== null && { to: String(to) }) });
  return `/portfolio/late?${query}`;
}
