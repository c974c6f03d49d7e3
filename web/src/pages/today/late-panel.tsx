import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';

const MOST_ROWS = 8;

/** The accounts that are late for the longest time. */
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
    {
      name: 'arrears',
      label: t('account.arrears'),
      isNumber: true,
      onPhone: 'value',
      show: ({ arrears }) => format.money(arrears),
    },
  ];
  return (
    <Panel title={t('today.late')} isFlush>
      <Loaded query={accounts} explain={explain} skeleton={<Skeleton lines={6} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{t('today.late.none')}</Empty>
          ) : (
            <Table
              caption={t('today.late')}
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/accounts/${id}`}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
