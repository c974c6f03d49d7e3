import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { type ExternalValues, takenExternalId } from '../../core/http/external-ids.ts';
import { columnList, fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Employee } from './schema.ts';

const EMPLOYEE = [
  'id',
  'name',
  'phone',
  'active',
  'external_id as externalId',
  'metadata',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

interface EmployeeFields extends ExternalValues {
  name: string;
  phone: string | null;
  active: boolean;
}

/** @throws AppError DUPLICATE_ENTRY if the external id is taken. */
export function insertEmployee(tx: Tx, { externalId, ...fields }: EmployeeFields) {
  return tx
    .insertInto('employees')
    .values({ ...fields, external_id: externalId ?? null })
    .returning(EMPLOYEE)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenExternalId(error, 'employee', externalId) ?? error;
    });
}

/** @throws AppError DUPLICATE_ENTRY if the external id is taken. */
export function updateEmployee(
  tx: Tx,
  id: number,
  { externalId, ...changes }: Partial<EmployeeFields>,
): Promise<Employee> {
  return tx
    .updateTable('employees')
    .set({ ...changes, external_id: externalId, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returning(EMPLOYEE)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenExternalId(error, 'employee', externalId) ?? error;
    });
}

export function findEmployee(db: Db, id: number): Promise<Employee | undefined> {
  return db.selectFrom('employees').select(EMPLOYEE).where('id', '=', id).executeTakeFirst();
}

export function lockEmployee(tx: Tx, id: number): Promise<Employee | undefined> {
  return tx.selectFrom('employees').select(EMPLOYEE).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function listEmployees(db: Db, plan: ListPlan) {
  return fetchPage<Employee>(db, plan, {
    select: sql`select ${columnList(EMPLOYEE)} from employees e`,
    from: sql`from employees e`,
  });
}
