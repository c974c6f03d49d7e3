import { setTimeout as sleep } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { deleteOldEvents } from '../../src/changes/events/delete-old-events.ts';
import { createFeed } from '../../src/changes/events/feed.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  PASSWORD,
  pay,
  reverse,
  startInstanceForTest,
  useService,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { REACHED_BY_MOVES, STATUS_MODEL } from '../support/status-model.ts';
import { eventually, until } from '../support/waiting.ts';

type Event = Answer['body'];

const service = useService({}, { streamCheckMs: 20 });
afterEach(() => service.clock.set(null));

/** The events from the start, or after an id, of all pages. */
async function eventsAfter(after?: number, filter = ''): Promise<Event[]> {
  const events: Event[] = [];
  for (let next = after; ; ) {
    const query = next === undefined ? '' : `&after=${next}`;
    const page = await dataOf(service.call('GET', `/events?limit=1000${query}${filter}`));
    events.push(...page.events);
    next = page.after;
    if (!page.hasMore) return events;
  }
}

async function latestId(): Promise<number> {
  return (await dataOf(service.call('GET', '/events?from=latest'))).after;
}

/** The events of some work. */
async function eventsOf(work: () => Promise<unknown>): Promise<Event[]> {
  const before = await latestId();
  await work();
  return eventsAfter(before);
}

function typesOf(events: Event[]): string[] {
  return events.map(({ type }) => type);
}

/** Counts how often any instance has looked for new events. */
function countLooksOfAll(): () => number {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => sent.mockRestore());
  return () =>
    sent.mock.calls.filter(([query]) => JSON.stringify(query).includes('pg_sequence_last_value')).length;
}

/** Counts how often the instance has looked for new events: for each page, and again and again while readers wait. */
function countLooks(): () => number {
  const looks = vi.spyOn(service.parts.horizon, 'read');
  onTestFinished(() => looks.mockRestore());
  return () => looks.mock.calls.length;
}

/** Asks for events, and does the work while the request waits for them. @returns the answer. */
async function whileWaiting(query: string, token: string, work: () => Promise<unknown>): Promise<Answer> {
  const looks = countLooks();
  const before = looks();
  const answer = service.call('GET', `/events?wait=30&${query}`, undefined, { token });
  await until('the request to wait', () => looks() > before + 1);
  await work();
  return answer;
}

/** Lets an instance forget sessions and keys that it has read earlier. It may use them for three seconds. */
function forgetCredentials(): void {
  const now = performance.now.bind(performance);
  const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_001);
  onTestFinished(() => later.mockRestore());
}

