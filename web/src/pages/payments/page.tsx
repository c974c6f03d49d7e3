import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { choiceFilter, dateColumn, methodFilter } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { PAYMENT_TONES } from '../shared/tones.ts';

type Payment = Schemas['Payment'];

const STATUSES = ['matched', 'unmatched', 'reversed'] as const;
const SOURCES = ['manual', 'webhook', 'import', 'pull'] as const;

export function Page() {
  const methods = usePaymentMethods();
  const methodOf = (id: number) => methods.find((method) => method.id === id)?.name ?? '';
  const list = useList({ name: 'id', isDescending: true }, [
    choiceFilter('status', t('field.status'), STATUSES, (status) => tValue('paymentStatus', status)),
    methodFilter(t('field.paymentMethod'), methods),
    choiceFilter('source', t('payments.source'), SOURCES, (source) => tValue('paymentSource', source)),
    { daysOf: 'paymentDate' },
  ]);
  const payments = api.useQuery(
    'get',
    '/api/payments',
    {
      params: { query: { ...list.query, expand: ['customer'] } },
    },
    KEEPS_LAST,
  );
  const columns: Column<Payment>[] = [
    dateColumn('paymentDate', t('field.date'), ({ paymentDate }) => paymentDate),
    {
      name: 'transactionRef',
      label: t('field.reference'),
      onPhone: 'plain',
      show: ({ transactionRef }) => transactionRef && <span className="mono">{transactionRef}</span>,
    },
    {
      name: 'customer',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customer }) => customer?.name,
    },
    {
      name: 'accountId',
      label: t('field.account'),
      onPhone: 'hidden',
      show: ({ accountNumber }) => accountNumber && <span className="mono">{accountNumber}</span>,
    },
    {
      name: 'paymentMethodId',
      label: t('field.paymentMethod'),
      onPhone: 'plain',
      show: ({ paymentMethodId }) => methodOf(paymentMethodId),
    },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ status }) => <Badge tone={PAYMENT_TONES[status]}>{tValue('paymentStatus', status)}</Badge>,
    },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      canSort: true,
      show: ({ amount, status }) =>
        status === 'reversed' ? <s>{format.money(amount)}</s> : format.money(amount),
    },
  ];
  return (
    <ResourcePage
      title={t('nav.payments')}
      list={list}
      query={payments}
      columns={columns}
      hrefOf={({ id }) => `/payments/${id}`}
    />
  );
}
