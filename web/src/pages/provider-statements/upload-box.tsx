import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { explain } from '../../api/explain.ts';
import { problemOf } from '../../api/problem.ts';
import { upload } from '../../api/upload.ts';
import { format, t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Icon } from '../../ui/icons.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Statement } from '../shared/provider-statement-results.ts';
import { useIsWaiting } from '../shared/use-is-waiting.ts';

const MIB = 1024 * 1024;
const MOST_MIB = 64;
const SPREADSHEET = /\.(xlsx?|ods|numbers)$/i;

interface Sending {
  name: string;
  share: number;
  controller: AbortController;
}

/** Sends a statement to the service, and opens it. */
export function UploadBox() {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const isWaiting = useIsWaiting();
  const input = useRef<HTMLInputElement>(null);
  const [sending, setSending] = useState<Sending>();
  const [problem, setProblem] = useState('');
  const [isOver, setIsOver] = useState(false);

  async function send(file: File | undefined) {
    if (!file || sending) return;
    const refusal = refusalOf(file);
    setProblem(refusal ?? '');
    if (refusal) return;
    const controller = new AbortController();
    const show = (share: number) => setSending({ name: file.name, share, controller });
    show(0);
    try {
      const { id } = await upload<Statement>({
        path: '/api/reconciliations/statements',
        file,
        contentType: 'text/csv',
        signal: controller.signal,
        onProgress: show,
      });
      toast({ text: t('providerStatements.received') });
      void queries.invalidateQueries();
      navigate(`/statements/${id}`);
    } catch (error) {
      const known = problemOf(error);
      const { id } = known?.details ?? {};
      if (known?.code === 'DUPLICATE_ENTRY' && id) {
        // This also happens if the answer to the first upload was lost.
        toast({ text: t('providerStatements.known') });
        navigate(`/statements/${id}`);
      } else if (!controller.signal.aborted) setProblem(explain(error));
    } finally {
      setSending(undefined);
    }
  }

  function onDrop(event: DragEvent) {
    event.preventDefault();
    setIsOver(false);
    void send(event.dataTransfer.files[0]);
  }

  return (
    <section
      className={`drop ${isOver ? 'over' : ''}`}
      aria-label={t('providerStatements.upload')}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      {sending ? (
        <>
          <p role="status">
            {sending.share < 1
              ? t('providerStatements.sending', {
                  name: sending.name,
                  percent: format.percent(sending.share),
                })
              : t('providerStatements.storing', { name: sending.name })}
          </p>
          <progress className="progress" value={sending.share} aria-label={t('providerStatements.upload')} />
          {isWaiting && <Notice tone="warning">{t('providerStatements.waiting')}</Notice>}
          <Button onClick={() => sending.controller.abort()}>{t('providerStatements.stop')}</Button>
        </>
      ) : (
        <>
          <Icon name="file" />
          <p>{t('providerStatements.drop')}</p>
          <p className="muted">{t('providerStatements.limit', { mib: format.number(MOST_MIB) })}</p>
          <input
            ref={input}
            type="file"
            hidden
            accept=".csv,.txt,text/csv"
            onChange={({ target }) => {
              void send(target.files?.[0]);
              target.value = ''; // The same file can be chosen again.
            }}
          />
          <Button kind="primary" onClick={() => input.current?.click()}>
            {t('providerStatements.choose')}
          </Button>
          {problem && (
            <Notice tone="bad" title={t('providerStatements.refused')}>
              {problem}
            </Notice>
          )}
        </>
      )}
    </section>
  );
}

/** Why the service would refuse the file. The user learns this before an upload that may take minutes. */
function refusalOf({ name, size }: File): string | undefined {
  if (SPREADSHEET.test(name)) return t('providerStatements.spreadsheet');
  if (size > MOST_MIB * MIB)
    return t('providerStatements.tooLarge', { mib: format.number(Math.ceil(size / MIB)) });
  return size === 0 ? t('providerStatements.emptyFile') : undefined;
}
