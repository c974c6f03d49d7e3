import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import type { Employees } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';

type EmployeeRow = Selectable<Employees>;

interface EmployeeFields {
  name: string;
  phone: string | null;
  active: boolean;
}

export async function insertEmployee(tx: Tx, fields: EmployeeFields) {
  const row = await tx.insertInto('employees').values(fields).returningAll().executeTakeFirstOrThrow();
  return toEmployee(row);
}

export async function updateEmployee(tx: Tx, id: number, changes: Partial<EmployeeFields>) {
  const row = await tx
    .updateTable('employees')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toEmployee(row);
}

export async function findEmployee(db: Db, id: number) {
  const row = await db.selectFrom('employees').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toEmployee(row);
}

export async function lockEmployee(tx: Tx, id: number) {
  const row = await tx
    .selectFrom('employees')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row && toEmployee(row);
}

export async function listEmployees(db: Db, plan: ListPlan) {
  const page = await fetchPage<EmployeeRow>(db, plan, {
    select: sql`select e.* from employees e`,
    from: sql`from employees e`,
  });
  return { ...page, rows: page.rows.map(toEmployee) };
}

function toEmployee(row: EmployeeRow) {
  return {
    id: row.id,
    name: row.name,
    phone: row.phone,
    active: row.active,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
