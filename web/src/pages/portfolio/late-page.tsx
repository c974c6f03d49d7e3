import '../../ui/portfolio.css';
import { Link } from 'wouter';
import { api, KEEPS_LAST, writeQuery } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Paths, Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { useListState, writeSort } from '../../ui/list-state.ts';
import { PageHead, Panel } from '../../ui/panel.tsx';
import { type Column, Pager, Table } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { codeColumn, moneyColumn, statusColumn } from '../shared/columns.tsx';
import { DownloadButton } from '../shared/download-button.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';
import { callListOf, nameOfBucket, useSummary } from './summary.ts';

type Account = Schemas['Account'];
type Query = NonNullable<Paths['/api/accounts']['get']['parameters']['query']>;

const ROWS_SHOWN = 25;

/** The late accounts of a range of days past due, with the phone numbers to call. */
export function Page() {
  const { page, sort, filters, setPage, sortBy } = useListState(['status', 'from', 'to'], {
    name: 'daysPastDue',
    isDescending: true,
  });
  const query = {
    'filter[daysPastDue]': { gte: Number(filters.from) || 1, ...(filters.to && { lte: Number(filters.to) }) },
    ...(filters.status && { 'filter[status]': { in: filters.status } }),
    sort: writeSort(sort),
    expand: ['customer' as const, 'product' as const],
  };
  const accounts = api.useQuery(
    'get',
    '/api/accounts',
    { params: { query: { ...query, page, limit: ROWS_SHOWN } } },
    KEEPS_LAST,
  );
  return (
    <>
      <PageHead
        eyebrow={<Link href="/portfolio">{t('nav.portfolio')}</Link>}
        title={t('portfolio.late.title')}
        actions={
          may('lists:export') && (
            <DownloadButton path={pathOfFile(query)}>{t('portfolio.late.csv')}</DownloadButton>
          )
        }
      />
      <BucketTabs from={filters.from} to={filters.to} />
      <Panel title={nameOfRange(filters)} isFlush>
        <Loaded query={accounts} explain={explain} skeleton={<Skeleton lines={8} />}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <Empty>{t('portfolio.late.none')}</Empty>
            ) : (
              <>
                <Table
                  caption={t('portfolio.late.title')}
                  columns={columns()}
                  rows={data}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/accounts/${id}`}
                  sort={sort}
                  onSort={sortBy}
                />
                <Pager
                  page={page}
                  pages={pagination.totalPages ?? 1}
                  total={pagination.total ?? data.length}
                  onPage={setPage}
                />
              </>
            )
          }
        </Loaded>
      </Panel>
    </>
  );
}

function nameOfRange({ from, to }: { from: string; to: string }): string {
  if (from === '' && to === '') return t('portfolio.late.all');
  return nameOfBucket({ from: Number(from) || 1, to: to === '' ? null : Number(to) });
}

function BucketTabs({ from, to }: { from: string; to: string }) {
  const buckets = useSummary().data?.data.daysPastDue.filter((bucket) => bucket.from > 0) ?? [];
  const [first] = buckets;
  if (!first) return null;
  const all = callListOf(first).replace(/&from=.*/, '');
  return (
    <Tabs
      label={t('portfolio.late.days')}
      tabs={[
        { href: all, label: t('portfolio.late.all'), isCurrent: from === '' && to === '' },
        ...buckets.map((bucket) => ({
          href: callListOf(bucket),
          label: nameOfBucket(bucket),
          count: format.number(bucket.count),
          isCurrent: from === String(bucket.from) && to === String(bucket.to ?? ''),
        })),
      ]}
    />
  );
}

const columns = (): Column<Account>[] => [
  { name: 'customerId', label: t('field.customer'), show: ({ customer }) => customer?.name },
  {
    name: 'phone',
    label: t('field.phone'),
    onPhone: 'plain',
    show: ({ customer }) =>
      customer && (
        <a className="call" href={`tel:${customer.phone}`}>
          {customer.phone}
        </a>
      ),
  },
  codeColumn('accountNumber', t('account.number'), ({ accountNumber }) => accountNumber),
  {
    name: 'productId',
    label: t('field.product'),
    onPhone: 'hidden',
    isOneLine: true,
    show: ({ product }) => product?.name,
  },
  {
    name: 'daysPastDue',
    label: t('portfolio.late.days'),
    isNumber: true,
    canSort: true,
    show: ({ daysPastDue }) => format.number(daysPastDue),
  },
  statusColumn(ACCOUNT_TONES, (status) => tValue('accountStatus', status)),
  moneyColumn('arrears', t('account.arrears'), ({ arrears }) => arrears),
];

/**
 * The same accounts as a file of the call list, also those that are in grace or hidden by a call. The page without a filter shows all
 * statuses. The file without a filter would have only the statuses that are called.
 */
function pathOfFile(query: Query): string {
  const status = query['filter[status]'] ?? { in: Object.keys(ACCOUNT_TONES).join() };
  const conditions = { 'filter[daysPastDue]': query['filter[daysPastDue]'], 'filter[status]': status };
  return `/api/call-list.csv?${writeQuery({ ...conditions, sort: query.sort, shown: 'all', lateness: 'past_due' })}`;
}
