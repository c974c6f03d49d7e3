import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tCount } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { moneyColumn } from '../shared/columns.tsx';
import { TablePanel } from '../shared/table-panel.tsx';

const MOST_ROWS = 8;

/** The accounts that have been late for the longest time. */
export function LatePanel() {
  const accounts = api.useQuery('get', '/api/accounts', {
    params: {
      query: {
        'filter[daysPastDue]': { gt: 0 },
        'filter[status]': { in: 'active,suspended' },
        sort: 'daysPastDue:desc',
        expand: ['customer'],
        limit: MOST_ROWS,
      },
    },
  });
  const columns: Column<Schemas['Account']>[] = [
    { name: 'customerId', label: t('field.customer'), show: ({ customer }) => customer?.name },
    {
      name: 'phone',
      label: t('field.phone'),
      onPhone: 'plain',
      show: ({ customer }) => customer?.phone,
    },
    {
      name: 'daysPastDue',
      label: t('today.late.since'),
      onPhone: 'plain',
      show: ({ daysPastDue }) => tCount('account.daysPastDue', daysPastDue),
    },
    moneyColumn('arrears', t('account.arrears'), ({ arrears }) => arrears),
  ];
  return (
    <TablePanel
      title={t('today.late')}
      query={accounts}
      lines={6}
      columns={columns}
      hrefOf={({ id }) => `/accounts/${id}`}
      none={t('today.late.none')}
    />
  );
}
