import type { Problem } from '../../api/problem.ts';
import { Notice } from '../../ui/feedback.tsx';
import { UnconfirmedNotice } from '../../ui/form.tsx';

/** Shows why a change without a form failed. If no answer came, says that the change may have been saved. */
export function WriteNotice({ problem, title }: { problem: Problem | undefined; title?: string }) {
  if (!problem) return null;
  if (problem.code === 'CONNECTION') return <UnconfirmedNotice />;
  return (
    <Notice tone="bad" {...(title !== undefined && { title })}>
      {problem.message}
    </Notice>
  );
}
