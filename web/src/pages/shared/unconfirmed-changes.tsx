import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Link, useLocation } from 'wouter';
import { explain } from '../../api/explain.ts';
import {
  onLeftFailure,
  onUnconfirmedChange,
  stopUnconfirmed,
  type Unconfirmed,
  unconfirmedChanges,
} from '../../api/unconfirmed.ts';
import { sendAgain } from '../../api/write.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { toast } from '../../ui/toast.tsx';
import { isSentForApproval } from './approval.ts';

/** The changes whose answer is lost, and whose form is closed. */
export function UnconfirmedChanges() {
  const changes = useSyncExternalStore(onUnconfirmedChange, unconfirmedChanges);
  useEffect(() => onLeftFailure(showFailure), []);
  if (changes.length === 0) return null;
  return (
    <section aria-label={t('form.unconfirmed')} className="unconfirmed">
      <Notice tone="warning" title={tCount('unconfirmed.title', changes.length)}>
        <p>{t('unconfirmed.hint')}</p>
        <ul className="rows">
          {changes.map((change) => (
            <Change key={change.key} change={change} />
          ))}
        </ul>
      </Notice>
    </section>
  );
}

/** Says why a change failed whose form is closed. */
function showFailure(error: unknown): void {
  toast({ tone: 'bad', text: `${t('form.failed')}: ${explain(error)}`, seconds: 20 });
}

function Change({ change }: { change: Unconfirmed }) {
  const queries = useQueryClient();
  const [page] = useLocation();
  const isOtherPage = page !== change.page;
  const [isSending, setIsSending] = useState(false);
  const controller = useRef<AbortController>(undefined);
  async function findOut() {
    controller.current = new AbortController();
    setIsSending(true);
    try {
      const answer = await sendAgain(change, controller.current.signal);
      toast({ text: doneText(answer) });
    } catch (error) {
      if (controller.current.signal.aborted) return;
      showFailure(error);
    } finally {
      setIsSending(false);
      void queries.invalidateQueries();
    }
  }
  function forget() {
    controller.current?.abort();
    stopUnconfirmed(change.key);
  }
  return (
    <li>
      <span>
        <Link href={change.page}>
          {change.title || t(isOtherPage ? 'unconfirmed.otherPage' : 'unconfirmed.change')}
        </Link>
        <span className="muted">{detailOf(change)}</span>
      </span>
      <span className="form-buttons">
        <Button kind="quiet" onClick={forget}>
          {t('unconfirmed.forget')}
        </Button>
        <Button isBusy={isSending} onClick={findOut}>
          {t('unconfirmed.findOut')}
        </Button>
      </span>
    </li>
  );
}

function doneText(answer: unknown): string {
  // The answer to a decision on a request is a request too, which is not pending.
  const isPending = isSentForApproval(Object(answer)) && Object(answer).status === 'pending';
  return t(isPending ? 'approval.sent' : 'unconfirmed.saved');
}

function detailOf({ init, sentAtMs }: Unconfirmed): string {
  const { amount } = (init as { body?: { amount?: unknown } }).body ?? {};
  const time = format.dateTime(new Date(sentAtMs).toISOString());
  return typeof amount === 'number' ? `${format.money(amount)} · ${time}` : time;
}
