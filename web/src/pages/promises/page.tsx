import { Link } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { CallTabs } from '../shared/call-tabs.tsx';
import { choiceFilter, dateColumn, moneyColumn } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

type CustomerPromise = Schemas['CustomerPromise'];

const JUDGED_STATES = ['kept', 'partly_kept', 'broken', 'void', 'replaced'] as const;

/** The promises of customers, with what came of them. */
export function Page() {
  const list = useList({ name: 'date', isDescending: true }, [
    choiceFilter('lastJudgement', t('promises.judged'), JUDGED_STATES, (state) =>
      tValue('promiseState', state),
    ),
    { daysOf: 'date' },
  ]);
  const promises = api.useQuery(
    'get',
    '/api/promises',
    { params: { query: { ...list.query, expand: ['customer'] } } },
    KEEPS_LAST,
  );
  const columns: Column<CustomerPromise>[] = [
    {
      name: 'customer',
      label: t('field.customer'),
      onPhone: 'title',
      show: ({ accountId, accountNumber, customer }) => (
        <Link href={`/call-list/${accountId}`}>{customer?.name ?? accountNumber}</Link>
      ),
    },
    dateColumn('date', t('calls.promise.date'), ({ date }) => date, { onPhone: 'plain' }),
    {
      name: 'accountNumber',
      label: t('field.account'),
      onPhone: 'plain',
      show: ({ accountNumber }) => <span className="mono">{accountNumber}</span>,
    },
    {
      name: 'officer',
      label: t('calls.results.officer'),
      onPhone: 'hidden',
      show: ({ officer }) => officer,
    },
    {
      name: 'madeOn',
      label: t('promises.madeOn'),
      onPhone: 'hidden',
      show: ({ madeOn }) => format.date(madeOn),
    },
    {
      name: 'state',
      label: t('promises.state'),
      onPhone: 'plain',
      show: ({ state }) => tValue('promiseState', state),
    },
    moneyColumn('collected', t('promises.collected'), ({ collected }) => collected, { onPhone: 'detail' }),
    moneyColumn('amount', t('calls.promise.amount'), ({ amount }) => amount),
  ];
  return (
    <ResourcePage
      title={t('nav.callList')}
      list={list}
      query={promises}
      columns={columns}
      none={t('promises.none')}
    >
      <CallTabs />
    </ResourcePage>
  );
}
