import { audit } from '../core/audit.ts';
import type { Actor, Context } from '../core/context.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { notFound } from '../core/http/errors.ts';
import { requirePhone } from '../core/values/phone.ts';
import type { CustomerChanges, NewCustomer } from './schema.ts';
import { insertCustomer, lockCustomer, updateCustomer } from './store.ts';

export async function createCustomer(context: Context, actor: Actor, body: NewCustomer) {
  const fields = {
    firstName: body.firstName,
    lastName: body.lastName,
    email: body.email ?? null,
    phone: requirePhone(body.phone, context.config.PHONE_REGION),
    nationalId: body.nationalId ?? null,
  };
  return inTransaction(context.db, async (tx) => {
    const customer = await insertCustomer(tx, fields);
    await audit(tx, actor, {
      action: 'customer.create',
      resource: 'customer',
      resourceId: customer.id,
      after: fields,
    });
    return customer;
  });
}

/** Changes only the given fields. Null removes an e-mail or a national id. */
export async function changeCustomer(context: Context, actor: Actor, id: number, body: CustomerChanges) {
  const changes = {
    ...body,
    ...(body.phone !== undefined && { phone: requirePhone(body.phone, context.config.PHONE_REGION) }),
  };
  return inTransaction(context.db, async (tx) => {
    const before = await lockCustomer(tx, id);
    if (!before) throw notFound('customer', id);
    const customer = await updateCustomer(tx, id, { ...before, ...changes });
    await audit(tx, actor, {
      action: 'customer.change',
      resource: 'customer',
      resourceId: id,
      before,
      after: changes,
    });
    return customer;
  });
}
