import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';

const NONE: Schemas['PaymentMethod'][] = [];

/** The payment methods, at most 100. Empty until they are loaded. */
export function usePaymentMethods(): readonly Schemas['PaymentMethod'][] {
  const methods = api.useQuery(
    'get',
    '/api/payment-methods',
    { params: { query: { limit: 100 } } },
    // Kept while other pages are open, because a sale may continue without a connection.
    { staleTime: 5 * 60_000, gcTime: Number.POSITIVE_INFINITY },
  );
  return methods.data?.data ?? NONE;
}