describe('an account', () => {
  it('publishes its opening with its terms as version 1', async () => {
    const customer = await newCustomer(service);
    let account: { id: number; totalCost?: number } = { id: 0 };
    const events = await eventsOf(async () => {
      account = await newAccount(service, { customerId: customer.id });
    });
    expect(events).toMatchObject([
      {
        type: 'account.opened',
        version: 1,
        resource: 'account',
        resourceId: account.id,
        accountId: account.id,
        accountVersion: 1,
        actor: 'user',
        userId: 1,
        data: { customerId: customer.id, productId: 1, payplanId: 2, status: 'active', total: 22_800 },
      },
    ]);
  });

  it('publishes a payment, its effect on the next due date and the credit, and the completion', async () => {
    const { id } = await newAccount(service);
    const { nextDueDate } = await accountNow(service, id);
    const events = await eventsOf(() => pay(service, id, 23_000));
    expect(typesOf(events)).toEqual([
      'payment.received',
      'account.paid_until_changed',
      'account.credit_changed',
      'account.completed',
    ]);
    expect(events.map(({ accountVersion }) => accountVersion)).toEqual([2, 3, 4, 5]);
    expect(events[0].data).toMatchObject({
      accountId: id,
      amount: 23_000,
      source: 'manual',
      status: 'matched',
    });
    expect(events[1].data).toEqual({ nextDueDate: null, previousNextDueDate: nextDueDate });
    expect(events[2].data).toEqual({ credit: 200, previousCredit: 0 });
    expect(events[3].data).toEqual({ previousStatus: 'active', status: 'completed', cause: null });
  });

  it('publishes the next due date that the account shows', async () => {
    const { id } = await newAccount(service);
    for (const amount of [100, 1_900, 399, 1, 4_000]) {
      const before = (await accountNow(service, id)).nextDueDate;
      const events = await eventsOf(() => pay(service, id, amount));
      const { nextDueDate } = await accountNow(service, id);
      const published = events.find(({ type }) => type === 'account.paid_until_changed')?.data;
      expect(published).toEqual(
        nextDueDate === before ? undefined : { nextDueDate, previousNextDueDate: before },
      );
    }
  });

  it('publishes a reversal that undoes the completion', async () => {
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 22_800);
    const events = await eventsOf(() => reverse(service, payment.id));
    expect(typesOf(events)).toEqual(['payment.reversed', 'account.paid_until_changed', 'account.reopened']);
    expect(events[0].data).toEqual({ accountId: id, amount: 22_800 });
  });

  it.each([
    { moves: ['suspended', 'active'], type: 'account.reactivated', ends: null },
    ...REACHED_BY_MOVES.map((status) => ({
      moves: STATUS_MODEL[status].movesFromActive,
      type: `account.${status}`,
      ends: STATUS_MODEL[status].ends,
    })),
  ])('publishes the last of the moves to $moves as $type', async ({ moves, type, ends }) => {
    const { id } = await newAccount(service);
    await pay(service, id, 500);
    for (const status of moves.slice(0, -1)) await move(service, id, status);
    const events = await eventsOf(() => move(service, id, moves.at(-1) ?? ''));
    expect(typesOf(events)).toContain(type);
    expect(typesOf(events).includes('account.paid_until_changed')).toBe(ends !== null);
    expect(typesOf(events).includes('account.credit_changed')).toBe(ends === 'undone');
  });
});

describe('a reader', () => {
  it('gets each event of an account once, in the order of its versions', async () => {
    const { id } = await newAccount(service);
    const payments = await Promise.all(Array.from({ length: 40 }, () => pay(service, id, 150)));
    await Promise.all(payments.slice(0, 10).map((payment) => reverse(service, payment.id)));
    const own = (await eventsAfter()).filter(({ accountId }) => accountId === id);
    expect(own.map(({ accountVersion }) => accountVersion)).toEqual(own.map((_event, at) => at + 1));
    expect(typesOf(own).filter((type) => type === 'payment.received')).toHaveLength(40);
    expect(typesOf(own).filter((type) => type === 'payment.reversed')).toHaveLength(10);
  });

  it('waits for an event whose transaction has not ended before it reads later ones', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    let commit = () => {};
    const open = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let taken = 0;
    const slow = service.context.db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ id: number }>`
        with publishing as materialized (select pg_advisory_xact_lock_shared(1702259054, 1953720691))
        select nextval('audit_entries_id_seq') as id from publishing`.execute(tx);
      taken = rows[0]?.id ?? 0;
      await open;
      await sql`insert into events (id, type, version, resource, actor, data)
        values (${taken}, 'statement.break_found', 1, 'provider_statement', 'system', '{"breakCount": 1}')`.execute(
        tx,
      );
    });
    await until('an id that is not committed', () => taken > 0);
    await pay(service, id, 500);
    expect(await eventsAfter(start)).toEqual([]);
    commit();
    await slow;
    expect(typesOf(await eventsAfter(start)).slice(0, 2)).toEqual([
      'statement.break_found',
      'payment.received',
    ]);
  });

  it('gets no event of a change that was rolled back', async () => {
    const { id } = await newAccount(service);
    const events = await eventsOf(async () => {
      const answer = await service.call('POST', `/accounts/${id}/credit/refund`, {
        amount: 1,
        reason: 'there is none',
      });
      expect(answer.status).toBe(400);
    });
    expect(events).toEqual([]);
    expect(
      (
        await service.context.db.selectFrom('accounts').select('event_count').where('id', '=', id).execute()
      )[0]?.event_count,
    ).toBe(1);
  });

  it('gets only the types of its filter', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    await pay(service, id, 23_000);
    expect(typesOf(await eventsAfter(start, '&types=account.*'))).toEqual([
      'account.paid_until_changed',
      'account.credit_changed',
      'account.completed',
    ]);
    const none = await service.call('GET', `/events?after=${start}&types=user.created`);
    expect(none.body.data).toMatchObject({ events: [], hasMore: false });
    expect(none.body.data.after).toBeGreaterThan(start);
  });

  it('gets the allowed types for a wrong filter, and the last id for a later one', async () => {
    const types = await service.call('GET', '/events?types=payment');
    expect(types.status).toBe(400);
    expect(types.text).toContain('payment.*');
    const after = await service.call('GET', '/events?after=9000000000');
    expect(after.status).toBe(400);
    expect(after.text).toContain('the id of the latest event');
  });
});

