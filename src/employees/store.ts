import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { columnList, fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { Employee } from './schema.ts';

const EMPLOYEE = [
  'id',
  'name',
  'phone',
  'active',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

interface EmployeeFields {
  name: string;
  phone: string | null;
  active: boolean;
}

export function insertEmployee(tx: Tx, fields: EmployeeFields) {
  return tx.insertInto('employees').values(fields).returning(EMPLOYEE).executeTakeFirstOrThrow();
}

export function updateEmployee(tx: Tx, id: number, changes: Partial<EmployeeFields>): Promise<Employee> {
  return tx
    .updateTable('employees')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returning(EMPLOYEE)
    .executeTakeFirstOrThrow();
}

export function findEmployee(db: Db, id: number): Promise<Employee | undefined> {
  return db.selectFrom('employees').select(EMPLOYEE).where('id', '=', id).executeTakeFirst();
}

export function lockEmployee(tx: Tx, id: number): Promise<Employee | undefined> {
  return tx.selectFrom('employees').select(EMPLOYEE).where('id', '=', id).forUpdate().executeTakeFirst();
}

export function listEmployees(db: Db, plan: ListPlan) {
  return fetchPage<Employee>(db, plan, {
    select: sql`select ${columnList(EMPLOYEE)} from employees e`,
    from: sql`from employees e`,
  });
}
