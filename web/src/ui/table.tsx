import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { format, t } from '../i18n/index.ts';
import { IconButton } from './button.tsx';

export interface Column<Row> {
  /** Identifies the column. For a sortable column it is the sort field of the API. */
  name: string;
  label: string;
  /** Aligns the column to the end of the line, with digits of equal width. */
  isNumber?: boolean;
  /**
   * The place of the column on a phone, where each row is a card. `title` and `value` are on the first line. Below them, `detail`
   * has its label and `plain` has none. Default: `title` for the first column, `detail` for the others.
   */
  onPhone?: 'title' | 'value' | 'detail' | 'plain' | 'hidden';
  /** On a wide screen, keeps a name or a code on one line and cuts a very long one. The page of the row shows the whole text. */
  isOneLine?: boolean;
  canSort?: boolean;
  show(row: Row): ReactNode;
}

interface TableProps<Row> {
  /** For screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string | number;
  /** Makes the row a link. Its first cell is the link for keyboards and screen readers. */
  hrefOf?: (row: Row) => string;
  sort?: Sort | undefined;
  onSort?: (name: string) => void;
}

export interface Sort {
  name: string;
  isDescending: boolean;
}

export function Table<Row>({ caption, columns, rows, keyOf, hrefOf, sort, onSort }: TableProps<Row>) {
  const [first] = columns;
  return (
    // biome-ignore lint/a11y/useSemanticElements: The group takes the focus, so that the keyboard can scroll a wide table.
    <div className="table-scroll" role="group" aria-label={caption} tabIndex={hrefOf ? undefined : 0}>
      <table className={`table ${hrefOf ? 'links' : ''}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classOf(column, column === first)}
                aria-sort={
                  sort?.name === column.name ? (sort.isDescending ? 'descending' : 'ascending') : undefined
                }
              >
                {column.canSort && onSort ? (
                  <button type="button" className="sort" onClick={() => onSort(column.name)}>
                    {column.label}
                  </button>
                ) : (
                  column.label
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} className={classOf(column, column === first)} data-label={column.label}>
                  {column === first && hrefOf ? (
                    <Link className="row-link" href={hrefOf(row)}>
                      {column.show(row)}
                    </Link>
                  ) : (
                    column.show(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf({ isNumber, isOneLine, onPhone = 'detail' }: Column<never>, isFirst: boolean): string {
  const place = isFirst && onPhone === 'detail' ? 'title' : onPhone;
  return `${place} ${isNumber ? 'number' : ''} ${isOneLine ? 'one-line' : ''}`;
}

interface PagerProps {
  page: number;
  pages: number;
  total: number;
  /** Sums of the rows on all pages. */
  sums?: ReactNode;
  onPage(page: number): void;
}

/** The buttons are never disabled, because a disabled button loses the focus. On the first page, "Previous page" does nothing. */
export function Pager({ page, pages, total, sums, onPage }: PagerProps) {
  return (
    <nav className="pager" aria-label={t('list.page', { page, pages })}>
      <span className="muted" role="status">
        {pages > 1 ? t('list.page', { page, pages }) : ''}
      </span>
      {pages > 1 && (
        <span className="actions">
          <IconButton
            icon="left"
            label={t('list.previous')}
            aria-disabled={page <= 1 || undefined}
            onClick={() => page > 1 && onPage(page - 1)}
          />
          <IconButton
            icon="right"
            label={t('list.next')}
            aria-disabled={page >= pages || undefined}
            onClick={() => page < pages && onPage(page + 1)}
          />
        </span>
      )}
      <span className="pager-sums muted">
        <span>{t('list.total', { total: format.number(total) })}</span>
        {sums}
      </span>
    </nav>
  );
}
