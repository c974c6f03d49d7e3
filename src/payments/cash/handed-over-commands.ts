import type { Actor, Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { AppError } from '../../core/http/errors.ts';
import { mayDo, rolesWith } from '../../rights.ts';
import { findRequesterRole, isHandedOver } from './handed-over-store.ts';
import { FINANCE } from './rules.ts';

/**
 * Whether the reversal or correction of a payment changes cash that its holder has handed over. It then needs finance, and a second
 * person at any amount if approvals are on. For an approved request, the requester or the approver must be finance.
 * @throws AppError FORBIDDEN if nobody of finance takes part.
 */
export async function changesHandedOverCash(
  tx: Tx,
  { config }: Context,
  actor: Actor,
  payment: { id: number },
): Promise<boolean> {
  if (config.CASH_COUNTS === 'off' || !(await isHandedOver(tx, payment))) return false;
  if (mayDo(actor, FINANCE)) return true;
  const role = actor.approval ? await findRequesterRole(tx, actor.approval.id) : null;
  if (role !== null && mayDo({ role }, FINANCE)) return true;
  throw new AppError(
    'FORBIDDEN',
    `The cash of payment ${payment.id} was handed over. Only finance may reverse or correct the payment.`,
    { details: { permission: FINANCE, roles: [...rolesWith(FINANCE)] } },
  );
}
