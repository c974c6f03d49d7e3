import { useQuery } from '@tanstack/react-query';
import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';

const PAGE_SIZE = 100;

interface Page<Row> {
  data?: { data: Row[]; pagination: { totalPages?: number } };
  error?: unknown;
}

interface Options {
  /** Whether the rows are read. The default is true. */
  isEnabled?: boolean;
  /** Whether the rows are kept while pages without them are open, so that a sale can continue without a connection. */
  isKept?: boolean;
}

/** A query that reads all pages of a list, to fill a select field or to show names instead of ids. */
export function useAllRows<Row>(
  [path, ...rest]: readonly string[],
  readPage: (page: { page: number; limit: number }) => Promise<Page<Row>>,
  { isEnabled = true, isKept = false }: Options = {},
) {
  return useQuery({
    // The key begins like the keys of api.useQuery, so that events cause the list to be read again.
    queryKey: ['get', path, 'all', ...rest],
    enabled: isEnabled,
    staleTime: 5 * 60_000,
    ...(isKept && { gcTime: Number.POSITIVE_INFINITY }),
    queryFn: async () => {
      const rows: Row[] = [];
      for (let page = 1, pages = 1; page <= pages; page++) {
        const { data, error } = await readPage({ page, limit: PAGE_SIZE });
        if (!data) throw error;
        rows.push(...data.data);
        pages = data.pagination.totalPages ?? 1;
      }
      return rows;
    },
  });
}

/** The products. Empty until they are loaded. */
export function useProducts(): Schemas['Product'][] {
  const products = useAllRows(['/api/products'], (page) =>
    client.GET('/api/products', { params: { query: { ...page, sort: 'name:asc' } } }),
  );
  return products.data ?? [];
}

/** The employees. Empty until they are loaded. */
export function useEmployees(): Schemas['Employee'][] {
  const employees = useAllRows(['/api/employees'], (page) =>
    client.GET('/api/employees', { params: { query: { ...page, sort: 'name:asc' } } }),
  );
  return employees.data ?? [];
}

/** The users. Empty until they are loaded. */
export function useUsers(isEnabled = true): Schemas['User'][] {
  const users = useAllRows(
    ['/api/users'],
    (page) => client.GET('/api/users', { params: { query: { ...page, sort: 'lastName:asc' } } }),
    { isEnabled },
  );
  return users.data ?? [];
}

/** The payment methods. Empty until they are loaded. */
export function usePaymentMethods(): Schemas['PaymentMethod'][] {
  const methods = useAllRows(
    ['/api/payment-methods'],
    (page) => client.GET('/api/payment-methods', { params: { query: page } }),
    { isKept: true },
  );
  return methods.data ?? [];
}
