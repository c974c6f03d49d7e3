import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  headers: Record<string, string>;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events whose shape they assert.
  event: any;
  /** The time of arrival in milliseconds, by the real clock. */
  at: number;
}

/** A program that receives webhooks on loopback. */
export interface Receiver {
  url: string;
  received: Received[];
  /** Answers a request. A test may replace this function. Default: 204 at once. */
  answer(received: Received, response: http.ServerResponse): unknown;
  /** Ids of the events, in the order in which they arrived. */
  ids(): number[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const headers = request.headers as Record<string, string>;
    const received = { headers, body, event: JSON.parse(body), at: Date.now() };
    receiver.received.push(received);
    await receiver.answer(received, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received: [],
    answer: (_received, response) => response.writeHead(204).end(),
    ids: () => receiver.received.map(({ event }) => event.id),
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}
