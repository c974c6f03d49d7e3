import { useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { DownloadButton } from '../shared/download-button.tsx';
import { TablePanel } from '../shared/table-panel.tsx';

const PAGE_SIZE = 25;

/** The errors and warnings of the last check. */
export function Problems({ id }: { id: number }) {
  const [page, setPage] = useState(1);
  const query = { sort: 'id:asc', limit: PAGE_SIZE, page };
  const problems = api.useQuery(
    'get',
    '/api/imports/{id}/problems',
    { params: { path: { id }, query } },
    KEEPS_LAST,
  );
  return (
    <TablePanel
      title={t('imports.problems')}
      actions={
        <DownloadButton path={`/api/imports/${id}/problems.csv`}>{t('imports.problems.csv')}</DownloadButton>
      }
      query={problems}
      columns={problemColumns()}
      pager={{ page, onPage: setPage }}
    />
  );
}

function problemColumns(): Column<Schemas['ImportProblem']>[] {
  return [
    {
      name: 'place',
      label: t('imports.place'),
      show: ({ file, line }) =>
        line === null ? `${file}.csv` : t('imports.line', { file: `${file}.csv`, line }),
    },
    {
      name: 'severity',
      label: t('field.status'),
      onPhone: 'value',
      show: ({ severity }) => (
        <Badge tone={severity === 'error' ? 'bad' : 'warning'}>{tValue('importSeverity', severity)}</Badge>
      ),
    },
    {
      name: 'column',
      label: t('imports.column'),
      show: ({ column }) => <span className="mono">{column}</span>,
    },
    {
      name: 'value',
      label: t('imports.value'),
      show: ({ value }) => <span className="mono break">{value}</span>,
    },
    {
      name: 'problem',
      label: t('imports.problem'),
      onPhone: 'plain',
      show: ({ problem, allowed }) => (
        <>
          {problem}
          {allowed !== null && <div className="muted">{t('imports.allowed', { allowed })}</div>}
        </>
      ),
    },
  ];
}

/** The account figures that differ from those of the old system. */
export function Differences({ id }: { id: number }) {
  const [page, setPage] = useState(1);
  const query = { sort: 'id:asc', limit: PAGE_SIZE, page };
  const differences = api.useQuery(
    'get',
    '/api/imports/{id}/differences',
    { params: { path: { id }, query } },
    KEEPS_LAST,
  );
  return (
    <TablePanel
      title={t('imports.differences')}
      query={differences}
      columns={differenceColumns()}
      pager={{ page, onPage: setPage }}
    />
  );
}

function differenceColumns(): Column<Schemas['ImportDifference']>[] {
  return [
    { name: 'account', label: t('field.account'), show: ({ account }) => account },
    {
      name: 'place',
      label: t('imports.place'),
      onPhone: 'plain',
      show: ({ line }) => t('imports.line', { file: 'accounts.csv', line }),
    },
    { name: 'figure', label: t('imports.figure'), show: ({ figure }) => tValue('importFigure', figure) },
    { name: 'source', label: t('imports.source'), isNumber: true, show: ({ source }) => source },
    { name: 'computed', label: t('imports.computed'), isNumber: true, show: ({ computed }) => computed },
  ];
}
