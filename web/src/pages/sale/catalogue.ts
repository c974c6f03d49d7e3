import { useQuery } from '@tanstack/react-query';
import { client, sendSignedIn } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { exactly, format, t } from '../../i18n/index.ts';
import { useAllRows, usePaymentMethods } from '../shared/catalogue.ts';
import { describePlanInstalments } from '../shared/plan-terms.ts';
import type { Sale } from './sales.ts';

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

/**
 * Returns the dates of a plan for an account that is activated on a date. They are undefined until they are known: without a connection,
 * only those of the day on which the plans were read are.
 */
export function useDates(activationDate: string | undefined) {
  const { plans } = useCatalogue();
  const wanted = activationDate || settings().today;
  const { min, max } = ACTIVATION_DATES;
  const isKnown = (rows: readonly Schemas['PayPlan'][]) =>
    rows.every(({ dates }) => dates.activationDate === wanted);
  const needsRead = plans.data !== undefined && !isKnown(plans.data) && wanted >= min && wanted <= max;
  const ofDate = useAllRows(
    ['/api/payplans', 'active', wanted],
    (page, signal) =>
      client.GET('/api/payplans', {
        signal,
        params: { query: { ...page, ...ACTIVE, activationDate: wanted } },
      }),
    { isEnabled: needsRead },
  );
  const rows = needsRead ? ofDate.data : plans.data;
  return (planId: number | undefined) =>
    rows && isKnown(rows) ? rows.find(({ id }) => id === planId)?.dates : undefined;
}

/** Whether a date of the first instalment is chosen that the plan can have. */
export function choosesFirstDue(
  { firstDueDate }: Sale['typed'],
  plan: Schemas['PayPlan'] | undefined,
): boolean {
  return Boolean(firstDueDate) && plan !== undefined && plan.harvest === null;
}

/** The schedule of the account before the sale is saved. */
export function usePreview({ payplanId, activationDate, firstDueDate }: Sale['typed'], isEnabled: boolean) {
  const body = { activationDate: activationDate || settings().today, ...(firstDueDate && { firstDueDate }) };
  const path = '/api/payplans/{id}/preview';
  return useQuery({
    queryKey: ['post', path, payplanId, body],
    enabled: isEnabled && Boolean(payplanId),
    retry: false,
    queryFn: async ({ signal }) => {
      const params = { path: { id: Number(payplanId) } };
      // The service stores nothing, so the request can be repeated after a lost connection.
      const { data, error } = await client.POST(path, {
        signal,
        params,
        body,
        fetch: (request) => sendSignedIn(request, true),
      });
      if (!data) throw error;
      return data.data;
    },
  });
}

/** Example: "KES 2,000.00 deposit, then 52 × KES 400.00, weekly". */
export function describePlan(plan: Schemas['PayPlan']): string {
  return t('sale.plan.terms', {
    deposit: format.money(plan.deposit),
    instalments: describePlanInstalments(plan),
  });
}

/** The part of the total that is not paid yet. */
export function leftOf(plan: Schemas['PayPlan'], paid: number): number {
  return exactly((minor) => Math.max(0, minor(plan.total) - minor(paid)));
}
