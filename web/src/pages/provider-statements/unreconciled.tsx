import { useState } from 'react';
import { Link } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { exactly, format, t, tValue } from '../../i18n/index.ts';
import { Actions, Button } from '../../ui/button.tsx';
import type { Column } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { moneyColumn, rowFilter, statusColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ListPanel, useList } from '../shared/list.tsx';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { ReconciliationDate } from '../shared/reconcile-fields.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';

type Payment = Schemas['Payment'];

const PAGE_SIZE = 50;

/** Payments that are not reconciled, such as cash. The user chooses those whose money has arrived. */
export function Unreconciled() {
  const methods = usePaymentMethods();
  const list = useList(
    { name: 'paymentDate', isDescending: false },
    [rowFilter('paymentMethodId', t('account.payment.method'), methods), { daysOf: 'paymentDate' }],
    PAGE_SIZE,
  );
  const query = {
    ...list.query,
    'filter[reconciliationId]': { isnull: true },
    'filter[status]': { ne: 'reversed' as const },
    expand: ['customer' as const],
  };
  const payments = api.useQuery('get', '/api/payments', { params: { query } }, KEEPS_LAST);
  const shown = payments.data?.data ?? [];
  const [chosenIds, setChosenIds] = useState<ReadonlySet<number>>(new Set());
  // A payment that has left the list is no longer chosen.
  const chosen = shown.filter(({ id }) => chosenIds.has(id));
  const canReconcile = may('reconciliations:create');
  const choose = (id: number, isChosen: boolean) => {
    const others = chosen.map((payment) => payment.id).filter((one) => one !== id);
    setChosenIds(new Set(isChosen ? [...others, id] : others));
  };
  const columns: Column<Payment>[] = [
    {
      name: 'paymentDate',
      label: t('account.pay.date'),
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
      label: t('field.reference'),
      onPhone: 'plain',
      show: ({ id, transactionRef }) =>
        transactionRef ? (
          <Link className="mono" href={`/payments/${id}`}>
            {transactionRef}
          </Link>
        ) : (
          '–'
        ),
    },
    {
      name: 'customer',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customer }) => customer?.name,
    },
    {
      name: 'accountNumber',
      label: t('field.account'),
      onPhone: 'plain',
      show: ({ accountId, accountNumber }) =>
        accountId !== null && (
          <Link className="mono" href={`/accounts/${accountId}`}>
            {accountNumber}
          </Link>
        ),
    },
    {
      name: 'paymentMethodId',
      label: t('account.payment.method'),
      onPhone: 'plain',
      show: ({ paymentMethodId }) => methods.find(({ id }) => id === paymentMethodId)?.name ?? '',
    },
    statusColumn(PAYMENT_TONES, (status) => tValue('paymentStatus', status)),
    moneyColumn('amount', t('field.amount'), ({ amount }) => amount, { canSort: true }),
  ];
  return (
    <ListPanel
      caption={t('providerStatements.unreconciled')}
      list={list}
      query={payments}
      columns={columns}
      none={t('providerStatements.unreconciled.none')}
      head={
        canReconcile && (
          <Chosen
            payments={chosen}
            isAll={chosen.length > 0 && chosen.length === shown.length}
            onAll={(isAll) => setChosenIds(new Set(isAll ? shown.map(({ id }) => id) : []))}
          />
        )
      }
    />
  );
}

interface ChosenProps {
  payments: readonly Payment[];
  /** Whether all payments of the page are chosen. */
  isAll: boolean;
  onAll(isAll: boolean): void;
}

/** How many payments are chosen, and the button that reconciles them. */
function Chosen({ payments, isAll, onAll }: ChosenProps) {
  const [isOpen, setIsOpen] = useState(false);
  const count = format.number(payments.length);
  return (
    <div className="chosen-bar">
      <span role="status">
        {payments.length === 0
          ? t('providerStatements.chooseSome')
          : t('providerStatements.chosen', { count, amount: format.money(sumOf(payments)) })}
      </span>
      <Actions>
        <Button onClick={() => onAll(!isAll)}>
          {t(isAll ? 'providerStatements.chooseNone' : 'providerStatements.chooseAll')}
        </Button>
        <Button kind="primary" disabled={payments.length === 0} onClick={() => setIsOpen(true)}>
          {t('providerStatements.reconcile')}
        </Button>
      </Actions>
      {isOpen && <ReconcileDialog payments={payments} onClose={() => setIsOpen(false)} />}
    </div>
  );
}

function ReconcileDialog({ payments, onClose }: { payments: readonly Payment[]; onClose(): void }) {
  const reconcile = useWrite('post', '/api/payments/reconcile');
  // Keeps the chosen payments: before the dialog closes, the list is read again, and no longer has them.
  const [chosen] = useState(payments);
  const count = format.number(chosen.length);
  return (
    <FormDialog
      title={t('providerStatements.reconcile')}
      lead={t('providerStatements.chosen', { count, amount: format.money(sumOf(chosen)) })}
      write={reconcile}
      submit={t('providerStatements.reconcile')}
      onClose={onClose}
      onSubmit={(values) => {
        const paymentIds = chosen.map(({ id }) => id);
        return reconcile.send({
          body: { paymentIds, reconciliationDate: values.text('reconciliationDate') },
        });
      }}
      onDone={({ counts }) => {
        const left = format.number(counts.not_reconcilable);
        const reconciled = format.number(counts.reconciled);
        toast(
          counts.not_reconcilable > 0
            ? { tone: 'bad', text: t('providerStatements.partly', { reconciled, left }) }
            : { text: t('providerStatements.reconciled', { count: reconciled }) },
        );
        onClose();
      }}
    >
      <ReconciliationDate earliest={lastDayOf(chosen)} />
    </FormDialog>
  );
}

function sumOf(payments: readonly Payment[]): number {
  return exactly((minor) => payments.reduce((sum, { amount }) => sum + minor(amount), 0));
}

function lastDayOf(payments: readonly Payment[]): string | null {
  return (
    payments
      .map(({ paymentDate }) => paymentDate)
      .toSorted()
      .at(-1) ?? null
  );
}
