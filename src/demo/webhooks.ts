import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHorizonReader } from '../changes/events/feed-horizon.ts';
import { typesOf } from '../changes/events/rules.ts';
import { findEvents } from '../changes/events/store.ts';
import { changeEndpoint, createEndpoint } from '../changes/webhook-endpoints/commands.ts';
import { findLatestEvent } from '../changes/webhook-endpoints/delivery-store.ts';
import { startDispatcher } from '../changes/webhook-endpoints/start-dispatcher.ts';
import type { Actor, Context } from '../core/context.ts';
import { createNetworks } from '../core/http/addresses.ts';
import type { Log } from '../core/log.ts';
import type { SettableClock } from '../platform/test-clock/settable-clock.ts';

const RETRY_AFTER_MS = 10_000;
/** Much longer than deliveries to this machine take. */
const MAX_WAIT_MS = 10_000;
const PAUSE_MS = 10;
const MAX_EVENTS = 100;

/** A receiver on this machine. It refuses the first request. */
async function startReceiver(): Promise<{ url: string; close(): void }> {
  let requests = 0;
  const server = http.createServer((request, response) => {
    requests += 1;
    request.resume();
    response.writeHead(requests === 1 ? 500 : 200).end(requests === 1 ? 'The ledger is locked.' : 'Saved.');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/solar-events`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * Runs `work`, and sends the events of `work` to a receiver on this machine. The receiver refuses the first event, which is then
 * sent again. At the end, the receiver is closed and the endpoint is disabled, so that nothing is sent when the service runs.
 */
export async function tryWebhooks(
  context: Context,
  { clock, log, actor }: { clock: SettableClock; log: Log; actor: Actor },
  work: () => Promise<void>,
): Promise<void> {
  const receiver = await startReceiver();
  const networks = createNetworks(['127.0.0.1/32']);
  const config = { ...context.config, webhookDestinations: { hosts: new Set<string>(), networks } };
  const sending = { ...context, config };
  const reader = createHorizonReader(context.db);
  try {
    const endpoint = await createEndpoint(sending, reader, actor, {
      url: receiver.url,
      types: ['approval.*', 'payment.*'],
      description: 'Trial of the accounting program. The receiver no longer runs.',
    });
    const from = await findLatestEvent(context.db);
    await work();
    const events = await findEvents(context.db, {
      ...{ after: from, upTo: await findLatestEvent(context.db), limit: MAX_EVENTS },
      types: typesOf(endpoint.types),
    });
    const deliver = async (count: number) => {
      const dispatcher = startDispatcher(sending, reader, log);
      const endsAt = Date.now() + MAX_WAIT_MS;
      const { counts } = dispatcher;
      while (counts.delivered + counts.failed < count && Date.now() < endsAt) await sleep(PAUSE_MS);
      await dispatcher.stop();
      if (counts.delivered + counts.failed < count) log.warn('Demo company: not all webhooks were delivered');
      return counts.failed;
    };
    const failed = await deliver(events.events.length);
    clock.set(new Date(clock.now().getTime() + RETRY_AFTER_MS));
    await deliver(failed);
    await changeEndpoint(context, actor, endpoint.id, { active: false });
  } finally {
    receiver.close();
  }
}
