import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import type { VerificationStatus, VerificationType } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { KycDocument } from './schema.ts';

interface KycRow {
  id: number;
  customer_id: number;
  verification_type: VerificationType;
  verification_status: VerificationStatus;
  documents: unknown;
  actor: string;
  created_at: string;
}

interface NewKycRecord {
  customerId: number;
  verificationType: VerificationType;
  verificationStatus: VerificationStatus;
  documents: KycDocument[];
  createdBy: number | null;
}

export async function insertKycRecord(tx: Tx, record: NewKycRecord, actor: string) {
  const row = await tx
    .insertInto('kyc_records')
    .values({
      customer_id: record.customerId,
      verification_type: record.verificationType,
      verification_status: record.verificationStatus,
      documents: JSON.stringify(record.documents),
      created_by: record.createdBy,
    })
    .returning(['id', 'customer_id', 'verification_type', 'verification_status', 'documents', 'created_at'])
    .executeTakeFirstOrThrow();
  return toKycRecord({ ...row, actor });
}

export async function listKycRecords(db: Db, plan: ListPlan, customerId: number) {
  const page = await fetchPage<KycRow>(db, plan, {
    select: sql`
      select k.id, k.customer_id, k.verification_type, k.verification_status, k.documents, k.created_at,
        coalesce(u.email, 'system') as actor
      from kyc_records k left join users u on u.id = k.created_by`,
    from: sql`from kyc_records k`,
    where: [sql<boolean>`k.customer_id = ${customerId}`],
  });
  return { ...page, rows: page.rows.map(toKycRecord) };
}

/** A record is never changed, so that it was last updated when it was made. */
function toKycRecord(row: KycRow) {
  return {
    id: row.id,
    customerId: row.customer_id,
    verificationType: row.verification_type,
    verificationStatus: row.verification_status,
    documents: row.documents as KycDocument[],
    actor: row.actor,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}
