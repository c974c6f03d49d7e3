import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'wouter';
import { writeQuery } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Permission } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { DateRange, FilterInput, FilterSelect } from '../../ui/filters.tsx';
import { Icon } from '../../ui/icons.tsx';
import { type ListState, useListState, writeSort } from '../../ui/list-state.ts';
import { PageHead } from '../../ui/panel.tsx';
import { type Column, Pager, type Sort, Table } from '../../ui/table.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { DownloadButton } from './download-button.tsx';

/** A filter of a list. Its value is in the URL. */
export type Filter = ValueFilter | DayFilter;

/** A filter for a range of days, both ends included, in the time zone of the business. */
interface DayFilter {
  /** The field of the API: a date or a timestamp. */
  daysOf: string;
}

interface ValueFilter {
  name: string;
  label: string;
  /** Values and their texts. Without them the user enters a value. */
  choices?: readonly (readonly [value: string, text: string])[];
  /**
   * The label of the choice without a value. By default it is "All", and this choice sends no parameter. With another label, this
   * choice sends the parameters of `query('')`, and it is also the choice for an unknown value in the URL.
   */
  unset?: string;
  type?: 'number' | 'text';
  maxLength?: number;
  /** The parameters of the API for a value. Default: `filter[name]=value`. */
  query?(value: string): Readonly<Record<string, string>>;
}

/** A filter for the words of a search, with the parameter `search` of the API. */
export function searchFilter(label: string): Filter {
  return { name: 'search', label, maxLength: 100, query: (search) => ({ search }) };
}

type Values = ListState<string>['filters'];

export interface List {
  filters: readonly Filter[];
  state: ListState<string>;
  /** The parameters of the API for the page that is shown. */
  query: { page: number; limit: number; sort: string };
  /** Asks for the sums of all rows that the filters select, and for no more rows than needed. */
  totalsQuery: List['query'] & { totals: true };
  /** The id of the row whose dialog is open. The id is in the URL, so that the back button closes the dialog. */
  openedId: number | undefined;
  hrefOf(row: { id: number }): string;
  close(): void;
  clearFilters(): void;
}

const ROWS = 25;
const OPENED = 'open';
/** The parameters of the URL for a `DayFilter`. */
const DAYS = ['from', 'until'] as const;

/** A list with filters, sort and page in the URL. @param rows - the number of rows on a page. */
export function useList(defaultSort: Sort, filters: readonly Filter[] = [], rows = ROWS): List {
  const names = filters.flatMap(namesOf);
  const listState = useListState(names, defaultSort);
  const state = { ...listState, filters: withoutUnknown(listState.filters, filters) };
  const [parameters, setParameters] = useSearchParams();
  const conditions = filters.map((filter) => conditionOf(filter, state.filters));
  const remove = (removed: readonly string[], options?: { replace: boolean }) =>
    setParameters((last) => {
      const next = new URLSearchParams(last);
      for (const name of removed) next.delete(name);
      return next;
    }, options);
  const query: List['query'] = Object.assign(
    { page: state.page, limit: rows, sort: sortOf(state.sort) },
    ...conditions,
  );
  return {
    filters,
    state,
    query,
    totalsQuery: { ...query, page: 1, limit: 1, totals: true },
    openedId: Number(parameters.get(OPENED)) || undefined,
    hrefOf: ({ id }) => {
      const next = new URLSearchParams(parameters);
      next.set(OPENED, String(id));
      return `?${next}`;
    },
    close: () => remove([OPENED], { replace: true }),
    clearFilters: () => remove([...names, 'page']),
  };
}

/** A name is shown with the first name first, so people with the same first name are in the order of their last names. */
function sortOf(sort: Sort): string {
  const text = writeSort(sort);
  return sort.name === 'firstName' ? `${text},${writeSort({ ...sort, name: 'lastName' })}` : text;
}

