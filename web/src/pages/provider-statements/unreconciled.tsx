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
import { usePaymentMethods } from '../shared/catalogue.ts';
import { moneyColumn, rowFilter, statusColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ListPanel, useList } from '../shared/list.tsx';
import { ReconciliationDate } from '../shared/reconcile-fields.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';

type Payment = Schemas['Payment'];

const PAGE_SIZE = 50;

/** Payments that are not reconciled, such as cash payments. The user chooses those whose money has arrived. */
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
  // Payments stay chosen while the list shows another page or other filters, so their rows are kept.
  const [chosen, setChosen] = useState<readonly Payment[]>([]);
  const chosenIds = new Set(chosen.map(({ id }) => id));
  const chosenHere = shown.filter(({ id }) => chosenIds.has(id)).length;
  const canReconcile = may('reconciliations:create');
  const choose = (payments: readonly Payment[], isChosen: boolean) => {
    const ids = new Set(payments.map(({ id }) => id));
    setChosen((last) => [...last.filter(({ id }) => !ids.has(id)), ...(isChosen ? payments : [])]);
  };
  const columns: Column<Payment>[] = [
    {
      name: 'paymentDate',
      label: t('account.pay.date'),
      canSort: true,
      show: (payment) =>
        canReconcile ? (
          <label className="check">
            <input
              type="checkbox"
              checked={chosenIds.has(payment.id)}
              onChange={({ target }) => choose([payment], target.checked)}
            />
            {format.date(payment.paymentDate)}
            <span className="visually-hidden">{payment.transactionRef}</span>
          </label>
        ) : (
          format.date(payment.paymentDate)
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
            elsewhere={chosen.length - chosenHere}
            isAll={chosenHere > 0 && chosenHere === shown.length}
            onAll={() => choose(shown, true)}
            onNone={() => setChosen([])}
            onReconciled={() => {
              setChosen([]);
              // This page may no longer exist, because the list is shorter now.
              if (list.state.page > 1) list.state.setPage(1);
            }}
          />
        )
      }
    />
  );
}

interface ChosenProps {
  payments: readonly Payment[];
  /** How many of `payments` the page does not show. */
  elsewhere: number;
  /** Whether all payments on the page are chosen. */
  isAll: boolean;
  /** Adds all payments on the page to the chosen ones. */
  onAll(): void;
  /** Removes all payments from the chosen ones, including those on other pages. */
  onNone(): void;
  onReconciled(): void;
}

/** How many payments are chosen, and the button that reconciles them. */
function Chosen({ payments, elsewhere, isAll, onAll, onNone, onReconciled }: ChosenProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className="chosen-bar">
      <span role="status">
        {payments.length === 0 ? t('providerStatements.chooseSome') : textOf(payments)}
        {elsewhere > 0 && ` ${t('providerStatements.chosenElsewhere', { count: format.number(elsewhere) })}`}
      </span>
      <Actions>
        <Button onClick={isAll ? onNone : onAll}>
          {t(isAll ? 'providerStatements.chooseNone' : 'providerStatements.chooseAll')}
        </Button>
        <Button kind="primary" disabled={payments.length === 0} onClick={() => setIsOpen(true)}>
          {t('providerStatements.reconcile')}
        </Button>
      </Actions>
      {isOpen && (
        <ReconcileDialog payments={payments} onReconciled={onReconciled} onClose={() => setIsOpen(false)} />
      )}
    </div>
  );
}

interface ReconcileDialogProps {
  payments: readonly Payment[];
  onReconciled(): void;
  onClose(): void;
}

function ReconcileDialog({ payments, onReconciled, onClose }: ReconcileDialogProps) {
  const reconcile = useWrite('post', '/api/payments/reconcile');
  return (
    <FormDialog
      title={t('providerStatements.reconcile')}
      lead={textOf(payments)}
      write={reconcile}
      submit={t('providerStatements.reconcile')}
      onClose={onClose}
      onSubmit={(values) => {
        const paymentIds = payments.map(({ id }) => id);
        return reconcile.send({
          body: { paymentIds, reconciliationDate: values.text('reconciliationDate') },
        });
      }}
      onDone={({ counts }) => {
        const left = counts.not_reconcilable + counts.already_reconciled;
        const reconciled = format.number(counts.reconciled);
        toast(
          left > 0
            ? { tone: 'bad', text: t('providerStatements.partly', { reconciled, left: format.number(left) }) }
            : { text: t('providerStatements.reconciled', { count: reconciled }) },
        );
        onReconciled();
        onClose();
      }}
    >
      <ReconciliationDate earliest={lastDayOf(payments)} />
    </FormDialog>
  );
}

function textOf(payments: readonly Payment[]): string {
  const count = format.number(payments.length);
  return t('providerStatements.chosen', { count, amount: format.money(sumOf(payments)) });
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
