import { postAllToAccounts } from '../../accounts/commands.ts';
import { audit } from '../../core/audit.ts';
import { type Actor, type Context, readAmount, today } from '../../core/context.ts';
import { type Batcher, createBatcher, type ItemResult } from '../../core/database/batching.ts';
import type { Tx } from '../../core/database/db.ts';
import { changedNothing, LostRace, violatedUnique } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type AppError, unavailable } from '../../core/http/errors.ts';
import {
  findAnswers,
  type IdempotencyKey,
  type KeptAnswer,
  lockNameOf,
  readAnswer,
  stillRunning,
} from '../../core/http/idempotency.ts';
import type { AccountRow, PostingRows } from '../../ledger/rules.ts';
import { findExistingAccounts, tryLockAccounts } from '../../ledger/store.ts';
import { decideMatch, type Match, NO_MATCH, type Readings, readReference } from '../matching/rules.ts';
import { findCandidates, findCustomersOf, findRelatives } from '../matching/store.ts';
import { suggestedAccountIds } from '../matching/suggestion-rules.ts';
import { type NotificationRow, type PaymentRow, referenceKey } from '../rules.ts';
import type { NewPayment } from '../schema.ts';
import { linkToProvider, referenceLockName, unlinkFromProvider } from '../store.ts';
import {
  type Facts,
  type KeepAnswer,
  type KnownTransaction,
  type LinkPlan,
  NOTHING_KNOWN,
  OTHER_METHOD,
  OTHER_SHORT_CODE,
  type Outcome,
  type PaymentPlan,
  type Plan,
  planManual,
  planReport,
  REPEATED_AFTER_REVERSAL,
  type Receipt,
  type Recorded,
  type ReportedReceipt,
  reporterOf,
  withoutAccount,
} from './rules.ts';
import {
  addFlag,
  claim,
  findPaymentMethods,
  findTransactions,
  findUndecided,
  lockUndecided,
  nextPaymentIds,
  paymentRowOf,
  postedOutcome,
  postingOf,
  recordOutcome,
  reportOf,
  rowsOf,
  tryLockPayments,
} from './store.ts';

/** Where receipts of many requests are posted in batches. */
export type ReceiptQueue = Batcher<Receipt, Recorded>;

/**
 * Records money that was received and whose account is known.
 * @param keep the answer to keep under the key of the request; a repeat gets that answer.
 */
export async function recordPayment(
  context: Context,
  queue: Pick<ReceiptQueue, 'submit'>,
  actor: Actor,
  body: NewPayment,
  keep?: KeepAnswer,
): Promise<{ payment: PaymentRow } | { replay: KeptAnswer }> {
  const manual = {
    actor,
    accountId: body.accountId,
    amountMinor: readAmount(body.amount, context.currency),
    paymentMethodId: body.paymentMethodId,
    transactionRef: body.transactionRef?.trim() ?? null,
    paymentDate: body.paymentDate ?? today(context),
  };
  const recorded = await queue.submit({ manual, ...(keep && { keep }) });
  if ('payment' in recorded || 'replay' in recorded) return recorded;
  throw new Error('A manual payment leads to a payment.');
}

/**
 * Posts receipts of staff and providers in one transaction.
 *
 * 1. claim  the references and idempotency keys, and read what is known of them
 * 2. lock   the accounts
 * 3. decide what each receipt leads to
 * 4. write  payments, entries, books, notifications, audit rows and kept answers, by one statement
 *
 * It does not wait for locks: a receipt whose reference, key or account is locked elsewhere is `held`, to be posted later.
 * Each receipt has its own result; one that is refused does not touch the others.
 */
export function postReceipts(
  tx: Tx,
  context: Context,
  receipts: readonly Receipt[],
): Promise<ItemResult<Recorded>[]> {
  return postItems(
    tx,
    context,
    receipts.map((receipt) => itemOf(context, receipt)),
  );
}

