import { useEffect, useRef } from 'react';
import { Link } from 'wouter';

interface TabsProps {
  /** For screen readers. */
  label: string;
  tabs: readonly { href: string; label: string; count?: string | undefined; isCurrent: boolean }[];
}

/** Links between the views of a page, in one line that scrolls if it is too long. */
export function Tabs({ label, tabs }: TabsProps) {
  const bar = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  const counts = tabs.map(({ count }) => count).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: Another tab, or another count, may move the tab out of view.
  useEffect(() => reveal(bar.current?.querySelector('[aria-current]')), [current, counts]);
  return (
    <nav
      ref={bar}
      className="tabs"
      aria-label={label}
      onFocus={({ target }) => {
        // Not for a pointer: the tab would move away from it before the click ends.
        if (target.matches(':focus-visible')) reveal(target);
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

/** Browsers leave a tab where it is that is in view in part. */
function reveal(tab: Element | null | undefined): void {
  tab?.scrollIntoView({ block: 'nearest', inline: 'center' });
}
