import { type PromptPlan, USUAL_PLAN } from './stk-push.ts';

/** What happens to a payment request, by the last digit of the phone. */
const PHONES: readonly { text: string; plan: Partial<PromptPlan> }[] = [
  { text: 'the customer pays', plan: {} },
  { text: 'pays, and the outcome is reported twice', plan: { report: 'twice' } },
  { text: 'pays, and the notification is lost', plan: { notification: 'never' } },
  { text: 'pays, and the outcome is never reported', plan: { report: 'never' } },
  { text: 'pays, and the answer to the call is lost', plan: { callAnswer: 'lost' } },
  { text: 'pays, and the outcome is reported late', plan: { report: 'late', notification: 'first' } },
  { text: 'cancels', plan: { customer: 'cancelled' } },
  { text: 'enters a wrong PIN', plan: { customer: 'wrong_pin' } },
  { text: 'has too little money', plan: { customer: 'insufficient_funds' } },
  { text: 'does not react, and nothing is reported', plan: { customer: 'no_answer', report: 'never' } },
];

export function planOfPhone(phone: string): PromptPlan {
  return { ...USUAL_PLAN, ...PHONES[Number(phone.at(-1))]?.plan };
}

/** One line for each digit. */
export function describePhones(): string[] {
  return PHONES.map(({ text }, digit) => `…${digit}: ${text}`);
}
