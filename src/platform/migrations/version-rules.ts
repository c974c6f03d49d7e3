/**
 * Whether one of the lists is the beginning of the other.
 * @param own - the names of the migrations of this version, in the order in which they are applied.
 * @param applied - the names of the migrations that the database has, in the same order.
 */
export function haveSameHistory(own: readonly string[], applied: readonly string[]): boolean {
  const shared = Math.min(own.length, applied.length);
  return own.slice(0, shared).join() === applied.slice(0, shared).join();
}

/**
 * Whether this version of the service can work with a database that has the migrations `applied`. The database needs all
 * migrations of this version, and can have later ones.
 *
 * @param oldestUsable what `oldest_usable_migration()` returns: every version that has this migration can work with the database.
 */
export function isUsable(own: readonly string[], applied: readonly string[], oldestUsable: string): boolean {
  return haveSameHistory(own, applied) && applied.length >= own.length && (own.at(-1) ?? '') >= oldestUsable;
}
