/** Runs the rounds of a benchmark. */
import { usage, usedPerRequest } from './usage.mjs';
import { wrk } from './wrk.mjs';

const WARM_UP_SECONDS = 8;

/**
 * Runs all programs in each round. Each round starts with a different program, because the first program after a checkpoint has
 * more work: the first change of a page writes the whole page to the WAL. One more round, before the others, only warms up.
 *
 * @param programs - name of a program → a function that runs it for some seconds.
 * @returns for each round, what each function has returned, by name.
 */
export async function measureRounds({ rounds, seconds }, programs) {
  const names = Object.keys(programs);
  const takes = [];
  for (let round = 0; round <= rounds; round += 1) {
    const first = round % names.length;
    const take = {};
    for (const name of [...names.slice(first), ...names.slice(0, first)])
      take[name] = await programs[name](round === 0 ? WARM_UP_SECONDS : seconds);
    if (round > 0) takes.push(take);
  }
  return takes;
}

/** Runs one round of wrk. @returns its result, with `used`: what each request used in the `running` programs, see usage.mjs. */
export async function wrkAndUsage(running, options) {
  const before = await usage(running);
  const take = await wrk(options);
  return { ...take, used: usedPerRequest(before, await usage(running), take.requests) };
}
