import type { Tx } from '../../core/database/db.ts';
import { invalidField } from '../../core/http/errors.ts';
import { lockCashMethod, lockHolders } from './holder-store.ts';
import type { HolderKey } from './rules.ts';

export async function lockHolder(tx: Tx, { holderId, paymentMethodId }: HolderKey): Promise<number> {
  return (await lockHolders(tx, [holderId], paymentMethodId)).get(holderId) ?? 0;
}

export async function requireCashMethod(tx: Tx, id: number): Promise<void> {
  if (!(await lockCashMethod(tx, id))) {
    throw invalidField('paymentMethodId', 'must refer to a payment method with cash: true');
  }
}
