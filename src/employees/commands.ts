import { audit } from '../core/audit.ts';
import type { Actor, Context } from '../core/context.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { notFound } from '../core/http/errors.ts';
import { requirePhone } from '../core/values/phone.ts';
import type { EmployeeChanges, NewEmployee } from './schema.ts';
import { insertEmployee, lockEmployee, updateEmployee } from './store.ts';

export async function createEmployee(context: Context, actor: Actor, body: NewEmployee) {
  const fields = {
    name: body.name,
    phone: phoneOf(body.phone ?? null, context),
    active: body.active ?? true,
  };
  return inTransaction(context.db, async (tx) => {
    const employee = await insertEmployee(tx, fields);
    await audit(tx, actor, {
      action: 'employee.create',
      resource: 'employee',
      resourceId: employee.id,
      after: fields,
    });
    return employee;
  });
}

export async function changeEmployee(context: Context, actor: Actor, id: number, body: EmployeeChanges) {
  const changes = { ...body, ...(body.phone !== undefined && { phone: phoneOf(body.phone, context) }) };
  return inTransaction(context.db, async (tx) => {
    const before = await lockEmployee(tx, id);
    if (!before) throw notFound('employee', id);
    const employee = await updateEmployee(tx, id, changes);
    await audit(tx, actor, {
      action: 'employee.change',
      resource: 'employee',
      resourceId: id,
      before,
      after: changes,
    });
    return employee;
  });
}

function phoneOf(text: string | null, { config }: Context): string | null {
  return text === null ? null : requirePhone(text, config.PHONE_REGION);
}
