import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { violatedUnique } from '../core/database/postgres-errors.ts';
import { lookUp } from '../core/database/statements.ts';
import type { PhoneProblem, VerificationStatus } from '../core/database/tables.ts';
import { columnsOf, rowOf } from '../core/declared-fields.ts';
import { type AppError, duplicate } from '../core/http/errors.ts';
import { type ExternalValues, takenExternalId } from '../core/http/external-ids.ts';
import { columnList, fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import { hidden, likeLiteral } from '../core/lists/sql.ts';
import { emailKey } from '../core/values/email.ts';
import { nationalDigits, phoneSha256 } from '../core/values/phone.ts';
import { nationalIdKey } from './rules.ts';
import { type CustomerValues, customerFields, type ExpandedCustomer } from './schema.ts';
import { searchText } from './search-text-rules.ts';

type CustomerFields = CustomerValues & Required<ExternalValues>;

/** The columns of a `Customer`, under the names of its fields. */
const COLUMNS = [
  'id',
  ...columnsOf(customerFields),
  'email',
  'phone',
  'phone_problem as phoneProblem',
  'second_phone as secondPhone',
  'national_id as nationalId',
  'kyc_status as kycStatus',
  'kyc_review_pending as kycReviewPending',
  'external_id as externalId',
  'metadata',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

/** @throws AppError DUPLICATE_ENTRY when the e-mail, the national id or the external id is taken. */
export function insertCustomer(tx: Tx, fields: CustomerFields) {
  return tx
    .insertInto('customers')
    .values(customerRow(fields))
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenError(error, fields) ?? error;
    });
}

/** @throws AppError DUPLICATE_ENTRY when another customer has the e-mail, the national id or the external id. */
export async function requireFree(db: Db, fields: CustomerFields): Promise<void> {
  const { email_key, national_id_key, external_id } = customerRow(fields);
  const { rows } = await sql<{ field: string; id: number }>`
    select 'email' as field, id from customers where email_key = ${email_key}
    union all select 'nationalId', id from customers where national_id_key = ${national_id_key}
    union all select 'externalId', id from customers where external_id = ${external_id}`.execute(db);
  const [taken] = rows;
  if (taken) throw duplicate('customer', taken.field, taken.id);
}

/** @throws AppError DUPLICATE_ENTRY when the e-mail, the national id or the external id is taken. */
export function updateCustomer(tx: Tx, id: number, fields: CustomerFields) {
  return tx
    .updateTable('customers')
    .set({
      ...customerRow(fields),
      phone_problem: sql`case when phone = ${fields.phone} then phone_problem end`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenError(error, fields) ?? error;
    });
}

/** Changes only the phone, and what is derived from it. */
export async function setPhone(tx: Tx, id: number, customer: CustomerValues): Promise<void> {
  const { phone } = customer;
  await tx
    .updateTable('customers')
    .set({
      phone,
      phone_sha256: phoneSha256(phone),
      search_text: searchText(customer),
      phone_problem: null,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Records why the phone of a customer is not repaired. The customer itself does not change. */
export async function setPhoneProblem(tx: Tx, id: number, problem: PhoneProblem | null): Promise<void> {
  await tx.updateTable('customers').set({ phone_problem: problem }).where('id', '=', id).execute();
}

/**
 * Forgets the references that were learned from the payments of a phone, or that are this phone, and that lead to customers who do not
 * have it. Operators give old numbers to other people.
 * @param holderId - the customer to whom the phone belongs now. What leads to other customers is forgotten. Null if nobody is known.
 */
export async function forgetPhone(tx: Tx, phone: string, holderId: number | null): Promise<void> {
  const [digits, national] = [phone.slice(1), nationalDigits(phone)];
  const typed = [digits, `00${digits}`, national, national.replace(/^0/, '')];
  await sql`
    delete from learned_references l using accounts a join customers c on c.id = a.customer_id
    where (l.payer_sha256 = ${phoneSha256(phone)} or l.typed_key = any(${typed})) and a.id = l.account_id
      and (c.phone <> ${phone} or c.id <> ${holderId})`.execute(tx);
}

export function findCustomer(db: Db, id: number) {
  return db.selectFrom('customers').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

export async function findExpandedCustomers(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ExpandedCustomer>> {
  const rows = await lookUp(
    db,
    sql<ExpandedCustomer>`
      select id, first_name || ' ' || last_name as name, phone from customers where id = any(${ids}::bigint[])`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export function lockCustomer(tx: Tx, id: number) {
  return tx.selectFrom('customers').select(COLUMNS).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export async function setKycStatus(
  tx: Tx,
  id: number,
  { kycStatus, kycReviewPending }: { kycStatus: VerificationStatus; kycReviewPending: boolean },
): Promise<void> {
  await tx
    .updateTable('customers')
    .set({ kyc_status: kycStatus, kyc_review_pending: kycReviewPending, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

/**
 * @param words - words in the form of `searchKey`. All must occur in the customer's search text.
 * @param phone - the search as a phone number. Customers with this phone are found, too.
 */
export function listCustomers(db: Db, plan: ListPlan, words: string[], phone?: string) {
  return fetchPage<CustomerRow>(db, plan, {
    select: sql`select ${columnList(COLUMNS)} from customers c`,
    from: sql`from customers c`,
    where: customerMatches(words, phone),
    isSearch: plan.isPlain && words.some(isIndexed),
  });
}

/** Whether the trigram index finds the customers that have the word. */
function isIndexed(word: string): boolean {
  return word.length >= 3;
}

/** The conditions of a search for customers c. The parameters are those of `listCustomers`. */
export function customerMatches(words: readonly string[], phone?: string): RawBuilder<boolean>[] {
  const hasWords = words.map((word) => {
    const pattern = `%${likeLiteral(word)}%`;
    return sql<boolean>`search_key(c.search_text) like ${isIndexed(word) ? hidden(pattern) : pattern}`;
  });
  if (phone === undefined) return hasWords;
  return [
    sql<boolean>`(c.phone = ${phone} or c.second_phone = ${phone} or ${sql.join(hasWords, sql` and `)})`,
  ];
}

type CustomerRow = Awaited<ReturnType<typeof insertCustomer>>;

function customerRow(fields: CustomerFields) {
  return {
    ...rowOf(customerFields, fields),
    email: fields.email,
    email_key: fields.email === null ? null : emailKey(fields.email),
    phone: fields.phone,
    phone_sha256: phoneSha256(fields.phone),
    second_phone: fields.secondPhone,
    national_id: fields.nationalId,
    national_id_key: fields.nationalId === null ? null : nationalIdKey(fields.nationalId),
    search_text: searchText(fields),
    external_id: fields.externalId,
    metadata: fields.metadata,
  };
}

function takenError(error: unknown, fields: CustomerFields): AppError | undefined {
  const columns = customerRow(fields);
  const withKey = (column: 'email_key' | 'national_id_key') =>
    sql<{ id: number }>`select id from customers where ${sql.ref(column)} = ${columns[column]}`;
  switch (violatedUnique(error)) {
    case 'customers_email_unique':
      return duplicate('customer', 'email', withKey('email_key'));
    case 'customers_national_id_unique':
      return duplicate('customer', 'nationalId', withKey('national_id_key'));
    default:
      return takenExternalId(error, 'customer', fields.externalId);
  }
}
