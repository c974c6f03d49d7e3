import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Icon, type IconName } from '../../ui/icons.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';

type Result = Schemas['SearchResult'];

const SHORTEST_TEXT = 2;
const TYPING_MS = 200;
/** The service does not count more results than one above this number. */
const MOST_COUNTED = 10_000;
const ICONS: Record<Result['type'], IconName> = {
  customer: 'user',
  account: 'home',
  payment: 'money',
  invoice: 'file',
};

interface FindBoxProps {
  id: string;
  hasSlashShortcut?: boolean;
  /** Whether the results are part of the page. Otherwise they are shown over the page. */
  isInPage?: boolean;
}

/**
 * Searches customers, accounts, payments and invoices. The text is not in the URL of the page, because it is often a name or a phone
 * number.
 */
export function FindBox({ id, hasSlashShortcut = false, isInPage = false }: FindBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const [opensFirst, setOpensFirst] = useState(false);
  const wanted = useDebounced(text.trim(), TYPING_MS);
  const search = api.useQuery(
    'get',
    '/api/search',
    { params: { query: { q: wanted } } },
    { enabled: wanted.length >= SHORTEST_TEXT, ...KEEPS_LAST, gcTime: 60_000 },
  );
  const results = wanted.length >= SHORTEST_TEXT ? (search.data?.data ?? []) : [];
  const isShown = isInPage || (isOpen && wanted.length > 0);

  useEffect(() => {
    if (!hasSlashShortcut) return;
    const focus = (event: globalThis.KeyboardEvent) => {
      const isTyping = (event.target as Element).closest?.('input, select, textarea, dialog');
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, [hasSlashShortcut]);

  // Enter opens a result of the text in the field. Until its results arrive, the list shows those of the text before.
  const isWaiting = wanted !== text.trim() || search.isPlaceholderData || search.isLoading;
  useEffect(() => {
    if (!opensFirst || isWaiting) return;
    setOpensFirst(false);
    open(results[active]);
  });

  function open(result: Result | undefined) {
    if (!result) return;
    setIsOpen(false);
    setText('');
    input.current?.blur();
    navigate(addressOf(result));
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setActive((active + step + results.length) % Math.max(1, results.length));
    else if (event.key === 'Enter') setOpensFirst(true);
    else if (event.key === 'Escape') {
      setText('');
      setIsOpen(false);
    } else return;
    event.preventDefault();
  }

  return (
    <div className={`find ${isInPage ? 'in-page' : ''}`}>
      <label className="find-input" htmlFor={id}>
        <Icon name="search" />
        <span className="visually-hidden">{t('nav.find')}</span>
        <input
          ref={input}
          id={id}
          type="search"
          role="combobox"
          aria-expanded={isShown && results.length > 0}
          aria-controls={`${id}-results`}
          aria-autocomplete="list"
          aria-activedescendant={isShown && results[active] ? `${id}-${active}` : undefined}
          placeholder={t('find.placeholder')}
          autoComplete="off"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="search"
          maxLength={100}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
            setOpensFirst(false);
            setIsOpen(true);
          }}
          onFocus={() => setIsOpen(true)}
          onBlur={() => {
            setIsOpen(false);
            setOpensFirst(false);
          }}
          onKeyDown={onKeyDown}
        />
        {hasSlashShortcut && text === '' && <kbd className="wide-only">/</kbd>}
      </label>
      <div className="find-results" hidden={!isShown}>
        <div id={`${id}-results`} role="listbox" aria-label={t('nav.find')}>
          {results.map((result, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: The input handles the keys.
            <div
              key={`${result.type} ${result.id}`}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              className="find-result"
              onMouseDown={(event) => event.preventDefault() /* The input keeps the focus. */}
              onMouseMove={() => setActive(index)}
              onClick={() => open(result)}
            >
              <Icon name={ICONS[result.type]} />
              <span className="find-text">
                <span className="find-title">{result.title}</span>
                {result.subtitle && <span className="muted">{result.subtitle}</span>}
              </span>
              <span className="muted">{tValue('searchType', result.type)}</span>
            </div>
          ))}
        </div>
        <p className="find-status muted" role="status">
          {statusOf()}
        </p>
      </div>
    </div>
  );

  function statusOf(): string {
    if (search.error) return explain(search.error);
    if (wanted.length === 0) return '';
    if (wanted.length < SHORTEST_TEXT) return t('find.short');
    if (!search.data) return '';
    if (results.length === 0) return t('find.none');
    const { total } = search.data;
    if (total <= results.length) return tCount('find.results', results.length);
    const shown = format.number(results.length);
    if (total <= MOST_COUNTED) return t('find.some', { shown, total: format.number(total) });
    return t('find.many', { shown, total: format.number(MOST_COUNTED) });
  }
}

function addressOf({ type, id }: Result): string {
  return `/${type}s/${id}`;
}
