import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { columnsOf, rowOf, type ValuesOf } from '../../core/declared-fields.ts';
import { type ExternalValues, takenExternalId } from '../../core/http/external-ids.ts';
import { columnList, fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { type Employee, employeeFields } from './schema.ts';

const EMPLOYEE = [
  'id',
  ...columnsOf(employeeFields),
  'phone',
  'external_id as externalId',
  'metadata',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

type EmployeeFields = ValuesOf<typeof employeeFields> & ExternalValues & { phone: string | null };

/** @throws AppError DUPLICATE_ENTRY if the external id is taken. */
export function insertEmployee(tx: Tx, fields: EmployeeFields) {
  const { phone, metadata, externalId } = fields;
  return tx
    .insertInto('employees')
    .values({ ...rowOf(employeeFields, fields), phone, metadata, external_id: externalId ?? null })
    .returning(EMPLOYEE)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenExternalId(error, 'employee', externalId) ?? error;
    });
}

/** @throws AppError DUPLICATE_ENTRY if the external id is taken. */
export function updateEmployee(tx: Tx, id: number, changes: Partial<EmployeeFields>): Promise<Employee> {
  const { phone, metadata, externalId } = changes;
  return tx
    .updateTable('employees')
    .set({
      ...rowOf(employeeFields, changes),
      phone,
      metadata,
      external_id: externalId,
      updated_at: sql`business_now()`,
    })
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
