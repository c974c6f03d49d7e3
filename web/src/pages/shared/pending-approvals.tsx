import { Link } from 'wouter';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Notice } from '../../ui/feedback.tsx';

type Pending = NonNullable<Schemas['Payment']['pendingApprovals']>;

/** Says which actions on a payment or an account wait for the approval of another user. */
export function PendingApprovals({ approvals = [] }: { approvals: Pending | undefined }) {
  if (approvals.length === 0) return null;
  return (
    <Notice tone="warning" title={t('approval.waits')}>
      {approvals.map(({ id, action, paymentId }) => (
        <p key={id}>
          {paymentId === null ? (
            tValue('approvalAction', action)
          ) : (
            <Link href={`/payments/${paymentId}`}>{tValue('approvalAction', action)}</Link>
          )}{' '}
          {may('approvals:read') && <Link href={`/approvals?open=${id}`}>{t('approval.show')}</Link>}
        </p>
      ))}
    </Notice>
  );
}
