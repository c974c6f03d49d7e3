import { usage, usedPerRequest } from './usage.mjs';
import { wrk } from './wrk.mjs';

const WARM_UP_SECONDS = 8;

/**
 * Runs all programs in each round. Before the first round, an additional round warms up. The programs take turns to be the first
 * of a round, because the first one after a checkpoint has more work: after a checkpoint, the first change of a table page writes
 * the whole page to the WAL.
 *
 * @param programs - for each name of a program, a function that runs the program for the given number of seconds.
 * @returns for each round, the results of the functions, by name.
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

/** Runs one round of wrk. @returns its result, and `used`: the average resources for one request, see usage.mjs. */
export async function wrkAndUsage(running, options) {
  const before = await usage(running);
  const take = await wrk(options);
  return { ...take, used: usedPerRequest(before, await usage(running), take.requests) };
}
