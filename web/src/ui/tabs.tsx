import { useEffect, useRef } from 'react';
import { Link } from 'wouter';

interface TabsProps {
  /** For screen readers. */
  label: string;
  tabs: readonly { href: string; label: string; count?: string | undefined; isCurrent: boolean }[];
}

/** Links between the views of a page. On a phone they are in one line that scrolls. */
export function Tabs({ label, tabs }: TabsProps) {
  const bar = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  const counts = tabs.map(({ count }) => count).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: When `current` or `counts` changes, the tab may be out of view.
  useEffect(() => reveal(bar.current, bar.current?.querySelector('[aria-current]')), [current, counts]);
  return (
    <nav
      ref={bar}
      className="tabs"
      aria-label={label}
      onFocus={({ target }) => {
        // Not after a mouse click: the tab would move away from the pointer before the click ends.
        if (target.matches(':focus-visible')) reveal(bar.current, target);
      }}
    >
      {tabs.map(({ href, label, count, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {label}
          {count !== undefined && <span className="tab-count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}

/** Scrolls the tab to the middle of the bar. `scrollIntoView` could also scroll the page. */
function reveal(bar: Element | null, tab: Element | null | undefined): void {
  if (!bar || !tab) return;
  const [outer, inner] = [bar.getBoundingClientRect(), tab.getBoundingClientRect()];
  bar.scrollBy({ left: inner.left + inner.width / 2 - outer.left - outer.width / 2 });
}
