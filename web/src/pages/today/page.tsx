import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { untilLoaded } from '../../api/send.ts';
import { may } from '../../api/session.ts';
import { format, t } from '../../i18n/index.ts';
import { Skeleton } from '../../ui/feedback.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Columns, PageHead } from '../../ui/panel.tsx';
import { Attention, type WorkQuery } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';
import { MoneyPanel, MoneyStats } from './money.tsx';

/** The office does not load it. */
const SellerDay = lazy(async () => ({
  default: (await untilLoaded(() => import('./seller.tsx'))).SellerDay,
}));

/** Keeps the line of the date, so that nothing moves when the answer arrives. */
const NO_DATE_YET = '\u00a0';

/** The overview for the start of a working day. Reads the work and the money separately, because the money takes longer. */
export function Page() {
  const work = api.useQuery('get', '/api/reports/today');
  // Not the day of the settings, which are loaded once: after midnight, it is the day before that of the figures.
  const date = work.data?.data.date;
  // Agents sell, and see no figures of the company.
  const isSeller = may('accounts:create') && !may('reports:read');
  return (
    <>
      <PageHead
        title={t('nav.today')}
        eyebrow={date ? format.date(date) : NO_DATE_YET}
        actions={isSeller && <SellerLinks />}
      />
      {isSeller ? (
        <Suspense fallback={<Skeleton lines={8} />}>
          <SellerDay work={work} />
        </Suspense>
      ) : (
        <OfficeDay work={work} />
      )}
    </>
  );
}

/** What a seller begins a visit with. */
function SellerLinks() {
  return (
    <>
      <Link className="button secondary" href="/find">
        <Icon name="search" />
        {t('nav.find')}
      </Link>
      <Link className="button primary" href="/sales/new">
        <Icon name="plus" />
        {t('nav.sale')}
      </Link>
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
