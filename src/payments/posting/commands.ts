import { postAll } from '../../accounts/ledger/commands.ts';
import type { AccountRow } from '../../accounts/ledger/rules.ts';
import { findExistingAccounts, tryLockAccounts } from '../../accounts/ledger/store.ts';
import { writeChanges } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount, today } from '../../core/context.ts';
import { type Batcher, createBatcher, type ItemResult } from '../../core/database/batching.ts';
import type { Tx } from '../../core/database/db.ts';
import { changedNothing, violatedUnique } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, unavailable } from '../../core/http/errors.ts';
import { externalFieldsOf, externalIdKey } from '../../core/http/external-ids.ts';
import {
  findAnswers,
  type KeptAnswer,
  lockNameOf,
  readAnswer,
  stillRunning,
} from '../../core/http/idempotency.ts';
import type { Log } from '../../core/log.ts';
import type { Minor } from '../../core/values/money.ts';
import { findRecentlyCounted } from '../cash/overview-store.ts';
import { decideMatch, type Match, NO_MATCH, suggestedAccountIds } from '../matching/rules.ts';
import { findCandidates, findCustomersOf, findRelatedAssignments } from '../matching/store.ts';
import { decideNotification, incomingNotification } from '../notifications/rules.ts';
import { insertPending, insertRejected } from '../notifications/store.ts';
import type { NotificationResult, PaymentRow, Refusal } from '../rules.ts';
import type { NewPayment } from '../schema.ts';
import { decideManual, incomingManual } from './manual-payment-rules.ts';
import {
  type Decision,
  type Facts,
  type Incoming,
  type KeepAnswer,
  type KnownTransaction,
  type Notification,
  type Plan,
  type Recorded,
  UNKNOWN_TRANSACTION,
} from './rules.ts';
import {
  findAlikePayments,
  findByExternalIds,
  findContained,
  findPaymentMethods,
  findTransactions,
  flagRepeatAfterReversal,
  insertNotification,
  linkToProvider,
  nextPaymentIds,
  releaseConflicts,
  setRematched,
  tryLockNames,
  tryLockPayments,
  tryLockUntouched,
  unlinkFromProvider,
  updateOutcome,
} from './store.ts';
import type { EarlierPayment, PaymentWarning } from './warning-rules.ts';

/** Posts the incoming payments of many requests in batches. */
export type PostingQueue = Batcher<Incoming, Recorded>;

/** @param keep - the answer to store under the idempotency key, for repeats of the request. */
export async function recordPayment(
  context: Context,
  queue: Pick<PostingQueue, 'submit'>,
  actor: Actor,
  body: NewPayment,
  keep?: KeepAnswer,
): Promise<{ payment: PaymentRow; warnings: PaymentWarning[] } | { replay: KeptAnswer }> {
  const manual = {
    actor,
    accountId: body.accountId,
    amountMinor: readAmount(body.amount, context.currency),
    paymentMethodId: body.paymentMethodId,
    transactionRef: body.transactionRef?.trim() ?? null,
    paymentDate: body.paymentDate ?? today(context),
    bothAreReal: body.bothAreReal ?? false,
    ...((body.checks || body.confirmation) && { confirmation: body.confirmation ?? null }),
    externalId: null,
    metadata: {},
    ...externalFieldsOf(body),
  };
  const recorded = await queue.submit(incomingManual(manual, keep));
  if ('payment' in recorded || 'replay' in recorded) return recorded;
  throw new Error('Posting a manual payment returned no payment.');
}

/**
 * Posts the payment of a notification, and stores the notification. If posting fails, stores the notification as `pending`, and a
 * job retries it every minute. Exception: if posting a refusable notification fails, the function throws, because the provider
 * needs the outcome at once.
 *
 * @returns the outcome. For a refused payment, returns the reason: the provider gives the money back to the payer.
 * @throws if the notification could not be stored, or if posting a refusable notification failed. The provider must then send the
 *   notification again.
 */
