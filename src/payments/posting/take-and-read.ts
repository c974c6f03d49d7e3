import { accountsNearPayoff } from '../../accounts/ledger/payoff-rules.ts';
import type { MoneyEvent } from '../../accounts/ledger/rules.ts';
import { findExistingAccounts, takeFreeAccounts } from '../../accounts/ledger/store.ts';
import type { LockedAccount, PayoffFacts } from '../../accounts/payoffs/posting-rules.ts';
import { findPayoffFacts } from '../../accounts/payoffs/store.ts';
import type { StatusHistory } from '../../accounts/status/paid-amount-rules.ts';
import { findStatusHistories } from '../../accounts/status/store.ts';
import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { findAnswers, type IdempotencyKey, lockNameOf, readAnswer } from '../../core/http/idempotency.ts';
import { findRecentlyCounted } from '../cash/overview-store.ts';
import { decideMatch, NO_MATCH, suggestedAccountIds } from '../matching/rules.ts';
import { findCandidates, findCustomersOf, findRelatedAssignments } from '../matching/store.ts';
import {
  changeablePayments,
  type ManualPayment,
  missedInBatch,
  type PaymentToPost,
  type PostingReads,
  UNKNOWN_TRANSACTION,
} from './rules.ts';
import {
  findAlikePayments,
  findByExternalIds,
  findKnown,
  findPaymentMethods,
  takeFreeNames,
  takeFreePayments,
  takeIds,
} from './store.ts';

/** What the decisions about a batch of payments need. */
interface Taken {
  /** What was read for each payment whose locks were free, in the order of the payments. */
  reads: Map<PaymentToPost, PostingReads>;
  accounts: Map<number, LockedAccount>;
  histories: Map<number, StatusHistory>;
  payoffs: Map<number, PayoffFacts>;
  notNow: Map<PaymentToPost, string>;
}

/** A payment of the batch, with what was read for it. */
interface ReadPayment {
  item: PaymentToPost;
  key: IdempotencyKey | undefined;
  /** The names that another transaction has locked. */
  missedNames: readonly string[];
  /** The account that the payment names or matches. */
  accountId: number | null;
  reads: PostingReads;
}

/**
 * Takes the locks that are free, and reads in later statements, which see what the last holders of the locks have committed. A second
 * round trip is only needed for accounts and payments that the first one has found, for accounts whose status depends on its history, for
 * the ceiling of cash, for suggested customers, and for accounts near an early payoff.
 */
