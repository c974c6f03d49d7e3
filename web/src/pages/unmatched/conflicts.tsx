import { useState } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty, Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { Form, FormButtons, TextField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAskProvider, NotificationAnswer } from '../shared/provider-answer.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';
import { useConnection } from '../shared/use-connection.ts';
import { Choice } from './choice.tsx';
import { Queue } from './keyboard-queue.tsx';
import { NotificationFacts, NotificationItem } from './notification.tsx';
import { Warnings } from './warnings.tsx';

type Notification = Schemas['Notification'];
type Payment = Schemas['Payment'];

const MOST_ROWS = 50;
/** The value of the choice "None of them". */
const NONE = 'none';
/** The value of the choice "Both are real". */
const BOTH = 'both';

/** Whether the manual payment has another reference, which looks the same. */
function isSimilar({ flags }: Notification): boolean {
  return flags.includes('similar_reference');
}

/** Notifications that contradict manual payments, oldest first. */
export function Conflicts() {
  const [sentId, setSentId] = useState<number>();
  const [doneIds, setDoneIds] = useState<ReadonlySet<number>>(new Set());
  const conflicts = api.useQuery('get', '/api/notifications', {
    params: { query: { 'filter[outcome]': { eq: 'conflict' }, sort: 'id:asc', limit: MOST_ROWS } },
  });
  return (
    <Loaded query={conflicts} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data, pagination }) => (
        <Queue
          label={t('unmatched.conflicts')}
          rows={data}
          total={pagination.total ?? data.length}
          titleOf={({ amount }) => (amount === null ? '–' : format.money(amount))}
          showItem={(notification) => <NotificationItem notification={notification} />}
          empty={<Empty>{t('unmatched.conflicts.empty')}</Empty>}
          own={{ sentId, doneIds }}
          showGone={() => (
            <>
              <p>
                <strong>{t('unmatched.conflict.gone')}</strong>
              </p>
              <p>{t('unmatched.gone.keys')}</p>
            </>
          )}
        >
          {(notification) => (
            <Conflict
              notification={notification}
              onSend={() => setSentId(notification.id)}
              onAnswer={(isResolved) => {
                setSentId(undefined);
                if (isResolved) setDoneIds((last) => new Set([...last, notification.id]));
                else void conflicts.refetch();
              }}
            />
          )}
        </Queue>
      )}
    </Loaded>
  );
}

interface ConflictProps {
  notification: Notification;
  /** Called before the request is sent. `onAnswer` follows. */
  onSend(): void;
  onAnswer(isResolved: boolean): void;
}

function Conflict(props: ConflictProps) {
  const { notification } = props;
  const { transactionRef, conflictingPaymentId, flags } = notification;
  const manual = api.useQuery('get', '/api/payments', {
    params: {
      query: {
        ...(isSimilar(notification)
          ? { 'filter[id]': { eq: conflictingPaymentId ?? 0 } }
          : { 'filter[transactionRef]': { eq: transactionRef ?? '' } }),
        'filter[source]': { eq: 'manual' },
        'filter[status]': { ne: 'reversed' },
        sort: 'id:asc',
        expand: ['customer' as const],
      },
    },
  });
  return (
    <>
      <p>{t(isSimilar(notification) ? 'unmatched.conflict.similarLead' : 'unmatched.conflict.lead')}</p>
      <NotificationFacts notification={notification} />
      <Warnings texts={flags.map((flag) => tValue('notificationFlag', flag))} />
      {mayAskProvider() && (
        <section className="provider" aria-label={t('answer.title')}>
          <NotificationAnswer notification={notification} />
        </section>
      )}
      <Loaded query={manual} explain={explain}>
        {({ data }) => <ResolveForm {...props} payments={data} />}
      </Loaded>
    </>
  );
}

interface ResolveFormProps extends ConflictProps {
  payments: readonly Payment[];
}

