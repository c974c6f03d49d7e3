import { useQuery } from '@tanstack/react-query';
import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { type Page, readAllRows } from './all-rows.ts';

const ROWS_PER_PAGE = 100;

interface Options {
  /** Whether the rows are read. The default is true. */
  isEnabled?: boolean;
  /** Whether the rows are kept while pages without them are open, so that a sale can continue without a connection. */
  isKept?: boolean;
}

type ReadPage<Row> = (query: { after: string; limit: number }, signal: AbortSignal) => Promise<Page<Row>>;

/** Whether a query reads all rows of a list, as `useAllRows` does. */
export function readsAllRows({ queryKey }: { queryKey: readonly unknown[] }): boolean {
  return queryKey[2] === ALL;
}

const ALL = 'all';

/** A query that reads all rows of a list, to fill a select field or to show names instead of ids. */
export function useAllRows<Row>(
  [path, ...rest]: readonly [string, ...string[]],
  readPage: ReadPage<Row>,
  { isEnabled = true, isKept = false }: Options = {},
) {
  return useQuery({
    // The key begins like the keys of api.useQuery, so that events cause the list to be read again.
    queryKey: ['get', path, ALL, ...rest],
    enabled: isEnabled,
    staleTime: 5 * 60_000,
    ...(isKept && { gcTime: Number.POSITIVE_INFINITY }),
    queryFn: ({ signal }) => readAllRows((after) => readPage({ after, limit: ROWS_PER_PAGE }, signal)),
  });
}

/** The products. Empty until they are loaded. */
export function useProducts(): Schemas['Product'][] {
  const products = useAllRows(['/api/products'], (page, signal) =>
    client.GET('/api/products', { signal, params: { query: { ...page, sort: 'name:asc' } } }),
  );
  return products.data ?? [];
}

/** The employees. Empty until they are loaded. */
export function useEmployees(): Schemas['Employee'][] {
  const employees = useAllRows(['/api/employees'], (page, signal) =>
    client.GET('/api/employees', { signal, params: { query: { ...page, sort: 'name:asc' } } }),
  );
  return employees.data ?? [];
}

/** The users. Empty until they are loaded. */
export function useUsers(isEnabled = true): Schemas['User'][] {
  const users = useAllRows(
    ['/api/users'],
    (page, signal) =>
      client.GET('/api/users', {
        signal,
        params: { query: { ...page, sort: 'firstName:asc,lastName:asc' } },
      }),
    { isEnabled },
  );
  return users.data ?? [];
}

/** The payment methods. Empty until they are loaded. */
export function usePaymentMethods(): Schemas['PaymentMethod'][] {
  const methods = useAllRows(
    ['/api/payment-methods'],
    (page, signal) => client.GET('/api/payment-methods', { signal, params: { query: page } }),
    { isKept: true },
  );
  return methods.data ?? [];
}
