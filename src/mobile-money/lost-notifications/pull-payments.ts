import type { Config, Context } from '../../core/context.ts';
import type { Log } from '../../core/log.ts';
import { importNotifications } from '../../payments/notifications/receive-notification.ts';
import { insertRejectedOnce } from '../../payments/notifications/store.ts';
import type { PostingContext } from '../../payments/posting/post-payments.ts';
import type { Notification } from '../../payments/posting/rules.ts';
import { type Attempt, addJob } from '../../platform/jobs/queue.ts';
import { ProviderApiError, type PulledPayment, type PullSource } from '../providers/provider.ts';
import { PROVIDERS, type ProviderApis, providerNamed } from '../providers/registry.ts';
import { nextTryAt } from '../providers/retry-rules.ts';
import { readingSettings, readPulled } from '../providers/rules.ts';
import { comparablePart, latest, leftUntil, nextPullAt, type Period, startOfPull } from './pull-rules.ts';
import {
  addFound,
  findDuePulls,
  findKnownTransactions,
  findLastImportEnd,
  findPull,
  findReportedPayment,
  insertPulls,
  type PullKey,
  type PullRow,
  recordIncomplete,
  recordProgress,
  recordPullFailure,
  recordRegistration,
} from './pull-store.ts';
import { IncompleteList, readPeriod } from './read-period.ts';

/**
 * Asks providers for their payments, and posts those whose notification was lost. Each job pulls the payments of one short code,
 * window by window. A window (a period such as two hours) is complete before the next one starts.
 */

export const PULL_TASK = 'pull-payments';

/** Windows are halved down to this length if an answer is too large. */
const SHORTEST_WINDOW_MS = 60_000;
/** After this time, the next windows wait for the next run of the job, a minute later. */
const LONGEST_RUN_MS = 60_000;
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
  context: PostingContext,
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
    await pullWindows(context, log, source, row, signal);
  } catch (error) {
    if (!(error instanceof ProviderApiError) || signal.aborted) throw error;
    const failures = row.failures_in_a_row + 1;
    const nextAt = nextTryAt(failures, error.retryAfterSeconds, clock.now());
    const failure = error.message.slice(0, MAX_FAILURE_LENGTH);
    await recordPullFailure(db, key, { failure, nextAt, isIncomplete: error instanceof IncompleteList });
    log.warn({ ...key, failure: error.message }, 'a pull of payments failed and will be tried again');
  }
}

async function pullWindows(
  context: PostingContext,
  log: Log,
  source: PullSource,
  row: PullRow,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock } = context;
  const key = { provider: row.provider, shortCode: row.short_code };
  const endOfRun = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_RUN_MS)]);
  const now = clock.now();
  const completeUntil = dateOf(row.complete_until);
  const importedAt = await findLastImportEnd(db);
  let { from, earliest, lost } = startOfPull({ completeUntil, importedAt }, now, source.historyMs);
  let windowMs = source.longestWindowMs;
  let expected = completeUntil;
  let incompleteSince = dateOf(row.incomplete_since);
  const pull = (period: Period) => pullPeriod(context, log, source, key, period, signal);
  while (from < now && !endOfRun.aborted) {
    const to = new Date(Math.min(from.getTime() + windowMs, now.getTime()));
    let period: Period = { from, to };
    let end = to;
    try {
      if (!(await pull(period))) {
        // The provider may be wrong. Only a long period has payments in the books that the empty list contradicts.
        period = { from: latest(earliest, new Date(to.getTime() - windowMs)), to };
        if (period.from >= from || !(await pull(period))) await expectNoPayments(context, key, period);
      }
      incompleteSince = null;
    } catch (error) {
      if (!(error instanceof ProviderApiError)) throw error;
      if (error.problem === 'too_large' && windowMs > SHORTEST_WINDOW_MS) {
        windowMs = Math.max(windowMs / 2, SHORTEST_WINDOW_MS);
        continue;
      }
      const left =
        error instanceof IncompleteList ? leftUntil({ from, to }, incompleteSince, now) : undefined;
      if (!left) throw error;
      end = left;
      await recordIncomplete(
        db,
        key,
        { from: period.from, to: end },
        error.message.slice(0, MAX_FAILURE_LENGTH),
      );
      log.warn(
        { ...key, from: period.from, to: end, reason: error.message },
        'a pull left an incomplete period',
      );
    }
    const reached = expected !== null && expected > end ? expected : end;
    const nextAt = nextPullAt(end, now);
    // If a gap in the balance was found meanwhile, `pullAgain` has moved `complete_until` back. The next run starts there.
    const progress = { expected, completeUntil: reached, incompleteSince, nextAt, lost };
    if (!(await recordProgress(db, key, progress))) return;
    expected = reached;
    from = end;
    lost = null;
  }
}

/** Posts those payments of a period that have no stored notification. @returns whether the provider lists any rows. */
async function pullPeriod(
  context: PostingContext,
  log: Log,
  source: PullSource,
  key: PullKey,
  period: Period,
  signal: AbortSignal,
): Promise<boolean> {
  const { db } = context;
  const window = { shortCode: key.shortCode, ...period };
  let foundCount = 0;
  const rowCount = await readPeriod(
    source,
    window,
    async ({ payments }) => {
      const found = await postUnknown(context, log, key.provider, payments);
      if (found > 0) await addFound(db, key, found);
      foundCount += found;
    },
    signal,
  );
  if (foundCount > 0) log.info({ ...key, ...period, foundCount }, 'a pull found payments');
  return rowCount > 0;
}

/** @throws IncompleteList if the provider has reported a payment of the period that it does not list. */
async function expectNoPayments({ db }: Context, key: PullKey, period: Period): Promise<void> {
  const comparable = comparablePart(period);
  const transId = comparable && (await findReportedPayment(db, key, comparable));
  if (transId === undefined) return;
  const [from, to] = [period.from.toISOString(), period.to.toISOString()];
  throw new IncompleteList(
    `the provider lists no payments from ${from} to ${to}, but has reported the payment ${transId} of this time`,
  );
}

export function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}

/** @returns the number of payments that were posted. */
async function postUnknown(
  context: PostingContext,
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
      await insertRejectedOnce(db, provider, pulled.raw, failure, 'pull', reading.readable);
    } else if (!known.has(reading.notification.transId)) {
      const doubt = pulled.doubt ?? doubtOfPayer(pulled, settings);
      if (doubt === null) unknown.push(reading.notification);
      else await insertRejectedOnce(db, provider, pulled.raw, doubt, 'pull', reading.notification);
    }
  }
  for (let start = 0; start < unknown.length; start += POSTED_AT_ONCE)
    await importNotifications(context, log, unknown.slice(start, start + POSTED_AT_ONCE));
  return unknown.length;
}

/** Money that one short code of the business pays to another is no payment of a customer. */
function doubtOfPayer(
  { sent: { payer } }: PulledPayment,
  { paybillNumbers }: ReturnType<typeof readingSettings>,
): string | null {
  const isOwn = payer !== null && paybillNumbers.includes(payer);
  return isOwn ? `the payer ${payer} is a short code of PAYBILL_NUMBERS` : null;
}
