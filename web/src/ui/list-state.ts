import { useSearchParams } from 'wouter';
import type { Sort } from './table.tsx';

export interface ListState<Filter extends string> {
  page: number;
  sort: Sort;
  filters: Readonly<Record<Filter, string>>;
  setPage(page: number): void;
  /** Sorts by a column. If the list is already sorted by this column, reverses the direction. */
  sortBy(name: string): void;
  /** Changes these filters. An empty value removes a filter. Goes to the first page. */
  setFilters(values: Partial<Readonly<Record<Filter, string>>>): void;
}

/**
 * Filters, sort and page of a list. They are in the URL, so that the back button works and links can be shared.
 */
export function useListState<Filter extends string>(
  filterNames: readonly Filter[],
  defaultSort: Sort,
): ListState<Filter> {
  const [parameters, setParameters] = useSearchParams();
  const sort = readSort(parameters.get('sort')) ?? defaultSort;
  const filters = Object.fromEntries(filterNames.map((name) => [name, parameters.get(name) ?? ''])) as Record<
    Filter,
    string
  >;

  function change(values: object) {
    setParameters((last) => {
      const next = new URLSearchParams(last);
      next.delete('page');
      for (const [name, value] of Object.entries(values)) {
        if (value === '') next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  }

  return {
    page: Math.max(1, Number(parameters.get('page')) || 1),
    sort,
    filters,
    setPage: (page) => change({ page: page === 1 ? '' : String(page) }),
    sortBy: (name) =>
      change({ sort: writeSort({ name, isDescending: sort.name === name && !sort.isDescending }) }),
    setFilters: change,
  };
}

/** In the format of the API: `createdAt:desc`. */
export function writeSort({ name, isDescending }: Sort): string {
  return `${name}:${isDescending ? 'desc' : 'asc'}`;
}

function readSort(text: string | null): Sort | undefined {
  const [name, direction] = text?.split(':') ?? [];
  return name ? { name, isDescending: direction === 'desc' } : undefined;
}
