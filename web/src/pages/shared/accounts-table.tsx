import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ACCOUNT_TONES } from './tones.ts';

type Account = Schemas['Account'];

interface AccountsTableProps {
  caption: string;
  /** The second column. */
  named: Column<Account>;
  rows: readonly Account[];
}

/** The accounts on the page of a customer or of a product. */
export function AccountsTable({ caption, named, rows }: AccountsTableProps) {
  const columns: Column<Account>[] = [
    {
      name: 'id',
      label: t('account.number'),
      show: ({ accountNumber }) => <span className="mono">{accountNumber}</span>,
    },
    { onPhone: 'plain', isOneLine: true, ...named },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ status }) => <Badge tone={ACCOUNT_TONES[status]}>{tValue('accountStatus', status)}</Badge>,
    },
    {
      name: 'nextDueDate',
      label: t('account.nextDue'),
      show: ({ nextDueDate }) => (nextDueDate === null ? '–' : format.date(nextDueDate)),
    },
    {
      name: 'balance',
      label: t('account.balance'),
      isNumber: true,
      onPhone: 'value',
      show: ({ balance }) => format.money(balance),
    },
  ];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/accounts/${id}`}
    />
  );
}
