import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { exactly, format, t } from '../../i18n/index.ts';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { describeInstalments, totalOf } from '../shared/plan.ts';

const MOST_ROWS = 100;
/** Kept while the connection is lost, and when other pages are open. */
const KEPT = { staleTime: 5 * 60_000, gcTime: Number.POSITIVE_INFINITY };

/** What can be sold, on which terms, and how it can be paid. */
export function useCatalogue() {
  const query = { 'filter[active]': { eq: true }, sort: 'name:asc', limit: MOST_ROWS };
  return {
    products: api.useQuery('get', '/api/products', { params: { query } }, KEPT),
    plans: api.useQuery('get', '/api/payplans', { params: { query } }, KEPT),
    methods: usePaymentMethods().filter(({ active }) => active),
  };
}

/** The plans for a product: its own, and those for any product. */
export function plansFor(plans: readonly Schemas['PayPlan'][], productId: string | undefined) {
  return plans.filter((plan) => plan.productId === null || String(plan.productId) === productId);
}

/** Example: "KES 2,000.00 deposit, then 52 × KES 400.00, weekly". */
export function describePlan(plan: Schemas['PayPlan']): string {
  return t('sale.plan.terms', {
    deposit: format.money(plan.deposit),
    instalments: describeInstalments(plan),
  });
}

/** For a phone. Example: "KES 2,000.00 + 52 × 400.00, weekly". */
export function describePlanBriefly(plan: Schemas['PayPlan']): string {
  const instalments = describeInstalments(plan, format.amount);
  return t('sale.plan.short', { deposit: format.money(plan.deposit), instalments });
}

/** The part of the total that is not paid yet. */
export function leftOf(plan: Schemas['PayPlan'], paid: number): number {
  return exactly((minor) => Math.max(0, minor(totalOf(plan)) - minor(paid)));
}