export async function takeAndRead(
  tx: Tx,
  { config, currency }: Context,
  items: readonly PaymentToPost[],
): Promise<Taken> {
  const timeZone = config.BUSINESS_TIMEZONE;
  const keys = items.map((item) => ('manual' in item ? item.keep?.key : undefined));
  const manualPayments = items.map((item) => ('manual' in item ? item.manual : undefined));
  const namedIds = idsOf(items.map(({ namedAccountId }) => namedAccountId));
  // Each result with an element for each payment has the order of the payments.
  const [missedNames, methods, accounts, answers, known, sameExternalIds, candidates, alike, newIds] =
    await Promise.all([
      takeFreeNames(tx, items),
      findPaymentMethods(tx), // FIRST_TABLE_OF_PAYMENTS
      takeFreeAccounts(tx, namedIds),
      findAnswers(tx, keys),
      findKnown(tx, items, timeZone),
      findByExternalIds(
        tx,
        manualPayments.map((manual) => manual?.externalId ?? null),
      ),
      findCandidates(
        tx,
        items.map(({ interpretations }) => interpretations),
      ),
      // After the locks of the accounts, so that no other transaction can post another such payment.
      findAlikePayments(tx, manualPayments),
      takeIds(
        tx,
        items.map((item) => 'notification' in item && item.notification.stored === null),
      ),
    ]);
  const readPayments = items.map((item, at): ReadPayment => {
    const [key, answer, ids] = [keys[at], answers[at], newIds[at]];
    if (!ids) throw new Error('There are no ids for a payment.');
    const { interpretations } = item;
    const match = interpretations
      ? decideMatch(candidates[at] ?? [], interpretations.referenceIsEmpty)
      : NO_MATCH;
    const reads: PostingReads = {
      newIds: ids,
      known: known[at] ?? UNKNOWN_TRANSACTION,
      methods,
      sameExternalId: sameExternalIds[at],
      answer: key && answer && readAnswer(answer, key),
      match,
      suggestedCustomerIds: [],
      alike: alike[at] ?? [],
    };
    const accountId = manualPayments[at]?.accountId ?? match.accountId;
    return { item, key, missedNames: missedNames[at] ?? [], accountId, reads };
  });

  const wanted = idsOf(readPayments.map(({ accountId }) => accountId));
  const untaken = wanted.filter((id) => !accounts.has(id));
  const changing = readPayments.filter((one) => changeableIn(one).length > 0);
  const [found, existing, payments, knownNow, histories, cash] = await Promise.all([
    // An account that another transaction held in the first round trip is not taken now: the reads may be older than its release.
    takeFreeAccounts(
      tx,
      untaken.filter((id) => !namedIds.includes(id)),
    ),
    findExistingAccounts(tx, untaken),
    takeFreePayments(tx, idsOf(changing.flatMap(changeableIn))),
    findKnown(
      tx,
      changing.map(({ item }) => item),
      timeZone,
    ),
    findStatusHistories(
      tx,
      wanted.map((id) => accounts.get(id) ?? { id, status: 'suspended' }), // The others may be found now.
    ),
    findCashInHand(tx, manualPayments, methods, config),
  ]);
  for (const [id, account] of found) accounts.set(id, account);
  for (const [at, { reads }] of changing.entries()) reads.known = knownNow[at] ?? reads.known;

  const inBatch = missedInBatch(items);
  const notNow: Taken['notNow'] = new Map();
  const taken: Taken['reads'] = new Map();
  const movements: MoneyEvent['movements'] = [];
  for (const [at, one] of readPayments.entries()) {
    const { item, key, missedNames: names, accountId, reads } = one;
    // As in the decision: a payment that has become changeable since the first reads is not locked.
    const payment = changeableIn(one).find((id) => !payments.has(id));
    const missed =
      (key && names.find((name) => name === lockNameOf(key))) ??
      names[0] ??
      inBatch.get(item) ??
      (accountId !== null && !accounts.has(accountId) && existing.has(accountId)
        ? `account ${accountId}`
        : undefined) ??
      (payment === undefined ? undefined : `payment ${payment}`);
    if (missed !== undefined) {
      notNow.set(item, missed);
      continue;
    }
    reads.suggestedCustomerIds = await findSuggestedCustomers(tx, item, reads);
    reads.cashInHandMinor = cash[at];
    taken.set(item, reads);
    const { amountMinor } = 'manual' in item ? item.manual : item.notification;
    if (accountId !== null) movements.push({ accountId, movement: { kind: 'money_in', amountMinor } });
  }
  const payoffs = await findPayoffFacts(tx, accountsNearPayoff(accounts, movements), currency);
  return { reads: taken, accounts, histories, payoffs, notNow };
}

function changeableIn({ item, reads }: ReadPayment): number[] {
  return changeablePayments(item, reads.known, reads.match);
}

function idsOf(ids: readonly (number | null | undefined)[]): number[] {
  return [...new Set(ids.flatMap((id) => id ?? []))];
}

/**
 * Reads the cash in the hands of those who record cash and have counted it within a month, to compare it with the ceiling. Undefined for
 * other payments. Without a ceiling or a payment in cash, there is no statement.
 */
async function findCashInHand(
  tx: Tx,
  manualPayments: readonly (ManualPayment | undefined)[],
  methods: PostingReads['methods'],
  { CASH_COUNTS, cashCeilingMinor }: Context['config'],
): Promise<PostingReads['cashInHandMinor'][]> {
  if (CASH_COUNTS === 'off' || cashCeilingMinor === undefined) return [];
  const cashIds = new Set(methods.flatMap(({ id, cash }) => (cash ? id : [])));
  const holders = manualPayments.map((manual) =>
    manual && cashIds.has(manual.paymentMethodId) ? manual.actor.userId : null,
  );
  if (idsOf(holders).length === 0) return [];
  const rows = await findRecentlyCounted(tx, idsOf(holders));
  return manualPayments.map((manual, at) => {
    const row = rows.find(
      ({ holderId, paymentMethodId }) =>
        holderId === holders[at] && paymentMethodId === manual?.paymentMethodId,
    );
    return row && BigInt(row.inHandMinor);
  });
}

/**
 * Finds the customers of the suggested accounts (`suggestedAccountIds`) for a notification without a match. Searches only if
 * staff have recorded the transaction on an account, because the decision needs the customers only in this case.
 */
async function findSuggestedCustomers(
  tx: Tx,
  item: PaymentToPost,
  { match, known: { payments } }: PostingReads,
): Promise<number[]> {
  if (!('notification' in item) || !item.interpretations || match.accountId !== null) return [];
  if (!payments.some(({ provider, account_id: id }) => provider === null && id !== null)) return [];
  const [related = []] = await findRelatedAssignments(tx, [item.interpretations]);
  const accountIds = suggestedAccountIds(match.candidates, related, item.notification.billRef);
  return accountIds.length > 0 ? findCustomersOf(tx, accountIds) : [];
}
