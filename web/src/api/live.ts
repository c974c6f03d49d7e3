import type { QueryClient } from '@tanstack/react-query';
import { sendSignedIn } from './client.ts';
import { collectMs, concerns, KINDS, type Kind, kindOf, type LiveEvent } from './live-queries.ts';
import { may } from './session.ts';

const RECONNECT_MS = 2_000;

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
    let timer: ReturnType<typeof setTimeout> | undefined;
    let dueAtMs = Infinity;
    const isConcerned =
      (events: readonly LiveEvent[]) =>
      ({ queryKey }: { queryKey: readonly unknown[] }) =>
        kindOf(String(queryKey[1])) === kind && concerns(queryKey, events);
    const readAgain = () => {
      dueAtMs = Infinity;
      void queries.invalidateQueries({ predicate: isConcerned(collected.splice(0)) });
    };
    return (event: LiveEvent) => {
      collected.push(event);
      // So that Today reads its work when it opens.
      if (kind === 'today')
        void queries.invalidateQueries({ predicate: isConcerned([event]), refetchType: 'none' });
      // An event on Today does not wait for the time of an event on the page before, which is longer.
      const waitMs = collectMs(kind, location.pathname);
      if (Date.now() + waitMs >= dueAtMs) return;
      clearTimeout(timer);
      dueAtMs = Date.now() + waitMs;
      timer = setTimeout(readAgain, waitMs);
    };
  }
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
