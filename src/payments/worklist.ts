import type { Context } from '../core/context.ts';
import type { ListPlan } from '../core/list-query.ts';
import { findHolders, listUnmatchedRows } from './inbox-store.ts';
import { type Candidate, findCandidates, type LadderMethod, readReference } from './matching.ts';
import { toPayment } from './store.ts';

const REASON: Record<LadderMethod, string> = {
  account_number: 'the reference is the account number',
  national_id: 'the reference is the national id of the customer',
  phone: 'the reference is the phone number of the customer',
  account_id: 'the reference is the id of the account, and the customer’s phone paid',
  payer_phone: 'the customer’s phone paid',
};

/** The payments whose account is not known, each with the accounts that it may be meant for. */
export async function listUnmatched(context: Context, plan: ListPlan) {
  const page = await listUnmatchedRows(context.db, plan);
  const candidates = await Promise.all(
    page.rows.map((row) =>
      findCandidates(context.db, readReference(row.bill_ref, row.payer, context.config.PHONE_REGION)),
    ),
  );
  const holders = await findHolders(context.db, [
    ...new Set(candidates.flat().map(({ accountId }) => accountId)),
  ]);
  const rows = page.rows.map((row, index) => ({
    ...toPayment(row, context.currency),
    reference: row.bill_ref,
    payer: row.payer,
    flags: row.flags ?? [],
    suggestions: suggestionsOf(candidates[index] ?? [], holders),
  }));
  return { ...page, rows };
}

type Holders = Awaited<ReturnType<typeof findHolders>>;

function suggestionsOf(candidates: Candidate[], holders: Holders) {
  const firstOfAccount = new Map<number, Candidate>();
  for (const candidate of candidates) {
    if (!firstOfAccount.has(candidate.accountId)) firstOfAccount.set(candidate.accountId, candidate);
  }
  return [...firstOfAccount.values()].flatMap(({ accountId, method }) => {
    const holder = holders.get(accountId);
    return holder ? [{ accountId, ...holder, reason: REASON[method] }] : [];
  });
}
