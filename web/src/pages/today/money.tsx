import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Bars } from '../../ui/bars.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel, Stat, Stats } from '../../ui/panel.tsx';

const DAYS = 7;

type Ratio = Schemas['AccountSummary']['collectionRate'];

/** Money of today and of this week against what falls due. */
export function MoneyStats({ today }: { today: string }) {
  const day = useSummary(today, today);
  const week = useSummary(mondayOf(today), today);
  return (
    <Loaded query={day} explain={explain} skeleton={<Skeleton lines={3} />}>
      {({ data }) => (
        <Stats>
          <MoneyStat label={t('today.received')} collected={data.collected} rate={data.collectionRate} />
          {week.data && (
            <MoneyStat
              label={t('today.week')}
              collected={week.data.data.collected}
              rate={week.data.data.collectionRate}
            />
          )}
          <Stat label={t('today.outstanding')} value={format.money(data.outstanding)} />
          <Stat
            label={t('today.arrears')}
            value={format.money(data.arrears)}
            hint={tCount('today.par30', data.par30.count)}
          />
        </Stats>
      )}
    </Loaded>
  );
}

function MoneyStat({ label, collected, rate }: { label: string; collected: number; rate: Ratio }) {
  const { denominator: due, numerator } = rate;
  return (
    <Stat
      label={label}
      value={format.money(collected)}
      hint={
        due > 0 ? (
          <>
            <progress className="progress" value={Math.min(numerator, due)} max={due} aria-label={label} />
            {t('today.expected', { amount: format.money(due) })}
          </>
        ) : (
          t('today.nothingExpected')
        )
      }
    />
  );
}

/** What was received on each of the last days. */
export function MoneyPanel({ today }: { today: string }) {
  const startDate = format.addDays(today, 1 - DAYS);
  const report = api.useQuery(
    'get',
    '/api/reports/payments',
    { params: { query: { startDate, endDate: today, limit: 1 } } },
    { select: (answer) => (answer as Exclude<typeof answer, string>).data.byDay }, // Without `format` the answer is JSON, never a file.
  );
  return (
    <Panel title={t('today.byDay')}>
      <Loaded query={report} explain={explain} skeleton={<Skeleton lines={5} />}>
        {(days) => (
          <Bars
            bars={days.map(({ paymentDate, net }) => ({
              label: format.weekday(paymentDate),
              value: net,
              text: format.compact(net),
            }))}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function useSummary(startDate: string, endDate: string) {
  return api.useQuery(
    'get',
    '/api/reports/accounts/summary',
    { params: { query: { startDate, endDate } } },
    { staleTime: 60_000 },
  );
}

function mondayOf(date: string): string {
  const daysSinceMonday = (new Date(date).getUTCDay() + 6) % 7;
  return format.addDays(date, -daysSinceMonday);
}
