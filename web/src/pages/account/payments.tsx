import { useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import type { Column } from '../../ui/table.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { usePaymentMethods } from '../shared/catalogue.ts';
import { codeColumn, dateColumn, paymentAmountColumn, statusColumn } from '../shared/columns.tsx';
import { TablePanel } from '../shared/table-panel.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';

const FIRST_ROWS = 10;
const MOST_ROWS = 100;

export function Payments({ accountId }: { accountId: number }) {
  const [limit, setLimit] = useState(FIRST_ROWS);
  const payments = api.useQuery(
    'get',
    '/api/accounts/{accountId}/payments',
    { params: { path: { accountId }, query: { limit, sort: 'paymentDate:desc,id:desc' } } },
    KEEPS_LAST,
  );
  const shown = payments.data?.data.length ?? 0;
  const root = useLostFocus<HTMLDivElement>(
    shown > FIRST_ROWS,
    `tbody tr:nth-child(${FIRST_ROWS + 1}) .row-link`,
  );
  const methods = usePaymentMethods();
  const columns: Column<Schemas['Payment']>[] = [
    dateColumn('paymentDate', t('field.date'), ({ paymentDate }) => paymentDate),
    codeColumn('transactionRef', t('field.reference'), ({ transactionRef }) => transactionRef ?? '–'),
    {
      name: 'paymentMethodId',
      label: t('account.payment.method'),
      onPhone: 'plain',
      show: (row) => methods.find(({ id }) => id === row.paymentMethodId)?.name ?? '',
    },
    statusColumn(PAYMENT_TONES, (status) => tValue('paymentStatus', status)),
    paymentAmountColumn(),
  ];
  return (
    <div ref={root}>
      <TablePanel
        title={t('nav.payments')}
        query={payments}
        columns={columns}
        hrefOf={({ id }) => `/payments/${id}`}
        none={t('account.payments.none')}
        foot={
          shown < Math.min(payments.data?.pagination.total ?? 0, MOST_ROWS) && (
            <p className="table-foot">
              <Button kind="quiet" isBusy={payments.isPlaceholderData} onClick={() => setLimit(MOST_ROWS)}>
                {t('action.showMore')}
              </Button>
            </p>
          )
        }
      />
    </div>
  );
}
