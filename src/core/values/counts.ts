/** Adds `change` to the count of a key. Removes the key if its count becomes 0. */
export function addTo<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
