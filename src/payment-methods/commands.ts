import { audit } from '../core/audit.ts';
import type { Actor, Context } from '../core/context.ts';
import { inTransaction } from '../core/db.ts';
import type { NewPaymentMethod } from './schema.ts';
import { insertPaymentMethod } from './store.ts';

export async function createPaymentMethod(context: Context, actor: Actor, body: NewPaymentMethod) {
  const fields = { code: body.code, name: body.name, active: body.active ?? true };
  return inTransaction(context.db, async (tx) => {
    const method = await insertPaymentMethod(tx, fields);
    const entry = {
      action: 'payment_method.create',
      resource: 'payment_method',
      resourceId: method.id,
      after: fields,
    };
    await audit(tx, actor, entry);
    return method;
  });
}
