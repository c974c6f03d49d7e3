import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { daysOf } from '../../i18n/days.ts';
import { exactly, format, t, tCount } from '../../i18n/index.ts';
import { Bars } from '../../ui/bars.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel, Stat, Stats } from '../../ui/panel.tsx';

const WEEK = 7;

type Ratio = Schemas['AccountSummary']['collectionRate'];
type Day = Schemas['PaymentsReport']['byDay'][number];

/** The money received today and this week, compared with the instalments due and with one week before. */
export function MoneyStats({ today }: { today: string }) {
  const monday = daysOf('thisWeek', today).from;
  const sameDay = format.addDays(today, -WEEK);
  const summary = useSummary(today, today);
  const week = useSummary(monday, today);
  const report = useDays(today);
  const days = report.data;
  return (
    <Loaded query={summary} explain={explain} skeleton={<Skeleton lines={3} />}>
      {({ data }) => (
        <Stats>
          <MoneyStat
            label={t('today.received')}
            of="day"
            rate={data.collectionRate}
            money={days && moneyOf(days, today, today)}
            queries={[report]}
            before={days && moneyOf(days, sameDay, sameDay).received}
            until={sameDay}
          />
          <MoneyStat
            label={t('today.week')}
            of="week"
            rate={week.data?.data.collectionRate}
            money={days && moneyOf(days, monday, today)}
            queries={[report, week]}
            before={days && moneyOf(days, format.addDays(monday, -WEEK), sameDay).received}
            until={sameDay}
          />
          <Stat label={t('today.outstanding')} value={format.money(data.outstanding)} />
          <Stat
            label={t('account.arrears')}
            value={format.money(data.arrears)}
            hint={tCount('today.par30', data.par30.count)}
          />
        </Stats>
      )}
    </Loaded>
  );
}

interface MoneyStatProps {
  label: string;
  of: 'day' | 'week';
  rate: Ratio | undefined;
  money: Money | undefined;
  /** The queries that this figure needs, except the summary of today: no figure is shown before the summary has arrived. */
  queries: readonly { data: unknown; error: unknown; refetch(): unknown }[];
  /** The money received on the same day or days of the week before. */
  before: number | undefined;
  /** The last day of `before`. */
  until: string;
}

function MoneyStat({ label, of, rate, money, queries, before, until }: MoneyStatProps) {
  const failed = queries.filter(({ data, error }) => data === undefined && error);
  const pending = failed.length > 0 ? '–' : <Skeleton lines={1} />;
  return (
    <Stat
      label={label}
      value={money ? format.money(money.received) : pending}
      hint={
        <>
          {rate && <Expected label={label} rate={rate} />}
          {money && before !== undefined && (
            <span className="stat-change">{describeChange(of, money.received, before, until)}</span>
          )}
          {money && money.refunded > 0 && (
            <span className="stat-change">
              {t('today.refunded', { amount: format.money(money.refunded) })}
            </span>
          )}
          {failed.length > 0 && <FailedReports queries={failed} />}
        </>
      }
    />
  );
}

/** Shown below a figure, where a <Notice> would not fit. */
function FailedReports({ queries }: Pick<MoneyStatProps, 'queries'>) {
  return (
    <span className="stat-failure" role="status">
      {`${t('problem.loading')}: ${explain(queries[0]?.error)} `}
      <button type="button" className="link" onClick={() => queries.forEach(({ refetch }) => void refetch())}>
        {t('action.retry')}
      </button>
    </span>
  );
}

function Expected({ label, rate: { denominator: due, numerator } }: { label: string; rate: Ratio }) {
  if (due <= 0) return t('today.nothingExpected');
  return (
    <>
      <progress className="progress" value={Math.min(numerator, due)} max={due} aria-label={label} />
      {t('today.expected', { amount: format.money(due) })}
    </>
  );
}

/** Example: "12% more than last Mon: KES 52,300.00". */
function describeChange(of: 'day' | 'week', received: number, before: number, until: string): string {
  const day = format.weekday(until);
  if (before <= 0) return t(`today.${of}.none`, { day });
  const amount = format.money(before);
  if (received <= 0) return t(`today.${of}.before`, { day, amount });
  const percent = Math.round((100 * (received - before)) / before);
  const direction = percent > 0 ? 'more' : percent < 0 ? 'less' : 'same';
  const change = format.percent(Math.abs(percent) / 100);
  return t(`today.${of}.${direction}`, { change, day, amount });
}

/** The money received on each of the last seven days. */
export function MoneyPanel({ today }: { today: string }) {
  return (
    <Panel title={t('today.byDay')}>
      <Loaded query={useDays(today)} explain={explain} skeleton={<Skeleton lines={5} />}>
        {(days) => (
          <Bars
            bars={days.slice(-WEEK).map(({ paymentDate }) => {
              const { received } = moneyOf(days, paymentDate, paymentDate);
              return {
                label: format.weekday(paymentDate),
                value: received,
                text: format.compact(received),
              };
            })}
          />
        )}
      </Loaded>
    </Panel>
  );
}

/** The money of each of the last 14 days, which include all days of `before`. */
function useDays(today: string) {
  const startDate = format.addDays(today, 1 - 2 * WEEK);
  return api.useQuery(
    'get',
    '/api/reports/payments',
    { params: { query: { startDate, endDate: today, limit: 1 } } },
    { select: (answer) => (answer as Exclude<typeof answer, string>).data.byDay }, // Without `format` the answer is JSON, never a file.
  );
}

interface Money {
  /** Without reversed payments. */
  received: number;
  refunded: number;
}

/** The money from the first to the last day. */
function moneyOf(days: readonly Day[], first: string, last: string): Money {
  const chosen = days.filter(({ paymentDate }) => paymentDate >= first && paymentDate <= last);
  const sumOf = (minorOf: (day: Day, minor: (amount: number) => number) => number) =>
    exactly((minor) => chosen.reduce((sum, day) => sum + minorOf(day, minor), 0));
  return {
    received: sumOf(({ received, reversed }, minor) => minor(received) - minor(reversed)),
    refunded: sumOf(({ refunded }, minor) => minor(refunded)),
  };
}

function useSummary(startDate: string, endDate: string) {
  return api.useQuery(
    'get',
    '/api/reports/accounts/summary',
    { params: { query: { startDate, endDate } } },
    { staleTime: 60_000 },
  );
}
