import { type Actor, type Context, readAmount, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { AppError, invalidField } from '../core/http/errors.ts';
import { calculateCommission, changeCommission } from './commands.ts';
import { checkPeriod } from './rules.ts';
import type { MonthStatusChange } from './schema.ts';
import { statusBefore } from './status-rules.ts';
import { findEmployeesToCalculate, lockCommissionsOfMonth } from './store.ts';

/**
 * Calculates the commission of each employee who sold an account in the month, from the sales of the month. Each commission is calculated on
 * its own, so after a failure, a repeat calculates all again. A commission stays as it is if it is approved or paid, or if sales were
 * named for it.
 */
export async function calculateMonth(context: Context, actor: Actor, period: string): Promise<void> {
  checkPeriod(period, today(context));
  for (const employeeId of await findEmployeesToCalculate(context.db, period))
    await calculateCommission(context, actor, { employeeId, period, includeDerived: true });
}

/**
 * Moves all commissions of a month that can become `status`, or none of them.
 * @throws AppError VALIDATION_ERROR with status 409 if the sum of these commissions is not the one that the user saw.
 */
export function changeMonth(
  context: Context,
  actor: Actor,
  period: string,
  { status, total, paymentReference, confirmation }: MonthStatusChange,
): Promise<void> {
  return inTransaction(context.db, async (tx) => {
    const commissions = await lockCommissionsOfMonth(tx, period, statusBefore(status));
    const sumMinor = commissions.reduce((sum, { total_minor }) => sum + BigInt(total_minor), 0n);
    if (commissions.length === 0)
      throw invalidField('status', `no commission of ${period} can become ${status}`);
    if (sumMinor !== readAmount(total, context.currency)) throw changedMeanwhile(period);
    for (const { id, employee_id: employeeId } of commissions)
      await inContext(context, tx, employeeId, (txContext) =>
        changeCommission(txContext, actor, id, { status, paymentReference, confirmation }),
      );
  });
}

/** Adds the employee to the error, because the request names none. */
async function inContext(
  context: Context,
  tx: Tx,
  employeeId: number,
  change: (context: Context) => Promise<unknown>,
): Promise<void> {
  try {
    await change({ ...context, db: tx });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `The commission of employee ${employeeId}: ${error.message}`, {
      status: error.status,
      details: error.details,
    });
  }
}

function changedMeanwhile(period: string): AppError {
  const message = `must be the present sum of the commissions of ${period}; they have changed, so read them again`;
  return new AppError('VALIDATION_ERROR', `total: ${message}`, {
    status: 409,
    details: { fields: [{ path: 'total', message }] },
  });
}
