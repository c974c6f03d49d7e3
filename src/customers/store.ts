import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { violatedUnique } from '../core/database/postgres-errors.ts';
import type { Customers, VerificationStatus } from '../core/database/tables.ts';
import { type AppError, duplicate } from '../core/http/errors.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import { likeLiteral } from '../core/lists/sql.ts';
import { emailKey } from '../core/values/email.ts';
import { phoneSha256 } from '../core/values/phone.ts';
import { nationalIdKey, type SearchableCustomer, searchText } from './rules.ts';

type CustomerRow = Selectable<Customers>;

/** The whole of a customer's own fields, phone in E.164. */
type CustomerFields = SearchableCustomer;

const COLUMNS = [
  'id',
  'first_name',
  'last_name',
  'email',
  'phone',
  'national_id',
  'kyc_status',
  'kyc_review_pending',
  'created_at',
  'updated_at',
] as const;
type CustomerColumns = Pick<CustomerRow, (typeof COLUMNS)[number]>;

/** @throws AppError DUPLICATE_ENTRY when the e-mail or the national id is taken. */
export async function insertCustomer(tx: Tx, fields: CustomerFields) {
  const row = await tx
    .insertInto('customers')
    .values(columnsOf(fields))
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw taken(error, fields) ?? error;
    });
  return toCustomer(row);
}

/** @throws AppError DUPLICATE_ENTRY when the e-mail or the national id is taken. */
export async function updateCustomer(tx: Tx, id: number, fields: CustomerFields) {
  const row = await tx
    .updateTable('customers')
    .set({ ...columnsOf(fields), updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw taken(error, fields) ?? error;
    });
  return toCustomer(row);
}

export async function findCustomer(db: Db, id: number) {
  const row = await db.selectFrom('customers').select(COLUMNS).where('id', '=', id).executeTakeFirst();
  return row && toCustomer(row);
}

export async function lockCustomer(tx: Tx, id: number) {
  const row = await tx
    .selectFrom('customers')
    .select(COLUMNS)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row && toCustomer(row);
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

/** @param words folded; each must occur in the customer's search text. */
export async function listCustomers(db: Db, plan: ListPlan, words: string[]) {
  const page = await fetchPage<CustomerColumns>(db, plan, {
    select: sql`
      select c.id, c.first_name, c.last_name, c.email, c.phone, c.national_id, c.kyc_status, c.kyc_review_pending,
        c.created_at, c.updated_at
      from customers c`,
    from: sql`from customers c`,
    where: words.map((word) => sql<boolean>`c.search_text like ${`%${likeLiteral(word)}%`}`),
  });
  return { ...page, rows: page.rows.map(toCustomer) };
}

function columnsOf(fields: CustomerFields) {
  return {
    first_name: fields.firstName,
    last_name: fields.lastName,
    email: fields.email,
    email_key: fields.email === null ? null : emailKey(fields.email),
    phone: fields.phone,
    phone_sha256: phoneSha256(fields.phone),
    national_id: fields.nationalId,
    national_id_key: fields.nationalId === null ? null : nationalIdKey(fields.nationalId),
    search_text: searchText(fields),
  };
}

function taken(error: unknown, fields: CustomerFields): AppError | undefined {
  const columns = columnsOf(fields);
  const withKey = (column: 'email_key' | 'national_id_key') =>
    sql<{ id: number }>`select id from customers where ${sql.ref(column)} = ${columns[column]}`;
  switch (violatedUnique(error)) {
    case 'customers_email_unique':
      return duplicate('customer', 'email', withKey('email_key'));
    case 'customers_national_id_unique':
      return duplicate('customer', 'nationalId', withKey('national_id_key'));
    default:
      return undefined;
  }
}

function toCustomer(row: CustomerColumns) {
  return {
    id: row.id,
    firstName: row.first_name,
    lastName: row.last_name,
    email: row.email,
    phone: row.phone,
    nationalId: row.national_id,
    kycStatus: row.kyc_status,
    kycReviewPending: row.kyc_review_pending,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
