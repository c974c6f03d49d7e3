import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { VerificationStatus, VerificationType } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { KycDocument, KycRecord } from './schema.ts';

interface NewKycRecord {
  customerId: number;
  verificationType: VerificationType;
  verificationStatus: VerificationStatus;
  documents: KycDocument[];
  createdBy: number | null;
}

/** A record never changes, so `updatedAt` is the time of its creation. */
const RECORD = sql`k.id, k.customer_id as "customerId", k.verification_type as "verificationType",
  k.verification_status as "verificationStatus", k.documents, coalesce(u.email, 'system') as actor,
  k.created_at as "createdAt", k.created_at as "updatedAt"`;

export async function insertKycRecord(tx: Tx, record: NewKycRecord): Promise<KycRecord> {
  const { rows } = await sql<KycRecord>`
    with k as (
      insert into kyc_records (customer_id, verification_type, verification_status, documents, created_by)
      values (${record.customerId}, ${record.verificationType}, ${record.verificationStatus},
        ${JSON.stringify(record.documents)}, ${record.createdBy})
      returning *
    )
    select ${RECORD} from k left join users u on u.id = k.created_by`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('Inserting a KYC record returned no row.');
  return row;
}

export function listKycRecords(db: Db, plan: ListPlan, customerId: number) {
  return fetchPage<KycRecord>(db, plan, {
    select: sql`select ${RECORD} from kyc_records k left join users u on u.id = k.created_by`,
    from: sql`from kyc_records k`,
    where: [sql<boolean>`k.customer_id = ${customerId}`],
  });
}

/** The documents of the newest record of this type that has documents. A decision without documents is about these. */
export async function findDocuments(
  tx: Tx,
  customerId: number,
  verificationType: VerificationType,
): Promise<KycDocument[]> {
  const { rows } = await sql<{ documents: KycDocument[] }>`
    select documents from kyc_records
    where customer_id = ${customerId} and verification_type = ${verificationType} and documents <> '[]'
    order by id desc limit 1`.execute(tx);
  return rows[0]?.documents ?? [];
}

/** The numbers of all documents of the customer. */
export async function findDocumentNumbers(tx: Tx, customerId: number): Promise<(string | null)[]> {
  const { rows } = await sql<{ number: string | null }>`
    select distinct document->>'number' as number
    from kyc_records, jsonb_array_elements(documents) as document where customer_id = ${customerId}`.execute(
    tx,
  );
  return rows.map((row) => row.number);
}

/** Whether expired documents were already looked for on this business day. */
export async function hasExpiredOn(db: Db, day: PlainDate): Promise<boolean> {
  const { rows } = await sql`select from last_kyc_expiry where expired_on >= ${day}::date`.execute(db);
  return rows.length > 0;
}

export async function saveExpiredOn(db: Db, day: PlainDate): Promise<void> {
  await sql`
    insert into last_kyc_expiry as l (expired_on) values (${day}::date)
    on conflict (is_only_row) do update set expired_on = excluded.expired_on
    where l.expired_on < excluded.expired_on`.execute(db);
}

/**
 * Verified customers who have a record with a document that is no longer valid, in the order of their ids. The records are found
 * first: PostgreSQL has no statistics about the expiry, and would otherwise compute it for every record of every customer.
 */
export async function findCustomersWithExpired(
  db: Db,
  day: PlainDate,
  afterId: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with expired as materialized (select customer_id from kyc_records where earliest_expiry(documents) <= ${day})
    select id from customers
    where kyc_status = 'verified' and id > ${afterId} and id in (select customer_id from expired)
    order by id limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * The type of the customer's verification, if a document on which it is based is no longer valid on that day. The verification is
 * based on the documents of its record, or else on those of the newest earlier record of the same type.
 */
export async function findExpiredVerification(
  tx: Tx,
  customerId: number,
  day: PlainDate,
): Promise<VerificationType | undefined> {
  const { rows } = await sql<{ type: VerificationType }>`
    select v.verification_type as type
    from (
      select id, verification_type from kyc_records
      where customer_id = ${customerId} and verification_status = 'verified' order by id desc limit 1
    ) v
    cross join lateral (
      select documents from kyc_records
      where customer_id = ${customerId} and verification_type = v.verification_type and id <= v.id and documents <> '[]'
      order by id desc limit 1
    ) d
    where earliest_expiry(d.documents) <= ${day}`.execute(tx);
  return rows[0]?.type;
}
