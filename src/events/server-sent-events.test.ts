import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Feed } from './feed.ts';
import { streamEvents } from './server-sent-events.ts';
import type { EventRow } from './store.ts';

const EVENT_BYTES = 1_000;
const LAST_ID = 50_000;

/** A feed whose events all exist already, and the number of events that were read from it. */
function fullFeed() {
  const counts = { read: 0 };
  const feed: Feed = {
    async read({ after = 0, limit }) {
      const events = Array.from({ length: limit }, (_, at) => ({ id: after + at + 1 }) as EventRow);
      counts.read += limit;
      return { events, hasMore: true, toId: after + limit, lastId: LAST_ID, deletedToId: 0 };
    },
    wait: () => Promise.reject(new Error('The stream waited although the feed had another page.')),
    latest: async () => LAST_ID,
    isClosed: () => counts.read >= LAST_ID,
    close: () => {},
  };
  return { feed, counts };
}

it('reads no further events while a client does not read, and sends all of them later', async () => {
  const { feed, counts } = fullFeed();
  const server = createServer((_request, response) => {
    const { signal } = new AbortController();
    const show = ({ id }: EventRow) => ({ id, data: 'x'.repeat(EVENT_BYTES) });
    streamEvents(feed, { after: 0, types: undefined, show, mayRead: async () => true, signal }).pipe(
      response,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  try {
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await expect.poll(() => counts.read).toBeGreaterThan(0);
    let before = -1;
    while (counts.read > before) {
      before = counts.read;
      await delay(300);
    }
    // The buffers of both sockets take several megabytes.
    expect(counts.read * EVENT_BYTES).toBeLessThan(20_000_000);
    let text = '';
    for await (const bytes of client) text += bytes;
    expect(text.match(/^id: \d+$/gm)).toEqual(Array.from({ length: LAST_ID }, (_, at) => `id: ${at + 1}`));
  } finally {
    client.destroy();
    server.close();
  }
});
