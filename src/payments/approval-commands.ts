import type { Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { ApprovableAction } from '../staff/approvals/commands.ts';
import { type ApprovalRow, paymentIdOf } from '../staff/approvals/rules.ts';
import { unassignPayment } from './assign-payment.ts';
import { correctAmount } from './correct-amount.ts';
import { lockPaymentAndAccount } from './locks.ts';
import { reversePayment } from './reverse-payment.ts';
import type { Correction } from './schema.ts';

/** The actions on payments that need approval above the approval limit. */
export const PAYMENT_ACTIONS = {
  reverse_payment: {
    lock,
    execute: async (context, actor, request) => {
      await reversePayment(context, actor, paymentIdOf(request), request.reason);
      return null;
    },
  },
  correct_payment: {
    lock,
    execute: async (context, actor, request) => {
      await correctAmount(context, actor, paymentIdOf(request), request.body as Correction);
      return null;
    },
  },
  unassign_payment: {
    lock,
    execute: async (context, actor, request) => {
      await unassignPayment(context, actor, paymentIdOf(request), request.reason);
      return null;
    },
  },
} as const satisfies Record<string, ApprovableAction>;

async function lock(tx: Tx, context: Context, request: ApprovalRow): Promise<void> {
  await lockPaymentAndAccount(tx, context, paymentIdOf(request));
}
