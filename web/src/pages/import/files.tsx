import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { explain } from '../../api/explain.ts';
import { upload } from '../../api/upload.ts';
import { format, t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, Notice } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';
import { contentTypeOf, DropBox, type Sending, SPREADSHEET } from '../shared/drop-box.tsx';
import { FILES, type Import, type ImportFile } from '../shared/imports.ts';

export function Files({ importRecord: { id, files, rows } }: { importRecord: Import }) {
  return (
    <>
      <UploadBox id={id} />
      <Panel title={t('imports.files')} isFlush>
        {files.length === 0 ? (
          <Empty>{t('imports.noFiles')}</Empty>
        ) : (
          <Table
            caption={t('imports.files')}
            rows={files}
            keyOf={({ file }) => file}
            columns={[
              { name: 'file', label: t('imports.file'), show: ({ file }) => `${file}.csv` },
              {
                name: 'rows',
                label: t('imports.rows'),
                isNumber: true,
                show: ({ file }) => {
                  const count = rows[file];
                  return count === undefined ? '' : format.number(count);
                },
              },
              {
                name: 'size',
                label: t('imports.size'),
                isNumber: true,
                onPhone: 'value',
                show: ({ sizeBytes }) =>
                  t('imports.bytes', { kb: format.number(Math.ceil(sizeBytes / 1024)) }),
              },
            ]}
          />
        )}
      </Panel>
    </>
  );
}

function UploadBox({ id }: { id: number }) {
  const queries = useQueryClient();
  const [sending, setSending] = useState<Sending>();
  const [problems, setProblems] = useState<string[]>([]);

  /** Sends the files one after the other. Continues if the service refuses a file. */
  async function send(files: readonly File[]) {
    if (sending) return;
    const controller = new AbortController();
    const refusals: string[] = [];
    for (const file of files) {
      const kind = kindOf(file.name);
      if (kind === undefined) refusals.push(refusalOf(file.name));
      else if (!controller.signal.aborted)
        await sendOne(file, kind).catch((error) => refusals.push(explain(error)));
    }
    setSending(undefined);
    setProblems(controller.signal.aborted ? [] : refusals);
    void queries.invalidateQueries();

    function sendOne(file: File, kind: ImportFile): Promise<Import> {
      const show = (share: number) => setSending({ name: file.name, share, controller });
      show(0);
      return upload<Import>({
        method: 'PUT',
        path: `/api/imports/${id}/files/${kind}`,
        file,
        contentType: contentTypeOf(file.name),
        signal: controller.signal,
        onProgress: show,
      });
    }
  }

  return (
    <DropBox
      label={t('imports.choose')}
      isMultiple
      onFiles={(files) => void send(files)}
      sending={sending}
      statusOf={({ name, share }) => t('imports.sending', { name, percent: format.percent(share) })}
      waiting={t('imports.waiting')}
      stop={t('imports.stop')}
    >
      {(choose) => (
        <>
          <p>{t('imports.drop')}</p>
          <Button onClick={choose}>{t('imports.choose')}</Button>
          {problems.length > 0 && (
            <Notice tone="bad" title={t('imports.refused')}>
              {problems.map((problem) => (
                <p key={problem}>{problem}</p>
              ))}
            </Notice>
          )}
        </>
      )}
    </DropBox>
  );
}

/** The kind of rows in a file, by its name: `pay_plans` for `Pay plans (2).csv`. Undefined for an unknown kind or a spreadsheet. */
function kindOf(fileName: string): ImportFile | undefined {
  if (SPREADSHEET.test(fileName)) return undefined;
  const name = fileName
    .replace(/\.\w+$/, '')
    .replace(/\s*\(\d+\)$/, '')
    .toLowerCase()
    .replace(/[\s-]+/g, '_');
  return FILES.find((file) => file === name);
}

function refusalOf(name: string): string {
  if (SPREADSHEET.test(name)) return t('imports.spreadsheet', { name });
  return t('imports.unknownName', { name, names: FILES.map((file) => `${file}.csv`).join(', ') });
}