function namesOf(filter: Filter): readonly string[] {
  return 'daysOf' in filter ? DAYS : [filter.name];
}

/** If a filter with `unset` has a value that is not one of its choices, clears the value. */
function withoutUnknown(values: Values, filters: readonly Filter[]): Values {
  const known = { ...values };
  for (const filter of filters)
    if ('unset' in filter && !filter.choices?.some(([choice]) => choice === values[filter.name]))
      known[filter.name] = '';
  return known;
}

/** The parameters of the API for a filter. */
function conditionOf(filter: Filter, values: Values): Readonly<Record<string, string>> {
  if ('daysOf' in filter) {
    const { from, until } = values;
    const field = `filter[${filter.daysOf}]`;
    return { ...(from && { [`${field}[gte]`]: from }), ...(until && { [`${field}[lte]`]: until }) };
  }
  const { name, unset, query } = filter;
  const value = values[name] ?? '';
  if (value === '' && unset === undefined) return {};
  return query ? query(value) : { [`filter[${name}]`]: value };
}

interface ListPanelProps<Row> {
  /** For screen readers. */
  caption: string;
  list: List;
  query: {
    data:
      | {
          data: Row[];
          pagination: { total?: number; totalPages?: number };
        }
      | undefined;
    error: unknown;
    /** Whether `data` still has the rows of the previous filters, sort or page. */
    isPlaceholderData: boolean;
    refetch(): unknown;
  };
  columns: readonly Column<Row>[];
  hrefOf?: ((row: Row) => string) | undefined;
  /** Content above the rows, such as their actions. */
  head?: ReactNode;
  /** Shown if the list is empty and no filter is set. */
  none?: ReactNode;
  /** The sums of all rows. The service reads all rows for them, so the user asks for them. */
  sums?: Sums;
}

interface Sums {
  /** The label of each of the `totals` that is shown, by its name. */
  labels: Readonly<Record<string, string>>;
  /** Reads the list with `totalsQuery`. */
  read(): Promise<{ data?: { totals?: Totals }; error?: unknown }>;
}

type Totals = Readonly<Record<string, string | number>>;

/** What `api.queryOptions` returns. */
interface RowQuery<Row> {
  queryKey: readonly unknown[];
  // biome-ignore lint/suspicious/noExplicitAny: Its parameter contains the type of the key.
  queryFn?: (context: any) => Promise<{ data: Row[] }> | { data: Row[] };
}

interface ResourcePageProps<Row> extends Omit<ListPanelProps<Row>, 'caption'> {
  title: string;
  /** The button for a new row, and its dialog. */
  create?: { label: string; dialog(close: () => void): ReactNode };
  /** The dialog of a row. If it is given, each row is a link that opens its dialog. */
  dialogOf?: (row: Row, close: () => void) => ReactNode;
  /** Needed with `dialogOf`. If a dialog is open and the list does not show its row, reads the row with `filter[id]`. */
  rowQuery?: (id: number) => RowQuery<Row>;
  /** Users without this permission can neither create a row nor open the dialog of a row. Default: everybody can. */
  permission?: Permission;
  /** The file with all rows that match the filters, such as `/api/payments.csv`, and its parameters besides those of the list. */
  file?: { path: string; query?: Readonly<Record<string, unknown>> };
  /** Content below the title, such as tabs. */
  children?: ReactNode;
}

