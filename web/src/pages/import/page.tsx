import '../../ui/provider-statements.css';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { PageHead, Stat, Stats } from '../../ui/panel.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { hasRunningJob, IMPORT_TONES, type Import, rowsOf } from '../shared/imports.ts';
import { useReloadAfterJob } from '../shared/use-reload-after-job.ts';
import { WriteNotice } from '../shared/write-notice.tsx';
import { Files } from './files.tsx';
import { Differences, Problems } from './findings.tsx';

const REFRESH_MS = 1_000;

export function Page({ id }: { id: string }) {
  const query = api.useQuery(
    'get',
    '/api/imports/{id}',
    { params: { path: { id: Number(id) } } },
    // Reads the import again while a job runs, because no event reports the progress of a job.
    { refetchInterval: ({ state }) => (state.data && hasRunningJob(state.data.data) ? REFRESH_MS : false) },
  );
  return (
    <Loaded query={query} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <ImportPage importRecord={data} />}
    </Loaded>
  );
}

function ImportPage({ importRecord }: { importRecord: Import }) {
  const { id, status, failure, checks, errors, warnings, differences, createdAt } = importRecord;
  const isRunning = hasRunningJob(importRecord);
  const isOpen = status === 'uploading' || status === 'checked' || status === 'failed';
  useReloadAfterJob(isRunning);
  return (
    <>
      <PageHead
        title={t('imports.number', { id })}
        actions={!isRunning && <Steps importRecord={importRecord} />}
      >
        <Badge tone={IMPORT_TONES[status]}>{tValue('importStatus', status)}</Badge>
        <span>{format.dateTime(createdAt)}</span>
      </PageHead>
      {isRunning && <Progress importRecord={importRecord} />}
      {failure !== null && !isRunning && (
        <Notice tone="bad" title={t(status === 'done' ? 'imports.notUndone' : 'imports.failed')}>
          {failure}
        </Notice>
      )}
      {status === 'checked' && errors === 0 && <Notice tone="info">{t('imports.ready')}</Notice>}
      {status === 'done' && <Notice tone="info">{tCount('imports.proof', checks.length)}</Notice>}
      {(status === 'checked' || status === 'failed' || status === 'done') && (
        <Figures importRecord={importRecord} />
      )}
      <div className="column">
        {isOpen && <Files importRecord={importRecord} />}
        {errors + warnings > 0 && !isRunning && <Problems id={id} />}
        {differences > 0 && !isRunning && <Differences id={id} />}
      </div>
    </>
  );
}

/** The buttons for the steps that are possible now. The next step is the primary button. */
function Steps({ importRecord }: { importRecord: Import }) {
  const { id, status, files, errors } = importRecord;
  const check = useWrite('post', '/api/imports/{id}/check');
  const [opened, setOpened] = useState<'run' | 'undo'>();
  const close = () => setOpened(undefined);
  const canRun = status === 'checked' && errors === 0;
  const canCheck =
    (status === 'uploading' || status === 'failed' || status === 'checked') && files.length > 0;
  return (
    <>
      <WriteNotice problem={check.problem} />
      {canRun && (
        <Button kind="primary" onClick={() => setOpened('run')}>
          {t('imports.run')}
        </Button>
      )}
      {canCheck && (
        <Button
          kind={canRun ? 'secondary' : 'primary'}
          isBusy={check.isSending}
          onClick={() => void check.send({ params: { path: { id } }, body: {} })}
        >
          {t('imports.check')}
        </Button>
      )}
      {status === 'done' && <Button onClick={() => setOpened('undo')}>{t('imports.undo')}</Button>}
      {opened === 'run' && <RunDialog importRecord={importRecord} onClose={close} />}
      {opened === 'undo' && <UndoDialog id={id} onClose={close} />}
    </>
  );
}

function RunDialog({ importRecord, onClose }: { importRecord: Import; onClose(): void }) {
  const run = useWrite('post', '/api/imports/{id}/run');
  return (
    <FormDialog
      title={t('imports.run')}
      lead={tCount('imports.run.lead', rowsOf(importRecord))}
      write={run}
      submit={t('imports.run')}
      done={t('imports.started')}
      onClose={onClose}
      onSubmit={() => run.send({ params: { path: { id: importRecord.id } }, body: {} })}
    >
      {importRecord.differences > 0 && <Notice tone="warning">{t('imports.run.differences')}</Notice>}
    </FormDialog>
  );
}

function UndoDialog({ id, onClose }: { id: number; onClose(): void }) {
  const undo = useWrite('post', '/api/imports/{id}/undo');
  return (
    <FormDialog
      title={t('imports.undo')}
      lead={t('imports.undo.lead')}
      write={undo}
      submit={t('imports.undo')}
      kind="danger"
      done={t('imports.started')}
      onClose={onClose}
      onSubmit={() => undo.send({ params: { path: { id } }, body: {} })}
    />
  );
}

function Progress({ importRecord: { status, progress } }: { importRecord: Import }) {
  const name = tValue('importStatus', status);
  return (
    <div className="work" role="status">
      <p>{t('imports.percent', { status: name, percent: format.percent(progress / 100) })}</p>
      <progress className="progress" aria-label={name} max={100} value={progress} />
    </div>
  );
}

function Figures({ importRecord }: { importRecord: Import }) {
  const { errors, warnings, differences } = importRecord;
  return (
    <Stats>
      <Stat label={t('imports.rows')} value={format.number(rowsOf(importRecord))} />
      <Stat
        label={t('imports.errors')}
        value={format.number(errors)}
        {...(errors > 0 && { tone: 'bad' as const, hint: t('imports.errors.hint') })}
      />
      <Stat
        label={t('imports.warnings')}
        value={format.number(warnings)}
        {...(warnings > 0 && { hint: t('imports.warnings.hint') })}
      />
      <Stat
        label={t('imports.differences')}
        value={format.number(differences)}
        {...(differences > 0 && { tone: 'warning' as const, hint: t('imports.differences.hint') })}
      />
    </Stats>
  );
}
