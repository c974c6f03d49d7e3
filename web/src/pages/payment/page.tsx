import { useState } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { usePaymentMethods } from '../shared/catalogue.ts';
import { CorrectionDialog } from '../shared/correction-dialog.tsx';
import { metadataFacts } from '../shared/metadata.ts';
import { PendingApprovals } from '../shared/pending-approvals.tsx';
import { mayAskProvider, PaymentAnswer } from '../shared/provider-answer.tsx';
import { printReceipt, readReceipt } from '../shared/receipt.ts';
import { useSharing } from '../shared/share.tsx';
import { PAYMENT_TONES } from '../shared/tones.ts';
import { ReversalDialog } from './reversal-dialog.tsx';

type Payment = Schemas['Payment'];

export function Page({ id }: { id: string }) {
  const query = { expand: ['customer' as const, 'people' as const] };
  const payment = api.useQuery('get', '/api/payments/{id}', { params: { path: { id: Number(id) }, query } });
  return (
    <Loaded query={payment} explain={explain} skeleton={<Skeleton lines={6} />}>
      {({ data }) => <PaymentPage payment={data} />}
    </Loaded>
  );
}

function PaymentPage({ payment }: { payment: Payment }) {
  const [isReversing, setIsReversing] = useState(false);
  const [isCorrecting, setIsCorrecting] = useState(false);
  const { id, status, accountId, accountNumber, customer, pendingApprovals } = payment;
  const method = usePaymentMethods().find((row) => row.id === payment.paymentMethodId);
  return (
    <div className="narrow">
      <PageHead
        eyebrow={t('payment.title', { id })}
        title={format.money(payment.amount)}
        tabTitle={t('payment.title', { id })}
        actions={
          <>
            {payment.isCorrectable && (
              <Button onClick={() => setIsCorrecting(true)}>{t('correction.open')}</Button>
            )}
            {may('payments:reverse') && status !== 'reversed' && !pendingApprovals?.length && (
              <Button kind="danger" onClick={() => setIsReversing(true)}>
                {t('payment.reverse')}
              </Button>
            )}
          </>
        }
      >
        <Badge tone={PAYMENT_TONES[status]}>{tValue('paymentStatus', status)}</Badge>
        {payment.reversalReason && <span>{payment.reversalReason}</span>}
      </PageHead>
      <PendingApprovals approvals={pendingApprovals} />
      <Panel title={t('field.details')}>
        <Facts
          rows={[
            [
              t('field.customer'),
              customer && <Link href={`/customers/${customer.id}`}>{customer.name}</Link>,
            ],
            [
              t('account.number'),
              accountId && (
                <Link className="mono" href={`/accounts/${accountId}`}>
                  {accountNumber}
                </Link>
              ),
            ],
            [t('field.date'), format.date(payment.paymentDate)],
            [t('account.payment.method'), method?.name],
            [
              t('field.reference'),
              payment.transactionRef && <span className="mono">{payment.transactionRef}</span>,
            ],
            [t('payment.source'), tValue('paymentSource', payment.source)],
            [t('payment.match'), payment.matchMethod && tValue('matchMethod', payment.matchMethod)],
            [t('payment.reconciled'), payment.reconciliationDate && format.date(payment.reconciliationDate)],
            [t('payment.reversedAt'), payment.reversedAt && format.dateTime(payment.reversedAt)],
            [t('payment.reversedBy'), payment.reversedBy],
            [t('payment.approvedBy'), payment.approvedBy],
            [t('payment.corrects'), linkTo(payment.correctsPaymentId)],
            [t('payment.correctedBy'), linkTo(payment.correctedByPaymentId)],
            [t('field.externalId'), payment.externalId],
            ...metadataFacts(payment.metadata),
            [t('payment.recordedAt'), format.dateTime(payment.createdAt)],
            [t('payment.recordedBy'), payment.recordedBy],
          ]}
        />
      </Panel>
      {payment.receiptNumber && may('payments:record') && (
        <Panel title={t('receipt.title', { number: payment.receiptNumber })}>
          <span className="actions">
            <Button icon="download" onClick={() => void printReceipt(id, 'roll')}>
              {t('receipt.roll')}
            </Button>
            <Button icon="download" onClick={() => void printReceipt(id, 'a4')}>
              {t('receipt.a4')}
            </Button>
            <ShareReceipt id={id} />
          </span>
        </Panel>
      )}
      {mayAskProvider() && payment.transactionRef !== null && (
        <Panel title={t('answer.title')}>
          <PaymentAnswer paymentId={id} />
        </Panel>
      )}
      {isCorrecting && <CorrectionDialog payment={payment} onClose={() => setIsCorrecting(false)} />}
      {isReversing && <ReversalDialog payment={payment} onClose={() => setIsReversing(false)} />}
    </div>
  );
}

function ShareReceipt({ id }: { id: number }) {
  const { share, isRunning, dialog } = useSharing(t('receipt.share'), () => readReceipt(id));
  return (
    <>
      <Button isBusy={isRunning} onClick={() => void share()}>
        {t('receipt.share')}
      </Button>
      {dialog}
    </>
  );
}

function linkTo(id: number | null | undefined) {
  return typeof id === 'number' ? (
    <Link href={`/payments/${id}`}>{t('payment.title', { id })}</Link>
  ) : undefined;
}
