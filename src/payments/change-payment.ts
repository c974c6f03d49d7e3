import { event } from '../changes/events/change-rules.ts';
import { audit } from '../changes/events/change-store.ts';
import type { Actor, Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { lockName, takeLocks } from '../core/database/named-locks.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { duplicate, notFound } from '../core/http/errors.ts';
import { externalFieldsOf, externalIdKey } from '../core/http/external-ids.ts';
import { refuseSpreadsheetChange } from '../core/http/validation.ts';
import { lockRows } from './locks.ts';
import { findByExternalIds } from './posting/store.ts';
import type { PaymentRow } from './rules.ts';
import type { PaymentChanges } from './schema.ts';
import { updateExternalFields } from './store.ts';

/** Locks a payment for a change. @returns undefined if there is no such payment. */
export async function lockPayment(tx: Tx, id: number, { externalId }: PaymentChanges) {
  if (externalId) await takeLocks(tx, [lockName('payment external id', externalIdKey(externalId))]);
  const row = (await lockRows(tx, { payments: [id] })).payments.get(id);
  return row && { ...row, externalId: row.external_id };
}

/** Changes the external id and metadata of a payment. The money of a payment never changes. */
export async function changePayment(
  context: Context,
  actor: Actor,
  id: number,
  body: PaymentChanges,
): Promise<PaymentRow> {
  const changes = externalFieldsOf(body);
  return inTransaction(context.db, async (tx) => {
    const before = await lockPayment(tx, id, changes);
    if (!before) throw notFound('payment', id);
    refuseSpreadsheetChange('externalId', changes.externalId, before.external_id);
    const [other] = changes.externalId ? await findByExternalIds(tx, [changes.externalId]) : [];
    if (other && other.id !== id) throw duplicate('payment', 'externalId', other.id);
    const payment = await updateExternalFields(tx, id, changes);
    await audit(tx, actor, {
      action: 'payment.change',
      resource: 'payment',
      resourceId: id,
      before: { externalId: before.external_id, metadata: before.metadata },
      after: changes,
      event: event('payment.updated', { changedFields: Object.keys(changes) }),
    });
    return payment;
  });
}
