import { formatAccountNumber, nearAccountNumbers } from '../../accounts/account-number-rules.ts';
import type { Context } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { isTimeout } from '../../core/database/postgres-errors.ts';
import { withTimeout } from '../../core/database/transactions.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Log } from '../../core/log.ts';
import { toPayment } from '../view.ts';
import { readMasked, readReference } from './rules.ts';
import {
  findByMasks,
  findByNames,
  findCandidates,
  findHolders,
  findOpenAccounts,
  findRelatives,
  listUnmatchedRows,
} from './store.ts';
import {
  type Clue,
  clueOfCandidate,
  clueOfNearNumber,
  clueOfRelative,
  nameWords,
  rankSuggestions,
  type Suggestion,
} from './suggestion-rules.ts';

/** A search by name costs more the more customers there are; in batches, what is found in time is kept. */
const NAMES_AT_ONCE = 10;
const NAMES_TIMEOUT_MS = 1_500;

/** The payments whose account is not known, each with the accounts that it may be meant for. */
export async function listUnmatched(context: Context, log: Log, plan: ListPlan) {
  const page = await listUnmatchedRows(context.db, plan);
  const suggestions = await suggestFor(context, log, page.rows);
  const rows = page.rows.map((row, index) => ({
    ...toPayment(row, context.currency),
    reference: row.bill_ref,
    payer: row.payer,
    flags: row.flags ?? [],
    suggestions: suggestions[index] ?? [],
  }));
  return { ...page, rows };
}

/** What a payer sent with the money. */
interface Sent {
  bill_ref: string | null;
  payer: string | null;
  payer_name: string | null;
}

/** One statement for each kind of clue but the names, whatever the number of payments, one after the other. */
async function suggestFor({ db, config }: Context, log: Log, sent: Sent[]): Promise<Suggestion[][]> {
  const region = config.PHONE_REGION;
  const readings = sent.map(({ bill_ref, payer }) => readReference(bill_ref, payer, region));
  const payers = sent.map(({ payer, payer_name }) => ({
    words: nameWords(payer_name),
    masked: readMasked(payer, region),
  }));
  const near = sent.map(({ bill_ref }) => nearAccountNumbers(bill_ref ?? ''));

  const candidates = await findCandidates(db, readings);
  const openNear = await findOpenAccounts(db, [...new Set(near.flat())]);
  const relatives = await findRelatives(db, readings);
  const byMask = await findByMasks(db, payers);
  const byName = await findByNamesInTime(
    db,
    log,
    payers.map(({ words }) => words),
  );

  const clues: Clue[][] = sent.map((_, index) => [
    ...(candidates[index] ?? []).map((found) => clueOfCandidate(found, formatAccountNumber(found.accountId))),
    ...(near[index] ?? []).filter((id) => openNear.has(id)).map(clueOfNearNumber),
    ...(relatives[index] ?? []).map(clueOfRelative),
  ]);
  const accountIds = clues.map((own, index) => [
    ...new Set([
      ...own.map(({ accountId }) => accountId),
      ...(byMask[index] ?? []),
      ...(byName[index] ?? []),
    ]),
  ]);
  const holders = await findHolders(db, [...new Set(accountIds.flat())]);
  return payers.map((payer, index) =>
    rankSuggestions(clues[index] ?? [], accountIds[index] ?? [], payer, holders),
  );
}

/** As `findByNames`; names that take too long to look up say nothing, since the other clues are worth more. */
async function findByNamesInTime(db: Db, log: Log, names: string[][]): Promise<number[][]> {
  const end = performance.now() + NAMES_TIMEOUT_MS;
  const found: number[][] = names.map(() => []);
  const known = names.flatMap((words, at) => (words.length < 2 ? [] : [{ words, at }]));
  for (let start = 0; start < known.length; start += NAMES_AT_ONCE) {
    const batch = known.slice(start, start + NAMES_AT_ONCE);
    const timeoutMs = Math.max(1, Math.ceil(end - performance.now()));
    try {
      const words = batch.map((payer) => payer.words);
      const accountIds = await withTimeout(db, timeoutMs, (tx) => findByNames(tx, words));
      for (const [index, { at }] of batch.entries()) found[at] = accountIds[index] ?? [];
    } catch (error) {
      if (!isTimeout(error)) throw error;
      log.warn({ err: error }, `the names of ${known.length - start} payers took too long to look up`);
      break;
    }
  }
  return found;
}
