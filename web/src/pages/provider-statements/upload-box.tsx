import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { explain } from '../../api/explain.ts';
import { problemOf } from '../../api/problem.ts';
import { upload } from '../../api/upload.ts';
import { format, t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Icon } from '../../ui/icons.tsx';
import { toast } from '../../ui/toast.tsx';
import { contentTypeOf, DropBox, type Sending, SPREADSHEET } from '../shared/drop-box.tsx';
import type { Statement } from '../shared/provider-statement-results.ts';

type DateOrder = 'day_first' | 'month_first';

const MIB = 1024 * 1024;
const MOST_MIB = 64;

/** Uploads a statement, and opens its page. */
export function UploadBox() {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [sending, setSending] = useState<Sending>();
  const [problem, setProblem] = useState('');
  /** A file that was refused because its dates can be read in two ways. */
  const [unclear, setUnclear] = useState<File>();

  async function send(file: File | undefined, dateOrder?: DateOrder) {
    if (!file || sending) return;
    const refusal = refusalOf(file);
    setProblem(refusal ?? '');
    setUnclear(undefined);
    if (refusal) return;
    const controller = new AbortController();
    const show = (share: number) => setSending({ name: file.name, share, controller });
    show(0);
    try {
      const { id } = await upload<Statement>({
        path: `/api/reconciliations/statements${dateOrder ? `?dateOrder=${dateOrder}` : ''}`,
        file,
        contentType: contentTypeOf(file.name),
        signal: controller.signal,
        onProgress: show,
      });
      toast({ text: t('providerStatements.received') });
      void queries.invalidateQueries();
      navigate(`/statements/${id}`);
    } catch (error) {
      const failure = problemOf(error);
      const { id } = failure?.details ?? {};
      if (failure?.code === 'DUPLICATE_ENTRY' && id) {
        // This also happens if the answer to an earlier upload was lost.
        toast({ text: t('providerStatements.known') });
        navigate(`/statements/${id}`);
      } else if (!controller.signal.aborted) {
        setProblem(explain(error));
        if (failure?.fields.some(({ path }) => path === 'dateOrder')) setUnclear(file);
      }
    } finally {
      setSending(undefined);
    }
  }

  return (
    <DropBox
      label={t('providerStatements.upload')}
      onFiles={([file]) => void send(file)}
      sending={sending}
      statusOf={({ name, share }) =>
        share < 1
          ? t('providerStatements.sending', { name, percent: format.percent(share) })
          : t('providerStatements.storing', { name })
      }
      waiting={t('providerStatements.waiting')}
      stop={t('providerStatements.stop')}
    >
      {(choose) => (
        <>
          <Icon name="file" />
          <p>{t('providerStatements.drop')}</p>
          <p className="muted">{t('providerStatements.limit', { mib: format.number(MOST_MIB) })}</p>
          <Button kind="primary" onClick={choose}>
            {t('providerStatements.choose')}
          </Button>
          {problem && (
            <Notice tone="bad" title={t('providerStatements.refused')}>
              {problem}
              {unclear && (
                <p>
                  <Button onClick={() => void send(unclear, 'day_first')}>
                    {t('providerStatements.dayFirst')}
                  </Button>{' '}
                  <Button onClick={() => void send(unclear, 'month_first')}>
                    {t('providerStatements.monthFirst')}
                  </Button>
                </p>
              )}
            </Notice>
          )}
        </>
      )}
    </DropBox>
  );
}

/** Why the service would refuse the file. The user learns this before an upload that can take minutes. */
function refusalOf({ name, size }: File): string | undefined {
  if (SPREADSHEET.test(name)) return t('providerStatements.spreadsheet');
  if (size > MOST_MIB * MIB)
    return t('providerStatements.tooLarge', { mib: format.number(Math.ceil(size / MIB)) });
  return size === 0 ? t('providerStatements.emptyFile') : undefined;
}
