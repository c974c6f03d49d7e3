import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import type { VerificationStatus, VerificationType } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
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
