import { api, client, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import type { Tone } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { codeColumn, dateColumn, statusColumn, statusFilter } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

type Invoice = Schemas['InvoiceSummary'];

const TONES: Record<Invoice['status'], Tone> = { issued: 'neutral', void: 'neutral' };

export function Page() {
  const list = useList({ name: 'id', isDescending: true }, [
    statusFilter(TONES, (status) => tValue('invoiceStatus', status)),
    { daysOf: 'issuedOn' },
  ]);
  const invoices = api.useQuery('get', '/api/invoices', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Invoice>[] = [
    codeColumn('id', t('field.number'), ({ number }) => number, { onPhone: 'title', canSort: true }),
    {
      name: 'customerName',
      label: t('field.customer'),
      onPhone: 'plain',
      canSort: true,
      isOneLine: true,
      show: ({ customerName }) => customerName,
    },
    codeColumn('accountId', t('field.account'), ({ accountNumber }) => accountNumber, { onPhone: 'hidden' }),
    dateColumn('issuedOn', t('invoices.issued'), ({ issuedOn }) => issuedOn),
    dateColumn('dueDate', t('invoices.due'), ({ dueDate }) => dueDate, { onPhone: 'hidden' }),
    statusColumn(TONES, (status) => tValue('invoiceStatus', status)),
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
      file={{ path: '/api/invoices.csv' }}
      columns={columns}
      sums={{
        labels: { total: t('invoices.sum') },
        read: () => client.GET('/api/invoices', { params: { query: list.totalsQuery } }),
      }}
      hrefOf={({ id }) => `/invoices/${id}`}
    />
  );
}
