import { type KeyboardEvent, lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { untilLoaded } from '../../api/send.ts';
import { loadMessages, t } from '../../i18n/index.ts';
import { Icon } from '../../ui/icons.tsx';
import { KEYS } from '../../ui/keys.ts';
import { useDebounced } from '../../ui/use-debounced.ts';
import { isKey, useShortcut } from '../../ui/use-shortcut.ts';

type Result = Schemas['SearchResult'];

const SHORTEST_TEXT = 2;
const TYPING_MS = 200;
const Results = lazy(async () => {
  const [loaded] = await untilLoaded(() => Promise.all([import('./results.tsx'), loadMessages('find')]));
  return { default: loaded.Results };
});

interface FindBoxProps {
  id: string;
  hasSlashShortcut?: boolean;
  /** The text that the page has in its URL, and what to do with another text. Without it, the results are shown over the page. */
  ofPage?: { text: string; onSearch(text: string): void };
}

/** Searches customers, accounts, payments and invoices. */
export function FindBox({ id, hasSlashShortcut = false, ofPage }: FindBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const [, navigate] = useLocation();
  const [text, setText] = useState(ofPage?.text ?? '');
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
  const isShown = ofPage !== undefined || (isOpen && wanted.length > 0);

  const textOfPage = ofPage?.text ?? '';
  const lastOfPage = useRef(textOfPage);
  // A link to the page, or the back button, has changed the text in the URL.
  useEffect(() => {
    if (textOfPage === lastOfPage.current) return;
    lastOfPage.current = textOfPage;
    setText(textOfPage);
  }, [textOfPage]);
  // Before the effect that opens a result, so that the back button returns to the results.
  // biome-ignore lint/correctness/useExhaustiveDependencies: Only a new text is written to the URL.
  useEffect(() => {
    if (!ofPage || wanted === lastOfPage.current) return;
    lastOfPage.current = wanted;
    ofPage.onSearch(wanted);
  }, [wanted]);

  useShortcut(hasSlashShortcut ? 'find' : undefined, () => {
    input.current?.focus();
    input.current?.select();
  });

  // Enter opens a result of the text in the field. Until its results arrive, the list shows those of the text before.
  const isWaiting = wanted !== text.trim() || search.isPlaceholderData || search.isLoading;
  useEffect(() => {
    if (!opensFirst || isWaiting) return;
    setOpensFirst(false);
    open(results[active]);
  });

  function leave() {
    setIsOpen(false);
    if (!ofPage) setText('');
    input.current?.blur();
  }

  function open(result: Result | undefined) {
    if (!result) return;
    leave();
    navigate(`/${result.type}s/${result.id}`);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = isKey(event, 'down') ? 1 : isKey(event, 'up') ? -1 : undefined;
    if (step !== undefined) setActive((active + step + results.length) % Math.max(1, results.length));
    else if (isKey(event, 'open')) setOpensFirst(true);
    else if (isKey(event, 'clear')) {
      setText('');
      setIsOpen(false);
    } else return;
    event.preventDefault();
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: It only closes the results when the focus leaves the search.
    <div
      className={`find ${ofPage ? 'in-page' : ''}`}
      onBlur={({ currentTarget, relatedTarget }) => {
        // A link below the results can get the focus.
        if (relatedTarget instanceof Node && currentTarget.contains(relatedTarget)) return;
        setIsOpen(false);
        setOpensFirst(false);
      }}
    >
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
          onKeyDown={onKeyDown}
        />
        {hasSlashShortcut && text === '' && <kbd className="wide-only">{KEYS.find}</kbd>}
      </label>
      <div className="find-results" hidden={!isShown}>
        {isShown && (
          <Suspense>
            <Results
              id={id}
              text={wanted}
              shortest={SHORTEST_TEXT}
              results={results}
              total={search.data?.total}
              error={search.error}
              active={active}
              onActive={setActive}
              onOpen={open}
              onLeave={leave}
            />
          </Suspense>
        )}
      </div>
    </div>
  );
}