describe('a user', () => {
  it('who asks for a type that the role may not read gets no event of this type', async () => {
    const token = await service.signInAs('agent');
    const start = await latestId();
    const { id } = await newAccount(service);
    const answer = await whileWaiting(`after=${start}&types=user.*,payment.*`, token, async () => {
      await service.signInAs('viewer'); // Creates a user.
      await pay(service, id, 500);
    });
    expect(typesOf(answer.body.data.events)).toEqual(['payment.received']);
    const users = await service.call('GET', '/events?types=user.*,invitation.*', undefined, { token });
    expect(users.body.data.events).toEqual([]);
  });

  it('gets no event of a wait during which the role changed', async () => {
    const token = await service.signInAs('admin');
    const me = (await service.call('GET', '/auth/me', undefined, { token })).body.data;
    const start = await latestId();
    const answer = await whileWaiting(`after=${start}&types=invitation.*`, token, async () => {
      await service.call('PUT', `/users/${me.id}`, { role: 'agent' });
      forgetCredentials();
      await service.call('POST', '/users/invitations', {
        email: 'seen.by.nobody@example.com',
        role: 'viewer',
      });
    });
    expect(answer.status).toBeGreaterThanOrEqual(401);
  });

  it('follows a stream only as long as the role is the same', async () => {
    const token = await service.signInAs('admin');
    const me = (await service.call('GET', '/auth/me', undefined, { token })).body.data;
    const query = '?from=latest&types=invoice.voided';
    const { hasEnded } = await readStream({ query, token }, 1, async () => {
      await service.call('PUT', `/users/${me.id}`, { role: 'agent' });
      forgetCredentials();
    });
    expect(hasEnded).toBe(true);
  });
});

describe('a notification', () => {
  it('publishes a payment that was matched', async () => {
    const { id, accountNumber } = await newAccount(service);
    const events = await eventsOf(() => notify(service, { BillRefNumber: accountNumber }));
    expect(typesOf(events)).toEqual(['payment.received', 'payment.matched']);
    expect(events[0]).toMatchObject({
      actor: 'provider mobilemoney',
      userId: null,
      accountId: id,
      accountVersion: 2,
    });
    expect(events[1].data).toEqual({ accountId: id, amount: 400, matchMethod: 'account_number' });
  });

  it('publishes a payment without an account, and its assignment', async () => {
    const { id } = await newAccount(service);
    const unmatched = await eventsOf(() => notify(service, { BillRefNumber: 'no such account' }));
    expect(typesOf(unmatched)).toEqual(['payment.received', 'payment.unmatched']);
    expect(unmatched[0]).toMatchObject({ accountId: null, accountVersion: null });
    const paymentId = unmatched[0].resourceId;
    const assigned = await eventsOf(() =>
      service.call('POST', `/payments/${paymentId}/assign`, { accountId: id }),
    );
    expect(assigned).toMatchObject([
      {
        type: 'payment.assigned',
        resourceId: paymentId,
        accountId: id,
        accountVersion: 2,
        data: { amount: 400 },
      },
    ]);
    const unassigned = await eventsOf(() =>
      service.call('POST', `/payments/${paymentId}/unassign`, { reason: 'of another customer' }),
    );
    expect(unassigned).toMatchObject([{ type: 'payment.unassigned', accountVersion: 3 }]);
  });
});

