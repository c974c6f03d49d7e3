import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { useListState } from '../../ui/list-state.ts';
import { Pager } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { WriteNotice } from '../shared/write-notice.tsx';
import { AssignmentForm } from './assignment-form.tsx';
import { Queue } from './queue.tsx';
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
          payments={data}
          total={pagination.total ?? data.length}
          page={page}
          pages={pagination.totalPages ?? 1}
          onPage={setPage}
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
}

function Payments({ payments, total, page, pages, onPage }: PaymentsProps) {
  // Hides assigned payments, because a list that was requested before the assignment can still contain them.
  const [assigned, setAssigned] = useState<ReadonlySet<number>>(new Set());
  const rows = payments.filter(({ id }) => !assigned.has(id));
  // The payments that this page assigns. Each is added before its request, because the list can change before the answer arrives.
  const ownIds = useRef(new Set<number>());
  const [returnedId, setReturnedId] = useState<number>();
  const undo = useUndo((id) => {
    ownIds.current.delete(id);
    setAssigned((last) => new Set([...last].filter((one) => one !== id)));
    setReturnedId(id);
  });
  useNoticeOfOthers(payments, ownIds.current);
  useEffect(() => {
    if (payments.length === 0 && page > 1) onPage(page - 1);
  }, [payments.length, page, onPage]);

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
        foot={pages > 1 && <Pager page={page} pages={pages} total={total} onPage={onPage} />}
      >
        {(payment) => (
          <AssignmentForm
            payment={payment}
            onSend={({ id }) => ownIds.current.add(id)}
            onRefused={({ id }) => ownIds.current.delete(id)}
            onAssigned={({ id, amount }, name) => {
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

/**
 * Shows a notice when a payment has left the list because somebody else processed it.
 * @param ownIds - the payments that this page assigns.
 */
function useNoticeOfOthers(payments: readonly Payment[], ownIds: ReadonlySet<number>) {
  const before = useRef(payments);
  useEffect(() => {
    const isGone = ({ id }: Payment) => !ownIds.has(id) && !payments.some((one) => one.id === id);
    const gone = payments.length < before.current.length ? before.current.find(isGone) : undefined;
    before.current = payments;
    if (gone) toast({ text: t('unmatched.gone', { amount: format.money(gone.amount) }) });
  }, [payments, ownIds]);
}
