import { useRef } from 'react';
import type { Problem } from '../../api/problem.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { toast } from '../../ui/toast.tsx';
import { isSentForApproval } from '../shared/approval.ts';

const UNDO_SECONDS = 10;

interface Assigned {
  paymentId: number;
  text: string;
  untilMs: number;
}

interface Undo {
  /** Shows what was done, and offers for ten seconds to undo it. */
  offer(paymentId: number, text: string): void;
  /** Undoes the last assignment, if it is not older than ten seconds. */
  run(): void;
  problem: Problem | undefined;
}

export function useUndo(onUndone: (paymentId: number) => void): Undo {
  const unassign = useWrite('post', '/api/payments/{id}/unassign');
  const done = useRef<Assigned[]>([]);

  async function run() {
    const last = lastAssigned();
    if (!last) return;
    const { paymentId } = last;
    const body = { reason: t('unmatched.undo.reason') };
    const answer = await unassign.send({ params: { path: { id: paymentId } }, body });
    if (!answer) return;
    done.current = done.current.filter((one) => one !== last);
    if (isSentForApproval(answer)) return toast({ text: t('approval.sent') });
    onUndone(paymentId);
    show([t('unmatched.undone'), lastAssigned()?.text].join(' ').trim());
  }

  /** Shows the text. If an assignment is not older than ten seconds, adds a button that undoes the latest assignment. */
  function show(text: string) {
    const last = lastAssigned();
    const seconds = last && (last.untilMs - Date.now()) / 1000;
    const action = { label: t('unmatched.undo'), run: () => void run() };
    toast(last && seconds ? { text, seconds, action } : { text });
  }

  function lastAssigned(): Assigned | undefined {
    done.current = done.current.filter(({ untilMs }) => untilMs > Date.now());
    return done.current.at(-1);
  }

  return {
    offer: (paymentId, text) => {
      done.current.push({ paymentId, text, untilMs: Date.now() + UNDO_SECONDS * 1000 });
      show(text);
    },
    run: () => void run(),
    problem: unassign.problem,
  };
}
