import type { ReactNode } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';
import { Fact } from './fact.tsx';

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
      <Fact name={t('unmatched.reference')} isWide isCode>
        {reference || '–'}
      </Fact>
      <Fact name={t('unmatched.payer')} isCode>
        {payer ?? '–'}
      </Fact>
      <Fact name={t('unmatched.received')}>{format.dateTime(createdAt)}</Fact>
      <Fact name={t('unmatched.transaction')} isCode>
        {transactionRef ?? '–'}
      </Fact>
      {children}
    </dl>
  );
}
