import type { ReactNode } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';

type Notification = Schemas['Notification'];

/** A notification in the list of a queue. */
export function NotificationItem({ notification }: { notification: Notification }) {
  const { amount, transactionRef, createdAt } = notification;
  return (
    <>
      <strong>{amount === null ? t('unmatched.unreadable') : format.money(amount)}</strong>
      <span className="spread muted">
        <span className="mono cut">{transactionRef ?? '–'}</span>
        <span className="cut">{format.dateTime(createdAt)}</span>
      </span>
    </>
  );
}

interface NotificationFactsProps {
  notification: Notification;
  /** Further facts. */
  children?: ReactNode;
}

export function NotificationFacts({ notification, children }: NotificationFactsProps) {
  const { reference, payer, createdAt, transactionRef } = notification;
  return (
    <dl className="queue-facts">
      <div className="wide">
        <dt>{t('unmatched.reference')}</dt>
        <dd className="mono">{reference || '–'}</dd>
      </div>
      <div>
        <dt>{t('unmatched.payer')}</dt>
        <dd className="mono">{payer ?? '–'}</dd>
      </div>
      <div>
        <dt>{t('unmatched.received')}</dt>
        <dd>{format.dateTime(createdAt)}</dd>
      </div>
      <div>
        <dt>{t('unmatched.transaction')}</dt>
        <dd className="mono">{transactionRef ?? '–'}</dd>
      </div>
      {children}
    </dl>
  );
}
