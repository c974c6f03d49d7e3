import { Link } from 'wouter';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { t, tCount, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { moneyColumn, statusColumn } from '../shared/columns.tsx';
import { TablePanel } from '../shared/table-panel.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';
import type { WorkQuery } from './attention.tsx';

/** The accounts that have been late for the longest time. Empty if the work could not be read, which the other panel says. */
export function LatePanel({ work }: { work: WorkQuery }) {
  const late = work.data?.data.lateAccounts;
  if (!late && work.error) return null;
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
        late &&
        may('reports:read') && (
          <Link href={`/portfolio/late?status=${encodeURIComponent(late.statuses.join(','))}`}>
            {t('today.late.all')}
          </Link>
        )
      }
      query={{ ...work, data: late && { data: late.accounts, pagination: { total: late.total } } }}
      lines={6}
      columns={columns}
      hrefOf={({ id }) => `/accounts/${id}`}
      none={t('today.late.none')}
    />
  );
}
