import { useQuery } from '@tanstack/react-query';
import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';

const PAGE_SIZE = 100;

interface Page<Row> {
  data?: { data: Row[]; pagination: { totalPages?: number } };
  error?: unknown;
}

/** All rows of a list, to fill a select field or to show names instead of ids. Empty until they are loaded. */
function useAll<Row>(path: string, readPage: (page: number) => Promise<Page<Row>>, isEnabled = true): Row[] {
  const { data = [] } = useQuery({
    queryKey: ['get', path, 'all'], // The key begins like the keys of api.useQuery, so that events cause the list to be read again.
    enabled: isEnabled,
    staleTime: 5 * 60_000,
    queryFn: async () => {
      const rows: Row[] = [];
      for (let page = 1, pages = 1; page <= pages; page++) {
        const { data, error } = await readPage(page);
        if (!data) throw error;
        rows.push(...data.data);
        pages = data.pagination.totalPages ?? 1;
      }
      return rows;
    },
  });
  return data;
}

export function useProducts(): Schemas['Product'][] {
  return useAll('/api/products', (page) =>
    client.GET('/api/products', { params: { query: { page, limit: PAGE_SIZE, sort: 'name:asc' } } }),
  );
}

export function useEmployees(): Schemas['Employee'][] {
  return useAll('/api/employees', (page) =>
    client.GET('/api/employees', { params: { query: { page, limit: PAGE_SIZE, sort: 'name:asc' } } }),
  );
}

export function useUsers(isEnabled = true): Schemas['User'][] {
  return useAll(
    '/api/users',
    (page) =>
      client.GET('/api/users', { params: { query: { page, limit: PAGE_SIZE, sort: 'lastName:asc' } } }),
    isEnabled,
  );
}
