import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../../api/paths.ts';
import { untilLoaded } from '../../api/send.ts';
import { useWrite } from '../../api/write.ts';
import { format, loadMessages, t, tValue } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice, Skeleton } from '../../ui/feedback.tsx';
import { Form, FormButtons, TextAreaField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { useConnection } from '../shared/use-connection.ts';

type Approval = Schemas['Approval'];

const Requested = lazy(async () => {
  const [loaded] = await untilLoaded(() =>
    Promise.all([import('./requested.tsx'), loadMessages('plan-changes')]),
  );
  return { default: loaded.Requested };
});

interface ApprovalDialogProps {
  approval: Approval;
  onClose(): void;
}

/** A request for approval, with the actions that the user may take on it. */
export function ApprovalDialog({ approval, onClose }: ApprovalDialogProps) {
  const [isRejecting, setIsRejecting] = useState(false);
  const { allowedMoves } = approval;
  if (isRejecting) return <RejectDialog approval={approval} onClose={onClose} />;
  if (allowedMoves.includes('withdrawn')) return <WithdrawDialog approval={approval} onClose={onClose} />;
  if (allowedMoves.includes('approved'))
    return <ApproveDialog approval={approval} onReject={() => setIsRejecting(true)} onClose={onClose} />;
  return (
    <Dialog
      title={titleOf(approval)}
      lead={approval.status === 'pending' && effectOf(approval)}
      onClose={onClose}
    >
      <Details approval={approval} />
    </Dialog>
  );
}

function ApproveDialog({ approval, onReject, onClose }: ApprovalDialogProps & { onReject(): void }) {
  const approve = useWrite('post', '/api/approvals/{id}/approve');
  const connection = useConnection();
  return (
    <Dialog
      title={titleOf(approval)}
      lead={effectOf(approval)}
      canClose={!approve.isSending || connection !== 'ok'}
      onClose={() => {
        approve.stop();
        onClose();
      }}
    >
      <Form
        problem={approve.problem}
        isSending={approve.isSending}
        connection={connection}
        onStop={approve.stop}
        onSubmit={async () => {
          if (!(await approve.send({ params: { path: { id: approval.id } } }))) return;
          toast({ text: t('approvals.approved') });
          onClose();
        }}
      >
        <Details approval={approval} />
        <FormButtons submit={t('approvals.approve')} onCancel={onReject} cancel={t('approvals.reject')} />
      </Form>
    </Dialog>
  );
}

function RejectDialog({ approval, onClose }: ApprovalDialogProps) {
  const reject = useWrite('post', '/api/approvals/{id}/reject');
  return (
    <FormDialog
      title={t('approvals.reject.title')}
      lead={titleOf(approval)}
      write={reject}
      submit={t('approvals.reject')}
      kind="danger"
      done={t('approvals.rejected')}
      onClose={onClose}
      onSubmit={(values) =>
        reject.send({ params: { path: { id: approval.id } }, body: { reason: values.text('reason') } })
      }
    >
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
    </FormDialog>
  );
}

function WithdrawDialog({ approval, onClose }: ApprovalDialogProps) {
  const withdraw = useWrite('post', '/api/approvals/{id}/withdraw');
  return (
    <FormDialog
      title={titleOf(approval)}
      lead={t('approvals.own')}
      write={withdraw}
      submit={t('approvals.withdraw')}
      kind="danger"
      done={t('approvals.withdrawn')}
      onClose={onClose}
      onSubmit={() => withdraw.send({ params: { path: { id: approval.id } } })}
    >
      <Details approval={approval} />
    </FormDialog>
  );
}

function Details({ approval }: { approval: Approval }) {
  const {
    accountId,
    toAccountId,
    paymentId,
    bulkDeferralId,
    planChange,
    amount,
    countedAmount,
    changedFacts,
    status,
  } = approval;
  return (
    <>
      {changedFacts.length > 0 && (
        <Notice tone="warning" title={t('approvals.changed')}>
          {changedFacts.map((fact) => (
            <p key={fact}>{describeChange(approval, fact)}</p>
          ))}
          {status === 'pending' && <p>{t('approvals.changed.hint')}</p>}
        </Notice>
      )}
      <Facts
        rows={[
          [t('field.reason'), approval.reason],
          [t('approvals.requestedBy'), approval.requestedBy],
          [t('field.createdAt'), format.dateTime(approval.createdAt)],
          [
            t('field.account'),
            accountId && (
              <>
                <Link href={`/accounts/${accountId}`}>{approval.customerName}</Link>
                <span className="mono muted">{approval.accountNumber}</span>
              </>
            ),
          ],
          [
            t('approvals.payment'),
            paymentId && <Link href={`/payments/${paymentId}`}>{format.number(paymentId)}</Link>,
          ],
          [
            t('approvals.receiver'),
            toAccountId && (
              <Link className="mono" href={`/accounts/${toAccountId}`}>
                {approval.toAccountNumber}
              </Link>
            ),
          ],
          [t('field.paymentMethod'), approval.paymentMethodName],
          [t('field.reference'), approval.transactionRef],
          [t('approvals.counted'), countedAmount > amount ? format.money(countedAmount) : null],
          [t('field.status'), tValue('approvalStatus', status)],
          [t('approvals.decidedBy'), approval.decidedBy],
          [t('approvals.decisionReason'), approval.decisionReason],
          [t('approvals.endedAt'), approval.endedAt && format.dateTime(approval.endedAt)],
        ]}
      />
      {(planChange || bulkDeferralId !== null) && (
        <Suspense fallback={<Skeleton />}>
          <Requested approval={approval} />
        </Suspense>
      )}
    </>
  );
}

function titleOf(approval: Approval): string {
  return t('approvals.title', { action: nameOfRequest(approval), amount: format.money(approval.amount) });
}

/** What was asked for: "Defer instalments" rather than "Change plan". */
export function nameOfRequest({ action, planChange }: Pick<Approval, 'action' | 'planChange'>): string {
  return planChange ? t(`changePlan.kind.${planChange.kind}`) : tValue('approvalAction', action);
}

function effectOf({ action }: Approval): string {
  return t(`approvals.effect.${action}`);
}

function describeChange({ facts, currentFacts }: Approval, fact: Schemas['ApprovalFact']): string {
  const before = showFact(fact, facts[fact]);
  const now = showFact(fact, currentFacts?.[fact] ?? null);
  return t('approvals.change', { fact: tValue('approvalFact', fact), before, now });
}

function showFact(fact: Schemas['ApprovalFact'], value: string | number | null): string {
  if (value === null) return '–';
  if (fact === 'balance' || fact === 'credit' || fact === 'paid') return format.money(Number(value));
  if (fact === 'paymentStatus') return tValue('paymentStatus', String(value));
  if (fact === 'accountStatus' || fact === 'toAccountStatus') return tValue('accountStatus', String(value));
  return String(value);
}
