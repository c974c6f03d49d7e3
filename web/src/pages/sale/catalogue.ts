import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { usePaymentMethods } from '../shared/payment-methods.ts';

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
