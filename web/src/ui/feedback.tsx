import type { ReactNode } from 'react';
import { t } from '../i18n/index.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

/** Takes the place of content that is being loaded, so that nothing moves when the content appears. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: The lines never change.
        <span key={line} />
      ))}
    </div>
  );
}

/** The text in place of an empty list. */
export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {action}
    </div>
  );
}

interface NoticeProps {
  tone: 'info' | 'warning' | 'bad';
  title?: string;
  children?: ReactNode;
}

/** Screen readers announce it when it appears. */
export function Notice({ tone, title, children }: NoticeProps) {
  return (
    <div className={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={tone === 'info' ? 'info' : 'warning'} />
      <div>
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
    </div>
  );
}

interface LoadedProps<Data> {
  query: { data: Data | undefined; error: unknown; refetch(): unknown };
  explain(error: unknown): string;
  skeleton?: ReactNode;
  children(data: Data): ReactNode;
}

/** Shows the data of a query. Shows the skeleton while the query loads, and the reason if it fails. */
export function Loaded<Data>(props: LoadedProps<Data>) {
  const { query, explain, skeleton = <Skeleton />, children } = props;
  if (query.data !== undefined) return children(query.data);
  if (!query.error) return skeleton;
  return (
    <Notice tone="bad" title={t('problem.loading')}>
      <p>{explain(query.error)}</p>
      <Button onClick={() => query.refetch()}>{t('action.retry')}</Button>
    </Notice>
  );
}
