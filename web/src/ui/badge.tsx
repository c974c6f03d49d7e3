import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'info';

/** A short status. The text has the meaning. The colour only repeats it. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
