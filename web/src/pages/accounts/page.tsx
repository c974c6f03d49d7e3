import { api, client, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { useEmployees, useProducts } from '../shared/catalogue.ts';
import { codeColumn, dateColumn, moneyColumn, rowFilter, statusFilter } from '../shared/columns.tsx';
import { type Filter, ResourcePage, searchFilter, useList } from '../shared/list.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';

type Account = Schemas['Account'];

/** The choices of the filter, each with its first and last number of days past due. */
const LATENESS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  '0': [0, 0],
  '1+': [1, 100_000],
  '1-30': [1, 30],
  '31-60': [31, 60],
  '61-90': [61, 90],
  '91+': [91, 100_000],
};

export function Page() {
  const list = useList({ name: 'id', isDescending: true }, [
    searchFilter(t('accounts.search')),
    statusFilter(ACCOUNT_TONES, (status) => tValue('accountStatus', status)),
    latenessFilter(),
    rowFilter('productId', t('field.product'), useProducts()),
    rowFilter('employeeId', t('field.employee'), useEmployees()),
  ]);
  const accounts = api.useQuery(
    'get',
    '/api/accounts',
    { params: { query: { ...list.query, expand: ['customer', 'product'] } } },
    KEEPS_LAST,
  );
  const columns: Column<Account>[] = [
    codeColumn('id', t('field.account'), ({ accountNumber }) => accountNumber, {
      onPhone: 'title',
      canSort: true,
    }),
    {
      name: 'customerId',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customer }) => customer?.name,
    },
    {
      name: 'productId',
      label: t('field.product'),
      onPhone: 'hidden',
      isOneLine: true,
      show: ({ product }) => product?.name,
    },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ status, restructured }) => (
        <>
          <Badge tone={ACCOUNT_TONES[status]}>{tValue('accountStatus', status)}</Badge>
          {restructured && (
            <>
              {' '}
              <Badge tone="warning">{t('accounts.restructured')}</Badge>
              <div className="muted">
                {t(`accounts.restructured.${restructured.kind}`, { date: format.date(restructured.date) })}
              </div>
            </>
          )}
        </>
      ),
    },
    {
      name: 'daysPastDue',
      label: t('accounts.late'),
      canSort: true,
      show: ({ daysPastDue }) =>
        daysPastDue > 0 && <span className="nowrap">{tCount('account.days', daysPastDue)}</span>,
    },
    dateColumn('nextDueDate', t('account.nextDue'), ({ nextDueDate }) => nextDueDate),
    moneyColumn('balance', t('account.balance'), ({ balance }) => balance, { canSort: true }),
  ];
  return (
    <ResourcePage
      title={t('nav.accounts')}
      list={list}
      query={accounts}
      file={{ path: '/api/accounts.csv', query: { expand: ['customer', 'product'] } }}
      columns={columns}
      sums={{
        labels: { balance: t('account.balance'), arrears: t('account.arrears') },
        read: () => client.GET('/api/accounts', { params: { query: list.totalsQuery } }),
      }}
      hrefOf={({ id }) => `/accounts/${id}`}
    />
  );
}

function latenessFilter(): Filter {
  return {
    name: 'late',
    label: t('accounts.late'),
    choices: Object.keys(LATENESS).map((range) => [
      range,
      range === '0' ? t('accounts.late.no') : t('accounts.late.days', { range }),
    ]),
    query: (range) => {
      const [from, to] = LATENESS[range] ?? [0, 100_000];
      return { 'filter[daysPastDue][gte]': String(from), 'filter[daysPastDue][lte]': String(to) };
    },
  };
}