function ResolveForm({ notification, payments, onSend, onAnswer }: ResolveFormProps) {
  const resolve = useWrite('post', '/api/notifications/{id}/resolve');
  const connection = useConnection();
  const [wanted, setChosen] = useState('');
  // Each digit keeps its choice when the payments are read again: what is gone stays in its place, what is new comes last.
  const [first] = useState(payments);
  const added = payments.filter(({ id }) => !first.some((one) => one.id === id));
  const [ownReason, setOwnReason] = useState<string>();
  const [isMissing, setIsMissing] = useState(false);
  if (!may('payments:reverse')) return null;

  const isOffered = [NONE, BOTH, ''].includes(wanted) || payments.some(({ id }) => String(id) === wanted);
  const chosen = isOffered ? wanted : '';
  const usualReason = reasonOf(chosen);
  const reversedCount = chosen === BOTH ? 0 : payments.filter(({ id }) => String(id) !== chosen).length;
  return (
    <Form
      problem={resolve.problem}
      isSending={resolve.isSending}
      connection={connection}
      onStop={resolve.stop}
      onSubmit={async (values) => {
        setIsMissing(chosen === '');
        if (chosen === '') return;
        const bothAreReal = chosen === BOTH;
        const paymentId = chosen === NONE || bothAreReal ? null : Number(chosen);
        const body = { paymentId, ...(bothAreReal && { bothAreReal }), reason: values.text('reason') };
        onSend();
        const resolved = await resolve.send({ params: { path: { id: notification.id } }, body });
        if (resolved) toast({ text: t('unmatched.conflict.done') });
        onAnswer(resolved !== undefined);
      }}
    >
      <div className="choices" role="radiogroup" aria-label={t('unmatched.conflict.manual')}>
        {first.map((payment, index) => choiceOf(payment, index + 1))}
        <Choice name="paymentId" value={NONE} number={first.length + 1} onChoose={() => setChosen(NONE)}>
          <span className="choice-main">
            <strong>{t('unmatched.conflict.none')}</strong>
            <span className="muted">{t('unmatched.conflict.none.text')}</span>
          </span>
        </Choice>
        {isSimilar(notification) && (
          <Choice name="paymentId" value={BOTH} number={first.length + 2} onChoose={() => setChosen(BOTH)}>
            <span className="choice-main">
              <strong>{t('unmatched.conflict.both')}</strong>
              <span className="muted">{t('unmatched.conflict.both.text')}</span>
            </span>
          </Choice>
        )}
        {added.map((payment, index) =>
          choiceOf(payment, first.length + (isSimilar(notification) ? 3 : 2) + index),
        )}
      </div>
      {isMissing && chosen === '' && <Notice tone="warning">{t('unmatched.chooseFirst')}</Notice>}
      {chosen !== '' && reversedCount > 0 && (
        <Notice tone="warning">
          {t('unmatched.conflict.reverses', { count: format.number(reversedCount) })}
        </Notice>
      )}
      {chosen !== '' && (
        <TextField
          label={t('unmatched.conflict.why')}
          name="reason"
          maxLength={500}
          value={ownReason ?? usualReason}
          onChange={(event) => setOwnReason(event.target.value)}
          required
        />
      )}
      <FormButtons submit={t('unmatched.conflict.resolve')} />
    </Form>
  );

  function choiceOf(shown: Payment, number: number) {
    const payment = payments.find(({ id }) => id === shown.id);
    const { id, amount } = shown;
    const isOtherAmount = amount !== notification.amount;
    return (
      <Choice
        key={id}
        name="paymentId"
        value={id}
        number={number}
        isDisabled={!payment || isOtherAmount}
        onChoose={() => setChosen(String(id))}
      >
        <ManualPayment payment={payment ?? { ...shown, status: 'reversed' }} isOtherAmount={isOtherAmount} />
      </Choice>
    );
  }
}

/** The reason that the form proposes. */
function reasonOf(chosen: string): string {
  if (chosen === '') return '';
  if (chosen === BOTH) return t('unmatched.conflict.bothReason');
  return t(chosen === NONE ? 'unmatched.conflict.noneReason' : 'unmatched.conflict.reason');
}

function ManualPayment({ payment, isOtherAmount }: { payment: Payment; isOtherAmount: boolean }) {
  const { accountId, accountNumber, customer, amount, paymentDate, status, transactionRef } = payment;
  return (
    <>
      <span className="choice-main">
        <span className="choice-title">
          <strong>{customer?.name ?? t('unmatched.conflict.noAccount')}</strong>
          <Badge tone={PAYMENT_TONES[status]}>{tValue('paymentStatus', status)}</Badge>
        </span>
        <span className="muted">
          {accountId && (
            <Link href={`/accounts/${accountId}`} className="mono">
              {accountNumber}
            </Link>
          )}
          <span className="mono">{transactionRef}</span>
          {isOtherAmount && <span className="reason">{t('unmatched.conflict.otherAmount')}</span>}
        </span>
      </span>
      <span className="choice-side">
        <strong>{format.money(amount)}</strong>
        <span className="muted">{t('unmatched.conflict.paidOn', { date: format.date(paymentDate) })}</span>
      </span>
    </>
  );
}
