import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import type { Column } from '../../ui/table.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { usePaymentMethods } from '../shared/catalogue.ts';
import { codeColumn, dateColumn, paymentAmountColumn, statusColumn } from '../shared/columns.tsx';
import { CorrectionDialog } from '../shared/correction-dialog.tsx';
import { loaded, TablePanel } from '../shared/table-panel.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';

const MOST_ROWS = 100;

interface PaymentsProps {
  accountId: number;
  latest: NonNullable<Schemas['AccountOverview']['payments']>;
}

export function Payments({ accountId, latest }: PaymentsProps) {
  const [isExpanded, setIsExpanded] = useState(false);
  const [corrected, setCorrected] = useState<Schemas['Payment']>();
  const first = latest.rows.length;
  const query = { limit: MOST_ROWS, sort: 'paymentDate:desc,id:desc' };
  const more = api.useQuery(
    'get',
    '/api/accounts/{accountId}/payments',
    { params: { path: { accountId }, query } },
    { enabled: isExpanded },
  );
  const payments = isExpanded && !more.isPending ? more : loaded(latest);
  const shown = payments.data?.data.length ?? 0;
  const root = useLostFocus<HTMLDivElement>(shown > first, `tbody tr:nth-child(${first + 1}) .row-link`);
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
    {
      name: 'correct',
      label: t('correction.column'),
      onPhone: 'plain',
      show: (row) =>
        row.isCorrectable && (
          <Button kind="quiet" onClick={() => setCorrected(row)}>
            {t('correction.open')}
          </Button>
        ),
    },
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
              <Button kind="quiet" isBusy={more.isFetching} onClick={() => setIsExpanded(true)}>
                {t('action.showMore')}
              </Button>
            </p>
          )
        }
      />
      {corrected && <CorrectionDialog payment={corrected} onClose={() => setCorrected(undefined)} />}
    </div>
  );
}