/** A page with the list of a resource, and the dialogs to create a row and to open one. */
export function ResourcePage<Row extends { id: number }>(props: ResourcePageProps<Row>) {
  const { title, permission, children, rowQuery, file, ...panel } = props;
  const isAllowed = permission === undefined || may(permission);
  const create = isAllowed ? props.create : undefined;
  const dialogOf = isAllowed ? props.dialogOf : undefined;
  const { list, query } = panel;
  const [isCreating, setIsCreating] = useState(false);
  return (
    <>
      <PageHead
        title={title}
        actions={
          <>
            {file && may('lists:export') && (
              <DownloadButton path={pathOfFile(file, list)}>{t('list.download')}</DownloadButton>
            )}
            {create && (
              <Button kind="primary" icon="plus" onClick={() => setIsCreating(true)}>
                {create.label}
              </Button>
            )}
          </>
        }
      />
      {children}
      <ListPanel hrefOf={dialogOf ? list.hrefOf : undefined} {...panel} caption={title} />
      {create && isCreating && create.dialog(() => setIsCreating(false))}
      {list.openedId !== undefined && props.dialogOf && !isAllowed && (
        <Dialog title={title} onClose={list.close}>
          <p>{t('problem.forbidden')}</p>
        </Dialog>
      )}
      {dialogOf && rowQuery && (
        <OpenedRow title={title} list={list} query={query} rowQuery={rowQuery} dialogOf={dialogOf} />
      )}
    </>
  );
}

function pathOfFile({ path, query }: NonNullable<ResourcePageProps<unknown>['file']>, list: List): string {
  const { page: _page, limit: _limit, ...conditions } = list.query;
  return `${path}?${writeQuery({ ...conditions, ...query })}`;
}

interface OpenedRowProps<Row> extends Pick<ListPanelProps<Row>, 'list' | 'query'> {
  /** The title of the dialog until its row is loaded. */
  title: string;
  rowQuery(id: number): RowQuery<Row>;
  dialogOf(row: Row, close: () => void): ReactNode;
}

/** The dialog of the row whose id is in the URL, or a message that there is no such row. `<ResourcePage>` contains it. */
export function OpenedRow<Row extends { id: number }>({ list, query, ...rest }: OpenedRowProps<Row>) {
  const { openedId, close } = list;
  if (openedId === undefined || !query.data) return null;
  return <RowDialog key={openedId} {...rest} id={openedId} rows={query.data.data} onClose={close} />;
}

interface RowDialogProps<Row> extends Omit<OpenedRowProps<Row>, 'list' | 'query'> {
  id: number;
  /** The rows that are shown. */
  rows: readonly Row[];
  onClose(): void;
}

function RowDialog<Row extends { id: number }>(props: RowDialogProps<Row>) {
  const { title, id, rows, rowQuery, dialogOf, onClose } = props;
  const shown = rows.find((row) => row.id === id);
  // A change can remove the row from a filtered list while its dialog is open.
  const [first] = useState(shown);
  const { queryKey, queryFn } = rowQuery(id);
  const other = useQuery<{ data: Row[] }>({ queryKey, queryFn, enabled: !shown });
  const row = shown ?? other.data?.data[0] ?? first;
  if (row) return dialogOf(row, onClose);
  return (
    <Dialog title={title} onClose={onClose}>
      <Loaded query={other} explain={explain} skeleton={<Skeleton lines={5} />}>
        {() => <p>{t('list.noRow', { id })}</p>}
      </Loaded>
    </Dialog>
  );
}

/** The filters, the rows and the pager of a list. */
export function ListPanel<Row extends { id: number }>(props: ListPanelProps<Row>) {
  const { caption, list, query, columns, hrefOf, head, none = t('list.empty'), sums } = props;
  const { state } = list;
  const isBusy = query.isPlaceholderData || (query.data === undefined && !query.error);
  const panel = useRef<HTMLElement>(null);
  // Until the rows of a new sort arrive, the arrow shows the order of the rows on the page.
  const shownSort = useRef(state.sort);
  if (!query.isPlaceholderData) shownSort.current = state.sort;
  return (
    <section ref={panel} className="panel flush" aria-label={caption}>
      {list.filters.length > 0 && <Filters list={list} />}
      <div className="panel-body" aria-busy={isBusy}>
        <Loaded query={query} explain={explain} skeleton={<Skeleton lines={8} />}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <Empty>{countSet(list) > 0 ? t('list.noneMatch') : none}</Empty>
            ) : (
              <>
                {head}
                <Table
                  caption={caption}
                  columns={columns}
                  rows={data}
                  keyOf={({ id }) => id}
                  sort={shownSort.current}
                  onSort={state.sortBy}
                  {...(hrefOf && { hrefOf })}
                />
                <Pager
                  page={state.page}
                  pages={pagination.totalPages ?? 1}
                  total={pagination.total ?? data.length}
                  sums={sums && countSet(list) > 0 && <SumsOnDemand rows={data} {...sums} />}
                  onPage={(page) => {
                    state.setPage(page);
                    if ((panel.current?.getBoundingClientRect().top ?? 0) < 0)
                      panel.current?.scrollIntoView();
                  }}
                />
              </>
            )
          }
        </Loaded>
      </div>
    </section>
  );
}

