import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { useProducts } from '../shared/catalogue.ts';
import { choiceFilter, dateColumn, productFilter } from '../shared/columns.tsx';
import { type Filter, ResourcePage, useList } from '../shared/list.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';

type Account = Schemas['Account'];

const STATUSES = Object.keys(ACCOUNT_TONES);
/** Days past due, from and to. */
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
    choiceFilter('status', t('field.status'), STATUSES, (status) => tValue('accountStatus', status)),
    latenessFilter(),
    productFilter(useProducts()),
  ]);
  const accounts = api.useQuery(
    'get',
    '/api/accounts',
    {
      params: { query: { ...list.query, expand: ['customer', 'product'] } },
    },
    KEEPS_LAST,
  );
  const columns: Column<Account>[] = [
    {
      name: 'id',
      label: t('field.account'),
      canSort: true,
      show: ({ accountNumber }) => <span className="mono">{accountNumber}</span>,
    },
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
      show: ({ status }) => <Badge tone={ACCOUNT_TONES[status]}>{tValue('accountStatus', status)}</Badge>,
    },
    {
      name: 'daysPastDue',
      label: t('accounts.late'),
      canSort: true,
      show: ({ daysPastDue }) =>
        daysPastDue > 0 && <span className="nowrap">{tCount('account.graceDays', daysPastDue)}</span>,
    },
    dateColumn('nextDueDate', t('account.nextDue'), ({ nextDueDate }) => nextDueDate),
    {
      name: 'balance',
      label: t('account.balance'),
      isNumber: true,
      onPhone: 'value',
      canSort: true,
      show: ({ balance }) => format.money(balance),
    },
  ];
  return (
    <ResourcePage
      title={t('nav.accounts')}
      list={list}
      query={accounts}
      columns={columns}
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
