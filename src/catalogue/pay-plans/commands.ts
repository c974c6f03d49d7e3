import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { invalidField, notFound } from '../../core/http/errors.ts';
import { maxAmountMinor, maxAmountText } from '../../core/values/money.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { totalMinor } from './rules.ts';
import type { NewPayPlan, PayPlanChanges } from './schema.ts';
import { insertPayPlan, lockPayPlan, updatePayPlan } from './store.ts';

export async function createPayPlan(context: Context, actor: Actor, sent: NewPayPlan) {
  const body = withTrimmed(sent, 'name');
  const { currency } = context;
  const fields = {
    name: body.name,
    productId: body.productId ?? null,
    depositMinor: readAmount(body.deposit, currency),
    instalmentMinor: readAmount(body.instalmentAmount, currency),
    instalmentCount: body.instalmentCount,
    frequency: body.frequency,
    graceDays: body.graceDays ?? 0,
    autoSuspend: body.autoSuspend ?? false,
    active: body.active ?? true,
  };
  if (totalMinor(fields) > maxAmountMinor(currency.decimals)) {
    throw invalidField(
      'instalmentAmount',
      `is too large: the total of the plan must be at most ${maxAmountText(currency.decimals)}`,
    );
  }
  return inTransaction(context.db, async (tx) => {
    const plan = await insertPayPlan(tx, fields);
    await audit(tx, actor, {
      action: 'payplan.create',
      resource: 'payplan',
      resourceId: plan.id,
      after: fields,
      event: event('payplan.created', { productId: fields.productId, active: fields.active }),
    });
    return plan;
  });
}

export async function changePayPlan(context: Context, actor: Actor, id: number, sent: PayPlanChanges) {
  const body = withTrimmed(sent, 'name');
  return inTransaction(context.db, async (tx) => {
    const row = await lockPayPlan(tx, id);
    if (!row) throw notFound('payplan', id);
    const plan = await updatePayPlan(tx, id, body);
    await audit(tx, actor, {
      action: 'payplan.change',
      resource: 'payplan',
      resourceId: id,
      before: { ...row, autoSuspend: row.auto_suspend },
      after: body,
      event: event('payplan.updated', { changedFields: Object.keys(body) }),
    });
    return plan;
  });
}
