import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Bars } from '../../ui/bars.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel, Stat, Stats } from '../../ui/panel.tsx';

type Money = Schemas['TodayMoney'];
type MoneyOfDays = Schemas['MoneyOfDays'];

/** The service reads all accounts for these figures, and answers with the same ones for this long. */
const FRESH_MS = 60_000;

function useMoney() {
  // Also without an event, because the last answer may be older than the last payment.
  const options = { staleTime: FRESH_MS, refetchInterval: FRESH_MS };
  return api.useQuery('get', '/api/reports/today/money', {}, options);
}

/** The money received today and this week, compared with the instalments due and with one week before. */
export function MoneyStats() {
  return (
    <Loaded query={useMoney()} explain={explain} skeleton={<Skeleton lines={3} />}>
      {({ data }) => (
        <Stats>
          <MoneyStat label={t('today.received')} of="day" money={data.day} />
          <MoneyStat label={t('today.week')} of="week" money={data.week} />
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
  money: MoneyOfDays;
}

function MoneyStat({ label, of, money }: MoneyStatProps) {
  const { received, refunded, collectionRate, before } = money;
  return (
    <Stat
      label={label}
      value={format.money(received)}
      hint={
        <>
          <Expected label={label} rate={collectionRate} />
          <span className="stat-change">{describeChange(of, received, before)}</span>
          {refunded > 0 && (
            <span className="stat-change">{t('today.refunded', { amount: format.money(refunded) })}</span>
          )}
        </>
      }
    />
  );
}

interface ExpectedProps {
  label: string;
  rate: MoneyOfDays['collectionRate'];
}

function Expected({ label, rate: { denominator: due, numerator } }: ExpectedProps) {
  if (due <= 0) return t('today.nothingExpected');
  return (
    <>
      <progress className="progress" value={Math.min(numerator, due)} max={due} aria-label={label} />
      {t('today.expected', { amount: format.money(due) })}
    </>
  );
}

/** Example: "12% more than last Mon: KES 52,300.00". */
function describeChange(
  of: 'day' | 'week',
  received: number,
  { endDate, received: before }: MoneyOfDays['before'],
): string {
  const day = format.weekday(endDate);
  if (before <= 0) return t(`today.${of}.none`, { day });
  const amount = format.money(before);
  if (received <= 0) return t(`today.${of}.before`, { day, amount });
  const percent = Math.round((100 * (received - before)) / before);
  const direction = percent > 0 ? 'more' : percent < 0 ? 'less' : 'same';
  const change = format.percent(Math.abs(percent) / 100);
  return t(`today.${of}.${direction}`, { change, day, amount });
}

/** The money received on each of the last days. Empty if it could not be read, which `MoneyStats` says. */
export function MoneyPanel() {
  const { data, error } = useMoney();
  if (!data && error) return null;
  return (
    <Panel title={t('today.byDay')}>
      {data ? <Bars bars={data.data.days.map(barOf)} /> : <Skeleton lines={5} />}
    </Panel>
  );
}

function barOf({ date, received }: Money['days'][number]) {
  // Browsers have no short names in Swahili, where people write "J’tatu" for "Jumatatu".
  const label = format.weekday(date).replace(/^Juma/, 'J’');
  return { label, value: received, text: format.compact(received) };
}
