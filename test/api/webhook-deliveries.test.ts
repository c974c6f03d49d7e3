import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_IN_FLIGHT } from '../../src/changes/webhook-endpoints/delivery-rules.ts';
import { deleteOldDeliveries } from '../../src/changes/webhook-endpoints/delivery-store.ts';
import { type Dispatcher, startDispatcher } from '../../src/changes/webhook-endpoints/start-dispatcher.ts';
import { holdChanges } from '../../src/changes/webhook-endpoints/store.ts';
import type { TimeLimits } from '../../src/core/time-limits.ts';
import { dataOf, newAccount, newCustomer, useService } from '../support/harness.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { eventually, until } from '../support/waiting.ts';

const service = useService({ WEBHOOKS_OUT_ALLOW: '127.0.0.0/8' });
const SHORT_INTERVALS = { leaseMs: 20, pollMs: 10, saveMs: 10 };

let accounts: { id: number }[];
beforeAll(async () => {
  accounts = [await newAccount(service), await newAccount(service)];
});

// Time stands still, so that a retry is due only when a test moves the clock.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});

const dispatchers: Dispatcher[] = [];
const endpoints: Endpoint[] = [];

afterEach(async () => {
  await stopDispatchers();
  // No test ends with a request that it has not expected.
  const unexpected = endpoints.flatMap(({ received, expected = received.length }) =>
    received.slice(expected),
  );
  for (const endpoint of endpoints.splice(0)) {
    await endpoint.close();
    await service.call('DELETE', `/webhook-endpoints/${endpoint.id}`);
  }
  service.clock.set(null);
  vi.useRealTimers();
  expect(unexpected).toEqual([]);
});

function dispatch(limits: Partial<TimeLimits> = {}, intervals = SHORT_INTERVALS): Dispatcher {
  const { config } = service.context;
  const context = { ...service.context, config: { ...config, limits: { ...config.limits, ...limits } } };
  const { horizon, log } = service.parts;
  const dispatcher = startDispatcher(context, horizon, log, intervals);
  dispatchers.push(dispatcher);
  return dispatcher;
}

async function stopDispatchers(): Promise<void> {
  await Promise.all(dispatchers.splice(0).map((dispatcher) => dispatcher.stop()));
}

interface Endpoint extends Receiver {
  id: number;
  secret: string;
  /** The number of requests that the test has expected so far. */
  expected?: number;
}

/** A receiver and its endpoint, which is deleted after the test. */
async function open(fields: Record<string, unknown> = {}): Promise<Endpoint> {
  const receiver = await startReceiver();
  const body = { url: receiver.url, types: ['payment.received'], ...fields };
  const answer = await service.call('POST', '/webhook-endpoints', body);
  expect(answer.status, answer.text).toBe(201);
  const { id, secret } = answer.body.data;
  const endpoint: Endpoint = Object.assign(receiver, { id, secret });
  endpoints.push(endpoint);
  return endpoint;
}

let references = 0;
/** Records a payment, which publishes payment.received. @returns the id of the payment. */
async function pay(account = accounts[0]): Promise<number> {
  references += 1;
  return (
    await dataOf(
      service.call('POST', '/payments', {
        accountId: account?.id,
        amount: 1,
        paymentMethodId: 2,
        transactionRef: `HOOK-${references}`,
      }),
      201,
    )
  ).id;
}

/** Records payments of the accounts in turn, with one call. */
async function payMany(count: number): Promise<number[]> {
  const paymentOf = (account?: { id: number }) => ({ accountId: account?.id, amount: 1, paymentMethodId: 2 });
  const items = Array.from({ length: count }, (_, at) => paymentOf(accounts[at % 2]));
  const { items: outcomes } = await dataOf(service.call('POST', '/payments/bulk', { items }));
  return outcomes.map(({ data }: { data: { id: number } }) => data.id);
}

const paymentsOf = (receiver: Receiver) => receiver.received.map(({ event }) => event.resourceId);
const sorted = (ids: number[]) => ids.toSorted((a, b) => a - b);
const change = (id: number, body: object) => service.call('PUT', `/webhook-endpoints/${id}`, body);
const stateOf = async (id: number) => (await service.call('GET', `/webhook-endpoints/${id}`)).body.data;
const deliveriesOf = async (id: number, query = 'sort=id:asc') =>
  (await service.call('GET', `/webhook-endpoints/${id}/deliveries?limit=100&${query}`)).body.data;
