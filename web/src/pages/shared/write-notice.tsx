import type { Problem } from '../../api/problem.ts';
import { t } from '../../i18n/index.ts';
import { Notice } from '../../ui/feedback.tsx';

/** Shows why a change without a form failed. */
export function WriteNotice({ problem, title }: { problem: Problem | undefined; title?: string }) {
  if (!problem) return null;
  return (
    <Notice tone="bad" {...(title !== undefined && { title })}>
      {problem.message || t('problem.connection')}
    </Notice>
  );
}
