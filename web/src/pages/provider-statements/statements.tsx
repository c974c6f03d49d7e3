import { api, KEEPS_LAST } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { statusColumn } from '../shared/columns.tsx';
import { ListPanel, useList } from '../shared/list.tsx';
import {
  differencesOf,
  hasRunningJob,
  linesOf,
  STATEMENT_TONES,
  type Statement,
} from '../shared/provider-statement-results.ts';
import { UploadBox } from './upload-box.tsx';

const REFRESH_MS = 2_000;

export function Statements() {
  const list = useList({ name: 'createdAt', isDescending: true });
  const statements = api.useQuery(
    'get',
    '/api/reconciliations/statements',
    { params: { query: list.query } },
    // No event reports the progress of a job.
    {
      ...KEEPS_LAST,
      refetchInterval: ({ state }) => (state.data?.data.some(hasRunningJob) ? REFRESH_MS : false),
    },
  );
  return (
    <div className="column">
      {may('reconciliations:create') && <UploadBox />}
      <ListPanel
        caption={t('providerStatements.list')}
        list={list}
        query={statements}
        columns={columnsOf()}
        hrefOf={({ id }) => `/statements/${id}`}
        none={t('providerStatements.none')}
      />
    </div>
  );
}

function columnsOf(): Column<Statement>[] {
  return [
    {
      name: 'periodStart',
      label: t('providerStatements.period'),
      canSort: true,
      show: ({ id, periodStart, periodEnd }) =>
        periodStart && periodEnd
          ? format.dateRange(periodStart, periodEnd)
          : t('providerStatements.number', { id }),
    },
    {
      name: 'organisation',
      label: t('providerStatements.organisation'),
      onPhone: 'plain',
      show: ({ organisation, shortCode }) => [organisation, shortCode].filter(Boolean).join(' · '),
    },
    statusColumn(STATEMENT_TONES, (status) => tValue('providerStatementStatus', status), {
      onPhone: 'value',
    }),
    {
      name: 'payments',
      label: t('providerStatements.payments'),
      isNumber: true,
      show: ({ progress }) => format.number(progress.payments),
    },
    {
      name: 'matched',
      label: t('providerStatements.matched'),
      isNumber: true,
      show: (statement) => format.number(linesOf(statement, 'matched').lines),
    },
    {
      name: 'differences',
      label: t('providerStatements.differences'),
      isNumber: true,
      show: (statement) => {
        const differences = differencesOf(statement);
        return differences > 0 ? (
          <Badge tone="warning">{format.number(differences)}</Badge>
        ) : (
          format.number(0)
        );
      },
    },
    {
      name: 'createdAt',
      label: t('providerStatements.uploaded'),
      canSort: true,
      onPhone: 'plain',
      show: ({ createdAt }) => format.dateTime(createdAt),
    },
  ];
}
