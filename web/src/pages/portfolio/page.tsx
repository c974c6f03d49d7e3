import '../../ui/portfolio.css';
import { explain } from '../../api/explain.ts';
import { settings } from '../../api/settings.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { PageHead, Panel, Stat, Stats } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { moneyColumn } from '../shared/columns.tsx';
import { DownloadButton } from '../shared/download-button.tsx';
import { BucketChart } from './bucket-chart.tsx';
import { firstOfMonth, type Summary, useSummary, useTrend } from './summary.ts';
import { TrendChart } from './trend-chart.tsx';

/** How much customers owe, how late they are, and how the rates have changed. */
export function Page() {
  const summary = useSummary();
  const trend = useTrend();
  const { today } = settings();
  const month = firstOfMonth(0);
  const period = `startDate=${month}&endDate=${today}`;
  const name = { month: format.month(month, 'short') };
  return (
    <>
      <PageHead
        title={t('nav.portfolio')}
        eyebrow={t('portfolio.asOf', { date: format.date(today) })}
        actions={
          <>
            <DownloadButton path={`/api/reports/payments?format=csv&${period}`}>
              {t('portfolio.payments', name)}
            </DownloadButton>
            <DownloadButton path={`/api/reports/refunds.csv?${period}`}>
              {t('portfolio.refunds', name)}
            </DownloadButton>
          </>
        }
      />
      <Loaded query={summary} explain={explain} skeleton={<Skeleton lines={6} />}>
        {({ data }) => <Figures summary={data} />}
      </Loaded>
      <div className="column">
        <Panel title={t('portfolio.trend')}>
          <Loaded query={trend} explain={explain} skeleton={<Skeleton lines={8} />}>
            {(months) => <TrendChart months={months} />}
          </Loaded>
        </Panel>
        <Loaded query={summary} explain={() => ''} skeleton={<Skeleton lines={6} />}>
          {({ data }) => (
            <>
              <Panel title={t('portfolio.buckets')}>
                <p className="muted">{t('portfolio.buckets.hint')}</p>
                <BucketChart buckets={data.daysPastDue} />
              </Panel>
              <PortfolioAtRisk summary={data} />
              <Products products={data.byProduct} />
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

function Figures({ summary }: { summary: Summary }) {
  const { outstanding, arrears, collectionRate, repaymentRate, par30, par60, par90, daysPastDue } = summary;
  const accounts = daysPastDue.reduce((sum, { count }) => sum + count, 0);
  const collection = {
    collected: format.money(collectionRate.numerator),
    due: format.money(collectionRate.denominator),
  };
  return (
    <Stats>
      <Stat
        label={t('portfolio.outstanding')}
        value={format.money(outstanding)}
        hint={t('portfolio.outstanding.hint', {
          arrears: format.money(arrears),
          accounts: tCount('portfolio.accounts', accounts),
        })}
      />
      <Stat
        label={t('portfolio.par30')}
        value={showRatio(par30.ratio)}
        hint={t('portfolio.par30.hint', { par60: showRatio(par60.ratio), par90: showRatio(par90.ratio) })}
      />
      <Stat
        label={t('portfolio.collectionRate')}
        value={showRatio(collectionRate.ratio)}
        hint={t('portfolio.collectionRate.hint', collection)}
      />
      <Stat
        label={t('portfolio.repaymentRate')}
        value={showRatio(repaymentRate.ratio)}
        hint={t('portfolio.repaymentRate.hint')}
      />
    </Stats>
  );
}

function showRatio(ratio: number | null): string {
  return ratio === null ? '–' : format.percent(ratio);
}

/** The portfolio at risk, also with the lateness that changes of plans hide. */
function PortfolioAtRisk({ summary }: { summary: Summary }) {
  const rows = [
    { key: 'present', ...summary },
    { key: 'original', ...summary.byOriginalTerms },
    { key: 'restructured', ...summary.withRestructured },
  ] as const;
  const ratios = (['par30', 'par60', 'par90'] as const).map(
    (name): Column<(typeof rows)[number]> => ({
      name,
      label: name.replace('par', 'PAR '),
      isNumber: true,
      show: (row) => showRatio(row[name].ratio),
    }),
  );
  const title = t('portfolio.par');
  return (
    <Panel title={title} isFlush>
      <Table
        caption={title}
        columns={[
          { name: 'key', label: t('portfolio.par.by'), show: ({ key }) => t(`portfolio.par.${key}`) },
          ...ratios,
        ]}
        rows={rows}
        keyOf={({ key }) => key}
      />
    </Panel>
  );
}

type Product = Summary['byProduct'][number];

function Products({ products }: { products: readonly Product[] }) {
  const columns: Column<Product>[] = [
    { name: 'product', label: t('field.product'), show: ({ productName }) => productName },
    {
      name: 'count',
      label: t('portfolio.count'),
      isNumber: true,
      show: ({ receivableCount }) => format.number(receivableCount),
    },
    moneyColumn('arrears', t('account.arrears'), ({ arrears }) => arrears, { onPhone: 'detail' }),
    moneyColumn('outstanding', t('portfolio.outstanding'), ({ outstanding }) => outstanding),
  ];
  const ended = products.reduce((sum, { count, receivableCount }) => sum + count - receivableCount, 0);
  return (
    <Panel title={t('portfolio.products')} isFlush>
      {products.length === 0 ? (
        <Empty>{t('portfolio.products.none')}</Empty>
      ) : (
        <>
          <Table
            caption={t('portfolio.products')}
            columns={columns}
            rows={products}
            keyOf={({ productId }) => productId}
          />
          {ended > 0 && <p className="table-foot muted">{tCount('portfolio.ended', ended)}</p>}
        </>
      )}
    </Panel>
  );
}
