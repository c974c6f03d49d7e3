import '../../ui/provider-statements.css';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { PageHead, Stat, Stats } from '../../ui/panel.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import {
  differencesOf,
  hasRunningJob,
  linesOf,
  STATEMENT_TONES,
  type Statement,
} from '../shared/provider-statement-results.ts';
import { ReconciliationDate } from '../shared/reconcile-fields.tsx';
import { useReloadAfterJob } from '../shared/use-reload-after-job.ts';
import { WriteNotice } from '../shared/write-notice.tsx';
import { Checks } from './checks.tsx';
import { Lines } from './lines.tsx';

const REFRESH_MS = 1_000;

export function Page({ id }: { id: string }) {
  const statement = api.useQuery(
    'get',
    '/api/reconciliations/statements/{id}',
    { params: { path: { id: Number(id) } } },
    // No event reports the progress of a job.
    { refetchInterval: ({ state }) => (state.data && hasRunningJob(state.data.data) ? REFRESH_MS : false) },
  );
  return (
    <Loaded query={statement} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <StatementPage statement={data} />}
    </Loaded>
  );
}

function StatementPage({ statement }: { statement: Statement }) {
  const { id, organisation, shortCode, periodStart, periodEnd, status, createdAt } = statement;
  const isRunning = hasRunningJob(statement);
  useReloadAfterJob(isRunning);
  return (
    <>
      <PageHead
        eyebrow={t('providerStatements.number', { id })}
        title={organisation ?? t('providerStatements.number', { id })}
        tabTitle={t('providerStatements.number', { id })}
        actions={may('reconciliations:create') && !isRunning && <StatementActions statement={statement} />}
      >
        <Badge tone={STATEMENT_TONES[status]}>{tValue('providerStatementStatus', status)}</Badge>
        {periodStart && periodEnd && <span>{format.dateRange(periodStart, periodEnd)}</span>}
        {shortCode && <span className="mono">{shortCode}</span>}
        <span>{t('providerStatements.uploadedAt', { time: format.dateTime(createdAt) })}</span>
      </PageHead>
      {isRunning && <Progress statement={statement} />}
      {status === 'failed' && (
        <Notice tone="bad" title={t('providerStatements.failed')}>
          {t('providerStatements.failed.hint')}
        </Notice>
      )}
      <Figures statement={statement} />
      <Checks statement={statement} />
      <Lines statement={statement} />
    </>
  );
}

/** The buttons for a statement. The first action that is still to be done is the primary button. */
function StatementActions({ statement }: { statement: Statement }) {
  const [isOpen, setIsOpen] = useState(false);
  const importing = useWrite('post', '/api/reconciliations/statements/{id}/import');
  const matching = useWrite('post', '/api/reconciliations/statements/{id}/match');
  const params = { path: { id: statement.id } };
  const missing = linesOf(statement, 'missing_in_books').lines;
  const { count: unreconciled = 0, lastDay } = useReconcilable(statement.id);
  const isDone = statement.status === 'done';
  const isSending = importing.isSending || matching.isSending;
  return (
    <>
      <WriteNotice problem={importing.problem ?? matching.problem} />
      {isDone && missing > 0 && (
        <Button kind="primary" isBusy={isSending} onClick={() => void importing.send({ params })}>
          {tCount('providerStatements.import', missing)}
        </Button>
      )}
      {isDone && unreconciled > 0 && (
        <Button kind={missing > 0 ? 'secondary' : 'primary'} onClick={() => setIsOpen(true)}>
          {tCount('providerStatements.reconcileMatched', unreconciled)}
        </Button>
      )}
      <Button isBusy={isSending} onClick={() => void matching.send({ params })}>
        {t('providerStatements.matchAgain')}
      </Button>
      {isOpen && (
        <ReconcileDialog
          statement={statement}
          earliest={latestOf(statement.periodEnd, lastDay)}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  );
}

/** The payments of matched lines that no batch has, and the latest day of these payments. */
function useReconcilable(id: number): { count: number | undefined; lastDay: string | null } {
  const query = {
    'filter[result]': { eq: 'matched' as const },
    'filter[reconciliationId]': { isnull: true },
    'filter[paymentStatus]': { ne: 'reversed' as const },
    sort: 'paymentDate:desc',
    limit: 1,
  };
  const lines = api.useQuery(
    'get',
    '/api/reconciliations/statements/{id}/lines',
    { params: { path: { id }, query } },
    { enabled: may('payers:read') }, // Lines name payers.
  );
  const { data, pagination } = lines.data ?? {};
  return { count: pagination?.total, lastDay: data?.[0]?.paymentDate ?? null };
}

function latestOf(...days: (string | null)[]): string | null {
  return (
    days
      .filter((day) => day !== null)
      .toSorted()
      .at(-1) ?? null
  );
}

interface ReconcileDialogProps {
  statement: Statement;
  /** The first day that is not before a payment. */
  earliest: string | null;
  onClose(): void;
}

function ReconcileDialog({ statement, earliest, onClose }: ReconcileDialogProps) {
  const reconcile = useWrite('post', '/api/reconciliations/statements/{id}/reconcile');
  return (
    <FormDialog
      title={t('providerStatements.reconcile')}
      lead={t('providerStatements.reconcile.lead')}
      write={reconcile}
      submit={t('providerStatements.reconcile')}
      done={t('providerStatements.reconcile.started')}
      onClose={onClose}
      onSubmit={(values) =>
        reconcile.send({
          params: { path: { id: statement.id } },
          body: { reconciliationDate: values.text('reconciliationDate') },
        })
      }
    >
      <ReconciliationDate earliest={earliest} />
    </FormDialog>
  );
}

function Progress({ statement: { status, progress } }: { statement: Statement }) {
  const isComparing = status === 'matching' && progress.payments > 0;
  return (
    <div className="work" role="status">
      <p>
        {tValue('providerStatementStatus', status)}
        {isComparing &&
          ` · ${t('providerStatements.compared', {
            done: format.number(progress.compared),
            all: format.number(progress.payments),
          })}`}
      </p>
      <progress
        className="progress"
        aria-label={tValue('providerStatementStatus', status)}
        max={progress.payments || 1}
        {...(isComparing && { value: progress.compared })}
      />
    </div>
  );
}

function Figures({ statement }: { statement: Statement }) {
  const { progress } = statement;
  const matched = linesOf(statement, 'matched');
  const { count: open = matched.lines } = useReconcilable(statement.id);
  const elsewhere = matched.lines - progress.reconciled - open;
  const differences = differencesOf(statement);
  return (
    <Stats>
      <Stat
        label={t('providerStatements.payments')}
        value={format.number(progress.payments)}
        hint={tCount('providerStatements.lines', progress.lines)}
      />
      <Stat
        label={t('providerStatements.matched')}
        value={format.number(matched.lines)}
        hint={format.money(matched.total)}
      />
      <Stat
        label={t('providerStatements.differences')}
        value={format.number(differences)}
        hint={t(
          differences > 0 ? 'providerStatements.differences.some' : 'providerStatements.differences.none',
        )}
        {...(differences > 0 && { tone: 'warning' as const })}
      />
      <Stat
        label={t('providerStatements.reconciledCount')}
        value={format.number(progress.reconciled)}
        hint={
          <>
            {t('providerStatements.imported', { count: format.number(progress.imported) })}
            {elsewhere > 0 && (
              <span className="stat-change">{tCount('providerStatements.elsewhere', elsewhere)}</span>
            )}
          </>
        }
      />
    </Stats>
  );
}