/** The button that asks for the sums, and the sums. They disappear when a row has changed, so that both are of one time. */
function SumsOnDemand({ labels, read, rows }: Sums & { rows: readonly unknown[] }) {
  // A mutation, because live events repeat the queries of a list.
  const { data, error, isPending, mutate, reset } = useMutation({
    mutationFn: async () => {
      const answer = await read();
      if (!answer.data) throw answer.error;
      return answer.data.totals;
    },
  });
  // A query that reads the same rows again keeps its array.
  // biome-ignore lint/correctness/useExhaustiveDependencies: Runs when the rows have changed.
  useEffect(reset, [rows, reset]);
  return (
    <>
      <span role="status" className="pager-sums">
        {error && explain(error)}
        {Object.entries(labels).map(([name, label]) => {
          const sum = data?.[name];
          return typeof sum === 'number' && <span key={name}>{`${label}: ${format.money(sum)}`}</span>;
        })}
      </span>
      <Button kind="quiet" isBusy={isPending} onClick={() => mutate()}>
        {t('list.sums')}
      </Button>
    </>
  );
}

/** On a narrow screen the filters are closed, so that the first rows are in view. Paper shows those that are set. */
const SHOWS_FILTERS = 'print, (width >= 56rem)';

function countSet({ filters, state }: Pick<List, 'filters' | 'state'>): number {
  return filters.filter((filter) => namesOf(filter).some((name) => state.filters[name] !== '')).length;
}

/** The filters of a list. `<ListPanel>` contains them. */
export function Filters({ list }: { list: List }) {
  const count = countSet(list);
  const isShown = useMedia(SHOWS_FILTERS);
  const fields = (
    <search className="list-filters">
      {list.filters.map((filter) => (
        <FilterField key={String(namesOf(filter))} filter={filter} state={list.state} />
      ))}
      {count > 0 && (
        <Button kind="quiet" onClick={list.clearFilters}>
          {t('list.clear')}
        </Button>
      )}
    </search>
  );
  if (isShown) return fields;
  return (
    <details className="list-filters-box">
      <summary className="button secondary" data-set={count > 0 || undefined}>
        <Icon name="filter" />
        {count > 0 ? tCount('list.filtersSet', count) : t('list.filters')}
      </summary>
      {fields}
    </details>
  );
}

function FilterField({ filter, state }: { filter: Filter; state: ListState<string> }) {
  if ('daysOf' in filter) {
    const { from = '', until = '' } = state.filters;
    return (
      <DateRange
        value={{ from, until }}
        today={settings().today}
        onChange={(days) => state.setFilters({ ...days })}
      />
    );
  }
  const { name, label, choices, unset = t('list.all'), type = 'text', maxLength } = filter;
  const value = state.filters[name] ?? '';
  const field = { label, value, onChange: (next: string) => state.setFilters({ [name]: next }) };
  return choices ? (
    <FilterSelect {...field} unset={unset} choices={choices} />
  ) : (
    <FilterInput {...field} type={type} maxLength={maxLength} />
  );
}
