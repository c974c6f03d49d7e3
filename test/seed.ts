/**
 * The seed of a file's properties, told where the run is read: PROPERTY_SEED, or a new one.
 * @param what has the properties
 */
export function printedSeed(what: string): number {
  const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 2 ** 31);
  process.stdout.write(`Properties of ${what}: seed ${seed}; repeat with PROPERTY_SEED=${seed}\n`);
  return seed;
}
