import { type RawBuilder, sql } from 'kysely';
import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { statusesIn } from '../../accounts/status-rules.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { UNNAMED } from '../../core/database/named-statements.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { NotificationRow, PaymentRow } from '../rules.ts';
import { PAYMENT_COLUMNS } from '../store.ts';
import { type Candidate, MASK_END_LENGTH, type MaskedNumber, type Readings } from './rules.ts';
import type { Relative } from './suggestion-rules.ts';

/** Of one reading; a customer with more accounts is found all the same. */
const MAX_CANDIDATES = 20;
/** A name or a masked number that fits more customers than this says nothing. */
const MAX_NAMESAKES = 20;
const MAX_ACCOUNTS_OF_CUSTOMER = 5;
const MAX_LEARNED = 5;

const IS_OPEN = sql<boolean>`a.status in ${literalList(statusesIn('open'))}`;

/** For each of the readings all accounts that they point to, with the method of each. */
export async function findCandidates(db: Db, readings: readonly Readings[]): Promise<Candidate[][]> {
  if (readings.length === 0) return [];
  const { rows } = await sql<At<Candidate>>`
    select r.at::int as at, found.*
    from unnest(
      ${readings.map(({ accountId }) => accountId)}::bigint[],
      ${readings.map(({ nationalIdKey }) => nationalIdKey)}::text[],
      ${readings.map(({ phone }) => phone)}::text[],
      ${readings.map(({ bareAccountId }) => bareAccountId)}::bigint[],
      ${readings.map(({ payerSha256 }) => payerSha256)}::bytea[],
      ${readings.map(({ typedKey }) => typedKey)}::text[]
    ) with ordinality as r (account_id, national_id_key, phone, bare_account_id, payer_sha256, typed_key, at)
    cross join lateral (
      select 'account_number' as method, a.id as "accountId", ${IS_OPEN} as "isOpen",
          null::bigint as "overruledAccountId", null::date as "assignedOn"
        from accounts a where a.id = r.account_id
      union all
      (select 'national_id', a.id, true, null, null from customers c join accounts a on a.customer_id = c.id
        where c.national_id_key = r.national_id_key and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      (select 'phone', a.id, true, null, null from customers c join accounts a on a.customer_id = c.id
        where c.phone = r.phone and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      select 'account_id', a.id, true, null, null from accounts a join customers c on c.id = a.customer_id
        where a.id = r.bare_account_id and c.phone_sha256 = r.payer_sha256 and ${IS_OPEN}
      union all
      (select 'payer_phone', a.id, true, null, null from customers c join accounts a on a.customer_id = c.id
        where c.phone_sha256 = r.payer_sha256 and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      select 'learned', a.id, true, l.overruled_account_id, l.assigned_on
        from (
          select * from learned_references
          where payer_sha256 = r.payer_sha256 and typed_key = r.typed_key order by id desc limit 1
        ) l join accounts a on a.id = l.account_id
        where ${IS_OPEN}
    ) found`.execute(db);
  return grouped(rows, readings.length);
}

/** Those of the accounts that exist and on which a payment may still be expected. */
export async function findOpenAccounts(db: Db, accountIds: number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select a.id from accounts a where a.id = any(${accountIds}::bigint[]) and ${IS_OPEN}`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** The customers of those of the accounts that exist and on which a payment may still be expected. */
export async function findCustomersOf(tx: Tx, accountIds: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct a.customer_id as id from accounts a
    where a.id = any(${[...accountIds]}::bigint[]) and ${IS_OPEN}`.execute(tx);
  return rows.map(({ id }) => id);
}

