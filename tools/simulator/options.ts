import { parseArgs } from 'node:util';

/** What the command lines of both simulators have in common. */

/** The options are wrong. The message is the usage. */
export class UsageError extends Error {}

export const text = (value: string) => ({ type: 'string', default: value }) as const;

export function parseOptions<T extends NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>>(
  options: T,
  usage: string,
) {
  try {
    return parseArgs({ options }).values;
  } catch (cause) {
    throw new UsageError(usage, { cause });
  }
}

/** The secrets are not options, because `ps` shows options. */
export function readSecrets() {
  const { SIMULATOR_PASSWORD: password = 'the simulated provider', WEBHOOK_SECRET: webhookSecret = '' } =
    process.env;
  return { password, webhookSecret };
}

/** @returns the address without a slash at its end. */
export function webAddress(given: string, usage: string): string {
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) throw new UsageError(usage);
  return given.replace(/\/+$/, '');
}

export function wholeNumber(
  given: string,
  { min = 1, max }: { min?: number; max: number },
  usage: string,
): number {
  const number = Number(given);
  if (!/^\d+$/.test(given) || number < min || number > max) throw new UsageError(usage);
  return number;
}
