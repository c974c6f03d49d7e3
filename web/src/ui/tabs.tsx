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
  useEffect(() => {
    const tab = bar.current?.querySelector('[aria-current]');
    tab?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current, counts]);
  return (
    <nav ref={bar} className="tabs" aria-label={label}>
      {tabs.map(({ href, label, count, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {label}
          {count !== undefined && <span className="tab-count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
