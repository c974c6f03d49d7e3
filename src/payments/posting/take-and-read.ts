import { accountsNearPayoff } from '../../accounts/ledger/payoff-rules.ts';
import { findExistingAccounts, takeFreeAccounts } from '../../accounts/ledger/store.ts';
import type { LockedAccount, PayoffFacts } from '../../accounts/payoffs/posting-rules.ts';
import { findPayoffFacts } from '../../accounts/payoffs/store.ts';
import type { StatusHistory } from '../../accounts/status/paid-amount-rules.ts';
import { findStatusHistories } from '../../accounts/status/store.ts';
import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { externalIdKey } from '../../core/http/external-ids.ts';
import { findAnswers, lockNameOf, readAnswer } from '../../core/http/idempotency.ts';
import { findRecentlyCounted } from '../cash/overview-store.ts';
import { decideMatch, type Match, NO_MATCH, suggestedAccountIds } from '../matching/rules.ts';
import { findCandidates, findCustomersOf, findRelatedAssignments } from '../matching/store.ts';
import {
  changeablePayments,
  type KnownTransaction,
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

/**
 * Takes the locks that are free, and reads in later statements, which see what the last holders of the locks have committed. A second
 * round trip is only needed for accounts and payments that the first one has found, and for accounts whose status depends on its
 * history.
 */
export async function takeAndRead(
  tx: Tx,
  { config, currency }: Context,
  items: readonly PaymentToPost[],
): Promise<Taken> {
  const timeZone = config.BUSINESS_TIMEZONE;
  const keyed = items.flatMap((item) =>
    'manual' in item && item.keep ? [{ item, key: item.keep.key }] : [],
  );
  const namedIds = idsOf(items.map(({ namedAccountId }) => namedAccountId));
  const interpreted = items.filter(({ interpretations }) => interpretations !== null);
  const [missedNames, methods, accounts, answers, first, byExternalId, candidates, alike, ids] =
    await Promise.all([
      takeFreeNames(tx, items),
      findPaymentMethods(tx), // FIRST_TABLE_OF_PAYMENTS
      takeFreeAccounts(tx, namedIds),
      findAnswers(
        tx,
        keyed.map(({ key }) => key),
      ),
      findKnown(tx, items, timeZone),
      findByExternalIds(
        tx,
        items.flatMap((item) => externalKeyOf(item) ?? []),
      ),
      findCandidates(
        tx,
        interpreted.flatMap(({ interpretations }) => interpretations ?? []),
      ),
      // After the locks of the accounts, so that no other transaction can post another such payment.
      findAlikePayments(
        tx,
        items.map((item) => ('manual' in item ? item.manual : undefined)),
      ),
      takeIds(
        tx,
        items.map((item) => 'notification' in item && item.notification.stored === null),
      ),
    ]);
  const known = new Map(items.map((item, at) => [item, first[at] ?? UNKNOWN_TRANSACTION]));
  const matches = new Map(
    interpreted.map((item, at) => [
      item,
      decideMatch(candidates[at] ?? [], item.interpretations?.referenceIsEmpty ?? false),
    ]),
  );
  const matchOf = (item: PaymentToPost) => matches.get(item) ?? NO_MATCH;
  const accountOf = (item: PaymentToPost) =>
    'manual' in item ? item.manual.accountId : matchOf(item).accountId;
  const paymentsOf = (item: PaymentToPost) =>
    changeablePayments(item, known.get(item) ?? UNKNOWN_TRANSACTION, matchOf(item));

  const wanted = idsOf(items.map(accountOf));
  const untaken = wanted.filter((id) => !accounts.has(id));
  const changing = items.filter((item) => paymentsOf(item).length > 0);
  const [found, existing, payments, knownNow, histories, cash] = await Promise.all([
    // An account that another transaction held in the first round trip is not taken now: the reads may be older than its release.
    takeFreeAccounts(
      tx,
      untaken.filter((id) => !namedIds.includes(id)),
    ),
    findExistingAccounts(tx, untaken),
    takeFreePayments(tx, idsOf(changing.flatMap(paymentsOf))),
    findKnown(tx, changing, timeZone),
    findStatusHistories(
      tx,
      wanted.map((id) => accounts.get(id) ?? { id, status: 'suspended' }), // The others may be found now.
    ),
    findCashInHand(tx, items, methods, config),
  ]);
  for (const [id, account] of found) accounts.set(id, account);
  for (const [at, item] of changing.entries()) known.set(item, knownNow[at] ?? UNKNOWN_TRANSACTION);

  const inBatch = missedInBatch(items);
  const reads: Taken['reads'] = new Map();
  const notNow: Taken['notNow'] = new Map();
  for (const [at, item] of items.entries()) {
    const accountId = accountOf(item);
    const names = missedNames[at] ?? [];
    const key = 'manual' in item ? item.keep?.key : undefined;
    // As in the decision: a payment that has become changeable since the first reads is not locked.
    const transaction = known.get(item) ?? UNKNOWN_TRANSACTION;
    const payment = changeablePayments(item, transaction, matchOf(item)).find((id) => !payments.has(id));
    const missed =
      (key && names.find((name) => name === lockNameOf(key))) ??
      names[0] ??
      inBatch.get(item) ??
      (accountId !== null && !accounts.has(accountId) && existing.has(accountId)
        ? `account ${accountId}`
        : undefined) ??
      (payment === undefined ? undefined : `payment ${payment}`);
    const newIds = ids[at];
    if (missed !== undefined || newIds === undefined) {
      notNow.set(item, missed ?? 'the ids');
      continue;
    }
    const sameExternalId = byExternalId.get(externalKeyOf(item) ?? '');
    const answer = key && answers[keyed.findIndex((one) => one.item === item)];
    reads.set(item, {
      newIds,
      known: transaction,
      methods,
      match: matchOf(item),
      suggestedCustomerIds: await findSuggestedCustomers(tx, item, matchOf(item), transaction),
      alike: alike[at] ?? [],
      cashInHandMinor: cash[at],
      ...(sameExternalId !== undefined && { sameExternalId }),
      ...(answer && { answer: readAnswer(answer, key) }),
    });
  }
  const movements = [...reads.keys()].flatMap((item) => {
    const accountId = accountOf(item);
    const { amountMinor } = 'manual' in item ? item.manual : item.notification;
    return accountId === null ? [] : [{ accountId, movement: { kind: 'money_in' as const, amountMinor } }];
  });
  const payoffs = await findPayoffFacts(tx, accountsNearPayoff(accounts, histories, movements), currency);
  return { reads, accounts, histories, payoffs, notNow };
}

function idsOf(ids: readonly (number | null)[]): number[] {
  return [...new Set(ids.flatMap((id) => id ?? []))];
}

function externalKeyOf(item: PaymentToPost): string | undefined {
  if (!('manual' in item) || item.manual.externalId === null) return undefined;
  return externalIdKey(item.manual.externalId);
}

/**
 * Reads the cash in the hands of those who record cash and have counted it within a month, to compare it with the ceiling. Undefined for
 * other payments. Without a ceiling or a payment in cash, there is no statement.
 */
async function findCashInHand(
  tx: Tx,
  items: readonly PaymentToPost[],
  methods: PostingReads['methods'],
  { CASH_COUNTS, cashCeilingMinor }: Context['config'],
): Promise<PostingReads['cashInHandMinor'][]> {
  if (CASH_COUNTS === 'off' || cashCeilingMinor === undefined) return [];
  const cashIds = new Set(methods.flatMap(({ id, cash }) => (cash ? id : [])));
  const holders = items.map((item) =>
    'manual' in item && cashIds.has(item.manual.paymentMethodId) ? item.manual.actor.userId : null,
  );
  if (idsOf(holders).length === 0) return [];
  const rows = await findRecentlyCounted(tx, idsOf(holders));
  return items.map((item, at) => {
    const row = rows.find(
      ({ holderId, paymentMethodId }) =>
        holderId === holders[at] && 'manual' in item && paymentMethodId === item.manual.paymentMethodId,
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
  match: Match,
  { payments }: KnownTransaction,
): Promise<number[]> {
  if (!('notification' in item) || !item.interpretations || match.accountId !== null) return [];
  if (!payments.some(({ provider, account_id: id }) => provider === null && id !== null)) return [];
  const [related = []] = await findRelatedAssignments(tx, [item.interpretations]);
  const accountIds = suggestedAccountIds(match.candidates, related, item.notification.billRef);
  return accountIds.length > 0 ? findCustomersOf(tx, accountIds) : [];
}
