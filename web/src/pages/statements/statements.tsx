import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { useListState, writeSort } from '../../ui/list-state.ts';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Pager, Table } from '../../ui/table.tsx';
import { breaksOf, isAtWork, linesOf, STATEMENT_TONES, type Statement } from '../shared/statement-results.ts';
import { UploadBox } from './upload-box.tsx';

const PAGE_SIZE = 20;
const REFRESH_MS = 2_000;

/** The statements that were uploaded, the newest first. */
export function Statements() {
  const { page, sort, setPage, sortBy } = useListState([], { name: 'createdAt', isDescending: true });
  const query = { sort: writeSort(sort), limit: PAGE_SIZE, page };
  const statements = api.useQuery(
    'get',
    '/api/reconciliations/statements',
    { params: { query } },
    // The progress of a job is no event.
    { refetchInterval: ({ state }) => (state.data?.data.some(isAtWork) ? REFRESH_MS : false) },
  );
  return (
    <div className="column">
      {may('reconciliations:create') && <UploadBox />}
      <Panel title={t('statements.list')} isFlush>
        <Loaded query={statements} explain={explain} skeleton={<Skeleton lines={5} />}>
          {({ data, pagination: { total, totalPages } }) =>
            data.length === 0 ? (
              <Empty>{t('statements.none')}</Empty>
            ) : (
              <>
                <Table
                  caption={t('statements.list')}
                  columns={columnsOf()}
                  rows={data}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/statements/${id}`}
                  sort={sort}
                  onSort={sortBy}
                />
                <Pager page={page} pages={totalPages ?? 1} total={total ?? data.length} onPage={setPage} />
              </>
            )
          }
        </Loaded>
      </Panel>
    </div>
  );
}

function columnsOf(): Column<Statement>[] {
  return [
    {
      name: 'periodStart',
      label: t('statements.period'),
      canSort: true,
      show: ({ id, periodStart, periodEnd }) =>
        periodStart && periodEnd ? periodOf(periodStart, periodEnd) : t('statements.number', { id }),
    },
    {
      name: 'organisation',
      label: t('statements.organisation'),
      onPhone: 'plain',
      show: ({ organisation, shortCode }) => [organisation, shortCode].filter(Boolean).join(' · '),
    },
    {
      name: 'status',
      label: t('statements.status'),
      onPhone: 'value',
      show: ({ status }) => <Badge tone={STATEMENT_TONES[status]}>{tValue('statementStatus', status)}</Badge>,
    },
    {
      name: 'payments',
      label: t('statements.payments'),
      isNumber: true,
      show: ({ progress }) => format.number(progress.payments),
    },
    {
      name: 'matched',
      label: t('statements.matched'),
      isNumber: true,
      show: (statement) => format.number(linesOf(statement, 'matched').lines),
    },
    {
      name: 'breaks',
      label: t('statements.breaks'),
      isNumber: true,
      show: (statement) => {
        const breaks = breaksOf(statement);
        return breaks > 0 ? <Badge tone="warning">{format.number(breaks)}</Badge> : format.number(0);
      },
    },
    {
      name: 'createdAt',
      label: t('statements.uploaded'),
      canSort: true,
      onPhone: 'plain',
      show: ({ createdAt }) => format.dateTime(createdAt),
    },
  ];
}

function periodOf(first: string, last: string): string {
  return first === last ? format.date(first) : `${format.date(first)} – ${format.date(last)}`;
}