describe('waiting for events', () => {
  it('ends with the event', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    const answer = await whileWaiting(`after=${start}&types=payment.*`, service.adminToken, () =>
      pay(service, id, 500),
    );
    expect(typesOf(answer.body.data.events)).toEqual(['payment.received']);
  });

  it('gives no events to a caller whose rights ended during the wait', async () => {
    const account = await newAccount(service);
    const { id, key } = await newApiKey(service, ['events:read']);
    const start = await latestId();
    const answer = await whileWaiting(`after=${start}&types=payment.*`, key, async () => {
      await service.call('POST', `/api-keys/${id}/revoke`);
      forgetCredentials();
      await pay(service, account.id, 500);
    });
    expect(answer.status).toBe(401);
  });

  it('ends without an event after its time, with the id that was checked last', async () => {
    const last = await latestId();
    const answer = await service.call('GET', `/events?after=${last}&wait=1`);
    expect(answer.body.data).toEqual({ events: [], after: last, hasMore: false });
  });

  it('ignores events of other types', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    const feed = createFeed(service.context.db, service.parts.horizon);
    const { signal } = new AbortController();
    const waiting = feed.wait(start, ['user.created'], { timeoutMs: 600_000, signal });
    await pay(service, id, 500);
    const looks = countLooks();
    await until('the feed to pass the payment', () => looks() > 2);
    feed.close();
    const { events, toId } = await waiting;
    expect(events).toEqual([]);
    expect(toId).toBeGreaterThan(start);
  });

  /** Expects an answer to a request with `wait=30` that began after the call of this function, before the wait is over. */
  function expectBeforeTimeOut(): (answer: Promise<Answer>) => Promise<Answer> {
    const timeOut = sleep(30_000, undefined, { ref: false });
    return async (answer) => (await Promise.race([answer, timeOut])) ?? expect.fail('The request waited.');
  }

  it('ends when its instance stops', async () => {
    const start = await latestId();
    const other = await startInstanceForTest(service);
    const early = expectBeforeTimeOut();
    const looks = countLooksOfAll();
    const options = { token: service.adminToken };
    const waiting = other.call('GET', `/events?after=${start}&wait=30`, undefined, options);
    await until('the request to wait', () => looks() > 1);
    const closed = other.close();
    const answer = await early(waiting);
    expect(answer.body.data).toEqual({ events: [], after: start, hasMore: false });
    expect(answer.headers.get('connection')).toBe('close'); // Otherwise, the instance would wait for the connection.
    await closed;
  });

  it('is skipped if more events may be there already', async () => {
    const start = await latestId();
    await sql`select setval('audit_entries_id_seq', ${start + 300_000})`.execute(service.context.db);
    const early = expectBeforeTimeOut();
    const answer = await early(service.call('GET', `/events?after=${start}&wait=30`));
    expect(answer.body.data).toMatchObject({ events: [], hasMore: true });
    await newAccount(service); // Its events follow the gap, so that later readers start after it.
  });

  it('is limited for a caller, and holds no connection', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    const token = await service.signInAs('finance');
    const waits = Array.from({ length: 11 }, () =>
      service.call('GET', `/events?after=${start}&wait=30&types=payment.*`, undefined, { token }),
    );
    expect((await Promise.race(waits)).status).toBe(429); // The others wait.
    await eventually(() => service.parts.pool.totalCount - service.parts.pool.idleCount).toBe(0);
    await pay(service, id, 500);
    const statuses = (await Promise.all(waits)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
  });
});

interface Message {
  id: string;
  event: Event;
}

/**
 * Reads messages of a stream until it ends or has given as many.
 * @param onOpen runs when the stream has begun. @param onMessage runs after each message except the last.
 */
async function readStream(
  {
    query = '',
    headers = {},
    token = service.adminToken,
  }: { query?: string; headers?: object; token?: string },
  count: number,
  onOpen: () => Promise<unknown> = async () => {},
  onMessage: () => Promise<unknown> = async () => {},
): Promise<{ messages: Message[]; hasEnded: boolean }> {
  const response = await fetch(`${service.origin}/api/events${query}`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...headers },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const opened = onOpen();
  const messages: Message[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(part) ?? [];
      if (!id || !data) continue;
      messages.push({ id, event: JSON.parse(data) });
      if (messages.length < count) await onMessage();
    }
    if (messages.length >= count) break;
  }
  await opened;
  return { messages, hasEnded: messages.length < count };
}

