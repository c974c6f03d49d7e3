import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { format, t } from '../../i18n/index.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { isKey } from '../../ui/use-shortcut.ts';

interface Place<Row> {
  row: Row | undefined;
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
  /** Called when there is no row left. */
  onEmpty?: () => void;
  onUndo?: () => void;
  /** The id of a row that has come back to the list, for example after an undo. It becomes the current row. */
  returnedId?: number | undefined;
  /** The work of this page that removes rows from the list. Without it, the next row replaces a row that has left the list. */
  own?: OwnWork | undefined;
  /** Needed with `own`: says why a row has left the list although this page did not remove it. */
  showGone?(row: Row): ReactNode;
}

interface OwnWork {
  /** The row whose request has no answer yet. It stays on the page until the answer arrives. */
  sentId: number | undefined;
  /** The rows that this page has removed from the list. */
  doneIds: ReadonlySet<number>;
}

/**
 * A list and the work on its current row. When the user has done this work, the next row becomes current. When somebody else has
 * done it, the page says so, and the other keys wait until the user goes on with N, P or a button: they were meant for the row that was shown.
 *
 * The keys work on the whole page except in text fields, menus and dialogs: 1 to 9 choose a candidate, Enter sends the choice, 0
 * goes to the search, N and P go to the next and the previous row, U undoes. On a phone a button opens the list.
 */
export function Queue<Row extends { id: number }>(props: QueueProps<Row>) {
  const { label, rows, total, showItem, titleOf, children, empty, foot, onEmpty, onUndo } = props;
  const { returnedId, own, showGone } = props;
  const region = useRef<HTMLElement>(null);
  const work = useRef<HTMLDivElement>(null);
  const [isListOpen, setIsListOpen] = useState(false);
  const [kept, setKept] = useState<Place<Row>>({ row: undefined, index: 0 });
  const [shownReturnedId, setShownReturnedId] = useState<number>();
  const isBack = returnedId !== shownReturnedId && rows.some(({ id }) => id === returnedId);
  if (isBack || (returnedId === undefined && shownReturnedId !== undefined)) setShownReturnedId(returnedId);
  const wantedId = isBack ? returnedId : kept.row?.id;
  const found = rows.findIndex(({ id }) => id === wantedId);
  // The row that has left the list, but not because of this page.
  const missing = own && found < 0 && kept.row && !own.doneIds.has(kept.row.id) ? kept.row : undefined;
  const isGone = missing !== undefined && missing.id !== own?.sentId;
  const index = found >= 0 ? found : Math.max(0, Math.min(kept.index, rows.length - 1));
  const row = missing ?? rows[index];
  const rowId = row?.id;
  if (row !== kept.row || index !== kept.index) setKept({ row, index });

  // Moves the focus before the browser draws the row, so that no key of a fast user is lost.
  // biome-ignore lint/correctness/useExhaustiveDependencies: The focus follows the row.
  useLayoutEffect(() => {
    const active = document.activeElement;
    const isElsewhere = active?.closest('input, select, button, dialog') || region.current?.contains(active);
    if (!isElsewhere) work.current?.focus({ preventScroll: true });
  }, [rowId, isGone]);

  // Letters that are meant for a text field must do nothing when the row leaves, and the field with it.
  const isTyping = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: The next row has nothing to do with what was typed for this one.
  useLayoutEffect(() => {
    isTyping.current = false;
  }, [rowId]);

  const isEmpty = row === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: The function is another one after each render.
  useEffect(() => {
    if (isEmpty) onEmpty?.();
  }, [isEmpty]);

  // Before the browser draws the rows, so that no key is lost that is meant for them.
  const onKey = useRef<(event: KeyboardEvent) => void>(undefined);
  useLayoutEffect(() => {
    onKey.current = onKeyDown;
  });
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => onKey.current?.(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);

  function go(to: number) {
    if (own?.sentId !== undefined) return; // The answer must be seen, also if it is a refusal.
    const target = rows[to];
    if (target) setKept({ row: target, index: to });
    else if (isGone) setKept({ row: undefined, index: 0 });
  }

  /** After a row has left the list, the next row has its place. */
  const next = () => go(missing ? Math.min(index, rows.length - 1) : index + 1);
  const previous = () => go(missing ? Math.max(index - 1, 0) : index - 1);

  function onKeyDown(event: KeyboardEvent) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as Element;
    if (target !== document.body && !target.closest('main')) return;
    if (target.closest('dialog, [popover]')) return;
    if (!isGone) isTyping.current = target.matches(TEXT_FIELDS);
    if (isTyping.current || target.matches(TEXT_FIELDS)) return;
    if (isKey(event, 'next')) next();
    else if (isKey(event, 'previous')) previous();
    else if (isKey(event, 'undo') && onUndo) onUndo();
    else if (isGone) return;
    else if (isKey(event, 'choose') || isKey(event, 'search')) onDigit(region.current, Number(event.key));
    else if (isKey(event, 'send') && !event.repeat && !target.closest(HAS_OWN_ENTER))
      region.current?.querySelector('form')?.requestSubmit();
    else return;
    event.preventDefault();
  }

  return (
    <section ref={region} className="queue" aria-label={label}>
      <div ref={work} className="panel queue-work" tabIndex={-1}>
        {row ? (
          <>
            <header className="panel-head">
              <h2>{titleOf(row)}</h2>
              <span className="queue-place">
                {!missing && (
                  <span className="muted">
                    {t('queue.place', { place: format.number(index + 1), total: format.number(total) })}
                  </span>
                )}
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
                  onClick={previous}
                />
                <IconButton
                  icon="right"
                  label={t('queue.next')}
                  aria-keyshortcuts="n"
                  disabled={!isGone && index >= rows.length - 1}
                  onClick={next}
                />
              </span>
            </header>
            <div className="panel-body" key={row.id}>
              {isGone ? (
                <>
                  <Notice tone="bad">{showGone?.(row)}</Notice>
                  <p className="actions">
                    <Button kind="primary" onClick={next}>
                      {t('queue.next')}
                    </Button>
                  </p>
                </>
              ) : (
                children(row)
              )}
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

const TEXT_FIELDS = 'textarea, select, input:not([type=radio])';
/** The elements on which Enter has an effect of its own. A radio button sends its form. */
const HAS_OWN_ENTER = 'a, button, summary, input';

/** 0 moves the focus to the search field. Another digit chooses the candidate with this number, and moves the focus to it. */
function onDigit(region: HTMLElement | null, digit: number): void {
  const radio = region?.querySelectorAll<HTMLInputElement>('[type=radio]')[digit - 1];
  if (!radio?.disabled) radio?.click();
  const control = digit === 0 ? region?.querySelector<HTMLElement>('[type=search]') : radio;
  control?.focus();
}
