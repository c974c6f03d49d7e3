import { event, eventRow } from '../../changes/events/change-rules.ts';
import { writeChanges } from '../../changes/events/change-store.ts';
import { type Context, SYSTEM } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import { parseMinor } from '../../core/values/money.ts';
import type { PaymentProvider } from '../providers/provider.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { addReport, type BalanceReport, findGaps, type Segment, stateOfGap } from './balance-rules.ts';
import { isPulled } from './pull-payments.ts';
import { isUsuallyHeard, USUAL_COUNT, usualPeriods } from './silence-rules.ts';
import {
  addLate,
  countNotifications,
  endSilence,
  findLastHeard,
  findOpenGaps,
  findSegments,
  findWatches,
  flagWithoutBalance,
  insertGap,
  insertWatches,
  moveToPresent,
  pullAgain,
  type ReadNotification,
  readNotifications,
  recordExplanation,
  recordMissed,
  recordRead,
  recordSilence,
  storeSegments,
  tryLockWatch,
  type WatchRow,
} from './watch-store.ts';

/**
 * Watches the stored notifications of providers for gaps in the running balance and for silence. Both are hints that a
 * notification was lost.
 */

const READ_AT_ONCE = 2_000;
const GAPS_AT_ONCE = 200;

/** Reads the new notifications. @returns the number of gaps in the balances that were found. */
export async function watchNotifications(context: Context, signal: AbortSignal, log: Log): Promise<number> {
  await insertWatches(
    context.db,
    PROVIDERS.map(({ name }) => name),
  );
  let found = 0;
  for (const provider of PROVIDERS) {
    for (let isMore = true; isMore && !signal.aborted; ) {
      const read = await inTransaction(context.db, (tx) => readNext(tx, context, log, provider));
      isMore = read.isMore;
      found += read.gapCount;
    }
  }
  return found;
}

async function readNext(
  tx: Tx,
  context: Context,
  log: Log,
  provider: PaymentProvider,
): Promise<{ isMore: boolean; gapCount: number }> {
  const watch = await tryLockWatch(tx, provider.name);
  if (!watch) return { isMore: false, gapCount: 0 };
  if (await hasMissed(tx, context, watch)) await recordMissed(tx, provider.name, watch.read_until);
  const rows = await readNotifications(tx, watch, READ_AT_ONCE);
  const isMore = rows.length === READ_AT_ONCE;
  const last = rows.at(-1);
  if (last) await recordRead(tx, provider.name, last);
  if (!isMore) await moveToPresent(tx, provider.name);
  const gapCount = provider.readBalance ? await followBalances(tx, context, log, provider, rows) : 0;
  return { isMore, gapCount };
}

/** Whether the service did not run for a time in which the provider usually sends notifications. Otherwise it reads every minute. */
async function hasMissed(
  tx: Tx,
  { clock }: Context,
  { provider, read_until: readUntil }: WatchRow,
): Promise<boolean> {
  const periods = usualPeriods(new Date(readUntil), clock.now());
  return periods.length > 0 && isUsuallyHeard(await countNotifications(tx, provider, periods, USUAL_COUNT));
}

async function followBalances(
  tx: Tx,
  { clock, currency }: Context,
  log: Log,
  provider: PaymentProvider,
  rows: readonly ReadNotification[],
): Promise<number> {
  const known = await findSegments(tx, provider.name);
  const withoutBalance = rows.filter((row) => lacksBalance(row, provider, known)).map(({ id }) => id);
  if (withoutBalance.length > 0) {
    await flagWithoutBalance(tx, withoutBalance);
    log.warn(
      { provider: provider.name, notificationIds: withoutBalance },
      'notifications have no balance, although the provider sends one with each payment: if its two addresses are swapped, these payments were posted before their money moved',
    );
  }
  const changed = new Map<string, readonly Segment[]>(known);
  for (const row of rows) {
    const { business_short_code: shortCode } = row;
    const report = reportOf(row, provider, currency.decimals);
    if (shortCode !== null && report) changed.set(shortCode, addReport(changed.get(shortCode) ?? [], report));
  }
  let gapCount = 0;
  for (const [shortCode, segments] of changed) {
    const found = findGaps(segments, clock.now());
    for (const late of found.late) await addLate(tx, provider.name, shortCode, late);
    for (const gap of found.gaps) {
      const id = await insertGap(tx, provider.name, shortCode, gap);
      await pullAgain(tx, provider.name, shortCode, gap.fromTime);
      const data = { provider: provider.name, shortCode, differenceMinor: gap.differenceMinor };
      await publish(tx, { resource: 'balance_gap', resourceId: id }, event('balance_gap.found', data));
    }
    gapCount += found.gaps.length;
    if (segments !== known.get(shortCode) || found.segments.length !== segments.length)
      await storeSegments(tx, provider.name, shortCode, found.segments);
  }
  return gapCount;
}