describe('a stream', () => {
  it('sends the events after an id, and each new one', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    await pay(service, id, 500);
    const { messages } = await readStream(
      { query: `?after=${start}` },
      2,
      async () => {},
      () => pay(service, id, 501),
    );
    expect(messages.map(({ event }) => event.data.amount)).toEqual([500, 501]);
    expect(messages.map((message) => Number(message.id))).toEqual(messages.map(({ event }) => event.id));
    const resumed = await readStream({ query: '?after=0', headers: { 'last-event-id': messages[0]?.id } }, 1);
    expect(resumed.messages).toEqual(messages.slice(1));
  });

  it('sends only new events after the latest', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 500);
    const { messages } = await readStream({ query: '?from=latest&types=payment.*' }, 1, () =>
      pay(service, id, 501),
    );
    expect(messages.map(({ event }) => event.data.amount)).toEqual([501]);
    const page = await service.call('GET', '/events?from=latest');
    expect(page.body.data).toEqual({ events: [], after: messages[0]?.event.id, hasMore: false });
  });

  it('gets the latest id from a new instance only when running transactions have ended', async () => {
    const last = await latestId();
    const other = await startInstanceForTest(service);
    const publishing = await service.parts.pool.connect();
    try {
      await publishing.query('begin');
      await publishing.query('select pg_advisory_xact_lock_shared(1702259054, 1953720691)');
      const options = { token: service.adminToken };
      const looks = countLooksOfAll();
      let hasAnswer = false;
      const waiting = other.call('GET', '/events?from=latest', undefined, options).finally(() => {
        hasAnswer = true;
      });
      await until('several looks for the latest id', () => looks() > 2);
      expect(hasAnswer).toBe(false);
      await publishing.query('rollback');
      expect((await waiting).body.data.after).toBeGreaterThanOrEqual(last);
    } finally {
      publishing.release(true);
    }
  });

  it('sends only the types of its filter', async () => {
    const { id } = await newAccount(service);
    const start = await latestId();
    const { messages } = await readStream({ query: `?after=${start}&types=account.*` }, 1, () =>
      pay(service, id, 3_000),
    );
    expect(messages[0]?.event.type).toBe('account.paid_until_changed');
  });

  it('ends when its session ends', async () => {
    const login = await service.call('POST', '/auth/login', {
      email: 'admin@example.com',
      password: PASSWORD,
    });
    const token = login.body.data.accessToken;
    const start = await latestId();
    const { hasEnded } = await readStream({ query: `?after=${start}&types=invoice.voided`, token }, 1, () =>
      service.call('POST', '/auth/logout', undefined, { token }),
    );
    expect(hasEnded).toBe(true);
  });

  it('ends when its API key may no longer be used from its network', async () => {
    const { id, key } = await newApiKey(service, ['events:read'], { networks: ['127.0.0.1'] });
    const start = await latestId();
    const query = `?after=${start}&types=invoice.voided`;
    const { hasEnded } = await readStream({ query, token: key }, 1, async () => {
      await service.call('PUT', `/api-keys/${id}`, { networks: ['192.0.2.0/24'] });
      forgetCredentials();
    });
    expect(hasEnded).toBe(true);
  });

  it('refuses a Last-Event-ID that is not an id', async () => {
    const response = await fetch(`${service.origin}/api/events`, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${service.adminToken}`,
        'last-event-id': 'x',
      },
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('Last-Event-ID');
  });
});

describe('concurrent changes', () => {
  it('reach a reader that keeps the last id completely, and in order for each account', async () => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => newAccount(service)));
    const start = await latestId();
    const seen: Event[] = [];
    let isWriting = true;
    const reading = (async () => {
      for (let after = start, isLast = false; ; ) {
        const { body } = await service.call('GET', `/events?after=${after}&limit=50`);
        seen.push(...body.data.events);
        ({ after } = body.data);
        if (!body.data.hasMore) {
          if (isLast) return;
          isLast = !isWriting;
        }
      }
    })();
    const writers = accounts.map(async ({ id, accountNumber }, at) => {
      for (let n = 0; n < 6; n += 1) {
        if (n % 3 === 0) await notify(service, { BillRefNumber: accountNumber });
        else if (n % 3 === 1) await pay(service, id, 400);
        else if (at % 2 === 0) await move(service, id, 'suspended').then(() => move(service, id, 'active'));
        else await reverse(service, (await pay(service, id, 200)).id);
      }
    });
    await Promise.all(writers);
    isWriting = false;
    await reading;
    const { rows } = await sql<{ id: number }>`select id from events where id > ${start} order by id`.execute(
      service.context.db,
    );
    expect(seen.length).toBeGreaterThan(180);
    expect(seen.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    for (const { id } of accounts) {
      const versions = seen.filter(({ accountId }) => accountId === id).map((event) => event.accountVersion);
      expect(versions).toEqual(versions.map((_version, at) => at + 2));
    }
    await expectProven();
  });
});

/** What `verify` finds in the checks of events. */
async function findings(): Promise<string[]> {
  const { body } = await service.call('GET', '/reports/proof');
  return body.data.checks
    .filter(({ check }: { check: string }) => check.startsWith('events_'))
    .flatMap(({ violations }: { violations: { table: string; what: string }[] }) =>
      violations.map(({ table, what }) => `${table}: ${what}`),
    );
}

async function expectProven(): Promise<void> {
  expect(await findings()).toEqual([]);
}

describe('the proof', () => {
  async function whileDamaged(damage: (id: number) => RawBuilder<unknown>): Promise<string[]> {
    const { id } = await newAccount(service);
    await pay(service, id, 500);
    await pay(service, id, 3_000);
    const { db } = service.context;
    await sql`create table kept as select * from events`.execute(db);
    try {
      await damage(id).execute(db);
      return await findings();
    } finally {
      await sql`delete from events`.execute(db);
      await sql`insert into events select * from kept`.execute(db);
      await sql`drop table kept`.execute(db);
    }
  }

  it('finds a deleted event', async () => {
    const found = await whileDamaged(
      (id) => sql`delete from events where account_id = ${id} and account_version = 2`,
    );
    expect(found).toEqual(['audit_entries: event of payment.record', 'events: account_version']);
  });

  it('finds an event that was written twice', async () => {
    const found = await whileDamaged(
      (id) => sql`
        insert into events select (select nextval('audit_entries_id_seq')), type, version, resource, resource_id,
          account_id, account_version, actor_user_id, actor, request_id, data, created_at
        from events where account_id = ${id} and account_version = 4`,
    );
    expect(found).toEqual(['events: account_version']);
    const twice = await whileDamaged(
      (id) => sql`
        insert into events select (select nextval('audit_entries_id_seq')), type, version, resource, resource_id,
          null, null, actor_user_id, actor, request_id, data, created_at
        from events where account_id = ${id} and account_version = 1`,
    );
    expect(twice).toEqual(['events: audit entry of account.opened']);
  });

  it('finds a gap, and an event that contradicts its account', async () => {
    const gap = await whileDamaged(
      (id) =>
        sql`update events set account_version = account_version + 1 where account_id = ${id} and account_version = 4`,
    );
    expect(gap).toEqual(['accounts: event_count', 'events: account_version']);
    const other = await whileDamaged(
      (id) => sql`
        update events set data = '{"nextDueDate": null}'
        where account_id = ${id} and type = 'account.paid_until_changed'`,
    );
    expect(other).toEqual(['accounts: next_due_date of its latest event']);
  });
});

describe('old events', () => {
  it('are deleted after 30 days, and the refusal of an older `after` names the first id of the feed', async () => {
    const { id } = await newAccount(service);
    const old = await latestId();
    const now = service.clock.now();
    service.clock.set(new Date(now.getTime() + 31 * 86_400_000));
    await pay(service, id, 500);
    expect(await deleteOldEvents(service.context, new AbortController().signal)).toBeGreaterThan(0);
    const kept = await eventsAfter();
    expect(typesOf(kept)).toEqual(['payment.received']);
    expect((await eventsAfter(old)).length).toBe(1);
    const answer = await service.call('GET', `/events?after=${old - 1}`);
    expect(answer.status).toBe(410);
    expect(answer.body.error).toMatchObject({
      code: 'NOT_FOUND',
      details: { field: 'after', firstId: old + 1 },
    });
    await expectProven();
    const version = sql<{ xmin: string }>`select xmin::text from event_feed`;
    const before = await version.execute(service.context.db);
    expect(await deleteOldEvents(service.context, new AbortController().signal)).toBe(0);
    expect((await version.execute(service.context.db)).rows).toEqual(before.rows); // Not written again.
  });
});