async function postItems(tx: Tx, context: Context, items: readonly Item[]): Promise<ItemResult<Recorded>[]> {
  const found = await claimAndRead(tx, items);
  const plans = found.map((one) => planOf(context, one));
  await lockMovedPayments(tx, plans);
  return write(tx, context, accountsOf(found), plans);
}

/** A receipt, and what follows from it alone. */
interface Item {
  receipt: Receipt;
  /** Names of advisory locks. */
  locks: string[];
  /** As `referenceKey` gives it. */
  reference: string | null;
  idempotencyKey: IdempotencyKey | null;
  /** What the payer may have meant; null for a manual payment and for money of another short code. */
  readings: Readings | null;
  /** The account that the receipt itself names, which nearly all money goes to. */
  namedAccountId: number | null;
}

function itemOf({ config }: Context, receipt: Receipt): Item {
  if ('manual' in receipt) {
    const { transactionRef, accountId } = receipt.manual;
    const reference = transactionRef === null ? null : referenceKey(transactionRef);
    const idempotencyKey = receipt.keep?.key ?? null;
    const locks = [
      ...(reference === null ? [] : [referenceLockName(reference)]),
      ...(idempotencyKey === null ? [] : [lockNameOf(idempotencyKey)]),
    ];
    return { receipt, locks, reference, idempotencyKey, readings: null, namedAccountId: accountId };
  }
  const { report } = receipt;
  const isOurs = !report.flags.includes(OTHER_SHORT_CODE);
  const readings = isOurs ? readReference(report.billRef, report.payer, config.PHONE_REGION) : null;
  return {
    receipt,
    locks: [referenceLockName(report.transId)],
    reference: report.transId,
    idempotencyKey: null,
    readings,
    namedAccountId: readings?.accountId ?? null,
  };
}

/** A receipt with its facts; or the error to answer when what it needs stays locked elsewhere. */
type Found = { receipt: Receipt; facts: Facts } | { held: AppError };

/**
 * Claims what the items need, reads what is known of it, and locks their accounts. Of items that share a reference or a key
 * only the first gets it. The others are held, and posted after its result can be read.
 */
async function claimAndRead(tx: Tx, items: readonly Item[]): Promise<Found[]> {
  const keyed = items.filter(({ idempotencyKey }) => idempotencyKey !== null);
  const read = items.filter(({ readings }) => readings !== null);
  const named = idsOf(items.map(({ namedAccountId }) => namedAccountId));
  const [claims, answers, transactions, methods, candidates, accounts] = await Promise.all([
    claim(
      tx,
      items.map(({ locks }) => locks),
    ),
    findAnswers(
      tx,
      keyed.flatMap(({ idempotencyKey }) => idempotencyKey ?? []),
    ),
    findTransactions(
      tx,
      items.flatMap(({ reference }) => reference ?? []),
      items.flatMap(({ receipt, reference }) => ('manual' in receipt ? (reference ?? []) : [])),
    ),
    findPaymentMethods(tx),
    findCandidates(
      tx,
      read.flatMap(({ readings }) => readings ?? []),
    ),
    tryLockAccounts(tx, named),
  ]);
  const matches = new Map(
    read.map((item, at) => [
      item,
      decideMatch(candidates[at] ?? [], item.readings?.referenceIsEmpty ?? false),
    ]),
  );
  const matched = idsOf([...matches.values()].map(({ accountId }) => accountId));
  const further = matched.filter((id) => !named.includes(id));
  if (further.length > 0) {
    for (const [id, account] of await tryLockAccounts(tx, further)) accounts.set(id, account);
  }
  const suggested = await findSuggestedCustomers(tx, items, matches, transactions);
  const missing = [...named, ...further].filter((id) => !accounts.has(id));
  const heldAccounts = missing.length > 0 ? await findExistingAccounts(tx, missing) : new Set<number>();

  const taken = new Set<string>();
  return items.map((item, at) => {
    const isShared = item.locks.some((lock) => taken.has(lock));
    for (const lock of item.locks) taken.add(lock);
    const match = matches.get(item) ?? NO_MATCH;
    const accountId = 'manual' in item.receipt ? item.receipt.manual.accountId : match.accountId;
    const held = claims[at] ?? [];
    if (held.length > 0 || isShared || (accountId !== null && heldAccounts.has(accountId))) {
      const isKeyHeld = item.idempotencyKey !== null && held.includes(lockNameOf(item.idempotencyKey));
      return { held: isKeyHeld ? stillRunning(HELD) : unavailable(HELD, 1) };
    }
    const answer = item.idempotencyKey && answers[keyed.indexOf(item)];
    const facts = {
      known: transactions.get(item.reference ?? '') ?? NOTHING_KNOWN,
      methods,
      match,
      suggestedCustomerIds: suggested.get(item) ?? [],
      account: accountId === null ? undefined : accounts.get(accountId),
      ...(answer && item.idempotencyKey && { answer: readAnswer(answer, item.idempotencyKey) }),
    };
    return { receipt: item.receipt, facts };
  });
}

