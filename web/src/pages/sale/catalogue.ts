import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { exactly, format, t } from '../../i18n/index.ts';
import { useAllRows, usePaymentMethods } from '../shared/catalogue.ts';
import { describeInstalments, totalOf } from '../shared/plan.ts';

const ACTIVE = { 'filter[active]': { eq: true }, sort: 'name:asc' };

/** What can be sold, on which terms, and how it can be paid. */
export function useCatalogue() {
  return {
    products: useAllRows(
      ['/api/products', 'active'],
      (page, signal) => client.GET('/api/products', { signal, params: { query: { ...page, ...ACTIVE } } }),
      { isKept: true },
    ),
    plans: useAllRows(
      ['/api/payplans', 'active'],
      (page, signal) => client.GET('/api/payplans', { signal, params: { query: { ...page, ...ACTIVE } } }),
      { isKept: true },
    ),
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
