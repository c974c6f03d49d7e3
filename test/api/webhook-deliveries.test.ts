import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { deleteOldDeliveries } from '../../src/webhook-endpoints/delivery-store.ts';
import { type Dispatcher, startDispatcher } from '../../src/webhook-endpoints/dispatch-commands.ts';
import { dataOf, newAccount, useService } from '../support/harness.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const service = useService({ WEBHOOKS_OUT_ALLOW: '127.0.0.0/8' });
const WITHIN = { timeout: 10_000, interval: 20 };

let accounts: { id: number }[];
beforeAll(async () => {
  accounts = [await newAccount(service), await newAccount(service)];
});

afterEach(() => service.clock.set(null));

function dispatch(): Dispatcher {
  const dispatcher = startDispatcher(service.context, service.parts.horizon, service.parts.log);
  onTestFinished(() => dispatcher.stop());
  return dispatcher;
}

interface Endpoint extends Receiver {
  id: number;
  secret: string;
}

/** A receiver and its endpoint, which is deleted after the test. */
async function open(fields: Record<string, unknown> = {}): Promise<Endpoint> {
  const receiver = await startReceiver();
  const body = { url: receiver.url, types: ['payment.received'], ...fields };
  const answer = await service.call('POST', '/webhook-endpoints', body);
  expect(answer.status, answer.text).toBe(201);
  const { id, secret } = answer.body.data;
  onTestFinished(async () => {
    await receiver.close();
    await service.call('DELETE', `/webhook-endpoints/${id}`);
  });
  return Object.assign(receiver, { id, secret });
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

const paymentsOf = (receiver: Receiver) => receiver.received.map(({ event }) => event.resourceId);
const change = (id: number, body: object) => service.call('PUT', `/webhook-endpoints/${id}`, body);
const stateOf = async (id: number) => (await service.call('GET', `/webhook-endpoints/${id}`)).body.data;
const deliveriesOf = async (id: number, query = 'sort=id:asc') =>
  (await service.call('GET', `/webhook-endpoints/${id}/deliveries?limit=100&${query}`)).body.data;
const resend = (id: number, body: object) => service.call('POST', `/webhook-endpoints/${id}/resend`, body);
const fail: Receiver['answer'] = (_received, response) => response.writeHead(500).end('broken');
const accept: Receiver['answer'] = (_received, response) => response.writeHead(204).end();

/** Waits until an endpoint got this number of requests, and a little longer to notice additional ones. */
async function untilReceived(receiver: Receiver, count: number): Promise<void> {
  await expect.poll(() => receiver.received.length, WITHIN).toBeGreaterThanOrEqual(count);
  await sleep(150);
  expect(receiver.received).toHaveLength(count);
}

/** Moves the clock and waits for the next read of due retries. */
async function later(ms: number): Promise<void> {
  service.clock.set(new Date(service.context.clock.now().getTime() + ms));
  await sleep(2_000);
}
const SECOND = 1_000;
const HOUR = 3_600_000;

describe('a delivery', () => {
  it('sends each event of the types once, signed, soon after the commit', async () => {
    const receiver = await open({ types: ['payment.*'] });
    const other = await open({ types: ['customer.created'] });
    dispatch();
    await sleep(300);
    const paid = Date.now();
    const ids = [await pay(), await pay(accounts[1]), await pay()];
    await untilReceived(receiver, 3);
    expect(paymentsOf(receiver).sort()).toEqual(ids);
    expect(Math.max(...receiver.received.map(({ at }) => at)) - paid).toBeLessThan(3_000);
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
    await expect.poll(() => deliveriesOf(receiver.id), WITHIN).toHaveLength(1);
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
    for (let n = 0; n < 5; n++) await pay();
    await untilReceived(receiver, 6);
    verifiers.splice(0, 1, new Webhook(rotated.body.data.secret));
    for (let n = 0; n < 5; n++) await pay();
    await untilReceived(receiver, 11);
    await expect.poll(() => deliveriesOf(receiver.id), WITHIN).toHaveLength(11);
    expect(await deliveriesOf(receiver.id, 'filter[outcome][ne]=delivered')).toEqual([]);
  });
});

// Before the tests that move the clock, because their events have later times and lower ids.
describe('a resend', () => {
  it('repeats one event, a range, or all from an event or a time on', async () => {
    const receiver = await open();
    dispatch();
    const start = new Date().toISOString();
    const paid = [await pay(), await pay(), await pay()];
    await untilReceived(receiver, 3);
    await expect.poll(() => deliveriesOf(receiver.id), WITHIN).toHaveLength(3);
    const [first = 0, second = 0, third = 0] = receiver.ids().sort((a, b) => a - b);

    const one = await resend(receiver.id, { eventIds: [second] });
    expect([one.status, one.body.data]).toEqual([200, { eventCount: 1 }]);
    await untilReceived(receiver, 4);
    expect(paymentsOf(receiver).slice(3)).toEqual([paid[1]]);

    const range = await resend(receiver.id, { fromEventId: first, toEventId: second });
    expect(range.body.data).toEqual({ eventCount: 2 });
    await untilReceived(receiver, 6);

    await resend(receiver.id, { fromEventId: second });
    await untilReceived(receiver, 8);
    expect(
      receiver
        .ids()
        .slice(6)
        .sort((a, b) => a - b),
    ).toEqual([second, third]);

    await resend(receiver.id, { since: start });
    await untilReceived(receiver, 11);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
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
    const paymentId = await pay();
    await untilReceived(receiver, 1);
    await expect.poll(async () => (await stateOf(receiver.id)).failingSince, WITHIN).not.toBeNull();
    await later(4 * SECOND);
    await later(2 * SECOND);
    await untilReceived(receiver, 2);
    await later(18 * SECOND);
    expect(receiver.received).toHaveLength(2);
    receiver.answer = accept;
    await later(16 * SECOND);
    await untilReceived(receiver, 3);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(paymentsOf(receiver))).toEqual(new Set([paymentId]));
    await expect
      .poll(() => deliveriesOf(receiver.id), WITHIN)
      .toMatchObject([
        { attempt: 1, outcome: 'failed', status: 500, answer: 'broken', nextAttemptAt: expect.any(String) },
        { attempt: 2, outcome: 'failed' },
        { attempt: 3, outcome: 'delivered', nextAttemptAt: null },
      ]);
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
    expect(paymentsOf(receiver).sort()).toEqual([poison, ...others]);
  });

  it('disables the endpoint after three days with a warning, and is repeated when it is enabled', async () => {
    const warn = vi.spyOn(service.parts.log, 'warn');
    const receiver = await open();
    receiver.answer = fail;
    dispatch();
    const paymentId = await pay();
    await untilReceived(receiver, 1);
    await expect.poll(() => deliveriesOf(receiver.id), WITHIN).toHaveLength(1);
    await later(71 * HOUR);
    expect(await stateOf(receiver.id)).toMatchObject({ active: true });
    await later(HOUR + SECOND);
    await expect
      .poll(() => stateOf(receiver.id), WITHIN)
      .toMatchObject({ active: false, disabledReason: 'failing', disabledAt: expect.any(String) });
    const logged = JSON.stringify(warn.mock.calls);
    expect(logged).toContain('A webhook endpoint was disabled');
    expect(logged).not.toContain(receiver.url);
    expect(logged).not.toContain(receiver.secret);
    warn.mockRestore();
    const audit = await service.call(
      'GET',
      `/audit?filter[action]=webhook_endpoint.disable&filter[resourceId]=${receiver.id}`,
    );
    expect(audit.body.data).toMatchObject([
      { actor: 'system', after: { active: false, disabledReason: 'failing' } },
    ]);

    receiver.answer = accept;
    const before = receiver.received.length;
    const missed = await pay();
    await later(0);
    expect(receiver.received).toHaveLength(before);
    expect((await change(receiver.id, { active: true })).status).toBe(200);
    await untilReceived(receiver, before + 2);
    expect(paymentsOf(receiver).slice(before).sort()).toEqual([paymentId, missed]);
  });

  it('with the answer 410 disables the endpoint at once', async () => {
    const receiver = await open();
    receiver.answer = (_received, response) => response.writeHead(410).end();
    dispatch();
    await pay();
    await expect
      .poll(() => stateOf(receiver.id), WITHIN)
      .toMatchObject({ active: false, disabledReason: 'gone' });
    await pay();
    await sleep(500);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('an endpoint that a user corrects', () => {
  it('stays active and healthy although a request to the former address ends with 410', async () => {
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
    answerFormer();
    await untilReceived(corrected, 1);
    expect(paymentsOf(corrected)).toEqual([paymentId]);
    await expect.poll(() => deliveriesOf(former.id), WITHIN).toHaveLength(2);
    expect(await stateOf(former.id)).toMatchObject({ active: true, failingSince: null, pausedUntil: null });
  });
});

describe('events that were deleted from the feed', () => {
  it('are given up with a warning, so that other retries and later events of their account follow', async () => {
    const warn = vi.spyOn(service.parts.log, 'warn');
    const { db } = service.context;
    const receiver = await open({ inOrder: true });
    const orderKey = `account ${accounts[0]?.id}`;
    const deleted = Array.from({ length: 250 }, (_, n) => -1 - n);
    await db
      .insertInto('webhook_retries')
      .values(
        deleted.map((id) => ({
          ...{ endpoint_id: receiver.id, event_id: id, order_key: orderKey, attempts: 1 },
          next_attempt_at: new Date(0),
        })),
      )
      .execute();
    const dispatcher = dispatch();
    const paymentId = await pay();
    await untilReceived(receiver, 1);
    expect(paymentsOf(receiver)).toEqual([paymentId]);
    expect(dispatcher.counts.given_up).toBe(250);
    expect(JSON.stringify(warn.mock.calls)).toContain('they were deleted before they could be sent');
    warn.mockRestore();
  });

  it('before an endpoint has got them are reported in the log', async () => {
    const warn = vi.spyOn(service.parts.log, 'warn');
    const { db } = service.context;
    const { id } = await open({ types: ['customer.created'] });
    await db.updateTable('webhook_endpoints').set({ cursor: 0 }).where('id', '=', id).execute();
    await db.updateTable('event_feed').set({ deleted_to_id: 1 }).execute();
    dispatch();
    await expect
      .poll(() => JSON.stringify(warn.mock.calls), WITHIN)
      .toContain(`{"webhookEndpoint":${id},"afterEventId":0,"deletedToEventId":1}`);
    await db.updateTable('event_feed').set({ deleted_to_id: 0 }).execute();
    warn.mockRestore();
  });
});

describe('an endpoint that is down', () => {
  it('delays no other endpoint', async () => {
    const dead = await open();
    dead.answer = () => {}; // Connects and never answers.
    const healthy = await open();
    dispatch();
    await sleep(300);
    const sentAt = new Map<number, number>();
    for (let n = 0; n < 50; n++) {
      const at = Date.now();
      sentAt.set(await pay(accounts[n % 2]), at);
    }
    await untilReceived(healthy, 50);
    const delays = healthy.received.map(({ at, event }) => at - (sentAt.get(event.resourceId) ?? 0));
    expect(Math.max(...delays)).toBeLessThan(3_000);
  });

  it('gets one event at a time after five failures, and everything when it works again', async () => {
    const receiver = await open();
    receiver.answer = fail;
    dispatch();
    const ids: number[] = [];
    for (let n = 0; n < 6; n++) ids.push(await pay());
    await expect.poll(async () => (await stateOf(receiver.id)).pausedUntil, WITHIN).not.toBeNull();
    const failed = receiver.received.length;
    for (let n = 0; n < 10; n++) ids.push(await pay());
    await sleep(500);
    expect(receiver.received).toHaveLength(failed);
    await later(6 * SECOND);
    await untilReceived(receiver, failed + 1);
    receiver.answer = accept;
    await later(60 * SECOND);
    await later(60 * SECOND);
    await expect.poll(() => new Set(paymentsOf(receiver)).size, WITHIN).toBe(16);
    await expect.poll(() => deliveriesOf(receiver.id, 'filter[outcome]=delivered'), WITHIN).toHaveLength(16);
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
    await expect.poll(async () => (await stateOf(receiver.id)).pausedUntil, WITHIN).not.toBeNull();
    receiver.answer = accept;
    await pay();
    await later(40 * SECOND);
    expect(receiver.received).toHaveLength(1);
    await later(25 * SECOND);
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
    await sleep(500);
    await whileLocked(receiver.id, async () => {
      await sleep(2_500); // Leases are renewed in this time.
      await pay();
      await untilReceived(receiver, 1);
    });
    await pay();
    await untilReceived(receiver, 2);
  });

  it('does not keep the leases of other endpoints from being renewed', async () => {
    const [locked, other] = [await open(), await open()];
    // A save of its cursor would renew the lease, too.
    const lastEvent = service.context.db.selectFrom('events').select(({ fn }) => fn.max('id').as('id'));
    await service.context.db.updateTable('webhook_endpoints').set({ cursor: lastEvent }).execute();
    dispatch();
    await sleep(500);
    await whileLocked(locked.id, async () => {
      await sleep(7_000); // Leases that are not renewed end in this time.
      await pay();
      await expect.poll(() => other.received.length, { timeout: 2_000 }).toBe(1);
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
    const statements = vi.spyOn(service.context.db, 'executeQuery');
    await sleep(3_500);
    const looked = statements.mock.calls.filter(([query]) =>
      (query as { sql: string }).sql.includes('order by next_attempt_at, event_id'),
    );
    expect(looked).toEqual([]);
    statements.mockRestore();
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
    await expect
      .poll(() => paymentsOf(receiver), WITHIN)
      .toEqual(expect.arrayContaining([poison, ...others]));
    const late = await pay(first);
    await sleep(500);
    expect(paymentsOf(receiver).sort()).toEqual([poison, ...others].sort());
    isBroken = false;
    await later(6 * SECOND);
    await untilReceived(receiver, 7);
    const ofFirst = receiver.received.filter(({ event }) => event.accountId === first?.id);
    expect(ofFirst.map(({ event }) => event.resourceId)).toEqual([poison, poison, ...waiting, late]);
  });

  it('events of an account arrive by their version, although the receiver is slow', async () => {
    const receiver = await open({ inOrder: true, types: ['*'] });
    receiver.answer = async (received, response) => {
      await sleep(Math.random() * 30);
      accept(received, response);
    };
    dispatch();
    await Promise.all(Array.from({ length: 40 }, (_, n) => pay(accounts[n % 2])));
    await expect
      .poll(() => receiver.received.filter(({ event }) => event.type === 'payment.received').length, WITHIN)
      .toBe(40);
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
    expect(paymentsOf(receiver).sort()).toEqual(ids);
    await expect.poll(() => deliveriesOf(receiver.id), WITHIN).toHaveLength(3);
  });

  it('delivers alone while it has the lease', async () => {
    const receiver = await open();
    dispatch();
    dispatch();
    dispatch();
    for (let n = 0; n < 20; n++) await pay();
    await untilReceived(receiver, 20);
    await sleep(1_000);
    expect(receiver.received).toHaveLength(20);
  });

  it('that stops aborts a request without an answer, which is repeated', async () => {
    const receiver = await open();
    receiver.answer = () => {};
    const first = dispatch();
    await pay();
    await untilReceived(receiver, 1);
    const stopping = Date.now();
    await first.stop();
    expect(Date.now() - stopping).toBeLessThan(5_000);
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
