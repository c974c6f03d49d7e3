import { api, client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { exactly, format, t } from '../../i18n/index.ts';
import { useAllRows, usePaymentMethods } from '../shared/catalogue.ts';
import { describeInstalments } from '../shared/plan.ts';

const ACTIVE = { 'filter[active]': { eq: true }, sort: 'name:asc' };

/** The activation dates that the service accepts. */
export const ACTIVATION_DATES = { min: '2000-01-01', max: '2999-12-31' };

/** What can be sold, on which terms, and how it can be paid. The plans have the dates of an account that is activated today. */
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

/** The dates of the instalments. Undefined until they are known: without a connection, only those of today are. */
export function useDates(plan: Schemas['PayPlan'] | undefined, activationDate: string | undefined) {
  const isToday = !activationDate || plan?.dates.activationDate === activationDate;
  const { min, max } = ACTIVATION_DATES;
  const isAccepted = !isToday && activationDate >= min && activationDate <= max;
  const read = api.useQuery(
    'get',
    '/api/payplans/{id}',
    { params: { path: { id: plan?.id ?? 0 }, query: isAccepted ? { activationDate } : {} } },
    { enabled: plan !== undefined && isAccepted },
  );
  return isToday ? plan?.dates : read.data?.data.dates;
}

/** Example: "KES 2,000.00 deposit, then 52 × KES 400.00, weekly". */
export function describePlan(plan: Schemas['PayPlan']): string {
  return t('sale.plan.terms', {
    deposit: format.money(plan.deposit),
    instalments: describeInstalments(plan),
  });
}

/** The part of the total that is not paid yet. */
export function leftOf(plan: Schemas['PayPlan'], paid: number): number {
  return exactly((minor) => Math.max(0, minor(plan.total) - minor(paid)));
}
