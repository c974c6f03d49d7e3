import { Readable } from 'node:stream';
import type { Feed } from './feed.ts';
import type { EventRow } from './store.ts';

// Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). A client that reconnects sends the id
// of its last message as Last-Event-ID.

/** A proxy can close a connection on which nothing is sent for a minute. */
const HEARTBEAT_MS = 15_000;
const RETRY_MS = 2_000;
const PAGE_SIZE = 100;

interface StreamOptions {
  after: number;
  types: readonly string[] | undefined;
  show(event: EventRow): object;
  /** Whether the caller may still read. */
  mayRead(): Promise<boolean>;
  /** How often `mayRead` is called, so that the stream ends soon after the session. */
  checkMs: number;
  /** Aborted when the connection closes. Ends the stream. */
  signal: AbortSignal;
}

/** Events as a stream. For a slow client, the service reads the events later, instead of keeping them in memory. */
export function streamEvents(feed: Feed, options: StreamOptions): Readable {
  return Readable.from(messages(feed, options), { objectMode: false });
}

async function* messages(feed: Feed, { after, types, show, mayRead, checkMs, signal }: StreamOptions) {
  let sentTo = after;
  let sentAt = performance.now();
  let checkedAt = sentAt;
  yield `retry: ${RETRY_MS}\n\n`;
  for (let hasMore = true; !signal.aborted && !feed.isClosed(); ) {
    if (performance.now() - checkedAt >= checkMs) {
      if (!(await mayRead())) return;
      checkedAt = performance.now();
    }
    let events: EventRow[];
    if (hasMore) {
      const page = await feed.read({ after: sentTo, types, limit: PAGE_SIZE });
      // Events after `sentTo` were deleted. A client that reconnects with its last id gets 410.
      if (sentTo < page.deletedToId) return;
      ({ events, hasMore, toId: sentTo } = page);
    } else {
      const limits = { timeoutMs: Math.min(checkMs, HEARTBEAT_MS), signal };
      ({ events, toId: sentTo } = await feed.wait(sentTo, types, limits));
    }
    const text = events.map((event) => `id: ${event.id}\ndata: ${JSON.stringify(show(event))}\n\n`).join('');
    if (text === '' && performance.now() - sentAt < HEARTBEAT_MS) continue;
    // A message without data only sets the id, so that a client that reconnects does not read the same ids again.
    yield text === '' ? `: nothing new\nid: ${sentTo}\n\n` : text;
    sentAt = performance.now();
  }
}
