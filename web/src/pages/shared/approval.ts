import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';

/** Whether the service stored a request, which another user has to approve, and did nothing else. */
export function isSentForApproval(answer: object): answer is Schemas['Approval'] {
  return 'changedFacts' in answer;
}

/** The message that the work is done, or that it was sent for approval. */
export function outcomeOf(answer: object, done: string): string {
  return isSentForApproval(answer) ? t('approval.sent') : done;
}

/** A text for a dialog, with a remark if an amount of this size may need approval. */
export function withApprovalHint(text: string, amount: number): string {
  const { approvalLimit } = settings();
  if (approvalLimit === null || amount <= approvalLimit) return text;
  return `${text} ${t('approval.needed', { limit: format.money(approvalLimit) })}`;
}
