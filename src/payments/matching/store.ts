import { type RawBuilder, sql } from 'kysely';
import type { AccountRow } from '../../accounts/ledger/rules.ts';
import { statusesIn } from '../../accounts/status/rules.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { planAndRun } from '../../core/database/statements.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { HAS_PAYMENT } from '../notifications/store.ts';
import type { NotificationRow, PaymentRow } from '../rules.ts';
import { PAYMENT_COLUMNS } from '../store.ts';
import {
  type Candidate,
  type Interpretations,
  MASK_END_LENGTH,
  type MaskedNumber,
  type RelatedAssignment,
} from './rules.ts';
import type { Holder } from './suggestion-rules.ts';

/** The maximum number of candidates for each interpretation of a reference. More would not change the decision. */
const MAX_CANDIDATES = 20;
/** A name or a masked number is not a clue if more customers than this have it. */
const MAX_NAMESAKES = 20;
const MAX_ACCOUNTS_OF_CUSTOMER = 5;
const MAX_LEARNED = 5;

/** Condition on accounts `a`: payments are still expected. */
const IS_OPEN = sql<boolean>`a.status in ${literalList(statusesIn('open'))}`;

/**
 * Whether a customer who was registered after customer `c`, and has no account yet, has the same phone. A customer of an import does
 * not count: without a date in the file, all these customers were registered at the import.
 */
const HAS_NEWER_HOLDER = sql<boolean>`exists (
  select from customers newer where newer.phone = c.phone and (newer.created_at, newer.id) > (c.created_at, c.id)
    and newer.import_id is null and not exists (select from accounts a where a.customer_id = newer.id))`;

/** Finds the candidate accounts of each element of `interpretations`, with their match methods. There are none for null. */
export async function findCandidates(
  db: Db,
  interpretations: readonly (Interpretations | null)[],
): Promise<Candidate[][]> {
  if (interpretations.every((read) => read === null)) return [];
  const { rows } = await sql<At<Candidate>>`
    select r.at::int as at, found.*
    from unnest(
      ${interpretations.map((read) => read?.accountId ?? null)}::bigint[],
      ${interpretations.map((read) => read?.nationalIdKey ?? null)}::text[],
      ${interpretations.map((read) => read?.phone ?? null)}::text[],
      ${interpretations.map((read) => read?.bareAccountId ?? null)}::bigint[],
      ${interpretations.map((read) => read?.payerSha256 ?? null)}::bytea[],
      ${interpretations.map((read) => read?.typedKey ?? null)}::text[]
    ) with ordinality as r (account_id, national_id_key, phone, bare_account_id, payer_sha256, typed_key, at)
    cross join lateral (
      select 'account_number' as method, a.id as "accountId", ${IS_OPEN} as "isOpen",
          null::bigint as "overruledAccountId", null::date as "assignedOn", false as "hasNewerHolder"
        from accounts a where a.id = r.account_id
      union all
      (select 'national_id', a.id, true, null, null, false from customers c join accounts a on a.customer_id = c.id
        where c.national_id_key = r.national_id_key and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      (select 'phone', a.id, true, null, null, ${HAS_NEWER_HOLDER} from customers c join accounts a on a.customer_id = c.id
        where c.phone = r.phone and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      select 'account_id', a.id, true, null, null, false from accounts a join customers c on c.id = a.customer_id
        where a.id = r.bare_account_id and c.phone_sha256 = r.payer_sha256 and ${IS_OPEN}
      union all
      (select 'payer_phone', a.id, true, null, null, ${HAS_NEWER_HOLDER} from customers c join accounts a on a.customer_id = c.id
        where c.phone_sha256 = r.payer_sha256 and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      select 'learned', a.id, true, l.overruled_account_id, l.assigned_on, false
        from (
          select * from learned_references
          where payer_sha256 = r.payer_sha256 and typed_key = r.typed_key order by id desc limit 1
        ) l join accounts a on a.id = l.account_id
        where ${IS_OPEN}
    ) found`.execute(db);
  return rowsByInput(rows, interpretations.length);
}

/** A result row with the position of its input, counted from 1. */
type At<Row> = Row & { at: number };

function rowsByInput<Row>(rows: At<Row>[], count: number): Row[][] {
  const groups: Row[][] = Array.from({ length: count }, () => []);
  for (const row of rows) groups[row.at - 1]?.push(row);
  return groups;
}