export async function receiveNotification(
  context: Context,
  log: Log,
  queue: Pick<PostingQueue, 'submit'>,
  notification: Notification,
): Promise<NotificationResult | Refusal> {
  try {
    const incoming = incomingNotification(notification, context.config.PHONE_REGION);
    const recorded = await queue.submit(incoming);
    if ('refusal' in recorded) {
      const { provider, rawBody } = notification;
      const failure = `refused: ${recorded.refusal}`;
      await insertRejected(context.db, provider, rawBody, failure, 'webhook', notification);
      return { reason: recorded.refusal };
    }
    if ('outcome' in recorded) return recorded;
    throw new Error('Posting a notification returned no outcome.');
  } catch (error) {
    // Answer 503, which neither accepts nor refuses the payment: another instance may be posting the same notification.
    if (notification.isRefusable) throw unavailable(error);
    await insertPending(context.db, notification, messageOf(error));
    log.error(
      { err: error, transId: notification.transId },
      'a notification was not posted; it is stored and will be retried',
    );
    return { outcome: 'pending', paymentId: null };
  }
}

/** The message for operators. For an AppError with a cause, this is the message of the cause. */
export function messageOf(error: unknown): string {
  if (error instanceof AppError && error.cause) return messageOf(error.cause);
  return error instanceof Error ? error.message : String(error);
}

const LARGEST_BATCH = 100;
/** PostgreSQL works on one batch while the service prepares or commits the other batch. */
const BATCHES_IN_FLIGHT = 2;
/** More payments than all concurrent requests can submit. A bulk call has at most 100 payments in the queue at a time. */
const MAX_ITEMS = 1_000;

export function openPostingQueue(context: Context): PostingQueue {
  return createBatcher<Incoming, Recorded>({
    run: (batch) => postBatch(context, batch),
    keysOf,
    changedNothing,
    largestBatch: LARGEST_BATCH,
    maxInFlight: BATCHES_IN_FLIGHT,
    maxItems: MAX_ITEMS,
    patienceMs: context.config.limits.postingMs,
  });
}

/** Payments with a common key are never in two batches at once, because one of the two payments would be busy. */
function keysOf({ locks, namedAccountId }: Incoming): string[] {
  return namedAccountId === null ? locks : [...locks, `account ${namedAccountId}`];
}

async function postBatch(context: Context, batch: readonly Incoming[]): Promise<ItemResult<Recorded>[]> {
  try {
    return await inTransaction(context.db, (tx) => postIncoming(tx, context, batch), {
      startsWithReads: true,
    });
  } catch (error) {
    // An instance of an older version, which does not call `tryLockNames`, has posted the same reference or key: try again.
    if (batch.length === 1 && violatedUnique(error)) return [{ busy: unavailable(error, 1) }];
    throw error;
  }
}

/**
 * Posts incoming payments in one database transaction: locks and reads the data that the payments need, decides about each
 * payment, and writes.
 *
 * Does not wait for the locks of payments: a payment is `busy` if another transaction has locked its reference, external id,
 * idempotency key or account. Each payment has its own result, so a refused payment does not affect the rest of the batch.
 */
