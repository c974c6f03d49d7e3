import { type Actor, type Context, today } from '../../core/context.ts';
import { recordableFrom } from './rules.ts';
import type { PaymentMethodRow } from './store.ts';

export function toPaymentMethod(context: Context, actor: Actor, row: PaymentMethodRow) {
  const { AGENT_BACKDATING_DAYS: agentBackdatingDays } = context.config;
  return {
    ...row,
    recordableFrom: recordableFrom(actor, row, { today: today(context), agentBackdatingDays }),
  };
}
