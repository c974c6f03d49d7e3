import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { useListState } from '../../ui/list-state.ts';
import { Pager } from '../../ui/table.tsx';
import { WriteNotice } from '../shared/write-notice.tsx';
import { AssignmentForm } from './assignment-form.tsx';
import { Queue } from './keyboard-queue.tsx';
import { useUndo } from './undo.ts';

type Payment = Schemas['UnmatchedPayment'];

const PAGE_SIZE = 20;
const OLDEST_FIRST = 'paymentDate:asc,id:asc';

/** Payments without an account, oldest first. */
export function Worklist() {
  const { page, setPage } = useListState([], { name: 'paymentDate', isDescending: false });
  const query = { sort: OLDEST_FIRST, limit: PAGE_SIZE, page };
  const payments = api.useQuery('get', '/api/payments/unmatched', { params: { query } });
  return (
    <Loaded query={payments} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data, pagination }) => (
        <Payments
          key={page}
          payments={data}
          total={pagination.total ?? data.length}
          page={page}
          pages={pagination.totalPages ?? 1}
          onPage={setPage}
          onOutdated={() => void payments.refetch()}
        />
      )}
    </Loaded>
  );
}

interface PaymentsProps {
  payments: readonly Payment[];
  total: number;
  page: number;
  pages: number;
  onPage(page: number): void;
  /** Called when the service has refused an assignment, for example because somebody else was faster. */
  onOutdated(): void;
}

function Payments({ payments, total, page, pages, onPage, onOutdated }: PaymentsProps) {
  // Hides assigned payments, because a list that was requested before the assignment can still contain them.
  const [assigned, setAssigned] = useState<ReadonlySet<number>>(new Set());
  const rows = payments.filter(({ id }) => !assigned.has(id));
  const [sentId, setSentId] = useState<number>();
  const [returnedId, setReturnedId] = useState<number>();
  const undo = useUndo((id) => {
    setAssigned((last) => new Set([...last].filter((one) => one !== id)));
    setReturnedId(id);
  });
  // A payment that has left the list can come back, because somebody has taken it from its account again.
  useEffect(() => {
    setAssigned((last) => new Set([...last].filter((id) => payments.some((one) => one.id === id))));
  }, [payments]);
  const turnTo = (to: number) => sentId === undefined && onPage(to);

  return (
    <>
      <WriteNotice problem={undo.problem} title={t('unmatched.undo.failed')} />
      <Queue
        label={t('nav.unmatched')}
        rows={rows}
        total={total - payments.length + rows.length}
        titleOf={({ amount }) => format.money(amount)}
        showItem={(payment) => <Item payment={payment} />}
        empty={<Empty>{t('unmatched.empty')}</Empty>}
        onUndo={undo.run}
        returnedId={returnedId}
        own={{ sentId, doneIds: assigned }}
        showGone={(payment) => <Gone payment={payment} />}
        onEmpty={() => page > 1 && onPage(page - 1)}
        foot={pages > 1 && <Pager page={page} pages={pages} total={total} onPage={turnTo} />}
      >
        {(payment) => (
          <AssignmentForm
            payment={payment}
            onSend={({ id }) => setSentId(id)}
            onRefused={() => {
              setSentId(undefined);
              onOutdated();
            }}
            onAssigned={({ id, amount }, name) => {
              setSentId(undefined);
              setAssigned((last) => new Set([...last, id]));
              setReturnedId(undefined);
              undo.offer(id, t('unmatched.assigned', { amount: format.money(amount), name }));
            }}
          />
        )}
      </Queue>
    </>
  );
}

function Item({ payment: { amount, reference, payer, paymentDate, suggestions } }: { payment: Payment }) {
  const [best] = suggestions;
  return (
    <>
      <span className="spread">
        <strong>{format.money(amount)}</strong>
        <span className="muted">{format.dayAndMonth(paymentDate)}</span>
      </span>
      <span className="spread muted">
        <span className="mono cut">{reference || payer || '–'}</span>
        {best && (
          <span className={`dot ${best.confidence}`}>
            <span className="visually-hidden">{tValue('confidence', best.confidence)}</span>
          </span>
        )}
      </span>
    </>
  );
}

/** Says what has happened to a payment that has left the list. */
function Gone({ payment: { id, amount } }: { payment: Payment }) {
  const now = api.useQuery('get', '/api/payments/{id}', {
    params: { path: { id }, query: { expand: ['customer' as const] } },
  });
  const { status, accountId, accountNumber, customer } = now.data?.data ?? {};
  return (
    <>
      <p>
        <strong>
          {t(status === 'unmatched' ? 'unmatched.moved' : 'unmatched.gone', { amount: format.money(amount) })}
        </strong>
      </p>
      {accountId && (
        <p>
          {t('unmatched.gone.account')} <Link href={`/accounts/${accountId}`}>{customer?.name}</Link>{' '}
          <span className="mono">{accountNumber}</span>
        </p>
      )}
      {status === 'reversed' && <p>{t('unmatched.gone.reversed')}</p>}
      <p>{t('unmatched.gone.keys')}</p>
    </>
  );
}