export async function postIncoming(
  tx: Tx,
  context: Context,
  batch: readonly Incoming[],
): Promise<ItemResult<Recorded>[]> {
  const { config, currency, clock } = context;
  const {
    BUSINESS_TIMEZONE: timeZone,
    PHONE_REGION: region,
    AGENT_BACKDATING_DAYS: agentBackdatingDays,
    cashCeilingMinor,
  } = config;
  const settings = { currency, timeZone, region, agentBackdatingDays, cashCeilingMinor, now: clock.now() };
  const facts = await lockAndRead(tx, batch, config);
  const decisions = batch.map((incoming, at): Decision => {
    const own = facts[at];
    if (!own) throw new Error('The data needed to decide on an incoming payment was not loaded.');
    if ('busy' in own) return { result: own };
    return 'manual' in incoming
      ? decideManual(incoming.manual, incoming.keep, own, settings)
      : decideNotification(incoming.notification, own, settings);
  });
  const ids = await nextPaymentIds(tx, decisions.filter((decision) => typeof decision === 'function').length);
  const earlier: EarlierPayment[] = [];
  const plans = decisions.map((decision) => {
    if (typeof decision !== 'function') return decision;
    const id = ids.shift();
    if (id === undefined) throw new Error('There are fewer ids than payments.');
    const plan = decision(id, earlier);
    earlier.push(...((plan.event?.rows?.payments ?? []) as EarlierPayment[]));
    return plan;
  });
  const accounts = facts.flatMap((one) => ('account' in one && one.account ? [one.account] : []));
  return write(tx, context, new Map(accounts.map((account) => [account.id, account])), plans);
}

type Busy = { busy: AppError };

const LOCKED = new Error('another transaction has locked the reference, the key, the account or the payment');

/**
 * Locks and reads the data that the incoming payments need. If payments exclude each other, the first one gets the lock. The
 * others are `busy`, and the queue tries them again after the first one is committed.
 */
async function lockAndRead(
  tx: Tx,
  batch: readonly Incoming[],
  config: Context['config'],
): Promise<(Facts | Busy)[]> {
  const timeZone = config.BUSINESS_TIMEZONE;
  const keys = batch.map((incoming) => ('manual' in incoming ? incoming.keep?.key : undefined));
  const usedKeys = keys.flatMap((key) => key ?? []);
  const externalIdKeys = batch.map((incoming) =>
    'manual' in incoming && incoming.manual.externalId !== null
      ? externalIdKey(incoming.manual.externalId)
      : null,
  );
  const interpretations = batch.flatMap((incoming) => incoming.interpretations ?? []);
  const namedIds = idsOf(batch.map(({ namedAccountId }) => namedAccountId));
  const [busyLocks, methods, answers, transactions, contained, byExternalId, candidates, accounts, alike] =
    await Promise.all([
      tryLockNames(tx, batch),
      findPaymentMethods(tx), // FIRST_TABLE_OF_PAYMENTS
      findAnswers(tx, usedKeys),
      findTransactions(
        tx,
        batch.flatMap(({ reference }) => reference ?? []),
        batch.flatMap((incoming) => ('manual' in incoming ? (incoming.reference ?? []) : [])),
      ),
      findContained(tx, batch, timeZone),
      findByExternalIds(
        tx,
        externalIdKeys.flatMap((key) => key ?? []),
      ),
      findCandidates(tx, interpretations),
      tryLockAccounts(tx, namedIds),
      // After the locks of the accounts, so that no other transaction can post another such payment.
      findAlikePayments(
        tx,
        batch.map((incoming) => ('manual' in incoming ? incoming.manual : undefined)),
      ),
    ]);
  const matches = batch.map((incoming) => {
    if (!incoming.interpretations) return NO_MATCH;
    return decideMatch(
      candidates[interpretations.indexOf(incoming.interpretations)] ?? [],
      incoming.interpretations.referenceIsEmpty,
    );
  });
  const matchedIds = idsOf(matches.map(({ accountId }) => accountId)).filter((id) => !namedIds.includes(id));
  if (matchedIds.length > 0) {
    for (const [id, account] of await tryLockAccounts(tx, matchedIds)) accounts.set(id, account);
  }
  const missingIds = [...namedIds, ...matchedIds].filter((id) => !accounts.has(id));
  const busyAccounts = missingIds.length > 0 ? await findExistingAccounts(tx, missingIds) : new Set<number>();

  const cash = await readCashInHand(tx, batch, methods, config);
  const taken = new Set<string>();
  const shared = new Set<string>();
  const facts: (Facts | Busy)[] = [];
  for (const [at, incoming] of batch.entries()) {
    const { locks, sharedLocks } = incoming;
    const isTaken =
      locks.some((lock) => taken.has(lock) || shared.has(lock)) ||
      sharedLocks.some((lock) => taken.has(lock));
    for (const lock of locks) taken.add(lock);
    for (const lock of sharedLocks) shared.add(lock);
    const match = matches[at] ?? NO_MATCH;
    const accountId = 'manual' in incoming ? incoming.manual.accountId : match.accountId;
    const busy = busyLocks[at] ?? [];
    const key = keys[at];
    if (busy.length > 0 || isTaken || (accountId !== null && busyAccounts.has(accountId))) {
      const isKeyBusy = key !== undefined && busy.includes(lockNameOf(key));
      facts.push({ busy: isKeyBusy ? await stillRunning(tx, LOCKED) : unavailable(LOCKED, 1) });
      continue;
    }
    const transaction = transactions.get(incoming.reference ?? '') ?? UNKNOWN_TRANSACTION;
    const known = { ...transaction, similar: [...transaction.similar, ...(contained[at] ?? [])] };
    const sameExternalId = byExternalId.get(externalIdKeys[at] ?? '');
    const answer = key && answers[usedKeys.indexOf(key)];
    facts.push({
      known,
      methods,
      match,
      suggestedCustomerIds: await findSuggestedCustomers(tx, incoming, match, known),
      alike: alike[at] ?? [],
      account: accountId === null ? undefined : accounts.get(accountId),
      cashInHandMinor: cash[at],
      ...(sameExternalId !== undefined && { sameExternalId }),
      ...(answer && { answer: readAnswer(answer, key) }),
    });
  }
  return facts;
}

