import { useSearchParams } from 'wouter';
import { api } from '../../api/client.ts';
import { format, t } from '../../i18n/index.ts';
import { PageHead } from '../../ui/panel.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Conflicts } from './conflicts.tsx';
import { Rejected } from './rejected.tsx';
import { Worklist } from './worklist.tsx';

const VIEWS = { payments: Worklist, conflicts: Conflicts, rejected: Rejected };
type View = keyof typeof VIEWS;

const LABELS = {
  payments: 'unmatched.payments',
  conflicts: 'unmatched.conflicts',
  rejected: 'unmatched.rejected',
} as const;

export function Page() {
  const [parameters] = useSearchParams();
  const wanted = parameters.get('view') ?? '';
  const view = wanted in VIEWS ? (wanted as View) : 'payments';
  const counts = useCounts();
  const Content = VIEWS[view];
  return (
    <>
      <PageHead title={t('nav.unmatched')}>
        <span className="wide-only">{t('unmatched.keys')}</span>
      </PageHead>
      <Tabs
        label={t('nav.unmatched')}
        tabs={(Object.keys(VIEWS) as View[]).map((name) => ({
          href: name === 'payments' ? '/unmatched' : `/unmatched?view=${name}`,
          label: t(LABELS[name]),
          count: counts[name],
          isCurrent: name === view,
        }))}
      />
      <Content />
    </>
  );
}

/** The numbers of rows that need work. Rejected notifications are left out: they stay in their list after the work is done. */
function useCounts(): Partial<Record<View, string>> {
  const payments = api.useQuery('get', '/api/payments', {
    params: { query: { 'filter[status]': { eq: 'unmatched' }, limit: 1 } },
  });
  const conflicts = api.useQuery('get', '/api/notifications', {
    params: { query: { 'filter[outcome]': { eq: 'conflict' }, limit: 1 } },
  });
  const show = (total: number | null | undefined) => (total ? format.number(total) : undefined);
  return {
    payments: show(payments.data?.pagination.total),
    conflicts: show(conflicts.data?.pagination.total),
  };
}