/** Finds out which of the ids belong to open accounts. */
export async function findOpenAccounts(db: Db, accountIds: number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select a.id from accounts a where a.id = any(${accountIds}::bigint[]) and ${IS_OPEN}`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** The ids of the customers of those accounts that are open. */
export async function findCustomersOf(tx: Tx, accountIds: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct a.customer_id as id from accounts a
    where a.id = any(${[...accountIds]}::bigint[]) and ${IS_OPEN}`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Finds, for each element of `interpretations`, the newest assignments with either the same reference or the same payer. */
export async function findRelatedAssignments(
  db: Db,
  interpretations: Interpretations[],
): Promise<RelatedAssignment[][]> {
  const { rows } = await sql<At<RelatedAssignment>>`
    select r.at::int as at, found.*
    from unnest(
      ${interpretations.map(({ payerSha256 }) => payerSha256)}::bytea[],
      ${interpretations.map(({ typedKey }) => typedKey)}::text[]
    ) with ordinality as r (payer_sha256, typed_key, at)
    cross join lateral (
      (select a.id as "accountId", 'learned_reference' as kind, l.assigned_on as "assignedOn"
        from learned_references l join accounts a on a.id = l.account_id
        where l.typed_key = r.typed_key and l.payer_sha256 is distinct from r.payer_sha256 and ${IS_OPEN}
        order by l.id desc limit ${MAX_LEARNED})
      union all
      (select a.id, 'learned_payer', l.assigned_on
        from learned_references l join accounts a on a.id = l.account_id
        where l.payer_sha256 = r.payer_sha256 and l.typed_key is distinct from r.typed_key and ${IS_OPEN}
        order by l.id desc limit ${MAX_LEARNED})
    ) found`.execute(db);
  return rowsByInput(rows, interpretations.length);
}

/**
 * Finds, for each name, the open accounts of customers whose search text contains the two longest words of the name. Ignores
 * names that too many customers have.
 * @param names - words in the form of `nameWords`.
 */
export async function findByNames(db: Db, names: string[][]): Promise<number[][]> {
  const pairs = names.flatMap((words, at) => {
    const [one, other] = words.toSorted((a, b) => b.length - a.length);
    return one === undefined || other === undefined ? [] : [{ at: at + 1, one, other }];
  });
  if (pairs.length === 0) return names.map(() => []);
  return findOpenAccountsOf(
    db,
    names.length,
    sql`unnest(
        ${pairs.map(({ at }) => at)}::int[],
        ${pairs.map(({ one }) => `%${one}%`)}::text[],
        ${pairs.map(({ other }) => `%${other}%`)}::text[]
      ) as p (at, one, other)`,
    sql`search_text like p.one and search_text like p.other`,
  );
}

/**
 * Finds, for each payer, the open accounts of customers whose phone fits the masked number. If too many phones fit, finds only
 * customers who also share a word of the payer's name.
 */
export async function findByMasks(
  db: Db,
  payers: { words: string[]; masked: MaskedNumber | undefined }[],
): Promise<number[][]> {
  const masks = payers.flatMap(({ words, masked }, at) => {
    if (!masked) return [];
    const alone = { at: at + 1, masked, words: null };
    // The words contain only letters, so they need no escaping in the regular expression.
    return words.length === 0 ? [alone] : [alone, { ...alone, words: words.join('|') }];
  });
  if (masks.length === 0) return payers.map(() => []);
  return findOpenAccountsOf(
    db,
    payers.length,
    sql`unnest(
        ${masks.map(({ at }) => at)}::int[],
        ${masks.map(({ masked }) => `${masked.start}%`)}::text[],
        ${masks.map(({ masked }) => masked.end)}::text[],
        ${masks.map(({ words }) => words)}::text[]
      ) as p (at, phone_start, phone_end, words)`,
    sql`right(phone, ${sql.lit(MASK_END_LENGTH)}) = right(p.phone_end, ${sql.lit(MASK_END_LENGTH)})
      and phone like p.phone_start and phone like '%' || p.phone_end
      and (p.words is null or search_text ~ p.words)`,
  );
}

/**
 * Finds, for each payer, the open accounts of the possible customers.
 * @param clues - SQL of rows `p`. `p.at` is the position of a payer, and the other columns describe possible customers.
 * @param isPossible - SQL condition on a customer, with the columns of `p`.
 */
async function findOpenAccountsOf(
  db: Db,
  payers: number,
  clues: RawBuilder<unknown>,
  isPossible: RawBuilder<unknown>,
): Promise<number[][]> {
  // A generic plan would expect to reach the limit early, and would scan the whole table.
  const rows = await planAndRun(
    db,
    sql<At<{ accountId: number }>>`
    select distinct found.at, a.id as "accountId"
    from (
      select p.at, c.ids from ${clues}
      cross join lateral (
        select array_agg(id) as ids from (
          select id from customers where ${isPossible} limit ${MAX_NAMESAKES + 1}
        ) few
      ) c
    ) found
    cross join lateral unnest(found.ids) as customer (id)
    cross join lateral (
      select a.id from accounts a where a.customer_id = customer.id and ${IS_OPEN}
      order by a.id limit ${MAX_ACCOUNTS_OF_CUSTOMER}
    ) a
    where cardinality(found.ids) <= ${MAX_NAMESAKES}`,
  );
  return rowsByInput(rows, payers).map((accounts) => accounts.map(({ accountId }) => accountId));
}

export type HeldAccountRow = AccountRow & Holder;

export async function findHeldAccounts(db: Db, accountIds: number[]): Promise<Map<number, HeldAccountRow>> {
  const rows = await db
    .selectFrom('accounts as a')
    .innerJoin('customers as c', 'c.id', 'a.customer_id')
    .selectAll('a')
    .select(['c.first_name', 'c.last_name', 'c.phone'])
    .where(sql<boolean>`a.id = any(${accountIds}::bigint[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

interface NewLearned {
  typedKey: string;
  payerSha256: Buffer;
  accountId: number;
  overruledAccountId: number | null;
  paymentId: number;
  assignedOn: PlainDate;
  createdBy: number | null;
}

export async function insertLearned(tx: Tx, learned: NewLearned): Promise<void> {
  await tx
    .insertInto('learned_references')
    .values({
      typed_key: learned.typedKey,
      payer_sha256: learned.payerSha256,
      account_id: learned.accountId,
      overruled_account_id: learned.overruledAccountId,
      payment_id: learned.paymentId,
      assigned_on: learned.assignedOn,
      created_by: learned.createdBy,
    })
    .execute();
}

export async function deleteLearnedFrom(tx: Tx, paymentId: number): Promise<void> {
  await tx.deleteFrom('learned_references').where('payment_id', '=', paymentId).execute();
}

/** Deletes the learned link between a reference, a payer and an account, whichever assignments it came from. */
export async function deleteLearned(
  tx: Tx,
  { typedKey, payerSha256, accountId }: Pick<NewLearned, 'typedKey' | 'payerSha256' | 'accountId'>,
): Promise<void> {
  await tx
    .deleteFrom('learned_references')
    .where('payer_sha256', '=', payerSha256)
    .where('typed_key', '=', typedKey)
    .where('account_id', '=', accountId)
    .execute();
}

export type ReferenceAndPayer = Pick<NotificationRow, 'bill_ref' | 'payer' | 'payer_name'>;

/**
 * What the reports of a payment `p` say about its reference and payer. Repeats fill the gaps of the first report: a masked number
 * counts as a gap, and a report that differs does not count.
 */
const REPORTED = sql`
  select (array_agg(r.bill_ref order by r.outcome = 'repeated', r.id) filter (where r.bill_ref is not null))[1] as bill_ref,
    (array_agg(r.payer order by r.payer ~ '[*xX•]', r.outcome = 'repeated', r.id) filter (where r.payer is not null))[1]
      as payer,
    (array_agg(r.payer_name order by r.outcome = 'repeated', r.id) filter (where r.payer_name is not null))[1]
      as payer_name
  from notifications r where r.payment_id = p.id and r.outcome <> 'differs'`;

/** The reference and payer of a payment that a provider has reported, with the flags of the notification that posted it. */
export async function findReported(
  db: Db,
  paymentId: number,
): Promise<(ReferenceAndPayer & Pick<NotificationRow, 'flags'>) | undefined> {
  const { rows } = await sql<ReferenceAndPayer & Pick<NotificationRow, 'flags'>>`
    select reported.*, n.flags
    from payments p join notifications n on n.payment_id = p.id and ${HAS_PAYMENT}
      cross join lateral (${REPORTED}) reported
    where p.id = ${paymentId}`.execute(db);
  return rows[0];
}

/** Unmatched payments with what their notifications say about the reference and the payer. */
export function listUnmatchedRows(db: Db, plan: ListPlan) {
  return fetchPage<PaymentRow & ReferenceAndPayer & { flags: string[] | null }>(db, plan, {
    select: sql`
      select p.*, reported.bill_ref, reported.payer, reported.payer_name, n.flags
      from payments p left join notifications n on n.payment_id = p.id and ${HAS_PAYMENT}
        cross join lateral (${REPORTED}) reported`,
    from: sql`from payments p`,
    where: [sql<boolean>`p.status = 'unmatched'`],
    ...PAYMENT_COLUMNS,
  });
}