/**
 * Reads the cash in the hands of those who record cash and have counted it within a month, to compare it with the ceiling. Undefined for
 * other payments. Without a ceiling or a payment in cash, there is no statement.
 */
async function readCashInHand(
  tx: Tx,
  batch: readonly Incoming[],
  methods: Facts['methods'],
  { CASH_COUNTS, cashCeilingMinor }: Context['config'],
): Promise<(Minor | undefined)[]> {
  if (CASH_COUNTS === 'off' || cashCeilingMinor === undefined) return [];
  const cashIds = new Set(methods.flatMap(({ id, cash }) => (cash ? id : [])));
  const holders = batch.map((incoming) =>
    'manual' in incoming && cashIds.has(incoming.manual.paymentMethodId)
      ? incoming.manual.actor.userId
      : null,
  );
  if (idsOf(holders).length === 0) return [];
  const rows = await findRecentlyCounted(tx, idsOf(holders));
  return batch.map((incoming, at) => {
    const row = rows.find(
      ({ holderId, paymentMethodId }) =>
        holderId === holders[at] &&
        'manual' in incoming &&
        paymentMethodId === incoming.manual.paymentMethodId,
    );
    return row && BigInt(row.inHandMinor);
  });
}

function idsOf(ids: readonly (number | null)[]): number[] {
  return [...new Set(ids.flatMap((id) => id ?? []))];
}

/**
 * Finds the customers of the suggested accounts (`suggestedAccountIds`) for a notification without a match. Searches only if
 * staff have recorded the transaction on an account, because the decision needs the customers only in this case.
 */
async function findSuggestedCustomers(
  tx: Tx,
  incoming: Incoming,
  match: Match,
  { payments }: KnownTransaction,
): Promise<number[]> {
  if (!('notification' in incoming) || !incoming.interpretations || match.accountId !== null) return [];
  if (!payments.some(({ provider, account_id: id }) => provider === null && id !== null)) return [];
  const [related = []] = await findRelatedAssignments(tx, [incoming.interpretations]);
  const accountIds = suggestedAccountIds(match.candidates, related, incoming.notification.billRef);
  return accountIds.length > 0 ? findCustomersOf(tx, accountIds) : [];
}

/**
 * Writes most rows of the plans in one SQL statement. Links, new conflicts and updated notifications need separate statements.
 */
