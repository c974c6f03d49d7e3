import { formatAccountNumber, nearAccountNumbers } from '../accounts/account-number.ts';
import type { Context } from '../core/context.ts';
import type { ListPlan } from '../core/list-query.ts';
import { listUnmatchedRows } from './inbox-store.ts';
import { readMasked, readReference } from './matching.ts';
import {
  findByTraits,
  findCandidates,
  findHolders,
  findOpenAccounts,
  findRelatives,
} from './matching-store.ts';
import { toPayment } from './store.ts';
import {
  type Clue,
  clueOfCandidate,
  clueOfNearNumber,
  clueOfRelative,
  nameWords,
  rankSuggestions,
  type Suggestion,
} from './suggestions.ts';

/** The payments whose account is not known, each with the accounts that it may be meant for. */
export async function listUnmatched(context: Context, plan: ListPlan) {
  const page = await listUnmatchedRows(context.db, plan);
  const suggestions = await suggestFor(context, page.rows);
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

/** One statement for each kind of clue, whatever the number of payments, one after the other. */
async function suggestFor({ db, config }: Context, sent: Sent[]): Promise<Suggestion[][]> {
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
  const byTraits = await findByTraits(db, payers);

  const clues: Clue[][] = sent.map((_, index) => [
    ...(candidates[index] ?? []).map((found) => clueOfCandidate(found, formatAccountNumber(found.accountId))),
    ...(near[index] ?? []).filter((id) => openNear.has(id)).map(clueOfNearNumber),
    ...(relatives[index] ?? []).map((found) => clueOfRelative(found.accountId, found.kind, found.assignedOn)),
  ]);
  const accountIds = clues.map((own, index) => [
    ...new Set([...own.map(({ accountId }) => accountId), ...(byTraits[index] ?? [])]),
  ]);
  const holders = await findHolders(db, [...new Set(accountIds.flat())]);
  return payers.map((payer, index) =>
    rankSuggestions(clues[index] ?? [], accountIds[index] ?? [], payer, holders),
  );
}
