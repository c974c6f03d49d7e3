import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'info';

/** A short status. The colour only repeats the meaning of the text. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