const resend = (id: number, body: object) => service.call('POST', `/webhook-endpoints/${id}/resend`, body);
const fail: Receiver['answer'] = (_received, response) => response.writeHead(500).end('broken');
const accept: Receiver['answer'] = (_received, response) => response.writeHead(204).end();

/** Waits until an endpoint has got this number of requests. No others may arrive before the next call, or the end of the test. */
async function untilReceived(endpoint: Endpoint, count: number): Promise<void> {
  endpoint.expected = count;
  await eventually(() => endpoint.received.length).toBe(count);
}

/** Waits until the attempts are in the list of deliveries. */
const untilSaved = (id: number, count: number) => eventually(() => deliveriesOf(id)).toHaveLength(count);

function moveClock(ms: number): void {
  service.clock.set(new Date(service.context.clock.now().getTime() + ms));
}

/** Waits until the leases have been renewed, and so due retries have been read. */
async function leasesRenewed(): Promise<void> {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const renewals = () => sent.mock.calls.filter(([query]) => textOf(query).includes('set lease_owner ='));
  // When the third renewal is sent, all that follows from the second has begun.
  await until('renewals of the leases', () => renewals().length >= 3 * dispatchers.length);
  sent.mockRestore();
}

const textOf = (query: unknown) => (query as { text?: string }).text ?? '';

/** The warnings of the log during the test, as text. */
function warnings(): () => string {
  const warn = vi.spyOn(service.parts.log, 'warn');
  onTestFinished(() => warn.mockRestore());
  return () => JSON.stringify(warn.mock.calls);
}

const SECOND = 1_000;
const HOUR = 3_600_000;

describe('a delivery', () => {
  it('sends each event of the types once, signed', async () => {
    const receiver = await open({ types: ['payment.*'] });
    const other = await open({ types: ['customer.created'] });
    dispatch();
    const ids = [await pay(), await pay(accounts[1]), await pay()];
    await untilReceived(receiver, 3);
    expect(sorted(paymentsOf(receiver))).toEqual(ids);
    for (const { body, headers, event } of receiver.received) {
      expect(new Webhook(receiver.secret).verify(body, headers)).toEqual(event);
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-id': `msg_${receiver.id}_${event.id}`,
      });
      expect(event).toMatchObject({
        type: 'payment.received',
        version: 1,
        resource: 'payment',
        data: { amount: 1 },
      });
    }
    expect(other.received).toEqual([]);
  });

  it('starts with the first event after the creation of the endpoint', async () => {
    await pay();
    const receiver = await open();
    const id = await pay();
    dispatch();
    await untilReceived(receiver, 1);
    expect(paymentsOf(receiver)).toEqual([id]);
  });

  it('is logged with its request and its answer', async () => {
    const receiver = await open();
    receiver.answer = (_received, response) => response.writeHead(202).end('x'.repeat(5_000));
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    const [{ event, headers, body }] = receiver.received as [Receiver['received'][number]];
    await untilSaved(receiver.id, 1);
    const [delivery] = await deliveriesOf(
      receiver.id,
      `filter[eventId]=${event.id}&filter[outcome]=delivered`,
    );
    expect(delivery).toMatchObject({
      eventId: event.id,
      eventType: 'payment.received',
      attempt: 1,
      status: 202,
      answer: 'x'.repeat(4_096),
      error: null,
      nextAttemptAt: null,
    });
    expect(headers).toMatchObject(delivery.requestHeaders);
    const one = await service.call('GET', `/webhook-endpoints/${receiver.id}/deliveries/${delivery.id}`);
    expect(one.body.data).toEqual({ ...delivery, requestBody: body });
    expect(await deliveriesOf(receiver.id, 'filter[outcome]=failed')).toEqual([]);
  });

  it('continues with a new secret while the previous one still verifies, without a failure', async () => {
    const receiver = await open();
    const verifiers = [new Webhook(receiver.secret)];
    receiver.answer = ({ body, headers }, response) => {
      const isSigned = verifiers.some((verifier) => {
        try {
          return Boolean(verifier.verify(body, headers));
        } catch {
          return false;
        }
      });
      response.writeHead(isSigned ? 204 : 401).end();
    };
    dispatch();
    await pay();
    const rotated = await service.call('POST', `/webhook-endpoints/${receiver.id}/rotate-secret`, {
      overlapSeconds: 60,
    });
    for (let n = 0; n < 3; n++) await pay();
    await untilReceived(receiver, 4);
    verifiers.splice(0, 1, new Webhook(rotated.body.data.secret));
    for (let n = 0; n < 3; n++) await pay();
    await untilReceived(receiver, 7);
    await untilSaved(receiver.id, 7);
    expect(await deliveriesOf(receiver.id, 'filter[outcome][ne]=delivered')).toEqual([]);
  });
});

