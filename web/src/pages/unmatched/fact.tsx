import type { ReactNode } from 'react';

interface FactProps {
  name: string;
  isWide?: boolean;
  /** Whether the value is a code or a number, in the font for codes. */
  isCode?: boolean;
  children: ReactNode;
}

/** A name and a value in a `<dl className="queue-facts">`. */
export function Fact({ name, isWide = false, isCode = false, children }: FactProps) {
  return (
    <div className={isWide ? 'wide' : undefined}>
      <dt>{name}</dt>
      <dd className={isCode ? 'mono' : undefined}>{children}</dd>
    </div>
  );
}
