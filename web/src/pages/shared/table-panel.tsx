import type { ReactNode } from 'react';
import { explain } from '../../api/explain.ts';
import { format, t } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Pager, Table } from '../../ui/table.tsx';

export interface RowsQuery<Row> {
  data: { data: readonly Row[]; pagination: { total?: number; totalPages?: number } } | undefined;
  error: unknown;
  refetch(): unknown;
}

interface TablePanelProps<Row> {
  title: string;
  /** Next to the title. */
  actions?: ReactNode;
  query: RowsQuery<Row>;
  /** The number of lines of the skeleton. */
  lines?: number;
  columns: readonly Column<Row>[];
  hrefOf?: (row: Row) => string;
  /** Shown instead of an empty table. */
  none?: string;
  /** For a query that reads one page at a time. */
  pager?: { page: number; onPage(page: number): void };
  /** Content below the table. */
  foot?: ReactNode;
}

/** The query of rows that came with the answer of the page. */
export function loaded<Row>({ rows, total }: { rows: readonly Row[]; total: number }): RowsQuery<Row> {
  return { data: { data: rows, pagination: { total } }, error: null, refetch: () => {} };
}

/** A panel with a short table, beside other content of a page. `<ListPanel>` is for lists with filters and sort in the URL. */
export function TablePanel<Row extends { id: number }>(props: TablePanelProps<Row>) {
  const { title, actions, query, lines = 5, columns, hrefOf, none = t('list.empty'), pager, foot } = props;
  return (
    <Panel title={title} isFlush actions={actions}>
      <Loaded query={query} explain={explain} skeleton={<Skeleton lines={lines} />}>
        {({ data, pagination: { total = data.length, totalPages = 1 } }) =>
          data.length === 0 && (pager?.page ?? 1) === 1 ? (
            <Empty>{none}</Empty>
          ) : (
            <>
              <Table
                caption={title}
                columns={columns}
                rows={data}
                keyOf={({ id }) => id}
                {...(hrefOf && { hrefOf })}
              />
              {pager ? (
                <Pager {...pager} pages={totalPages} total={total} />
              ) : (
                total > data.length && (
                  <p className="table-foot muted">
                    {t('list.some', { shown: format.number(data.length), total: format.number(total) })}
                  </p>
                )
              )}
              {foot}
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}
