import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { format, t } from '../../i18n/index.ts';
import { IconButton } from '../../ui/button.tsx';

interface Place {
  id: number | undefined;
  index: number;
}

interface QueueProps<Row> {
  /** For screen readers. */
  label: string;
  rows: readonly Row[];
  /** The number of rows on all pages. */
  total: number;
  showItem(row: Row): ReactNode;
  /** The title of the work on a row. */
  titleOf(row: Row): ReactNode;
  /** The work on a row, such as a form. It is created again for each row, so no choice of the previous row remains. */
  children(row: Row): ReactNode;
  /** Shown instead of the work if there are no rows. */
  empty: ReactNode;
  /** Content below the list. */
  foot?: ReactNode;
  onUndo?: () => void;
  /** The id of a row that has come back to the list, for example after an undo. It becomes the current row. */
  returnedId?: number | undefined;
}

/**
 * A list and the work on its current row. When this row leaves the list, the next row becomes current. The keys work while the
 * focus is in the queue but not in a text field: 1 to 9 choose a candidate, 0 goes to the search, N and P go to the next and the
 * previous row, U undoes. On a phone a button opens the list.
 */
export function Queue<Row extends { id: number }>(props: QueueProps<Row>) {
  const { label, rows, total, showItem, titleOf, children, empty, foot, onUndo, returnedId } = props;
  const region = useRef<HTMLElement>(null);
  const work = useRef<HTMLDivElement>(null);
  const [isListOpen, setIsListOpen] = useState(false);
  const [kept, setKept] = useState<Place>({ id: undefined, index: 0 });
  const [shownReturnedId, setShownReturnedId] = useState<number>();
  const isBack = returnedId !== shownReturnedId && rows.some(({ id }) => id === returnedId);
  if (isBack || (returnedId === undefined && shownReturnedId !== undefined)) setShownReturnedId(returnedId);
  const place = isBack ? { id: returnedId, index: 0 } : kept;
  const found = rows.findIndex(({ id }) => id === place.id);
  const index = found >= 0 ? found : Math.max(0, Math.min(place.index, rows.length - 1));
  const row = rows[index];
  const rowId = row?.id;
  if (rowId !== kept.id || index !== kept.index) setKept({ id: rowId, index });

  // Moves the focus before the browser draws the row, so that no key of a fast user is lost.
  // biome-ignore lint/correctness/useExhaustiveDependencies: The focus follows the row.
  useLayoutEffect(() => {
    const active = document.activeElement;
    const isElsewhere = active?.closest('input, select, button, dialog') || region.current?.contains(active);
    if (!isElsewhere) work.current?.focus({ preventScroll: true });
  }, [rowId]);

  function go(to: number) {
    const target = rows[to];
    if (target) setKept({ id: target.id, index: to });
  }

  function onKeyDown(event: KeyboardEvent) {
    const isText = (event.target as Element).matches('textarea, select, input:not([type=radio])');
    if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === 'n') go(index + 1);
    else if (key === 'p') go(index - 1);
    else if (key === 'u' && onUndo) onUndo();
    else if (/^\d$/.test(key)) onDigit(region.current, Number(key));
    else return;
    event.preventDefault();
  }

  return (
    <section ref={region} className="queue" aria-label={label} onKeyDown={onKeyDown}>
      <div ref={work} className="panel queue-work" tabIndex={-1}>
        {row ? (
          <>
            <header className="panel-head">
              <h2>{titleOf(row)}</h2>
              <span className="queue-place">
                <span className="muted">
                  {t('queue.place', { place: format.number(index + 1), total: format.number(total) })}
                </span>
                <span className="queue-toggle">
                  <IconButton
                    icon="menu"
                    label={t('queue.list')}
                    aria-expanded={isListOpen}
                    onClick={() => setIsListOpen(!isListOpen)}
                  />
                </span>
                <IconButton
                  icon="left"
                  label={t('queue.previous')}
                  aria-keyshortcuts="p"
                  disabled={index === 0}
                  onClick={() => go(index - 1)}
                />
                <IconButton
                  icon="right"
                  label={t('queue.next')}
                  aria-keyshortcuts="n"
                  disabled={index >= rows.length - 1}
                  onClick={() => go(index + 1)}
                />
              </span>
            </header>
            <div className="panel-body" key={row.id}>
              {children(row)}
            </div>
          </>
        ) : (
          empty
        )}
      </div>
      {rows.length > 0 && (
        <div className={`panel queue-rows ${isListOpen ? 'open' : ''}`}>
          <ol>
            {rows.map((one, at) => (
              <li key={one.id}>
                <button
                  type="button"
                  className="queue-item"
                  aria-current={one.id === rowId || undefined}
                  onClick={() => {
                    go(at);
                    if (!isListOpen) return;
                    setIsListOpen(false);
                    work.current?.focus();
                  }}
                >
                  {showItem(one)}
                </button>
              </li>
            ))}
          </ol>
          {foot}
        </div>
      )}
    </section>
  );
}

/** 0 moves the focus to the search field. Another digit chooses the candidate with this number, and moves the focus to it. */
function onDigit(region: HTMLElement | null, digit: number): void {
  const radio = region?.querySelectorAll<HTMLInputElement>('[type=radio]')[digit - 1];
  if (!radio?.disabled) radio?.click();
  const control = digit === 0 ? region?.querySelector<HTMLElement>('[type=search]') : radio;
  control?.focus();
}
