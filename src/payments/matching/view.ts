import { numbersInText } from '../../accounts/account-number-rules.ts';
import { toAccount } from '../../accounts/view.ts';
import { type Context, today } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { isTimeout } from '../../core/database/postgres-errors.ts';
import { databaseOf, withTimeout } from '../../core/database/transactions.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Log } from '../../core/log.ts';
import { asFlags } from '../notifications/rules.ts';
import { toPayment } from '../view.ts';
import { readMasked, readReference } from './rules.ts';
import {
  findByMasks,
  findByNames,
  findCandidates,
  findHeldAccounts,
  findOpenAccounts,
  findRelatedAssignments,
  type HeldAccountRow,
  listUnmatchedRows,
  type ReferenceAndPayer,
} from './store.ts';
import {
  type Clue,
  clueOfAssignment,
  clueOfCandidate,
  clueOfContainedNumber,
  clueOfNearNumber,
  nameWords,
  rankSuggestions,
} from './suggestion-rules.ts';
import { nearAccountNumbers } from './typing-error-rules.ts';

/** The number of names in a query. If the search reaches its time limit, the results of earlier queries are still used. */
const NAMES_AT_ONCE = 10;

export async function listUnmatched(context: Context, log: Log, plan: ListPlan) {
  const page = await listUnmatchedRows(context.db, plan);
  const suggestions = await suggestFor(context, log, page.rows);
  const rows = page.rows.map((row, index) => ({
    ...toPayment(row, context.currency),
    reference: row.bill_ref,
    payer: row.payer,
    flags: asFlags(row.flags ?? []),
    suggestions: suggestions[index] ?? [],
  }));
  return { ...page, rows };
}

/** For all payments of a page, runs one SQL statement for each kind of clue, and several for names. */
async function suggestFor(context: Context, log: Log, notifications: readonly ReferenceAndPayer[]) {
  const { db, config } = context;
  const region = config.PHONE_REGION;
  const interpretations = notifications.map(({ bill_ref, payer }) => readReference(bill_ref, payer, region));
  const payers = notifications.map(({ payer, payer_name }) => ({
    words: nameWords(payer_name),
    masked: readMasked(payer, region),
  }));
  const near = notifications.map(({ bill_ref }) => nearAccountNumbers(bill_ref ?? ''));
  const contained = notifications.map(({ bill_ref }) => numbersInText(bill_ref ?? ''));

  const candidates = await findCandidates(db, interpretations);
  const open = await findOpenAccounts(db, [...new Set([...near, ...contained].flat())]);
  const related = await findRelatedAssignments(db, interpretations);
  const byMask = await findByMasks(db, payers);
  const byName = await findByNamesInTime(
    db,
    log,
    payers.map(({ words }) => words),
  );

  const clues: Clue[][] = notifications.map((_, index) => [
    ...(candidates[index] ?? []).map((found) => clueOfCandidate(found)),
    ...(contained[index] ?? []).filter((id) => open.has(id)).map(clueOfContainedNumber),
    ...(near[index] ?? []).filter((id) => open.has(id)).map(clueOfNearNumber),
    ...(related[index] ?? []).map(clueOfAssignment),
  ]);
  const accountIds = clues.map((own, index) => [
    ...own.map(({ accountId }) => accountId),
    ...(byMask[index] ?? []),
    ...(byName[index] ?? []),
  ]);
  const accounts = await findHeldAccounts(db, [...new Set(accountIds.flat())]);
  return payers.map((payer, index) =>
    rankSuggestions(clues[index] ?? [], accountIds[index] ?? [], payer, accounts).map((suggestion) => ({
      ...suggestion,
      ...figuresOf(context, accounts.get(suggestion.accountId)),
    })),
  );
}

/** The figures that staff compare with the amount of a payment before they assign the payment. */
function figuresOf(context: Context, account: HeldAccountRow | undefined) {
  if (!account) throw new Error('A suggested account was not read.');
  const { status, balance, nextDueDate, nextDueAmount } = toAccount(
    account,
    context.currency,
    today(context),
  );
  return { status, balance, nextDueDate, nextDueAmount };
}

/** Like `findByNames`, but stops at a time limit. The names that are left are not searched. */
async function findByNamesInTime(db: Db, log: Log, names: string[][]): Promise<number[][]> {
  const end = performance.now() + databaseOf(db).limits.namesMs;
  const found: number[][] = names.map(() => []);
  const searchable = names.flatMap((words, at) => (words.length < 2 ? [] : [{ words, at }]));
  for (let start = 0; start < searchable.length; start += NAMES_AT_ONCE) {
    const batch = searchable.slice(start, start + NAMES_AT_ONCE);
    const timeoutMs = Math.max(1, Math.ceil(end - performance.now()));
    try {
      const words = batch.map((payer) => payer.words);
      const accountIds = await withTimeout(db, timeoutMs, (tx) => findByNames(tx, words));
      for (const [index, { at }] of batch.entries()) found[at] = accountIds[index] ?? [];
    } catch (error) {
      if (!isTimeout(error)) throw error;
      log.warn(
        { err: error },
        `the names of ${searchable.length - start} payers were not searched: the time limit was reached`,
      );
      break;
    }
  }
  return found;
}