describe('a resend', () => {
  it('repeats one event, a range, or all from an event or a time on', async () => {
    moveClock(30 * 24 * HOUR); // Later than the events of the other tests.
    const receiver = await open();
    dispatch();
    const start = service.context.clock.now().toISOString();
    const paid = [await pay(), await pay(), await pay()];
    await untilReceived(receiver, 3);
    await untilSaved(receiver.id, 3);
    const [first = 0, second = 0, third = 0] = sorted(receiver.ids());

    const one = await resend(receiver.id, { eventIds: [second] });
    expect([one.status, one.body.data]).toEqual([200, { eventCount: 1 }]);
    await untilReceived(receiver, 4);
    expect(paymentsOf(receiver).slice(3)).toEqual([paid[1]]);

    const range = await resend(receiver.id, { fromEventId: first, toEventId: second });
    expect(range.body.data).toEqual({ eventCount: 2 });
    await untilReceived(receiver, 6);

    await resend(receiver.id, { fromEventId: second });
    await untilReceived(receiver, 8);
    expect(sorted(receiver.ids().slice(6))).toEqual([second, third]);

    await resend(receiver.id, { since: start });
    await untilReceived(receiver, 11);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  });

  it.each([
    ['one event', 'is delivered', 204],
    ['one event', 'fails', 500],
    ['all later events', 'is delivered', 204],
    ['all later events', 'fails', 500],
  ])('of %s is not lost if an earlier request of the event %s meanwhile', async (what, _outcome, status) => {
    const receiver = await open();
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    const eventIds = receiver.ids();
    receiver.answer = async (_received, response) => {
      receiver.answer = accept;
      const again = await resend(
        receiver.id,
        what === 'one event' ? { eventIds } : { fromEventId: eventIds[0] },
      );
      // With fromEventId, the events are read again before the request ends.
      if (what !== 'one event') await leasesRenewed();
      response.writeHead(again.status === 200 ? status : 400).end();
    };
    await resend(receiver.id, { eventIds });
    await untilReceived(receiver, 3);
    await untilSaved(receiver.id, 3);
    expect((await deliveriesOf(receiver.id)).map((one: { status: number }) => one.status)).toEqual([
      204,
      status,
      204,
    ]);
  });

  it.each([
    [{}, '(body)'],
    [{ eventIds: [1], since: '2026-11-02T08:15:30Z' }, 'body'],
    [{ toEventId: 5 }, 'body'],
    [{ since: '2026-11-02T08:15:30Z', toEventId: 5 }, 'toEventId'],
    [{ fromEventId: 5, toEventId: 4 }, 'toEventId'],
    [{ fromEventId: 1, toEventId: 10_001 }, 'toEventId'],
  ])('of %j is refused', async (body, path) => {
    const { id } = await open();
    const answer = await resend(id, body);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body.error.details.fields[0].path).toContain(path.replace(/[()]/g, ''));
  });
});

it.each([
  [{ eventIds: [1, 999_999_999] }, 'eventIds'],
  [{ fromEventId: 999_999_999 }, 'fromEventId'],
  [{ since: '2099-01-01T00:00:00Z' }, 'since'],
])('a resend of %j is refused, because there are no such events', async (body, path) => {
  const { id } = await open();
  const answer = await resend(id, body);
  expect([answer.status, answer.body.error?.details.fields[0].path]).toEqual([400, path]);
});

