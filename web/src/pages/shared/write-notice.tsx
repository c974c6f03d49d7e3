import type { Problem } from '../../api/problem.ts';
import { t } from '../../i18n/index.ts';
import { Notice } from '../../ui/feedback.tsx';

/** Why a change failed that has no form. */
export function WriteNotice({ problem, title }: { problem: Problem | undefined; title?: string }) {
  if (!problem) return null;
  return (
    <Notice tone="bad" {...(title !== undefined && { title })}>
      {problem.message || t('problem.connection')}
    </Notice>
  );
}
