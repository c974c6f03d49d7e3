import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { choiceFilter, dateColumn } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

type Invoice = Schemas['InvoiceSummary'];

const STATUSES = ['issued', 'void'] as const;

export function Page() {
  const list = useList({ name: 'id', isDescending: true }, [
    choiceFilter('status', t('field.status'), STATUSES, (status) => tValue('invoiceStatus', status)),
    { daysOf: 'issuedOn' },
  ]);
  const invoices = api.useQuery('get', '/api/invoices', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Invoice>[] = [
    {
      name: 'id',
      label: t('field.number'),
      canSort: true,
      show: ({ number }) => <span className="mono">{number}</span>,
    },
    {
      name: 'customerName',
      label: t('field.customer'),
      onPhone: 'plain',
      canSort: true,
      isOneLine: true,
      show: ({ customerName }) => customerName,
    },
    {
      name: 'accountId',
      label: t('field.account'),
      onPhone: 'hidden',
      show: ({ accountNumber }) => <span className="mono">{accountNumber}</span>,
    },
    dateColumn('issuedOn', t('invoices.issued'), ({ issuedOn }) => issuedOn),
    { ...dateColumn<Invoice>('dueDate', t('invoices.due'), ({ dueDate }) => dueDate), onPhone: 'hidden' },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ status }) => <Badge>{tValue('invoiceStatus', status)}</Badge>,
    },
    {
      name: 'total',
      label: t('field.total'),
      isNumber: true,
      onPhone: 'value',
      canSort: true,
      show: ({ total, status }) => (status === 'void' ? <s>{format.money(total)}</s> : format.money(total)),
    },
  ];
  return (
    <ResourcePage
      title={t('nav.invoices')}
      list={list}
      query={invoices}
      columns={columns}
      hrefOf={({ id }) => `/invoices/${id}`}
    />
  );
}
