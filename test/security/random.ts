import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Makes the same choices for the same seed. */
export function createRandom(seed: number) {
  const generator = xoroshiro128plus(seed);
  const below = (bound: number) => uniformInt(generator, 0, bound - 1);
  return { below, pick: <T>(from: readonly T[]): T => from[below(from.length)] as T };
}
