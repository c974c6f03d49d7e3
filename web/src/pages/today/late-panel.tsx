import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { t, tCount, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { moneyColumn, statusColumn } from '../shared/columns.tsx';
import { TablePanel } from '../shared/table-panel.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';

const MOST_ROWS = 8;
/** The statuses of the call list: the balances of these accounts are the outstanding sum. */
const LATE_STATUSES = 'active,suspended,defaulted,repossessed';

/** The accounts that have been late for the longest time. */
export function LatePanel() {
  const accounts = api.useQuery('get', '/api/accounts', {
    params: {
      query: {
        'filter[daysPastDue]': { gt: 0 },
        'filter[status]': { in: LATE_STATUSES },
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
    statusColumn(ACCOUNT_TONES, (status) => tValue('accountStatus', status)),
    moneyColumn('arrears', t('account.arrears'), ({ arrears }) => arrears),
  ];
  return (
    <TablePanel
      title={t('today.late')}
      actions={
        may('reports:read') && (
          <Link href={`/portfolio/late?status=${encodeURIComponent(LATE_STATUSES)}`}>
            {t('today.late.all')}
          </Link>
        )
      }
      query={accounts}
      lines={6}
      columns={columns}
      hrefOf={({ id }) => `/accounts/${id}`}
      none={t('today.late.none')}
    />
  );
}
