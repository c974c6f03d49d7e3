import type { ReactNode } from 'react';
import { Link } from 'wouter';

interface TabsProps {
  /** For screen readers. */
  label: string;
  tabs: readonly { href: string; label: string; count?: ReactNode; isCurrent: boolean }[];
}

/** Links between the views of a page. */
export function Tabs({ label, tabs }: TabsProps) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ href, label, count, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {label}
          {count !== undefined && <span className="tab-count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
