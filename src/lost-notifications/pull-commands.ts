import type { Config, Context } from '../core/context.ts';
import type { Db } from '../core/database/db.ts';
import type { Log } from '../core/log.ts';
import { importNotifications } from '../payments/notifications/commands.ts';
import { insertRejected } from '../payments/notifications/store.ts';
import type { Notification } from '../payments/posting/rules.ts';
import {
  ProviderApiError,
  type PulledPayment,
  type PullSource,
  type PullWindow,
} from '../payments/providers/provider.ts';
import { PROVIDERS, type ProviderApis, providerNamed } from '../payments/providers/registry.ts';
import { nextTryAt } from '../payments/providers/retry-rules.ts';
import { readingSettings, readPulled } from '../payments/providers/rules.ts';
import { type Attempt, addJob } from '../platform/jobs/queue.ts';
import { findLastImportEnd } from '../portfolio/import/store.ts';
import { nextPullAt, startOfPull } from './pull-rules.ts';
import {
  findDuePulls,
  findKnownTransactions,
  findPull,
  hasRejected,
  insertPulls,
  type PullKey,
  recordProgress,
  recordPullFailure,
  recordRegistration,
} from './pull-store.ts';

/**
 * Asks providers for their payments, and posts those whose notification was lost. Each job pulls the payments of one short code,
 * window by window. A window (a period such as two hours) is complete before the next one starts.
 */

export const PULL_TASK = 'pull-payments';

/** Windows are halved down to this length if an answer is too large. */
const SHORTEST_WINDOW_MS = 60_000;
/** After this time, the next windows wait for the next run of the job, a minute later. */
const LONGEST_RUN_MS = 60_000;
/** After this many pages of a window, the pull fails: the provider probably never reports the end of its rows. */
const MAX_PAGES = 5_000;
/** Each page starts with the last rows of the previous page, because rows shift if the provider adds or hides rows. */
const OVERLAPPING_ROWS = 10;
/** A window is read at most this many times. */
const MAX_PASSES = 6;
const MAX_FAILURE_LENGTH = 500;
/** Fewer than a posting queue can hold. */
const POSTED_AT_ONCE = 200;

/** Adds a job for each short code that is due. @returns the number of jobs. */
export async function queueDuePulls({ db, config }: Context): Promise<number> {
  const keys = pulledKeys(config);
  if (keys.length === 0) return 0;
  await insertPulls(db, keys);
  const due = (await findDuePulls(db)).filter((key) => isPulled(config, key));
  for (const { provider, shortCode } of due) {
    const payload = { provider, shortCode };
    await addJob(db, { task: PULL_TASK, key: `${PULL_TASK}:${provider}:${shortCode}`, payload });
  }
  return due.length;
}

function pulledKeys(config: Config): PullKey[] {
  return PROVIDERS.flatMap(({ name: provider, pulledShortCodes }) =>
    (pulledShortCodes?.(config) ?? []).map((shortCode) => ({ provider, shortCode })),
  );
}

/** Whether the settings turn on pulls for the short code. A short code that was pulled before has a row even if pulls are off. */
export function isPulled(config: Config, { provider, shortCode }: PullKey): boolean {
  return pulledKeys(config).some((key) => key.provider === provider && key.shortCode === shortCode);
}

/** Pulls the payments of a short code. A failure of the provider is recorded, and the pull is tried again later. */
export async function pullPayments(
  context: Context,
  log: Log,
  apis: ProviderApis,
  key: PullKey,
  { signal }: Pick<Attempt, 'signal'>,
): Promise<void> {
  const { db, clock, config } = context;
  const source = apis.get(key.provider)?.pull;
  const row = await findPull(db, key);
  if (!source || !isPulled(config, key) || !row || new Date(row.next_at) > clock.now()) return;
  try {
    if (row.registered_at === null) {
      await source.register(key.shortCode, signal);
      await recordRegistration(db, key);
    }
    const completeUntil = row.complete_until === null ? null : new Date(row.complete_until);
    await pullWindows(context, log, source, key, completeUntil, signal);
  } catch (error) {
    if (!(error instanceof ProviderApiError) || signal.aborted) throw error;
    const failures = row.failures_in_a_row + 1;
    const nextAt = nextTryAt(failures, error.retryAfterSeconds, clock.now());
    await recordPullFailure(db, key, error.message.slice(0, MAX_FAILURE_LENGTH), nextAt);
    log.warn({ ...key, failure: error.message }, 'a pull of payments failed and will be tried again');
  }
}

