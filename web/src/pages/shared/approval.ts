import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';

/** Whether the service has stored a request that another user has to approve, instead of making the change. */
export function isSentForApproval(answer: object): answer is Schemas['Approval'] {
  return 'changedFacts' in answer;
}

/** Returns `done`, or the message that the request was sent for approval. */
export function outcomeOf(answer: object, done: string): string {
  return isSentForApproval(answer) ? t('approval.sent') : done;
}

/** The text of a dialog, with a hint if the amount may need approval. */
export function withApprovalHint(text: string, amount: number): string {
  const { approvalLimit } = settings();
  if (approvalLimit === null || amount <= approvalLimit) return text;
  return `${text} ${t('approval.needed', { limit: format.money(approvalLimit) })}`;
}