/**
 * The customers whom the worklist would suggest for reports without a match. Only of transactions that staff have
 * recorded on an account: nothing else depends on them.
 */
async function findSuggestedCustomers(
  tx: Tx,
  items: readonly Item[],
  matches: ReadonlyMap<Item, Match>,
  transactions: ReadonlyMap<string, KnownTransaction>,
): Promise<ReadonlyMap<Item, number[]>> {
  const suggested = new Map<Item, number[]>();
  for (const item of items) {
    const match = matches.get(item);
    if (!('report' in item.receipt) || match?.accountId !== null) continue;
    const { payments } = transactions.get(item.reference ?? '') ?? NOTHING_KNOWN;
    if (!payments.some(({ provider, account_id: id }) => provider === null && id !== null)) continue;
    const [relatives = []] = item.readings ? await findRelatives(tx, [item.readings]) : [];
    const accountIds = suggestedAccountIds(match.candidates, relatives, item.receipt.report.billRef);
    if (accountIds.length > 0) suggested.set(item, await findCustomersOf(tx, accountIds));
  }
  return suggested;
}

function idsOf(ids: readonly (number | null)[]): number[] {
  return [...new Set(ids.flatMap((id) => id ?? []))];
}

function accountsOf(found: readonly Found[]): Map<number, AccountRow> {
  const accounts = found.flatMap((one) => ('facts' in one && one.facts.account ? [one.facts.account] : []));
  return new Map(accounts.map((account) => [account.id, account]));
}

function planOf({ config, currency }: Context, found: Found): Plan {
  if ('held' in found) return { kind: 'result', result: found };
  const { receipt, facts } = found;
  return 'manual' in receipt
    ? planManual(receipt.manual, receipt.keep, facts, currency)
    : planReport(receipt.report, facts, config.BUSINESS_TIMEZONE);
}

const HELD = new Error('the reference, the key, the account or the payment is locked by other work');

/** Locks the payments that transactions are moved from or to. A plan is held where its payment is locked elsewhere. */
async function lockMovedPayments(tx: Tx, plans: Plan[]): Promise<void> {
  const ids = plans.flatMap((plan) => movedPaymentOf(plan) ?? []);
  if (ids.length === 0) return;
  const locked = await tryLockPayments(tx, ids);
  for (const [at, plan] of plans.entries()) {
    const id = movedPaymentOf(plan);
    if (id === undefined || locked.has(id)) continue;
    plans[at] = { kind: 'result', result: { held: unavailable(HELD, 1) } };
  }
}

function movedPaymentOf(plan: Plan): number | undefined {
  if (plan.kind === 'link') return plan.payment.id;
  return plan.kind === 'payment' ? plan.takesOver?.from.id : undefined;
}