/** For each of the readings the newest assignments that share one half of them. */
export async function findRelatives(db: Db, readings: Readings[]): Promise<Relative[][]> {
  const { rows } = await sql<At<Relative>>`
    select r.at::int as at, found.*
    from unnest(
      ${readings.map(({ payerSha256 }) => payerSha256)}::bytea[],
      ${readings.map(({ typedKey }) => typedKey)}::text[]
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
  return grouped(rows, readings.length);
}

/**
 * For each of the names, as words folded as search texts are, the open accounts of customers whose search text
 * has its two longest. What too many share is left out.
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
    sql`
      select p.at, c.ids
      from unnest(
        ${pairs.map(({ at }) => at)}::int[],
        ${pairs.map(({ one }) => `%${one}%`)}::text[],
        ${pairs.map(({ other }) => `%${other}%`)}::text[]
      ) as p (at, one, other)
      cross join lateral (
        select array_agg(id) as ids from (
          select id from customers where search_text like p.one and search_text like p.other
          limit ${MAX_NAMESAKES + 1}
        ) few
      ) c`,
  );
}

/**
 * For each of the payers the open accounts of customers whose phone fits the masked number, alone or together
 * with any word of the payer's name. What too many share is left out.
 */
export async function findByMasks(
  db: Db,
  payers: { words: string[]; masked: MaskedNumber | undefined }[],
): Promise<number[][]> {
  const masks = payers.flatMap(({ words, masked }, at) => {
    if (!masked) return [];
    const alone = { at: at + 1, masked, words: null };
    // Letters alone, so that the words mean nothing else to a pattern.
    return words.length === 0 ? [alone] : [alone, { ...alone, words: words.join('|') }];
  });
  if (masks.length === 0) return payers.map(() => []);
  return findOpenAccountsOf(
    db,
    payers.length,
    sql`
      select p.at, c.ids
      from unnest(
        ${masks.map(({ at }) => at)}::int[],
        ${masks.map(({ masked }) => `${masked.start}%`)}::text[],
        ${masks.map(({ masked }) => masked.end)}::text[],
        ${masks.map(({ words }) => words)}::text[]
      ) as p (at, phone_start, phone_end, words)
      cross join lateral (
        select array_agg(id) as ids from (
          select id from customers
          where right(phone, ${sql.lit(MASK_END_LENGTH)}) = right(p.phone_end, ${sql.lit(MASK_END_LENGTH)})
            and phone like p.phone_start and phone like '%' || p.phone_end
            and (p.words is null or search_text ~ p.words)
          limit ${MAX_NAMESAKES + 1}
        ) few
      ) c`,
  );
}

/** @param found which customers (`ids`) each of the payers (`at`) may be. */
async function findOpenAccountsOf(
  db: Db,
  payers: number,
  found: RawBuilder<{ at: number; ids: number[] | null }>,
): Promise<number[][]> {
  // Unnamed: a plan for whatever word would read the whole table, expecting to find enough of them soon.
  const { rows } = await sql<At<{ accountId: number }>>`${sql.raw(UNNAMED)}
    select distinct found.at, a.id as "accountId"
    from (${found}) found
    cross join lateral unnest(found.ids) as customer (id)
    cross join lateral (
      select a.id from accounts a where a.customer_id = customer.id and ${IS_OPEN}
      order by a.id limit ${MAX_ACCOUNTS_OF_CUSTOMER}
    ) a
    where cardinality(found.ids) <= ${MAX_NAMESAKES}`.execute(db);
  return grouped(rows, payers).map((accounts) => accounts.map(({ accountId }) => accountId));
}

/** Who holds the accounts of a list of suggestions, by account id. */
export async function findHolders(db: Db, accountIds: number[]) {
  const rows = await db
    .selectFrom('accounts as a')
    .innerJoin('customers as c', 'c.id', 'a.customer_id')
    .select(['a.id', 'c.first_name', 'c.last_name', 'c.phone'])
    .where(sql<boolean>`a.id = any(${accountIds}::bigint[])`)
    .execute();
  return new Map(
    rows.map((row) => [
      row.id,
      {
        accountNumber: formatAccountNumber(row.id),
        customerName: `${row.first_name} ${row.last_name}`,
        phone: row.phone,
      },
    ]),
  );
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

/** Forgets what the assignment of a payment taught. */
export async function deleteLearnedFrom(tx: Tx, paymentId: number): Promise<void> {
  await tx.deleteFrom('learned_references').where('payment_id', '=', paymentId).execute();
}

/** Forgets that the reference from the payer means the account, whichever assignments said so. */
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

/** A row that says which of several questions it answers, counted from 1. */
type At<Row> = Row & { at: number };

function grouped<Row>(rows: At<Row>[], count: number): Row[][] {
  const groups: Row[][] = Array.from({ length: count }, () => []);
  for (const row of rows) groups[row.at - 1]?.push(row);
  return groups;
}

/** The outcomes of the notification that a payment came with, or that was linked to it. */
const IS_OWN = sql<boolean>`n.outcome in ('matched', 'unmatched', 'linked')`;

/** What the payer of a payment sent; undefined where the provider has not reported it. */
export async function findNotificationOf(db: Db, paymentId: number): Promise<NotificationRow | undefined> {
  const { rows } = await sql<NotificationRow>`
    select n.* from notifications n where n.payment_id = ${paymentId} and ${IS_OWN}`.execute(db);
  return rows[0];
}

type Sent = Pick<NotificationRow, 'bill_ref' | 'payer' | 'payer_name'> & { flags: string[] | null };

/** Unmatched payments with what their payers sent. */
export function listUnmatchedRows(db: Db, plan: ListPlan) {
  return fetchPage<PaymentRow & Sent>(db, plan, {
    ...PAYMENT_COLUMNS,
    select: sql`
      select p.*, n.bill_ref, n.payer, n.payer_name, n.flags
      from payments p left join notifications n on n.payment_id = p.id and ${IS_OWN}`,
    from: sql`from payments p`,
    where: [sql<boolean>`p.status = 'unmatched'`],
  });
}