async function write(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, AccountRow>,
  plans: readonly Plan[],
): Promise<ItemResult<Recorded>[]> {
  const locked = await lockLinkedPayments(tx, plans);
  for (const { unlinkPaymentId } of locked)
    if (unlinkPaymentId) await unlinkFromProvider(tx, unlinkPaymentId);
  const events = locked.flatMap(({ event }) => event ?? []);
  const rows = locked.flatMap(({ rows }) => rows ?? []);
  const { refusals } =
    events.length + rows.length > 0
      ? await postAll(tx, context, accounts, events, {
          notifications: rows.flatMap(({ notifications = [] }) => notifications),
          changes: rows.flatMap(({ changes = [] }) => changes),
        })
      : { refusals: [] };
  const results: ItemResult<Recorded>[] = [];
  for (const plan of locked) {
    const refusal = plan.event && refusals[events.indexOf(plan.event)];
    results.push(refusal ? await writeRefused(tx, context, plan, refusal) : await finish(tx, plan));
  }
  // After all conflicts of the batch are stored: one of them can be with a payment that the batch links.
  for (const { link } of locked) if (link) await releaseConflicts(tx, link.paymentId);
  return results;
}

/** Locks the payments to link and unlink. A plan is `busy` if another transaction has locked its payment. */
async function lockLinkedPayments(tx: Tx, plans: readonly Plan[]): Promise<readonly Plan[]> {
  const ids = plans.flatMap((plan) => linkedPaymentId(plan) ?? []);
  const rematched = plans.flatMap(({ rematch }) => rematch?.paymentId ?? []);
  if (ids.length + rematched.length === 0) return plans;
  const locked = new Set(ids.length > 0 ? await tryLockPayments(tx, ids) : []);
  const untouched = rematched.length > 0 ? await tryLockUntouched(tx, rematched) : new Set<number>();
  return plans.map((plan) => {
    const { rematch, planIfFull } = plan;
    // Somebody changes the payment at this moment, so it is theirs.
    if (rematch && planIfFull && !untouched.has(rematch.paymentId)) return planIfFull();
    const id = linkedPaymentId(plan);
    return id === undefined || locked.has(id) ? plan : { result: { busy: unavailable(LOCKED, 1) } };
  });
}

function linkedPaymentId({ link, unlinkPaymentId }: Plan): number | undefined {
  return link?.paymentId ?? unlinkPaymentId;
}

/**
 * Handles a plan that the ledger refused, because earlier payments of the same batch have brought the account to its limit (10^15
 * minor units). Writes the plan of `planIfFull`. If there is none, returns the refusal.
 */
async function writeRefused(
  tx: Tx,
  context: Context,
  { planIfFull, unlinkPaymentId }: Plan,
  refusal: AppError,
): Promise<ItemResult<Recorded>> {
  // This error rolls back the whole transaction, including the unlinking.
  if (unlinkPaymentId)
    throw new Error('After earlier payments of the batch, this payment exceeds the limit of the account.');
  if (!planIfFull) return { error: refusal };
  const [result] = await write(tx, context, new Map(), [planIfFull()]);
  if (!result) throw new Error('A plan has no result.');
  return result;
}

/** Makes the changes of a plan that need separate SQL statements. @returns the result of the plan. */
async function finish(
  tx: Tx,
  { result, link, rematch, stored, conflict, repeatAfterReversal }: Plan,
): Promise<ItemResult<Recorded>> {
  if (link) await linkToProvider(tx, link.paymentId, link.notification);
  if (rematch) await setRematched(tx, rematch);
  if (stored) await updateOutcome(tx, stored.id, stored.outcome);
  if (conflict) await writeChanges(tx, [conflict.changeOf(await insertNotification(tx, conflict.row))]);
  if (repeatAfterReversal) await flagRepeatAfterReversal(tx, repeatAfterReversal);
  return result;
}