/** Writes what is planned. Nearly all of it is one statement; links and decisions about stored reports have their own. */
async function write(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, AccountRow>,
  plans: readonly Plan[],
): Promise<ItemResult<Recorded>[]> {
  const now = context.clock.now();
  const payments = plans.filter((plan) => plan.kind === 'payment');
  const ids = await nextPaymentIds(tx, payments.length);
  const drafts = payments.map((plan, at) => {
    const row = paymentRowOf(plan.payment, idAt(ids, at), now);
    return { plan, row, posting: postingOf(plan, row, now) };
  });
  for (const { takesOver } of payments) if (takesOver) await unlinkFromProvider(tx, takesOver.from.id);
  const notes: NonNullable<PostingRows['notifications']> = [];
  for (const plan of plans) {
    if (plan.kind === 'note' || plan.kind === 'link') {
      notes.push(...(rowsOf(plan.report, plan.outcome, now).notifications ?? []));
    }
  }
  const postings = drafts.map(({ posting }) => posting);
  const { refusals } =
    postings.length + notes.length > 0
      ? await postAllToAccounts(tx, context, accounts, postings, { notifications: notes })
      : { refusals: [] };
  const written = new Map<Plan, Written>(
    drafts.map(({ plan, row }, at) => [plan, { row, refusal: refusals[at] }]),
  );
  const results: ItemResult<Recorded>[] = [];
  for (const plan of plans) results.push(await finish(tx, context, plan, written.get(plan)));
  return results;
}

function idAt(ids: readonly number[], at: number): number {
  const id = ids[at];
  if (id === undefined) throw new Error('There is an id for each payment.');
  return id;
}

/** The payment of a plan, or why its account refused it. */
interface Written {
  row: PaymentRow;
  refusal: AppError | undefined;
}

/** Does what is left for a plan after the one statement. @returns its result. */
async function finish(
  tx: Tx,
  context: Context,
  plan: Plan,
  written: Written | undefined,
): Promise<ItemResult<Recorded>> {
  switch (plan.kind) {
    case 'result':
      return plan.result;
    case 'repeat':
      if (plan.isReversed) await addFlag(tx, plan.report, REPEATED_AFTER_REVERSAL);
      return { outcome: { outcome: 'repeated', paymentId: plan.paymentId } };
    case 'note':
      return recorded(tx, plan.report, plan.outcome);
    case 'link':
      await link(tx, plan);
      return recorded(tx, plan.report, plan.outcome);
    case 'payment':
      if (written && !written.refusal) return finishPayment(tx, plan, written.row);
      // The account has filled up within the batch. A failure undoes that the transaction was taken off its payment.
      if (plan.takesOver) throw new Error('The account of a payment filled up within its batch.');
      if (!plan.report) return { error: written?.refusal };
      if (plan.report.mustMatch) return { outcome: { refusal: 'wrong_amount' } };
      return writeOne(tx, context, withoutAccount(plan));
  }
}

async function writeOne(tx: Tx, context: Context, plan: Plan): Promise<ItemResult<Recorded>> {
  const [result] = await write(tx, context, new Map(), [plan]);
  if (!result) throw new Error('One plan has one result.');
  return result;
}

async function finishPayment(
  tx: Tx,
  { report, flags, takesOver }: PaymentPlan,
  row: PaymentRow,
): Promise<ItemResult<Recorded>> {
  if (report) return recorded(tx, report, postedOutcome(row, flags));
  if (takesOver) {
    const isOtherMethod = takesOver.from.payment_method_id !== row.payment_method_id;
    await recordOutcome(tx, takesOver.notification.id, {
      outcome: 'linked',
      paymentId: row.id,
      conflictPaymentId: null,
      flags: isOtherMethod ? [OTHER_METHOD] : [],
    });
  }
  return { outcome: { payment: row } };
}

/** Stores the outcome of a stored report; that of a new one was written with it. */
async function recorded(
  tx: Tx,
  { stored }: ReportedReceipt,
  outcome: Outcome,
): Promise<ItemResult<Recorded>> {
  if (stored) await recordOutcome(tx, stored.id, outcome);
  return { outcome: { outcome: outcome.outcome, paymentId: outcome.paymentId } };
}

/**
 * The manual payment is the transaction. One that staff have taken off its account stays in the worklist, where what the
 * payer sent counts now: it may name the very account that they took it off.
 */
