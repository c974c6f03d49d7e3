import { nameOfKey } from '../../i18n/index.ts';

/** The metadata of a row as names and values for <Facts>. */
export function metadataFacts(metadata: object): (readonly [name: string, value: string])[] {
  return Object.entries(metadata).map(([name, value]) => [
    nameOfKey(name),
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}
