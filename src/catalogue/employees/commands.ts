import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { namesWith, newValuesOf } from '../../core/declared-fields.ts';
import { notFound } from '../../core/http/errors.ts';
import { externalFieldsOf, upsertByExternalId } from '../../core/http/external-ids.ts';
import { refuseSpreadsheetChange, requireChangedPhone } from '../../core/http/validation.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { type EmployeeChanges, type EmployeeUpsert, employeeFields, type NewEmployee } from './schema.ts';
import { insertEmployee, lockEmployee, updateEmployee } from './store.ts';

export async function createEmployee(context: Context, actor: Actor, sent: NewEmployee) {
  const body = withTrimmed(sent, ...namesWith(employeeFields, 'trimmed'));
  const fields = {
    ...newValuesOf(employeeFields, body),
    phone: phoneOf(body.phone ?? null, null, context),
    ...externalFieldsOf(body),
  };
  return inTransaction(context.db, async (tx) => {
    const employee = await insertEmployee(tx, fields);
    await audit(tx, actor, {
      action: 'employee.create',
      resource: 'employee',
      resourceId: employee.id,
      after: fields,
      event: event('employee.created', { active: fields.active }),
    });
    return employee;
  });
}

export async function changeEmployee(context: Context, actor: Actor, id: number, sent: EmployeeChanges) {
  const body = withTrimmed(sent, ...namesWith(employeeFields, 'trimmed'));
  return inTransaction(context.db, async (tx) => {
    const before = await lockEmployee(tx, id);
    if (!before) throw notFound('employee', id);
    refuseSpreadsheetChange('externalId', body.externalId, before.externalId);
    const changes = {
      ...body,
      ...externalFieldsOf(body),
      ...(body.phone !== undefined && { phone: phoneOf(body.phone, before.phone, context) }),
    };
    const employee = await updateEmployee(tx, id, changes);
    await audit(tx, actor, {
      action: 'employee.change',
      resource: 'employee',
      resourceId: id,
      before,
      after: changes,
      event: event('employee.updated', { changedFields: Object.keys(body) }),
    });
    return employee;
  });
}

export function upsertEmployee(context: Context, actor: Actor, externalId: string, body: EmployeeUpsert) {
  return upsertByExternalId(context.db, 'employee', externalId, {
    create: (tx) => createEmployee({ ...context, db: tx }, actor, { ...body, externalId }),
    change: (tx, id) => changeEmployee({ ...context, db: tx }, actor, id, body),
  });
}

function phoneOf(text: string | null, stored: string | null, { config }: Context): string | null {
  return text === null ? null : requireChangedPhone(text, stored, config.PHONE_REGION);
}
