import { type ReactNode, useEffect, useId } from 'react';
import { usePageTitle } from './page-title.ts';

interface PanelProps {
  title: string;
  /** Next to the title. */
  actions?: ReactNode;
  /** Without padding, for a table. */
  isFlush?: boolean;
  children: ReactNode;
}

export function Panel({ title, actions, isFlush = false, children }: PanelProps) {
  const id = useId();
  return (
    <section className={`panel ${isFlush ? 'flush' : ''}`} aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      <div className="panel-body">{children}</div>
    </section>
  );
}

let hasShownPage = false;

interface PageHeadProps {
  title: ReactNode;
  /** The title of the browser tab, without the name of a person. Default: `title`, if it is text. */
  tabTitle?: string;
  /** Shown above the title, for example the kind of record. */
  eyebrow?: ReactNode;
  /** Below the title. */
  children?: ReactNode;
  actions?: ReactNode;
}

/** The head of a page, with its only h1. */
export function PageHead({ title, tabTitle, eyebrow, children, actions }: PageHeadProps) {
  usePageTitle(tabTitle ?? (typeof title === 'string' ? title : undefined));
  // The link that opened the page may be gone, and the focus with it. Then a screen reader starts at the page. Not on the first page, where
  // a user of the keyboard starts at the top.
  useEffect(() => {
    if (hasShownPage && document.activeElement === document.body)
      document.getElementById('main')?.focus({ preventScroll: true });
    hasShownPage = true;
  }, []);
  return (
    <header className="page-head">
      <div className="page-title">
        {eyebrow && <p className="eyebrow">{eyebrow}</p>}
        <h1>{title}</h1>
        {children && <div className="page-sub">{children}</div>}
      </div>
      {actions && <div className="actions">{actions}</div>}
    </header>
  );
}

interface ColumnsProps {
  main: ReactNode;
  side: ReactNode;
  isSideFirst?: boolean;
}

/** A main column and a narrow side column. On a phone, the side column is below the main column, or above with `isSideFirst`. */
export function Columns({ main, side, isSideFirst = false }: ColumnsProps) {
  const sideColumn = <div className="column side-column">{side}</div>;
  return (
    <div className="columns">
      {isSideFirst && sideColumn}
      <div className="column">{main}</div>
      {!isSideFirst && sideColumn}
    </div>
  );
}

/** The main figures of a page. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className="stats">{children}</dl>;
}

interface StatProps {
  label: string;
  value: ReactNode;
  hint?: ReactNode;
  tone?: 'good' | 'warning' | 'bad';
}

export function Stat({ label, value, hint, tone }: StatProps) {
  return (
    <div className={`stat ${tone ?? ''}`}>
      <dt>{label}</dt>
      <dd>
        <div className="stat-value">{value}</div>
        {hint && <div className="stat-hint">{hint}</div>}
      </dd>
    </div>
  );
}

/** Names and values. A row whose value is null or undefined is left out. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