async function link(tx: Tx, { report, payment }: LinkPlan): Promise<void> {
  const { provider: name, transId } = report;
  await linkToProvider(tx, payment.id, { name, transId });
  await audit(tx, reporterOf(report), {
    action: 'payment.link',
    resource: 'payment',
    resourceId: payment.id,
    before: { matchMethod: payment.match_method },
    after: { matchMethod: 'manual_entry', transId },
  });
}

/**
 * Decides again about the notifications that a change of a manual payment concerns: those that conflict with payments
 * recorded under the reference, and the one that was linked to a payment that is reversed now.
 */
export async function decideAgain(
  tx: Tx,
  context: Context,
  reference: string,
  reversedId?: number,
): Promise<void> {
  for (const row of await lockUndecided(tx, reference, reversedId)) await decideStored(tx, context, row);
}

/**
 * Decides about one stored notification whose reference, accounts and payments the transaction has locked.
 * @param acceptedPaymentId the manual payment that staff say is the transaction.
 * @throws Error where the accepted payment does not become the transaction's.
 */
export async function decideStored(
  tx: Tx,
  context: Context,
  row: NotificationRow,
  acceptedPaymentId: number | null = null,
): Promise<void> {
  const [result] = await postReceipts(tx, context, [{ report: { ...reportOf(row), acceptedPaymentId } }]);
  if (!result || 'held' in result) throw new LostRace('somebody else holds an account of the notification');
  if ('error' in result) throw result.error;
  const { outcome } = result;
  const isLinked = 'outcome' in outcome && outcome.outcome === 'linked';
  if (acceptedPaymentId !== null && !isLinked) {
    throw new Error(`Notification ${row.id} cannot be linked to payment ${acceptedPaymentId}.`);
  }
}

/** The accounts that deciding again about a reference may post to. */
export async function findAccountsOfUndecided(
  tx: Tx,
  context: Context,
  reference: string,
  reversedId?: number,
): Promise<number[]> {
  const rows = await findUndecided(tx, reference, reversedId);
  const items = rows.map((row) => itemOf(context, { report: reportOf(row) }));
  const readings = items.flatMap((item) => item.readings ?? []);
  const candidates = await findCandidates(tx, readings);
  return readings.flatMap(
    ({ referenceIsEmpty }, at) => decideMatch(candidates[at] ?? [], referenceIsEmpty).accountId ?? [],
  );
}

const LARGEST_BATCH = 100;
/** One batch is at work in PostgreSQL while the next one is read or committed. */
const BATCHES_IN_FLIGHT = 2;
/** More than the server admits requests. */
const MOST_RECEIPTS = 1_000;
/** Below the time in which a request is answered. */
const PATIENCE_MS = 4_000;

/** Posts the receipts of many requests in batches, each as soon as an earlier one has made room. */
export function openReceiptQueue(context: Context): ReceiptQueue {
  const items = createBatcher<Item, Recorded>({
    run: (batch) => postInTransaction(context, batch),
    keysOf,
    changedNothing,
    largestBatch: LARGEST_BATCH,
    mostInFlight: BATCHES_IN_FLIGHT,
    mostItems: MOST_RECEIPTS,
    patienceMs: PATIENCE_MS,
  });
  return { ...items, submit: async (receipt) => items.submit(itemOf(context, receipt)) };
}

/** Receipts that share one of these are never in two batches at once, where the later one would only be held. */
function keysOf({ locks, namedAccountId }: Item): string[] {
  return namedAccountId === null ? locks : [...locks, `account ${namedAccountId}`];
}

async function postInTransaction(context: Context, items: readonly Item[]): Promise<ItemResult<Recorded>[]> {
  try {
    return await inTransaction(context.db, (tx) => postItems(tx, context, items), { startsWithReads: true });
  } catch (error) {
    // Another version of the service may post under the same reference or key without its lock.
    if (items.length === 1 && violatedUnique(error)) return [{ held: unavailable(error, 1) }];
    throw error;
  }
}