async function pullWindows(
  context: Context,
  log: Log,
  source: PullSource,
  key: PullKey,
  completeUntil: Date | null,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock } = context;
  const endOfRun = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_RUN_MS)]);
  const now = clock.now();
  const importedAt = completeUntil === null ? await findLastImportEnd(db) : null;
  let { from, lost } = startOfPull({ completeUntil, importedAt }, now, source.historyMs);
  let windowMs = source.longestWindowMs;
  let expected = completeUntil;
  while (from < now && !endOfRun.aborted) {
    const to = new Date(Math.min(from.getTime() + windowMs, now.getTime()));
    const window = { shortCode: key.shortCode, from, to };
    let foundCount: number;
    try {
      foundCount = await pullWindow(context, log, source, key.provider, window, signal);
    } catch (error) {
      const isTooLarge = error instanceof ProviderApiError && error.problem === 'too_large';
      if (!isTooLarge || windowMs <= SHORTEST_WINDOW_MS) throw error;
      windowMs = Math.max(windowMs / 2, SHORTEST_WINDOW_MS);
      continue;
    }
    if (foundCount > 0) log.info({ ...key, from, to, foundCount }, 'a pull found payments');
    const reached = expected !== null && expected > to ? expected : to;
    const nextAt = nextPullAt(to, now);
    // If a gap in the balance was found meanwhile, `pullAgain` has moved `complete_until` back. The next run starts there.
    if (!(await recordProgress(db, key, { expected, completeUntil: reached, foundCount, nextAt, lost })))
      return;
    expected = reached;
    from = to;
    lost = null;
  }
}

/**
 * Posts those payments of a window that have no stored notification. A window of several pages is read again until no new row
 * appears, because the pages may have shifted.
 * @returns the number of payments that were posted.
 * @throws ProviderApiError if new rows still appear, a page is repeated, there are too many pages, or the provider refuses.
 */
async function pullWindow(
  context: Context,
  log: Log,
  source: PullSource,
  provider: string,
  window: PullWindow,
  signal: AbortSignal,
): Promise<number> {
  const seen = new Set<string>();
  let foundCount = 0;
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    let newPages = 0;
    for await (const payments of readPages(source, window, signal)) {
      const unseen = payments.filter(({ raw }) => !seen.has(raw));
      if (unseen.length === 0) continue;
      newPages += 1;
      for (const { raw } of unseen) seen.add(raw);
      foundCount += await postUnknown(context, log, provider, unseen);
    }
    if (newPages === 0 || (pass === 1 && newPages === 1)) return foundCount;
  }
  throw new ProviderApiError(
    'no_answer',
    `The provider’s list of the period was still changing after ${MAX_PASSES} readings.`,
  );
}

async function* readPages(
  source: PullSource,
  window: PullWindow,
  signal: AbortSignal,
): AsyncGenerator<PulledPayment[]> {
  let offset = 0;
  let largestPage = 0;
  let previous = '';
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { rowCount, content, payments } = await source.readPage(window, offset, signal);
    if (rowCount === 0) return;
    if (content === previous) break;
    previous = content;
    yield payments;
    // A page that is smaller than an earlier one is the last page.
    largestPage = Math.max(largestPage, rowCount);
    const overlap = rowCount < largestPage ? 0 : Math.min(OVERLAPPING_ROWS, Math.floor(rowCount / 2));
    offset += rowCount - overlap;
  }
  // There may be other rows, so the window is not complete.
  throw new ProviderApiError(
    'refused',
    `The provider repeated a page, or sent more than ${MAX_PAGES} pages, so its list of the period is incomplete after row ${offset}. The service will read the period again.`,
  );
}

async function postUnknown(
  context: Context,
  log: Log,
  provider: string,
  payments: readonly PulledPayment[],
): Promise<number> {
  const { db, clock } = context;
  const settings = readingSettings(context);
  const readings = payments.map((pulled) => ({
    pulled,
    reading: readPulled(providerNamed(provider), pulled, clock.now(), settings),
  }));
  const readable = readings.flatMap(({ reading }) =>
    'notification' in reading ? [reading.notification] : [],
  );
  const known = readable.length > 0 ? await findKnownTransactions(db, provider, readable) : new Set<string>();
  const unknown: Notification[] = [];
  for (const { pulled, reading } of readings) {
    if ('problems' in reading) {
      const failure = reading.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
      await reject(db, provider, pulled, failure);
    } else if (!known.has(reading.notification.transId)) {
      if (pulled.doubt === null) unknown.push(reading.notification);
      else await reject(db, provider, pulled, pulled.doubt);
    }
  }
  for (let start = 0; start < unknown.length; start += POSTED_AT_ONCE)
    await importNotifications(context, log, unknown.slice(start, start + POSTED_AT_ONCE));
  return unknown.length;
}

/** Lists the row for staff, once. */
async function reject(db: Db, provider: string, { raw }: PulledPayment, failure: string): Promise<void> {
  if (!(await hasRejected(db, provider, raw))) await insertRejected(db, provider, raw, failure, 'pull');
}