/**
 * Whether a call has no balance, although the provider has sent balances of this short code before. Calls that ask the service
 * before the money moves have no balance.
 */
function lacksBalance(
  { isInBalance, isAnswer, business_short_code: shortCode, raw_body: body }: ReadNotification,
  { readBalance }: PaymentProvider,
  known: ReadonlyMap<string, unknown>,
): boolean {
  if (!isInBalance || isAnswer || shortCode === null || !known.has(shortCode)) return false;
  return readBalance?.(Buffer.from(body)) === null;
}

function reportOf(
  row: ReadNotification,
  { readBalance }: PaymentProvider,
  decimals: number,
): BalanceReport | undefined {
  const { amount_minor: amount, trans_time: time } = row;
  if (!row.isInBalance || amount === null || time === null) return undefined;
  const balanceMinor = parseMinor(readBalance?.(Buffer.from(row.raw_body)) ?? '', decimals);
  if (balanceMinor === undefined) return undefined;
  const receivedAt = new Date(row.received_at);
  return { time: new Date(time), amountMinor: BigInt(amount), balanceMinor, receivedAt };
}

/** Compares open gaps with the payments that were found later. @returns the number of explained gaps. */
export async function explainGaps({ db, config }: Context): Promise<number> {
  let explained = 0;
  for (const gap of await findOpenGaps(db, GAPS_AT_ONCE)) {
    const { provider, short_code: shortCode, pulled_until: pulledUntil } = gap;
    const foundMinor = BigInt(gap.now_found_minor);
    const isComplete =
      !isPulled(config, { provider, shortCode }) ||
      (pulledUntil !== null && new Date(pulledUntil) > new Date(gap.until_time));
    const state = stateOfGap({
      differenceMinor: BigInt(gap.difference_minor),
      lateMinor: BigInt(gap.late_minor),
      foundMinor,
      isComplete,
    });
    if (state === 'open' && foundMinor === BigInt(gap.found_minor)) continue;
    await recordExplanation(db, gap.id, { state, foundMinor });
    if (state !== 'open') explained += 1;
  }
  return explained;
}

/**
 * Reports providers that are silent for longer than usual, and providers that are heard again. @returns the number of changes.
 */
export async function watchSilence(context: Context): Promise<number> {
  let changes = 0;
  for (const watch of await findWatches(context.db)) {
    const lastHeardAt = await findLastHeard(context.db, watch);
    if (lastHeardAt === null) continue;
    const hasChanged =
      watch.silent_since === null
        ? await reportSilence(context, watch, lastHeardAt)
        : await reportEnd(context, watch, lastHeardAt);
    if (hasChanged) changes += 1;
  }
  return changes;
}

async function reportSilence(
  { db, clock }: Context,
  { provider }: WatchRow,
  lastHeardAt: string,
): Promise<boolean> {
  const periods = usualPeriods(new Date(lastHeardAt), clock.now());
  if (periods.length === 0) return false;
  if (!isUsuallyHeard(await countNotifications(db, provider, periods, USUAL_COUNT))) return false;
  return inTransaction(db, async (tx) => {
    if (!(await recordSilence(tx, provider, lastHeardAt))) return false;
    const silent = event('provider.silent', { provider, lastHeardAt: new Date(lastHeardAt).toISOString() });
    await publish(tx, { resource: 'provider', resourceId: null }, silent);
    return true;
  });
}

async function reportEnd({ db }: Context, watch: WatchRow, lastHeardAt: string): Promise<boolean> {
  const { provider, silent_since: since } = watch;
  if (since === null || new Date(lastHeardAt) <= new Date(since)) return false;
  return inTransaction(db, async (tx) => {
    if (!(await endSilence(tx, provider))) return false;
    await recordMissed(tx, provider, since);
    const heard = event('provider.heard_again', {
      provider,
      lastHeardAt: new Date(lastHeardAt).toISOString(),
    });
    await publish(tx, { resource: 'provider', resourceId: null }, heard);
    return true;
  });
}

async function publish(
  tx: Tx,
  subject: Parameters<typeof eventRow>[1],
  published: Parameters<typeof eventRow>[2],
): Promise<void> {
  await writeChanges(tx, [eventRow(SYSTEM, subject, published)]);
}