describe('a failed delivery', () => {
  it('is retried after 5 and 30 seconds with the same id, then delivered', async () => {
    const receiver = await open();
    receiver.answer = fail;
    dispatch();
    const begunMs = Date.now();
    const paymentId = await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    expect((await stateOf(receiver.id)).failingSince).not.toBeNull();
    moveClock(4 * SECOND);
    await leasesRenewed();
    moveClock(2 * SECOND);
    await untilReceived(receiver, 2);
    await untilSaved(receiver.id, 2);
    moveClock(18 * SECOND);
    await leasesRenewed();
    receiver.answer = accept;
    moveClock(16 * SECOND);
    await untilReceived(receiver, 3);
    await untilSaved(receiver.id, 3);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(paymentsOf(receiver))).toEqual(new Set([paymentId]));
    const attempts = await deliveriesOf(receiver.id);
    expect(attempts).toMatchObject([
      { attempt: 1, outcome: 'failed', status: 500, answer: 'broken', nextAttemptAt: expect.any(String) },
      { attempt: 2, outcome: 'failed' },
      { attempt: 3, outcome: 'delivered', nextAttemptAt: null },
    ]);
    const sentAfterMs = attempts.map(
      ({ createdAt }: { createdAt: string }) => Date.parse(createdAt) - begunMs,
    );
    expect(sentAfterMs).toEqual([0, 6 * SECOND, 40 * SECOND]);
    expect(await stateOf(receiver.id)).toMatchObject({ active: true, failingSince: null });
  });

  it('does not hold back other events', async () => {
    const receiver = await open();
    const poison = await pay();
    receiver.answer = (received, response) =>
      received.event.resourceId === poison ? fail(received, response) : accept(received, response);
    dispatch();
    const others = [await pay(), await pay(accounts[1])];
    await untilReceived(receiver, 3);
    expect(sorted(paymentsOf(receiver))).toEqual([poison, ...others]);
  });

  it('disables the endpoint after three days with a warning, and is repeated when it is enabled', async () => {
    const warned = warnings();
    const receiver = await open();
    receiver.answer = fail;
    dispatch();
    const paymentId = await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    moveClock(71 * HOUR);
    await untilReceived(receiver, 2);
    await untilSaved(receiver.id, 2);
    expect(await stateOf(receiver.id)).toMatchObject({ active: true });
    moveClock(HOUR + SECOND);
    await untilReceived(receiver, 3);
    await eventually(() => stateOf(receiver.id)).toMatchObject({
      active: false,
      disabledReason: 'failing',
      disabledAt: expect.any(String),
    });
    await until('the warning', () => warned().includes('A webhook endpoint was disabled'));
    const logged = warned();
    expect(logged).not.toContain(receiver.url);
    expect(logged).not.toContain(receiver.secret);
    const audit = await service.call(
      'GET',
      `/audit?filter[action]=webhook_endpoint.disable&filter[resourceId]=${receiver.id}`,
    );
    expect(audit.body.data).toMatchObject([
      { actor: 'system', after: { active: false, disabledReason: 'failing' } },
    ]);

    receiver.answer = accept;
    const missed = await pay();
    await leasesRenewed();
    expect(receiver.received).toHaveLength(3);
    expect((await change(receiver.id, { active: true })).status).toBe(200);
    await untilReceived(receiver, 5);
    expect(sorted(paymentsOf(receiver).slice(3))).toEqual([paymentId, missed]);
  });

  it('with the answer 410 disables the endpoint at once', async () => {
    const [receiver, other] = [await open(), await open()];
    receiver.answer = (_received, response) => response.writeHead(410).end();
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    await eventually(() => stateOf(receiver.id)).toMatchObject({ active: false, disabledReason: 'gone' });
    await pay();
    await untilReceived(other, 2);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('an endpoint that a user corrects', () => {
  it.each([
    ['before', async () => {}],
    ['after', leasesRenewed],
  ])(
    'stays active and healthy if a request to the former address ends with 410 %s the instance knows the new one',
    async (_when, untilKnown) => {
      const [former, corrected] = [await open(), await startReceiver()];
      onTestFinished(corrected.close);
      let answerFormer = () => {};
      former.answer = (_received, response) => {
        answerFormer = () => response.writeHead(410).end();
      };
      dispatch();
      const paymentId = await pay();
      await untilReceived(former, 1);
      expect((await change(former.id, { url: corrected.url })).status).toBe(200);
      await untilKnown();
      answerFormer();
      await eventually(() => paymentsOf(corrected)).toEqual([paymentId]);
      await untilSaved(former.id, 2);
      await stopDispatchers();
      expect(corrected.received).toHaveLength(1);
      expect(await stateOf(former.id)).toMatchObject({ active: true, failingSince: null, pausedUntil: null });
    },
  );
});

describe('an attempt that starts after the answer to a change', () => {
  /** A dispatcher that reads its endpoints only once, and has read this one. */
  async function dispatchTo({ id }: Endpoint): Promise<void> {
    dispatch({}, { ...SHORT_INTERVALS, leaseMs: HOUR });
    await eventually(() => ownerOf(id)).not.toBeNull();
  }
  const ownerOf = async (id: number) => {
    const query = service.context.db
      .selectFrom('webhook_endpoints')
      .select('lease_owner')
      .where('id', '=', id);
    return (await query.executeTakeFirstOrThrow()).lease_owner;
  };
  /** Waits until the instance has noticed that the endpoint is not active. */
  const untilReleased = (id: number) => eventually(() => ownerOf(id)).toBeNull();

  it('is signed with the new secret only, if the former one has no overlap', async () => {
    const receiver = await open();
    await dispatchTo(receiver);
    const rotated = await service.call('POST', `/webhook-endpoints/${receiver.id}/rotate-secret`, {
      overlapSeconds: 0,
    });
    await pay();
    await untilReceived(receiver, 1);
    const [{ body, headers }] = receiver.received as [Receiver['received'][number]];
    expect(() => new Webhook(receiver.secret).verify(body, headers)).toThrow();
    expect(() => new Webhook(rotated.body.data.secret).verify(body, headers)).not.toThrow();
  });

  it('goes to the new address', async () => {
    const [former, next] = [await open(), await startReceiver()];
    onTestFinished(next.close);
    await dispatchTo(former);
    expect((await change(former.id, { url: next.url })).status).toBe(200);
    const id = await pay();
    await eventually(() => paymentsOf(next)).toEqual([id]);
    expect(former.received).toEqual([]);
  });

  it.each([
    ['disabled', ({ id }: Endpoint) => change(id, { active: false })],
    ['deleted', ({ id }: Endpoint) => service.call('DELETE', `/webhook-endpoints/${id}`)],
  ])('is not made to an endpoint that was %s', async (_what, end) => {
    const receiver = await open();
    await dispatchTo(receiver);
    expect((await end(receiver)).status).toBe(200);
    await pay();
    await untilReleased(receiver.id);
    expect(receiver.received).toEqual([]);
  });

  it('uses the changed types, for new events and for events that wait for a retry', async () => {
    const receiver = await open();
    receiver.answer = fail;
    await dispatchTo(receiver);
    await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    receiver.answer = accept;
    expect((await change(receiver.id, { types: ['customer.created'] })).status).toBe(200);
    await pay();
    const customer = await newCustomer(service);
    moveClock(HOUR);
    await untilReceived(receiver, 2);
    expect(receiver.received[1]?.event).toMatchObject({ type: 'customer.created', resourceId: customer.id });
    expect((await change(receiver.id, { types: ['*'] })).status).toBe(200);
    const paymentId = await pay();
    await eventually(() => paymentsOf(receiver).slice(2)).toContain(paymentId);
    receiver.expected = receiver.received.length;
  });

  it('of a type that was removed during the attempt before is not made', async () => {
    const receiver = await open();
    receiver.answer = async (_received, response) => {
      await change(receiver.id, { types: ['customer.created'] });
      response.writeHead(500).end();
    };
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    moveClock(HOUR);
    const { db } = service.context;
    const retries = db.selectFrom('webhook_retries').where('endpoint_id', '=', receiver.id).selectAll();
    await eventually(() => retries.execute()).toEqual([]);
    expect(receiver.received).toHaveLength(1);
  });

  it('waits for earlier events of its account, if the endpoint was changed to get events in order', async () => {
    const receiver = await open();
    receiver.answer = fail;
    await dispatchTo(receiver);
    const first = await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    receiver.answer = accept;
    expect((await change(receiver.id, { inOrder: true })).status).toBe(200);
    const other = [await pay(accounts[0]), await pay(accounts[1])];
    await untilReceived(receiver, 2);
    expect(paymentsOf(receiver)).toEqual([first, other[1]]);
  });

  it.each([
    ['changed', (id: number) => change(id, { description: 'ERP' })],
    ['deleted', (id: number) => service.call('DELETE', `/webhook-endpoints/${id}`)],
    [
      'given a new secret',
      (id: number) => service.call('POST', `/webhook-endpoints/${id}/rotate-secret`, {}),
    ],
  ])('cannot be overtaken: an endpoint is %s when no attempt is starting', async (_what, act) => {
    const { id } = await open();
    const { db } = service.context;
    let answered: ReturnType<typeof act> | undefined;
    await db.transaction().execute(async (starting) => {
      await holdChanges(starting, id);
      answered = act(id);
      const waiting = () =>
        service.parts.pool.query(
          "select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and not granted",
        );
      await eventually(async () => (await waiting()).rows.length).toBe(1);
    });
    expect((await answered)?.status).toBe(200);
  });
});

describe('events that were deleted from the feed', () => {
  it('are given up with a warning, so that other retries and later events of their account follow', async () => {
    const warned = warnings();
    const { db } = service.context;
    const receiver = await open({ inOrder: true });
    const deleted = Array.from({ length: 205 }, (_, n) => -1 - n);
    const keyOf = (id: number) => `account ${id < -200 ? accounts[0]?.id : id}`; // Of one key, one is read at a time.
    await db
      .insertInto('webhook_retries')
      .values(
        deleted.map((id) => ({
          ...{ endpoint_id: receiver.id, event_id: id, order_key: keyOf(id), attempts: 1 },
          next_attempt_at: new Date(0),
        })),
      )
      .execute();
    const dispatcher = dispatch();
    const paymentId = await pay();
    await untilReceived(receiver, 1);
    expect(paymentsOf(receiver)).toEqual([paymentId]);
    await eventually(() => dispatcher.counts.given_up).toBe(205);
    expect(warned()).toContain('they were deleted before they could be sent');
  });

  it('before an endpoint has got them are reported in the log', async () => {
    const warned = warnings();
    const { db } = service.context;
    const { id } = await open({ types: ['customer.created'] });
    await db.updateTable('webhook_endpoints').set({ cursor: 0 }).where('id', '=', id).execute();
    await db.updateTable('event_feed').set({ deleted_to_id: 1 }).execute();
    onTestFinished(async () => {
      await db.updateTable('event_feed').set({ deleted_to_id: 0 }).execute();
    });
    dispatch();
    await eventually(warned).toContain(`{"webhookEndpoint":${id},"afterEventId":0,"deletedToEventId":1}`);
  });
});

describe('an endpoint that is down', () => {
  it('delays no other endpoint', async () => {
    const dead = await open();
    dead.answer = () => {}; // Connects and never answers.
    const healthy = await open();
    dispatch();
    await payMany(MAX_IN_FLIGHT + 1);
    await untilReceived(healthy, MAX_IN_FLIGHT + 1);
    await eventually(() => dead.received.length).toBe(MAX_IN_FLIGHT);
    await payMany(2);
    await untilReceived(healthy, MAX_IN_FLIGHT + 3);
    expect(await deliveriesOf(dead.id)).toEqual([]);
    // The requests without an answer do not hold back the cursor.
    moveClock(2 * SECOND);
    const { db } = service.context;
    const stored = db.selectFrom('webhook_retries').where('endpoint_id', '=', dead.id).selectAll();
    await eventually(() => stored.execute()).toHaveLength(MAX_IN_FLIGHT);
    await dead.close();
  });

  it('gets one event at a time after five failures, and everything when it works again', async () => {
    const receiver = await open();
    receiver.answer = fail;
    const ids = await payMany(5);
    dispatch();
    await untilReceived(receiver, 5);
    await eventually(async () => (await stateOf(receiver.id)).pausedUntil).not.toBeNull();
    ids.push(...(await payMany(11)));
    await leasesRenewed();
    expect(receiver.received).toHaveLength(5);
    moveClock(6 * SECOND);
    await untilReceived(receiver, 6);
    await untilSaved(receiver.id, 6);
    await leasesRenewed();
    expect(receiver.received).toHaveLength(6);
    receiver.answer = accept;
    moveClock(60 * SECOND);
    await untilReceived(receiver, 6 + 16);
    expect(new Set(paymentsOf(receiver))).toEqual(new Set(ids));
    await eventually(() => deliveriesOf(receiver.id, 'filter[outcome]=delivered')).toHaveLength(16);
    expect(await stateOf(receiver.id)).toMatchObject({ failingSince: null, pausedUntil: null });
  });
});

describe('a receiver that answers 429 with Retry-After', () => {
  it('gets nothing until then', async () => {
    const receiver = await open();
    receiver.answer = (_received, response) => response.writeHead(429, { 'retry-after': '60' }).end();
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    await eventually(async () => (await stateOf(receiver.id)).pausedUntil).not.toBeNull();
    receiver.answer = accept;
    await pay();
    moveClock(40 * SECOND);
    await leasesRenewed();
    expect(receiver.received).toHaveLength(1);
    moveClock(25 * SECOND);
    await untilReceived(receiver, 3);
  });
});

describe('an endpoint that a transaction has locked', () => {
  const whileLocked = (id: number, work: () => Promise<void>) =>
    service.context.db.transaction().execute(async (tx) => {
      await tx.selectFrom('webhook_endpoints').select('id').where('id', '=', id).forUpdate().execute();
      await work();
    });

  it('gets events while its instance cannot renew the lease', async () => {
    const receiver = await open();
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    await whileLocked(receiver.id, async () => {
      await leasesRenewed();
      await pay();
      await untilReceived(receiver, 2);
    });
    await pay();
    await untilReceived(receiver, 3);
  });

  it('does not keep the leases of other endpoints from being renewed', async () => {
    const [locked, other] = [await open(), await open()];
    // A save of its cursor would renew the lease, too.
    const lastEvent = service.context.db.selectFrom('events').select(({ fn }) => fn.max('id').as('id'));
    await service.context.db.updateTable('webhook_endpoints').set({ cursor: lastEvent }).execute();
    dispatch();
    const leaseEnd = async () => {
      const { db } = service.context;
      const query = db.selectFrom('webhook_endpoints').select('lease_expires_at').where('id', '=', other.id);
      return (await query.executeTakeFirstOrThrow()).lease_expires_at;
    };
    await eventually(leaseEnd).not.toBeNull();
    await whileLocked(locked.id, async () => {
      const before = await leaseEnd();
      await eventually(leaseEnd).not.toBe(before);
      await pay();
      await untilReceived(other, 1);
    });
    await untilReceived(locked, 1);
  });
});

describe('retries', () => {
  it('are not looked for while none is due', async () => {
    const receiver = await open();
    dispatch();
    await pay();
    await untilReceived(receiver, 1);
    await untilSaved(receiver.id, 1);
    const statements = vi.spyOn(service.context.db, 'executeQuery');
    await leasesRenewed();
    await pay();
    await untilReceived(receiver, 2);
    await untilSaved(receiver.id, 2);
    const texts = statements.mock.calls.map(([query]) => (query as { sql: string }).sql);
    statements.mockRestore();
    expect(texts.filter((text) => text.includes('order by next_attempt_at, event_id'))).toEqual([]);
  });
});

describe('in order', () => {
  it('an event waits for the earlier ones of its account, and for no others', async () => {
    const receiver = await open({ inOrder: true });
    const [first, second] = accounts;
    const poison = await pay(first);
    let isBroken = true;
    receiver.answer = (received, response) =>
      isBroken && received.event.resourceId === poison
        ? fail(received, response)
        : accept(received, response);
    const waiting = [await pay(first), await pay(first)];
    const others = [await pay(second), await pay(second)];
    dispatch();
    await untilReceived(receiver, 3);
    const late = await pay(first);
    others.push(await pay(second)); // Read after the late event.
    await untilReceived(receiver, 4);
    expect(sorted(paymentsOf(receiver))).toEqual(sorted([poison, ...others]));
    await untilSaved(receiver.id, 4);
    isBroken = false;
    moveClock(6 * SECOND);
    await untilReceived(receiver, 8);
    const ofFirst = receiver.received.filter(({ event }) => event.accountId === first?.id);
    expect(ofFirst.map(({ event }) => event.resourceId)).toEqual([poison, poison, ...waiting, late]);
  });

  it('events of an account arrive by their version, although the receiver is slow', async () => {
    const receiver = await open({ inOrder: true, types: ['*'] });
    receiver.answer = async (received, response) => {
      await sleep(Math.random() * 10);
      accept(received, response);
    };
    dispatch();
    await Promise.all(Array.from({ length: 24 }, (_, n) => pay(accounts[n % 2])));
    await eventually(
      () => receiver.received.filter(({ event }) => event.type === 'payment.received').length,
    ).toBe(24);
    for (const { id } of accounts) {
      const versions = receiver.received
        .filter(({ event }) => event.accountId === id)
        .map(({ event }) => event.accountVersion);
      expect(versions.length).toBeGreaterThan(0);
      expect(versions).toEqual([...versions].sort((a, b) => a - b));
      expect(new Set(versions).size).toBe(versions.length);
    }
  });
});

describe('an instance', () => {
  it('that stops releases its endpoints, and no event is repeated', async () => {
    const receiver = await open();
    const first = dispatch();
    const ids = [await pay()];
    await untilReceived(receiver, 1);
    await first.stop();
    ids.push(await pay());
    dispatch();
    ids.push(await pay());
    await untilReceived(receiver, 3);
    expect(sorted(paymentsOf(receiver))).toEqual(ids);
    await untilSaved(receiver.id, 3);
  });

  it('takes over the endpoints of an instance that died, after their leases have expired', async () => {
    const receiver = await open();
    const leaseToAnother = (expiresIn: string) =>
      service.parts.pool.query(
        `update webhook_endpoints set lease_owner = gen_random_uuid(),
           lease_expires_at = clock_timestamp() + $1::interval where id = $2`,
        [expiresIn, receiver.id],
      );
    await leaseToAnother('1 hour');
    const id = await pay();
    dispatch();
    await leasesRenewed();
    expect(receiver.received).toEqual([]);
    await leaseToAnother('-1 second');
    await untilReceived(receiver, 1);
    expect(paymentsOf(receiver)).toEqual([id]);
  });

  it('delivers alone while it has the lease', async () => {
    const receiver = await open();
    dispatch();
    dispatch();
    dispatch();
    const ids = await payMany(20);
    await untilReceived(receiver, 20);
    await leasesRenewed();
    await stopDispatchers();
    expect(sorted(paymentsOf(receiver))).toEqual(sorted(ids));
    expect(await deliveriesOf(receiver.id)).toHaveLength(20);
  });

  it('that stops aborts a request without an answer, which is repeated', async () => {
    const receiver = await open();
    receiver.answer = () => {};
    const first = dispatch({ deliveryStopMs: 50 });
    await pay();
    await untilReceived(receiver, 1);
    await first.stop();
    receiver.answer = accept;
    dispatch();
    await untilReceived(receiver, 2);
  });
});

describe('deliveries', () => {
  it('are deleted after 30 days, and with their endpoint', async () => {
    const { db, clock } = service.context;
    const receiver = await open();
    await service.call('POST', `/webhook-endpoints/${receiver.id}/test`, {});
    const { signal } = new AbortController();
    await deleteOldDeliveries(db, clock.now(), signal);
    expect(await deliveriesOf(receiver.id)).toHaveLength(1);
    await deleteOldDeliveries(db, new Date(clock.now().getTime() + 31 * 24 * HOUR), signal);
    expect(await deliveriesOf(receiver.id)).toEqual([]);
    await service.call('POST', `/webhook-endpoints/${receiver.id}/test`, {});
    await service.call('DELETE', `/webhook-endpoints/${receiver.id}`);
    expect(await deleteOldDeliveries(db, clock.now(), signal)).toBeGreaterThanOrEqual(2);
    const left = await db
      .selectFrom('webhook_endpoints')
      .select('id')
      .where('id', '=', receiver.id)
      .execute();
    expect(left).toEqual([]);
  });
});
