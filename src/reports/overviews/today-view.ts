import { expandAccounts } from '../../accounts/expand-view.ts';
import { accountList } from '../../accounts/schema.ts';
import { listAccounts } from '../../accounts/store.ts';
import { toAccount } from '../../accounts/view.ts';
import { webhookEndpointList } from '../../changes/webhook-endpoints/schema.ts';
import { listEndpoints } from '../../changes/webhook-endpoints/store.ts';
import { callListList } from '../../collections/call-list/schema.ts';
import { listEntries } from '../../collections/call-list/store.ts';
import { promiseList } from '../../collections/promises/schema.ts';
import { listPromises } from '../../collections/promises/store.ts';
import { readMonthOfEmployee } from '../../commissions/view.ts';
import { type Actor, amountOf, type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { Snapshot } from '../../core/database/replica.ts';
import type { SnapshotReads } from '../../core/database/snapshot-reads.ts';
import type { Page } from '../../core/http/envelope.ts';
import {
  addDays,
  addMonthsKeepingDay,
  compareDates,
  firstOfMonth,
  mondayOf,
  type PlainDate,
  type Stopwatch,
} from '../../core/values/dates.ts';
import { readLastHeard } from '../../mobile-money/lost-notifications/view.ts';
import { readCashWork } from '../../payments/cash/view.ts';
import { notificationList } from '../../payments/notifications/schema.ts';
import { listNotifications } from '../../payments/notifications/store.ts';
import { paymentList } from '../../payments/schema.ts';
import { listPayments } from '../../payments/store.ts';
import { mayDo, type Permission } from '../../rights.ts';
import { approvalList } from '../../staff/approvals/schema.ts';
import { listApprovals } from '../../staff/approvals/store.ts';
import { countDecidableBy } from '../../staff/approvals/view.ts';
import { paymentSums, type Sums } from '../payments-store.ts';
import { findLastResult } from '../proof/result-store.ts';
import { toLastProof } from '../proof/view.ts';
import { daysOf } from '../rules.ts';
import { readCollectionRate, summarizeAccounts } from '../summary-view.ts';
import {
  BROKEN_DAYS,
  COMMISSION_MONTHS,
  DAYS_SHOWN,
  DECIDED_DAYS,
  isSilent,
  LATE_STATUSES,
  MOST_LATE_ACCOUNTS,
  REJECTED_DAYS,
} from './today-rules.ts';

const WEEK = 7;

/**
 * The work that waits for staff. A part that the actor may not read is null. Reads one part after another, so that a page view
 * takes one connection of the pool for requests, and not most of them.
 */
export async function readWork(context: Context, actor: Actor) {
  const { db } = context;
  const date = today(context);
  const ifAllowed = async <T>(permission: Permission, read: () => Promise<T>) =>
    mayDo(actor, permission) ? read() : null;
  const notifications = (query: Record<string, unknown>) =>
    countOf(listNotifications(db, notificationList.plan({ ...query, limit: 1 }, context)));
  const callsDue = (filters: Record<string, unknown>) => {
    const query = { 'filter[hiddenUntil]': { lte: date }, ...filters, limit: 1, shown: 'to_call' };
    return countOf(listEntries(db, callListList.plan(query, context), date));
  };

  return {
    date,
    unmatchedPayments: await ifAllowed('payments:read', () =>
      countOf(
        listPayments(db, paymentList.plan({ 'filter[status]': { eq: 'unmatched' }, limit: 1 }, context)),
      ),
    ),
    conflicts: await ifAllowed('payers:read', () => notifications({ 'filter[outcome]': { eq: 'conflict' } })),
    rejectedNotifications: await ifAllowed('payers:read', async () => {
      const from = addDays(date, 1 - REJECTED_DAYS);
      const query = { 'filter[status]': { eq: 'rejected' }, 'filter[createdAt]': { gte: from } };
      return { from, count: await notifications(query) };
    }),
    pendingApprovals: await countDecidableBy(db, actor),
    ownDecisions: await ifAllowed('approvals:read', async () => {
      if (actor.userId === null) return null;
      const from = addDays(date, 1 - DECIDED_DAYS);
      const query = {
        'filter[requestedByUserId]': { eq: String(actor.userId) },
        'filter[status]': { in: 'approved,rejected,obsolete' },
        'filter[endedAt]': { gte: from },
        limit: 1,
      };
      return { from, count: await countOf(listApprovals(db, approvalList.plan(query, context))) };
    }),
    cash: await readCashWork(context, actor),
    callsDue: await ifAllowed('calls:read', () => callsDue({})),
    ownCallsDue: await ifAllowed('calls:read', async () =>
      actor.userId === null ? null : callsDue({ 'filter[assigneeId]': { eq: String(actor.userId) } }),
    ),
    brokenPromises: await ifAllowed('calls:read', async () => {
      const from = addDays(date, 1 - BROKEN_DAYS);
      const query = { 'filter[lastJudgement]': { eq: 'broken' }, 'filter[date]': { gte: from }, limit: 1 };
      return { from, count: await countOf(listPromises(db, promiseList.plan(query, context), date)) };
    }),
    failingWebhookEndpoints: await ifAllowed('webhook-endpoints:administer', () =>
      countOf(
        listEndpoints(
          db,
          webhookEndpointList.plan({ 'filter[failingSince]': { isnull: 'false' }, limit: 1 }, context),
        ),
      ),
    ),
    providers: await ifAllowed('payers:read', () => readProviders(context)),
    proof: await ifAllowed('reports:read', async () =>
      toLastProof(await findLastResult(db), context.clock.now()),
    ),
    lateAccounts: await readLateAccounts(context, actor, date),
    own: await readWorkOfSeller(context, actor, date),
  };
}

async function countOf(page: Promise<Page<unknown>>): Promise<number> {
  return (await page).pagination.total ?? 0;
}

async function readProviders({ db, clock }: Context) {
  return (await readLastHeard(db)).flatMap(({ provider, lastHeardAt, silentSince }) => {
    if (lastHeardAt === null) return [];
    return [{ provider, lastHeardAt, isSilent: isSilent({ lastHeardAt, silentSince }, clock.now()) }];
  });
}

/** Null if the caller is not an employee. */
async function readWorkOfSeller(context: Context, actor: Actor, day: PlainDate) {
  const { employeeId } = actor;
  if (employeeId === null) return null;
  const lateAccounts = await readLateAccounts(context, actor, day, {
    'filter[employeeId]': { eq: String(employeeId) },
  });
  const commissions = [];
  for (let ago = 0; ago < COMMISSION_MONTHS; ago += 1) {
    const period = addMonthsKeepingDay(firstOfMonth(day), -ago).slice(0, 7);
    commissions.push(await readMonthOfEmployee(context.db, employeeId, period, context.currency));
  }
  return { employeeId, lateAccounts, commissions };
}

async function readLateAccounts(context: Context, actor: Actor, day: PlainDate, filter: object = {}) {
  const plan = accountList.plan(
    {
      'filter[daysPastDue]': { gt: '0' },
      'filter[status]': { in: LATE_STATUSES.join(',') },
      ...filter,
      sort: 'daysPastDue:desc',
      limit: MOST_LATE_ACCOUNTS,
    },
    context,
  );
  const { rows, pagination } = await listAccounts(context.db, plan, day);
  const accounts = rows.map((row) => toAccount(row, context.currency, day));
  const expand = mayDo(actor, 'customers:read') ? 'customer' : undefined;
  return {
    statuses: LATE_STATUSES,
    total: pagination.total ?? 0,
    accounts: await expandAccounts(context.db, actor, accounts, expand),
  };
}

/**
 * At most this old, a result serves all callers. An open page reads it as often, so it shows a payment after twice this time at most.
 */
const MAX_AGE_MS = 60_000;

/** Reads the money of a business day once for all callers, because the read takes seconds in a large portfolio. */
export function createMoneyReader(summaries: SnapshotReads, context: Context, stopwatch: Stopwatch) {
  let last: { day: PlainDate; startedAtMs: number; result: Promise<Snapshot<Money>> } | undefined;
  return (): Promise<Snapshot<Money>> => {
    const day = today(context);
    if (last?.day === day && stopwatch.now() - last.startedAtMs < MAX_AGE_MS) return last.result;
    const result = summaries.read('money of today', (tx) => summarizeToday(tx, context, day));
    const reading = { day, startedAtMs: stopwatch.now(), result };
    last = reading;
    result.catch(() => {
      if (last === reading) last = undefined; // The next caller reads again. The present ones get the error.
    });
    return result;
  };
}

type Money = Awaited<ReturnType<typeof summarizeToday>>;

/** The money received today and this week, compared with the week before, and the state of the portfolio, from one snapshot. */
async function summarizeToday(tx: Tx, context: Omit<Context, 'db'>, day: PlainDate) {
  const { currency } = context;
  const monday = mondayOf(day);
  const period = { startDate: addDays(monday, -WEEK), endDate: day };
  const sums = (await paymentSums(tx, period)).filter(isOfDay);
  const ofDay = await summarizeAccounts(tx, context, { startDate: day, endDate: day });
  const rateOfWeek =
    monday === day
      ? ofDay.collectionRate
      : await readCollectionRate(tx, context, { startDate: monday, endDate: day });

  const moneyOf = (startDate: PlainDate, endDate: PlainDate) => {
    const rows = sums.filter(
      ({ payment_date }) =>
        compareDates(payment_date, startDate) >= 0 && compareDates(payment_date, endDate) <= 0,
    );
    const sumOf = (minorOf: (row: Sums) => bigint) =>
      amountOf(
        rows.reduce((sum, row) => sum + minorOf(row), 0n),
        currency,
      );
    return {
      startDate,
      endDate,
      received: sumOf((row) => BigInt(row.received_minor) - BigInt(row.reversed_minor)),
      refunded: sumOf((row) => BigInt(row.refunded_minor)),
    };
  };
  const compared = (startDate: PlainDate, collectionRate: typeof rateOfWeek) => {
    const { refunded: _, ...before } = moneyOf(addDays(startDate, -WEEK), addDays(day, -WEEK));
    return { ...moneyOf(startDate, day), collectionRate, before };
  };
  return {
    currency: currency.code,
    day: compared(day, ofDay.collectionRate),
    week: compared(monday, rateOfWeek),
    days: daysOf({ startDate: addDays(day, 1 - DAYS_SHOWN), endDate: day }, day).map((date) => ({
      date,
      received: moneyOf(date, date).received,
    })),
    outstanding: ofDay.outstanding,
    arrears: ofDay.arrears,
    par30: ofDay.par30,
  };
}

function isOfDay(row: Sums): row is Sums & { payment_date: PlainDate } {
  return row.payment_date !== null;
}
