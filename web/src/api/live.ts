import type { QueryClient } from '@tanstack/react-query';
import { sendSignedIn } from './client.ts';
import type { Schemas } from './paths.ts';
import { may } from './session.ts';

type Resource = Schemas['Event']['resource'];

interface LiveEvent {
  type: string;
  resource: Resource;
  resourceId: number | null;
  accountId: number | null;
}

const RECONNECT_MS = 2_000;
const TODAY = '/api/reports/today';
const ACCOUNT = '/api/accounts/{id}/overview';
/**
 * Queries are read once for all events that arrive within this time, by kind of query. The work of today counts the rows of several
 * lists, and a report reads many rows.
 */
const COLLECT_MS = { report: 60_000, today: 3_000, other: 300 };

/** The path prefixes of the queries that show a resource. Default: the plural, such as `/api/products` for `product`. */
const PATHS: Readonly<Partial<Record<Resource, readonly string[]>>> = {
  account: ['/api/accounts', '/api/approvals', '/api/reports'],
  payment: ['/api/payments', '/api/accounts', '/api/approvals', '/api/reports', '/api/reconciliations'],
  approval: ['/api/approvals', '/api/payments/{id}', '/api/accounts/{id}', TODAY],
  payment_request: ['/api/payment-requests', ACCOUNT],
  invoice: ['/api/invoices', ACCOUNT],
  status_query: ['/api/status-queries'],
  notification: ['/api/notifications', '/api/payments', TODAY],
  provider_statement: ['/api/reconciliations'],
  commission_rule: ['/api/commissions'],
  webhook_endpoint: ['/api/webhook-endpoints', TODAY],
  proof: [TODAY],
};
/** After these events all queries are repeated, because the imported or deleted rows have no events of their own. */
const BULK_EVENTS = ['import.completed', 'import.undone'];

/**
 * Follows the stream of events, and repeats the queries that an event concerns. Closes the stream while the page is hidden,
 * because a user can have at most ten open requests for events, and a stream counts as one of them.
 * @returns a function that stops following.
 */
export function followEvents(queries: QueryClient): () => void {
  let stream: AbortController | undefined;
  let mayMissEvents = document.visibilityState !== 'visible'; // A page that is hidden when it is loaded has no stream yet.
  const startOrStop = () => {
    const shouldRun = may('events:follow') && document.visibilityState === 'visible';
    if (!shouldRun) stream?.abort();
    if (!shouldRun || (stream && !stream.signal.aborted)) return;
    stream = new AbortController();
    void run(queries, stream.signal, mayMissEvents);
    mayMissEvents = true;
  };
  startOrStop();
  document.addEventListener('visibilitychange', startOrStop);
  return () => {
    document.removeEventListener('visibilitychange', startOrStop);
    stream?.abort();
  };
}

async function run(queries: QueryClient, signal: AbortSignal, mayMissEvents: boolean): Promise<void> {
  const collectors = KINDS.map(createCollector);
  for (let after = 'from=latest', isLate = mayMissEvents; !signal.aborted; isLate = true) {
    try {
      const stream = await open(after, signal);
      // Events may have been missed while there was no stream.
      if (isLate) void queries.invalidateQueries();
      for await (const message of messagesOf(stream)) {
        if (message.id) after = `after=${message.id}`;
        const event = JSON.parse(message.data) as LiveEvent;
        for (const collect of collectors) collect(event);
      }
    } catch {
      // The connection ended. The next round of the loop opens it again.
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }

  /** Collects events for the time of a kind of queries. Then repeats the queries of this kind that the events concern. */
  function createCollector(kind: Kind) {
    const collected: LiveEvent[] = [];
    const readAgain = () => {
      const events = collected.splice(0);
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => kindOf(String(queryKey[1])) === kind && concerns(queryKey, events),
      });
    };
    return (event: LiveEvent) => {
      if (collected.push(event) === 1) setTimeout(readAgain, COLLECT_MS[kind]);
    };
  }
}

type Kind = keyof typeof COLLECT_MS;
const KINDS = Object.keys(COLLECT_MS) as Kind[];

function kindOf(path: string): Kind {
  if (path === TODAY) return 'today';
  return path.startsWith('/api/reports') ? 'report' : 'other';
}

async function open(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const url = new URL(`/api/events?${after}`, location.origin);
  const headers = { accept: 'text/event-stream' };
  const { ok, body } = await sendSignedIn(new Request(url, { headers, signal }));
  if (!ok || !body) throw new Error('The stream of events was refused.');
  return body;
}

/** Reads a stream of Server-Sent Events. Does not use EventSource, because it cannot send a token. */
async function* messagesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<{ id: string; data: string }> {
  let rest = '';
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const blocks = (rest + chunk.value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      const fieldOf = (field: string) =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).trimStart())
          .join('\n');
      const data = fieldOf('data');
      if (data !== '') yield { id: fieldOf('id'), data };
    }
  }
}

/** Whether one of the events can change the result of a query. A query of one account ignores the events of other accounts. */
function concerns(queryKey: readonly unknown[], events: readonly LiveEvent[]): boolean {
  const [, path, init] = queryKey as [string, string, { params?: { path?: Record<string, number> } }?];
  if (typeof path !== 'string') return false;
  const parameters = init?.params?.path ?? {};
  const ofAccount = path.startsWith('/api/accounts/{') ? (parameters.id ?? parameters.accountId) : undefined;
  return events.some((event) => {
    if (BULK_EVENTS.includes(event.type)) return true;
    const prefixes = PATHS[event.resource] ?? [`/api/${event.resource.replaceAll('_', '-')}s`];
    if (!prefixes.some((prefix) => path.startsWith(prefix))) return false;
    return ofAccount === undefined || event.accountId === null || event.accountId === ofAccount;
  });
}
