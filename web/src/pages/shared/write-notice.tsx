import type { Problem } from '../../api/problem.ts';
import { t } from '../../i18n/index.ts';
import { Notice } from '../../ui/feedback.tsx';

/** Shows why a change without a form failed. If no answer came, says that the change may be saved. */
export function WriteNotice({ problem, title }: { problem: Problem | undefined; title?: string }) {
  if (!problem) return null;
  if (problem.code === 'CONNECTION')
    return (
      <Notice tone="warning" title={t('form.unconfirmed')}>
        {t('form.unknown')}
      </Notice>
    );
  return (
    <Notice tone="bad" {...(title !== undefined && { title })}>
      {problem.message}
    </Notice>
  );
}
