import { api, client, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { usePaymentMethods } from '../shared/catalogue.ts';
import {
  choiceFilter,
  codeColumn,
  dateColumn,
  paymentAmountColumn,
  rowFilter,
  statusColumn,
  statusFilter,
} from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';

type Payment = Schemas['Payment'];

const SOURCES = ['manual', 'webhook', 'import', 'pull'] as const;

export function Page() {
  const methods = usePaymentMethods();
  const methodOf = (id: number) => methods.find((method) => method.id === id)?.name ?? '';
  const list = useList({ name: 'paymentDate', isDescending: true }, [
    statusFilter(PAYMENT_TONES, (status) => tValue('paymentStatus', status)),
    rowFilter('paymentMethodId', t('field.paymentMethod'), methods),
    choiceFilter('source', t('payments.source'), SOURCES, (source) => tValue('paymentSource', source)),
    choiceFilter('hasDuplicateReference', t('field.reference'), ['true'], () =>
      t('payments.hasDuplicateReference'),
    ),
    { daysOf: 'paymentDate' },
  ]);
  const payments = api.useQuery(
    'get',
    '/api/payments',
    { params: { query: { ...list.query, expand: ['customer', 'people'] } } },
    KEEPS_LAST,
  );
  const columns: Column<Payment>[] = [
    dateColumn('paymentDate', t('field.date'), ({ paymentDate }) => paymentDate),
    codeColumn('transactionRef', t('field.reference'), ({ transactionRef }) => transactionRef),
    {
      name: 'customer',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customer }) => customer?.name,
    },
    codeColumn('accountId', t('field.account'), ({ accountNumber }) => accountNumber, { onPhone: 'hidden' }),
    {
      name: 'paymentMethodId',
      label: t('field.paymentMethod'),
      onPhone: 'plain',
      show: ({ paymentMethodId }) => methodOf(paymentMethodId),
    },
    {
      name: 'recordedBy',
      label: t('payments.by'),
      onPhone: 'hidden',
      show: peopleOf,
    },
    statusColumn(PAYMENT_TONES, (status) => tValue('paymentStatus', status)),
    paymentAmountColumn(),
  ];
  return (
    <ResourcePage
      title={t('nav.payments')}
      list={list}
      query={payments}
      file={{ path: '/api/payments.csv', query: { expand: ['customer'] } }}
      columns={columns}
      sums={{
        labels: { amount: t('payments.sum') },
        read: () => client.GET('/api/payments', { params: { query: list.totalsQuery } }),
      }}
      hrefOf={({ id }) => `/payments/${id}`}
    />
  );
}

/** Who recorded the payment, and who reversed it and approved this. */
function peopleOf({ recordedBy, reversedBy, approvedBy }: Payment): string {
  return [
    recordedBy,
    reversedBy && t('payments.reversedBy', { name: reversedBy }),
    approvedBy && t('payments.approvedBy', { name: approvedBy }),
  ]
    .filter(Boolean)
    .join(' · ');
}
