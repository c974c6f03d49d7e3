import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Form, FormButtons } from '../../ui/form.tsx';
import { useListState, writeSort } from '../../ui/list-state.ts';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Pager, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { ReconciliationDate } from '../shared/reconcile-fields.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';
import { useIsWaiting } from '../shared/use-is-waiting.ts';

type Payment = Schemas['Payment'];

const PAGE_SIZE = 50;

/** Payments whose money is not known to have arrived, such as cash. The user chooses those that are in the bank. */
export function Unreconciled() {
  const methods = usePaymentMethods();
  const list = useListState(['method', 'until'], { name: 'paymentDate', isDescending: false });
  const { page, sort, filters, setPage, sortBy, setFilter } = list;
  const query = {
    'filter[reconciliationId]': { isnull: true },
    'filter[status]': { ne: 'reversed' as const },
    ...(filters.method && { 'filter[paymentMethodId]': { eq: Number(filters.method) } }),
    ...(filters.until && { 'filter[paymentDate]': { lte: filters.until } }),
    sort: writeSort(sort),
    limit: PAGE_SIZE,
    page,
  };
  const payments = api.useQuery('get', '/api/payments', { params: { query } });
  return (
    <>
      <div className="view-options">
        <label className="view-option">
          {t('providerStatements.method')}
          <select
            className="input"
            value={filters.method}
            onChange={({ target }) => setFilter('method', target.value)}
          >
            <option value="">{t('list.all')}</option>
            {methods.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label className="view-option">
          {t('providerStatements.until')}
          <input
            className="input"
            type="date"
            value={filters.until}
            onChange={({ target }) => setFilter('until', target.value)}
          />
        </label>
      </div>
      <Panel title={t('providerStatements.unreconciled')} isFlush>
        <Loaded query={payments} explain={explain} skeleton={<Skeleton lines={6} />}>
          {({ data, pagination: { total, totalPages } }) =>
            data.length === 0 ? (
              <Empty>{t('providerStatements.unreconciled.none')}</Empty>
            ) : (
              <>
                <Rows payments={data} sort={sort} onSort={sortBy} />
                <Pager page={page} pages={totalPages ?? 1} total={total ?? data.length} onPage={setPage} />
              </>
            )
          }
        </Loaded>
      </Panel>
    </>
  );
}

interface RowsProps extends Pick<Parameters<typeof Table<Payment>>[0], 'sort' | 'onSort'> {
  payments: readonly Payment[];
}

function Rows({ payments, sort, onSort }: RowsProps) {
  const methods = usePaymentMethods();
  const [chosenIds, setChosenIds] = useState<ReadonlySet<number>>(new Set());
  const [isOpen, setIsOpen] = useState(false);
  // A payment that has left the list is no longer chosen.
  const chosen = payments.filter(({ id }) => chosenIds.has(id));
  const canReconcile = may('reconciliations:create');
  const isAll = chosen.length === payments.length;
  const choose = (id: number, isChosen: boolean) => {
    const others = chosen.map((payment) => payment.id).filter((one) => one !== id);
    setChosenIds(new Set(isChosen ? [...others, id] : others));
  };
  const columns: Column<Payment>[] = [
    {
      name: 'paymentDate',
      label: t('providerStatements.paidOn'),
      canSort: true,
      show: ({ id, paymentDate, transactionRef }) =>
        canReconcile ? (
          <label className="check">
            <input
              type="checkbox"
              checked={chosenIds.has(id)}
              onChange={({ target }) => choose(id, target.checked)}
            />
            {format.date(paymentDate)}
            <span className="visually-hidden">{transactionRef}</span>
          </label>
        ) : (
          format.date(paymentDate)
        ),
    },
    {
      name: 'transactionRef',
      label: t('providerStatements.reference'),
      onPhone: 'plain',
      show: ({ transactionRef }) => <span className="mono">{transactionRef ?? '–'}</span>,
    },
    {
      name: 'accountNumber',
      label: t('providerStatements.account'),
      onPhone: 'plain',
      show: ({ accountNumber }) => <span className="mono">{accountNumber}</span>,
    },
    {
      name: 'paymentMethodId',
      label: t('providerStatements.method'),
      onPhone: 'plain',
      show: ({ paymentMethodId }) => methods.find(({ id }) => id === paymentMethodId)?.name ?? '',
    },
    {
      name: 'status',
      label: t('providerStatements.status'),
      onPhone: 'plain',
      show: ({ status }) => <Badge tone={PAYMENT_TONES[status]}>{tValue('paymentStatus', status)}</Badge>,
    },
    {
      name: 'amount',
      label: t('providerStatements.amount'),
      isNumber: true,
      onPhone: 'value',
      canSort: true,
      show: ({ amount }) => format.money(amount),
    },
  ];
  const amount = format.money(sumOf(chosen));
  return (
    <>
      {canReconcile && (
        <div className="chosen-bar">
          <span role="status">
            {chosen.length === 0
              ? t('providerStatements.chooseSome')
              : t('providerStatements.chosen', { count: format.number(chosen.length), amount })}
          </span>
          <Actions>
            <Button onClick={() => setChosenIds(new Set(isAll ? [] : payments.map(({ id }) => id)))}>
              {t(isAll ? 'providerStatements.chooseNone' : 'providerStatements.chooseAll')}
            </Button>
            <Button kind="primary" disabled={chosen.length === 0} onClick={() => setIsOpen(true)}>
              {t('providerStatements.reconcile')}
            </Button>
          </Actions>
        </div>
      )}
      <Table
        caption={t('providerStatements.unreconciled')}
        columns={columns}
        rows={payments}
        keyOf={({ id }) => id}
        sort={sort}
        {...(onSort && { onSort })}
      />
      {isOpen && <ReconcileDialog payments={chosen} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function ReconcileDialog({ payments, onClose }: { payments: readonly Payment[]; onClose(): void }) {
  const reconcile = useWrite('post', '/api/payments/reconcile');
  const isWaiting = useIsWaiting();
  // Keeps the payments, because they leave the list while the dialog is open.
  const [chosen] = useState(payments);
  const count = format.number(chosen.length);
  return (
    <Dialog
      title={t('providerStatements.reconcile')}
      lead={t('providerStatements.chosen', { count, amount: format.money(sumOf(chosen)) })}
      canClose={!reconcile.isSending}
      onClose={onClose}
    >
      <Form
        problem={reconcile.problem}
        isSending={reconcile.isSending}
        isWaiting={isWaiting}
        onStop={reconcile.stop}
        onSubmit={async (values) => {
          const paymentIds = chosen.map(({ id }) => id);
          const reconciliationDate = values.text('reconciliationDate');
          const result = await reconcile.send({ body: { paymentIds, reconciliationDate } });
          if (!result) return;
          const { reconciled, not_reconcilable: left } = result.counts;
          const counts = { reconciled: format.number(reconciled), left: format.number(left) };
          toast(
            left > 0
              ? { tone: 'bad', text: t('providerStatements.partly', counts) }
              : { text: t('providerStatements.reconciled', { count: counts.reconciled }) },
          );
          onClose();
        }}
      >
        <ReconciliationDate earliest={lastDayOf(chosen)} />
        <FormButtons submit={t('providerStatements.reconcile')} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}

/** In minor units, because sums of decimal numbers are not exact. */
function sumOf(payments: readonly Payment[]): number {
  const factor = 10 ** settings().currencyDecimals;
  return payments.reduce((sum, { amount }) => sum + Math.round(amount * factor), 0) / factor;
}

function lastDayOf(payments: readonly Payment[]): string | null {
  return (
    payments
      .map(({ paymentDate }) => paymentDate)
      .toSorted()
      .at(-1) ?? null
  );
}
