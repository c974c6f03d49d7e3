import type { Schemas } from './paths.ts';

type Resource = Schemas['Event']['resource'];

export interface LiveEvent {
  type: string;
  resource: Resource;
  resourceId: number | null;
  accountId: number | null;
}

const TODAY = '/api/reports/today';
const MONEY = '/api/reports/today/money';
const ACCOUNT = '/api/accounts/{id}/overview';
const HISTORY = ['/api/customers/{id}/timeline', '/api/accounts/{id}/timeline'];
/**
 * Queries are read once for all events that arrive within this time, by kind of query. The work of today counts the rows of several
 * lists, and a report reads many rows. The service gives the same money of today for a minute.
 */
const COLLECT_MS = { money: 60_000, report: 15_000, today: 3_000, other: 300 };

/** On other pages, only the counts in the navigation show the work of today. */
const COUNTS_MS = 30_000;

/** Whether a page shows the answer of a query, and not only the navigation. */
export function isOfPage(queryKey: readonly unknown[], pathname: string): boolean {
  return kindOf(String(queryKey[1])) !== 'today' || pathname === '/today';
}

export function collectMs(kind: Kind, pathname: string): number {
  return kind === 'today' && pathname !== '/today' ? COUNTS_MS : COLLECT_MS[kind];
}

export type Kind = keyof typeof COLLECT_MS;
export const KINDS = Object.keys(COLLECT_MS) as Kind[];

export function kindOf(path: string): Kind {
  if (path === TODAY) return 'today';
  if (path === MONEY) return 'money';
  return path.startsWith('/api/reports') ? 'report' : 'other';
}

/**
 * The paths of the queries that show a resource. `*` at the end stands for any text. Default: the plural, such as `/api/products*`
 * for `product`.
 */
const PATHS: Readonly<Partial<Record<Resource, readonly string[]>>> = {
  account: [
    '/api/accounts*',
    '/api/plan-changes*',
    '/api/call-list*',
    '/api/approvals*',
    '/api/reports*',
    ...HISTORY,
  ],
  bulk_deferral: ['/api/plan-changes*'],
  customer: ['/api/customers*', ACCOUNT, ...HISTORY],
  call: ['/api/calls*', '/api/call-list*', '/api/call-results', '/api/promises*', TODAY, ...HISTORY],
  note: ['/api/customers/{id}/notes*', ...HISTORY],
  promise: ['/api/promises*', '/api/call-list*', '/api/call-results', TODAY],
  payment: [
    '/api/payments*',
    '/api/accounts*',
    '/api/approvals*',
    '/api/reports*',
    '/api/reconciliations*',
    ...HISTORY,
  ],
  approval: ['/api/approvals*', '/api/payments/{id}*', '/api/accounts/{id}*', TODAY, ...HISTORY],
  payment_request: ['/api/payment-requests*', ACCOUNT, ...HISTORY],
  invoice: ['/api/invoices*', ACCOUNT, ...HISTORY],
  status_query: ['/api/status-queries*'],
  notification: ['/api/notifications*', '/api/payments*', TODAY],
  provider_statement: ['/api/reconciliations*'],
  cash_count: ['/api/cash*', TODAY],
  cash_handover: ['/api/cash*', TODAY],
  cash_settlement: ['/api/cash*', TODAY],
  commission: ['/api/commissions*', TODAY],
  commission_rule: ['/api/commissions*', TODAY],
  webhook_endpoint: ['/api/webhook-endpoints*', TODAY],
  proof: [TODAY],
};
/** After these events all queries are repeated, because the imported or deleted rows have no events of their own. */
const BULK_EVENTS = ['import.completed', 'import.undone'];

/** Whether one of the events can change the result of a query. A query of one account ignores the events of other accounts. */
export function concerns(queryKey: readonly unknown[], events: readonly LiveEvent[]): boolean {
  const [, path, init] = queryKey as [string, string, { params?: { path?: Record<string, number> } }?];
  if (typeof path !== 'string') return false;
  const parameters = init?.params?.path ?? {};
  const ofAccount = path.startsWith('/api/accounts/{') ? (parameters.id ?? parameters.accountId) : undefined;
  return events.some((event) => {
    if (BULK_EVENTS.includes(event.type)) return true;
    const patterns = PATHS[event.resource] ?? [`/api/${event.resource.replaceAll('_', '-')}s*`];
    if (!patterns.some((pattern) => matches(path, pattern))) return false;
    return ofAccount === undefined || event.accountId === null || event.accountId === ofAccount;
  });
}

function matches(path: string, pattern: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
