import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type AppError, invalidField, notFound } from '../../core/http/errors.ts';
import { withTrimmed } from '../../core/values/text.ts';
import type { NewPaymentMethod, PaymentMethodChanges } from './schema.ts';
import { hasCashHolder, insertPaymentMethod, lockPaymentMethod, updatePaymentMethod } from './store.ts';

export async function createPaymentMethod(context: Context, actor: Actor, sent: NewPaymentMethod) {
  const body = withTrimmed(sent, 'name');
  const fields = { code: body.code, name: body.name, active: body.active ?? true, cash: body.cash ?? false };
  return inTransaction(context.db, async (tx) => {
    const method = await insertPaymentMethod(tx, fields);
    await audit(tx, actor, {
      action: 'payment_method.create',
      resource: 'payment_method',
      resourceId: method.id,
      after: fields,
      event: event('payment_method.created', { active: fields.active }),
    });
    return method;
  });
}

/**
 * The code never changes, because other programs use it to identify the payment method. A method whose cash somebody has counted stays
 * cash, because the cash in the hands of staff would be in no count and in no check any more.
 */
export async function changePaymentMethod(
  context: Context,
  actor: Actor,
  id: number,
  sent: PaymentMethodChanges,
) {
  const body = withTrimmed(sent, 'name');
  return inTransaction(context.db, async (tx) => {
    const before = await lockPaymentMethod(tx, id);
    if (!before) throw notFound('payment_method', id);
    if (body.cash === false && before.cash && (await hasCashHolder(tx, id))) throw countedCash();
    const method = await updatePaymentMethod(tx, id, body);
    await audit(tx, actor, {
      action: 'payment_method.change',
      resource: 'payment_method',
      resourceId: id,
      before,
      after: body,
      event: event('payment_method.updated', { changedFields: Object.keys(body) }),
    });
    return method;
  });
}

function countedCash(): AppError {
  const message =
    'must stay true, because staff have counted cash of this method. To end its use, send active: false.';
  return invalidField('cash', message);
}
