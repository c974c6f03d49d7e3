import { type PromptPlan, USUAL_PLAN } from './stk-push.ts';

/** What happens to a payment request, by the last digit of the phone. */
const PHONES: readonly { does: string; plan: Partial<PromptPlan> }[] = [
  { does: 'the customer pays', plan: {} },
  { does: 'pays, and the outcome is reported twice', plan: { report: 'twice' } },
  { does: 'pays, and the notification is lost', plan: { notification: 'never' } },
  { does: 'pays, and the outcome is never reported', plan: { report: 'never' } },
  { does: 'pays, and the answer to the call is lost', plan: { callAnswer: 'lost' } },
  { does: 'pays, and the outcome is reported late', plan: { report: 'late', notification: 'first' } },
  { does: 'cancels', plan: { customer: 'cancelled' } },
  { does: 'enters a wrong PIN', plan: { customer: 'wrong_pin' } },
  { does: 'has too little money', plan: { customer: 'insufficient_funds' } },
  { does: 'does not react, and nothing is reported', plan: { customer: 'no_answer', report: 'never' } },
];

export function planOfPhone(phone: string): PromptPlan {
  return { ...USUAL_PLAN, ...PHONES[Number(phone.at(-1))]?.plan };
}

/** One line for each digit. */
export function describePhones(): string[] {
  return PHONES.map(({ does }, digit) => `…${digit}: ${does}`);
}
