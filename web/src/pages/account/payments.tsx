import { useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { PAYMENT_TONES } from '../shared/tones.ts';

type Payment = Schemas['Payment'];

const FIRST_ROWS = 10;
const MOST_ROWS = 100;

export function Payments({ accountId }: { accountId: number }) {
  const [limit, setLimit] = useState(FIRST_ROWS);
  const payments = api.useQuery(
    'get',
    '/api/accounts/{accountId}/payments',
    {
      params: { path: { accountId }, query: { limit, sort: 'paymentDate:desc,id:desc' } },
    },
    KEEPS_LAST,
  );
  const root = useLostFocus<HTMLDivElement>(
    (payments.data?.data.length ?? 0) > FIRST_ROWS,
    `tbody tr:nth-child(${FIRST_ROWS + 1}) .row-link`,
  );
  const methods = usePaymentMethods();
  const columns: Column<Payment>[] = [
    { name: 'paymentDate', label: t('field.date'), show: (row) => format.date(row.paymentDate) },
    {
      name: 'transactionRef',
      label: t('field.reference'),
      onPhone: 'plain',
      show: (row) => <span className="mono">{row.transactionRef ?? '–'}</span>,
    },
    {
      name: 'paymentMethodId',
      label: t('account.payment.method'),
      onPhone: 'plain',
      show: (row) => methods.find(({ id }) => id === row.paymentMethodId)?.name ?? '',
    },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'plain',
      show: (row) => <Badge tone={PAYMENT_TONES[row.status]}>{tValue('paymentStatus', row.status)}</Badge>,
    },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      show: (row) =>
        row.status === 'reversed' ? <s>{format.money(row.amount)}</s> : format.money(row.amount),
    },
  ];
  return (
    <div ref={root}>
      <Panel title={t('nav.payments')} isFlush>
        <Loaded query={payments} explain={explain} skeleton={<Skeleton lines={5} />}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <Empty>{t('account.payments.none')}</Empty>
            ) : (
              <>
                <Table
                  caption={t('nav.payments')}
                  columns={columns}
                  rows={data}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/payments/${id}`}
                />
                {data.length < Math.min(pagination.total ?? 0, MOST_ROWS) && (
                  <p className="table-foot">
                    <Button
                      kind="quiet"
                      isBusy={payments.isPlaceholderData}
                      onClick={() => setLimit(MOST_ROWS)}
                    >
                      {t('action.showMore')}
                    </Button>
                  </p>
                )}
              </>
            )
          }
        </Loaded>
      </Panel>
    </div>
  );
}
