import type { ReactNode } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { t, tCount, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { moneyColumn, statusColumn } from '../shared/columns.tsx';
import { TablePanel } from '../shared/table-panel.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';
import type { WorkQuery } from './attention.tsx';

type Late = Schemas['TodayWork']['lateAccounts'];

interface LatePanelProps {
  work: WorkQuery;
  title: string;
  late: Late | undefined;
  /** Leads to all late accounts. */
  all: ReactNode;
  none: string;
}

/** The accounts that have been late for the longest time. Empty if the work could not be read, which the other panel says. */
export function LatePanel({ work, title, late, all, none }: LatePanelProps) {
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
      title={title}
      actions={all}
      query={{ ...work, data: late && { data: late.accounts, pagination: { total: late.total } } }}
      lines={6}
      columns={columns}
      hrefOf={({ id }) => `/accounts/${id}`}
      none={none}
    />
  );
}
