import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Feed } from './feed.ts';
import { streamEvents } from './server-sent-events.ts';
import type { EventRow } from './store.ts';

const EVENT_BYTES = 1_000;
const LAST_ID = 20_000;

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

/** A client that reads nothing until `start` is called. */
function slowClient() {
  let text = '';
  let start = () => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const client = new Writable({
    async write(bytes, _encoding, done) {
      await started;
      text += bytes;
      done();
    },
  });
  return { client, start, text: () => text };
}

it('reads no further events while a client does not read, and sends all of them later', async () => {
  const { feed, counts } = fullFeed();
  const { signal } = new AbortController();
  const show = ({ id }: EventRow) => ({ id, data: 'x'.repeat(EVENT_BYTES) });
  const mayRead = async () => true;
  const stream = streamEvents(feed, { after: 0, types: undefined, show, mayRead, checkMs: 5_000, signal });
  const { client, start, text } = slowClient();
  const sent = pipeline(stream, client);
  // A stream that does not wait for its client reads a page in each turn of the event loop.
  for (let turn = 0; turn < LAST_ID / 100; turn += 1) await setImmediate();
  expect(counts.read).toBeGreaterThan(0);
  expect(counts.read * EVENT_BYTES).toBeLessThan(1_000_000);
  start();
  await sent;
  expect(text().match(/^id: \d+$/gm)).toEqual(Array.from({ length: LAST_ID }, (_, at) => `id: ${at + 1}`));
});

it('asks in each interval whether the reader may still read, and ends when not, although there are no events', async () => {
  const waits: number[] = [];
  const feed: Feed = {
    ...fullFeed().feed,
    read: async () => ({ events: [], hasMore: false, toId: 7, lastId: 7, deletedToId: 0 }),
    wait: async (after, _types, { timeoutMs }) => {
      waits.push(timeoutMs);
      return { events: [], toId: after };
    },
  };
  let asked = 0;
  const mayRead = async () => {
    asked += 1;
    return asked < 3;
  };
  const { signal } = new AbortController();
  const show = () => ({});
  const stream = streamEvents(feed, { after: 7, types: undefined, show, mayRead, checkMs: 0, signal });
  let text = '';
  for await (const bytes of stream) text += bytes;
  expect(text).toBe('retry: 2000\n\n');
  expect(asked).toBe(3);
  expect(waits).toEqual([0]);
});
