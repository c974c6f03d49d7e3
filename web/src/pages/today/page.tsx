import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { untilLoaded } from '../../api/send.ts';
import { may } from '../../api/session.ts';
import { format, loadMessages, t } from '../../i18n/index.ts';
import { Columns, PageHead } from '../../ui/panel.tsx';
import { Attention, type WorkQuery } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';
import { MoneyPanel, MoneyStats } from './money.tsx';

/** With its messages. The office does not load it. */
const SellerDay = lazy(async () => {
  const [{ SellerDay }] = await untilLoaded(() =>
    Promise.all([import('./seller.tsx'), loadMessages('seller')]),
  );
  return { default: SellerDay };
});

/** Keeps the line of the date, so that nothing moves when the answer arrives. */
const NO_DATE_YET = '\u00a0';

/** The overview for the start of a working day. Reads the work and the money separately, because the money takes longer. */
export function Page() {
  const work = api.useQuery('get', '/api/reports/today');
  // Not the day of the settings, which are loaded once: after midnight, it is the day before that of the figures.
  const date = work.data?.data.date;
  // Agents sell, and see no figures of the company.
  const isSeller = may('accounts:create') && !may('reports:read');
  const head = { title: t('nav.today'), eyebrow: date ? format.date(date) : NO_DATE_YET };
  return isSeller ? (
    <Suspense fallback={<PageHead {...head} />}>
      <SellerDay head={head} work={work} />
    </Suspense>
  ) : (
    <>
      <PageHead {...head} />
      <OfficeDay work={work} />
    </>
  );
}

function OfficeDay({ work }: { work: WorkQuery }) {
  return (
    <>
      {may('reports:read') && <MoneyStats />}
      <Columns
        isSideFirst
        main={
          <>
            {may('reports:read') && <MoneyPanel />}
            <LateForLongest work={work} />
          </>
        }
        side={<Attention work={work} />}
      />
    </>
  );
}

function LateForLongest({ work }: { work: WorkQuery }) {
  const late = work.data?.data.lateAccounts;
  const callList = may('reports:read')
    ? late && `/portfolio/late?status=${encodeURIComponent(late.statuses.join(','))}`
    : may('calls:read') && '/call-list';
  return (
    <LatePanel
      work={work}
      title={t('today.late')}
      late={late}
      all={callList && <Link href={callList}>{t('today.late.all')}</Link>}
      none={t('today.late.none')}
    />
  );
}
