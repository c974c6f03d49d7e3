import type { ReactNode } from 'react';

/** The metadata of a row as names and values for <Facts>. */
export function metadataFacts(metadata: object): (readonly [name: string, value: ReactNode])[] {
  return Object.entries(metadata).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}
