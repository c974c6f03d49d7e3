import { beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../packages/client/src/generated/operations.ts';
import {
  type AnswerHead,
  ApiError,
  type Client,
  type ClientOptions,
  ConnectionError,
  createClient,
  type Retry,
  UnexpectedAnswerError,
} from '../../packages/client/src/index.ts';
import { committedDescription } from '../support/api-description.ts';
import { newAccount, newApiKey, newCustomer, PASSWORD, pay, useService } from '../support/harness.ts';
import { untilPasses } from '../support/waiting.ts';

const service = useService();

describe('every operation', () => {
  const calls = Object.values<object>(OPERATIONS).flatMap((group) =>
    Object.values<{ method: string; path: string }>(group as never).map(
      ({ method, path }) => `${method} ${path}`,
    ),
  );

  it('is a call of the client, except for the steps of a browser', () => {
    const described = committedDescription().operations.map(({ name }) => name);
    expect(described.filter((name) => !calls.includes(name))).toEqual([
      'GET /api/auth/{provider}',
      'GET /api/auth/{provider}/callback',
    ]);
    expect(calls.filter((call) => !described.includes(call))).toEqual([]);
  });
});

describe('with a service', () => {
  let client: Client;
  beforeAll(async () => {
    const { key } = await newApiKey(service, 'admin');
    client = createClient({ baseUrl: `${service.origin}/`, auth: { apiKey: key } });
  });

  it('creates, records and reads with an API key', async () => {
    const names = { firstName: 'Solar', lastName: 'Customer' };
    const customer = await client.customers.create({ ...names, phone: '0712 345 678' });
    const account = await client.accounts.open({ customerId: customer.id, productId: 1, payplanId: 2 });
    const payment = await client.payments.record({ accountId: account.id, amount: 400, paymentMethodId: 2 });
    expect(payment).toMatchObject({ accountId: account.id, status: 'matched', amount: 400 });
    expect((await client.accounts.get(account.id)).paid).toBe(400);
    const suspended = await client.accounts.update(account.id, {
      status: 'suspended',
      reason: 'Stolen',
    });
    expect(suspended.status).toBe('suspended');
    expect((await client.health.get()).status).toBe('ok');
  });

  it('filters by values, operators and lists of values', async () => {
    const one = await newCustomer(service, { lastName: 'Filtered' });
    const two = await newCustomer(service, { lastName: 'Filtered' });
    const idsOf = async (query: Parameters<Client['customers']['list']>[0]) =>
      (await client.customers.list({ ...query, sort: 'id:asc' })).data.map(({ id }) => id);
    expect(await idsOf({ filter: { lastName: 'Filtered' } })).toEqual([one.id, two.id]);
    expect(await idsOf({ filter: { id: { in: [one.id, two.id] } } })).toEqual([one.id, two.id]);
    expect(await idsOf({ filter: { id: { gte: one.id, lt: two.id } } })).toEqual([one.id]);
    expect(await idsOf({ filter: { lastName: 'Filtered', email: { isnull: false } } })).toEqual([]);
    await expect(idsOf({ filter: { lastName: { in: ['Otieno, Amina'] } } })).rejects.toThrow(/comma/);
    await expect(idsOf({ filter: { lastName: { in: [] } } })).rejects.toThrow(
      'filter.lastName: a list must have at least one value.',
    );
  });

  it('filters by 100 external ids of 64 characters', async () => {
    const externalIds = Array.from({ length: 100 }, (_, at) => `${at}-`.padEnd(64, 'x'));
    const { id } = await newCustomer(service, { externalId: externalIds[99] });
    const { data } = await client.customers.list({ filter: { externalId: { in: externalIds } } });
    expect(data.map((customer) => customer.id)).toEqual([id]);
  });

  it('narrows the outcome of an item of a bulk call by its status', async () => {
    const items = [{ firstName: 'Bulk', lastName: 'Customer', phone: '0712 345 678', externalId: 'BULK-1' }];
    const [created] = (await client.customers.createMany({ items })).items;
    const again = await client.customers.createMany({ items });
    const [existing] = again.items;
    expect(again).toMatchObject({ created: 0, existing: 1, failed: 0 });
    const id = created?.status === 'created' ? created.data.id : undefined;
    expect(existing?.status === 'existing' ? existing.id : 'none').toBe(id);
  });

  it('iterates over every row of a list, page after page', async () => {
    const created = await Promise.all(
      Array.from({ length: 7 }, () => newCustomer(service, { lastName: 'Walked' })),
    );
    const seen: number[] = [];
    const query = { filter: { lastName: 'Walked' }, sort: 'id:asc', limit: 3 };
    for await (const { id } of client.customers.iterate(query)) seen.push(id);
    expect(seen).toEqual(created.map(({ id }) => id).sort((a, b) => a - b));
  });

  it('iterates over the events after an id', async () => {
    const { id } = await newAccount(service);
    const events = [];
    for await (const event of client.events.iterate({ limit: 2 })) events.push(event);
    const opened = events.find(({ type, accountId }) => type === 'account.opened' && accountId === id);
    expect(opened).toBeDefined();
    const later = [];
    for await (const event of client.events.iterate({ after: opened?.id ?? 0 })) later.push(event.id);
    expect(later).toEqual(events.map((event) => event.id).filter((one) => one > (opened?.id ?? 0)));
  });

  it('narrows the data of an event by its type', async () => {
    const { id } = await newAccount(service);
    await client.accounts.update(id, { status: 'suspended', reason: 'Stolen' });
    const page = await client.events.list({ types: ['account.suspended', 'payment.*'], limit: 1000 });
    const causes = page.events.flatMap((event) => {
      if (event.type !== 'account.suspended' || event.resourceId !== id) return [];
      return [`${event.data.previousStatus} → ${event.data.status}`];
    });
    expect(causes).toEqual(['active → suspended']);
  });

  it('waits for new events until the signal aborts', async () => {
    let last = 0;
    for await (const { id } of client.events.iterate()) last = id;
    const ending = new AbortController();
    const events = client.events.iterate({ after: last, wait: 30 }, { signal: ending.signal });
    const next = events.next();
    const { id } = await newCustomer(service);
    expect((await next).value).toMatchObject({ type: 'customer.created', resourceId: id });
    const pending = events.next();
    ending.abort(new Error('Enough.'));
    await expect(pending).rejects.toThrow('Enough.');
  });

  it('yields the pages of events, the last one without more', async () => {
    for (const _ of Array(4)) await newCustomer(service);
    const pages = [];
    for await (const { events, hasMore } of client.events.iteratePages({ limit: 3 }))
      pages.push({ hasMore, length: events.length });
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([...Array(pages.length - 1).fill(true), false]);
    expect(pages[0]?.length).toBe(3);
  });

  it('waits for events for longer than its time-out', async () => {
    const { after } = await client.events.list({ from: 'latest' });
    const page = await client.events.list({ after, wait: 1 }, { timeoutMs: 900 });
    expect(page.events).toEqual([]);
  });

  it('shows the status and the headers of an answer', async () => {
    const account = await newAccount(service);
    const body = { accountId: account.id, amount: 100, paymentMethodId: 2 };
    const replayed: (string | null)[] = [];
    const onResponse = ({ status, headers }: AnswerHead) => {
      expect(status).toBe(201);
      replayed.push(headers.get('idempotent-replayed'));
    };
    for (const _ of [1, 2]) await client.payments.record(body, { idempotencyKey: 'shown', onResponse });
    expect(replayed).toEqual([null, 'true']);
  });

  it('filters by metadata', async () => {
    const { id } = await newCustomer(service, { metadata: { region: 'north' } });
    const { data } = await client.customers.list({ filter: { metadata: { region: 'north' } } });
    expect(data.map((customer) => customer.id)).toEqual([id]);
  });

  it('throws the code, the details and the request id of a refusal', async () => {
    const error = await client.customers
      .create({ firstName: '', lastName: 'X', phone: '1' })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      code: 'VALIDATION_ERROR',
      status: 400,
      requestId: expect.stringMatching(/.{8}/),
    });
    const known = error as ApiError;
    expect(known.is('VALIDATION_ERROR') && known.details.fields?.map(({ path }) => path)).toEqual([
      'firstName',
      'phone',
    ]);
    expect(known.is('NOT_FOUND')).toBe(false);
    const missing = await client.accounts.get(4711).catch((thrown) => thrown as ApiError);
    expect(missing).toMatchObject({
      code: 'NOT_FOUND',
      details: { resource: 'account', field: 'id', id: 4711 },
    });
  });

  it('returns files with their names', async () => {
    const account = await newAccount(service);
    await pay(service, account.id, 400);
    const file = await client.accounts.getStatementFile(account.id, { format: 'csv' });
    expect(file.contentType).toContain('text/csv');
    expect(file.name).toMatch(/\.csv$/);
    expect(new TextDecoder().decode(file.bytes)).toContain('400');
    const statement = await client.accounts.getStatement(account.id);
    expect(statement.totals.paid).toBe(400);
  });

  it('does a repeatable call once, if it is repeated with one key', async () => {
    const account = await newAccount(service);
    const body = { accountId: account.id, amount: 100, paymentMethodId: 2 };
    const first = await client.payments.record(body, { idempotencyKey: 'one receipt' });
    expect(await client.payments.record(body, { idempotencyKey: 'one receipt' })).toEqual(first);
    expect((await client.payments.record(body)).id).not.toBe(first.id);
  });

  it('does the work once if the connection breaks before the answer arrives', async () => {
    const account = await newAccount(service);
    let broken = 0;
    const flaky = clientWith({
      auth: { apiKey: service.adminToken },
      fetch: async (...request) => {
        const answer = await fetch(...request);
        await answer.text();
        if (broken++ < 2) throw new TypeError('The connection broke.');
        return fetch(...request);
      },
    });
    await flaky.payments.record({ accountId: account.id, amount: 250, paymentMethodId: 2 });
    expect(broken).toBe(3);
    expect((await client.accounts.get(account.id)).paid).toBe(250);
  });
});

describe('tokens of a user', () => {
  it('are renewed once for all calls at the same time, and given to onTokens', async () => {
    const { accessToken, refreshToken } = await clientWith({}).auth.signIn(await newUser());
    const kept: string[] = [];
    const paths: string[] = [];
    const client = clientWith({
      auth: {
        accessToken: `${accessToken}x`,
        refreshToken,
        onTokens: (tokens) => kept.push(tokens.refreshToken),
      },
      fetch: (url, options) => {
        paths.push(new URL(String(url)).pathname);
        return fetch(url, options);
      },
    });
    const users = await Promise.all(Array.from({ length: 5 }, () => client.auth.getSignedInUser()));
    expect(new Set(users.map(({ id }) => id)).size).toBe(1);
    expect(paths.filter((path) => path === '/api/auth/refresh')).toHaveLength(1);
    expect(kept).toHaveLength(1);
    expect(kept[0]).not.toBe(refreshToken);
  });

  it('come from the password, again when they cannot be renewed', async () => {
    const user = await newUser();
    const client = clientWith({ auth: user });
    const { id } = await client.auth.getSignedInUser();
    await service.context.db.deleteFrom('refresh_tokens').execute();
    expect((await client.auth.getSignedInUser().catch(() => client.auth.getSignedInUser())).id).toBe(id);
  });

  it('stay with the client if onTokens fails, and its error reaches the caller', async () => {
    const { refreshToken } = await clientWith({}).auth.signIn(await newUser());
    let refreshes = 0;
    const client = clientWith({
      auth: {
        accessToken: 'old',
        refreshToken,
        onTokens: async () => {
          throw new Error('The disk is full.');
        },
      },
      fetch: (url, options) => {
        if (String(url).endsWith('/refresh')) refreshes += 1;
        return fetch(url, options);
      },
    });
    await expect(client.auth.getSignedInUser()).rejects.toThrow('The disk is full.');
    expect((await client.auth.getSignedInUser()).id).toBeGreaterThan(0);
    expect(refreshes).toBe(1);
  });

  it('are not replaced by the password if the connection fails during a renewal', async () => {
    const user = await newUser();
    const signIns: string[] = [];
    let isBroken = false;
    const client = clientWith({
      auth: user,
      maxRetries: 0,
      fetch: async (url, options) => {
        const { pathname } = new URL(String(url));
        if (pathname === '/api/auth/login') signIns.push(pathname);
        if (pathname === '/api/auth/refresh' && isBroken) throw new TypeError('fetch failed');
        return fetch(url, isBroken ? {} : options); // Without the token, the service refuses the call.
      },
    });
    const { id } = await client.auth.getSignedInUser();
    isBroken = true;
    await expect(client.auth.getSignedInUser()).rejects.toBeInstanceOf(ConnectionError);
    isBroken = false;
    expect((await client.auth.getSignedInUser()).id).toBe(id);
    expect(signIns).toHaveLength(1);
  });

  it('that cannot be renewed are an error', async () => {
    const client = clientWith({ auth: { accessToken: 'old', refreshToken: 'old' } });
    await expect(client.accounts.list()).rejects.toMatchObject({ name: 'ApiError', status: 401 });
  });

  async function newUser() {
    const email = `user${++users}@example.com`;
    const names = { firstName: 'A', lastName: 'User' };
    const created = await service.call('POST', '/users', {
      email,
      password: PASSWORD,
      role: 'viewer',
      ...names,
    });
    expect(created.status, created.text).toBe(201);
    return { email, password: PASSWORD };
  }
  let users = 0;
});

describe('tries', () => {
  const body = { accountId: 1, amount: 1, paymentMethodId: 1 };
  const refusal = (code: string) =>
    JSON.stringify({ success: false, error: { code, message: 'No.', details: {} } });

  /** Answers requests in this order: a status with headers, or a broken connection. */
  function answering(
    answers: (number | [number, Record<string, string>] | 'broken')[],
    options: Partial<ClientOptions> = {},
  ) {
    const sent: { method: string; url: string; headers: Headers; at: number }[] = [];
    const client = clientWith({
      ...options,
      auth: { apiKey: 'key' },
      fetch: async (url, options) => {
        const headers = new Headers(options?.headers);
        sent.push({ method: options?.method ?? '', url: String(url), headers, at: performance.now() });
        const [status, fields] = [answers.shift() ?? 200].flat() as [
          number | 'broken',
          Record<string, string>?,
        ];
        if (status === 'broken') throw new TypeError('fetch failed');
        const text =
          status < 300 ? '{"success":true,"data":{"id":1},"message":"Done."}' : refusal('INTERNAL_ERROR');
        return new Response(text, { status, headers: { 'content-type': 'application/json', ...fields } });
      },
    });
    return { client, sent };
  }

  it('of one call use one key, which no other call uses', async () => {
    const { client, sent } = answering([503, 'broken', 502, 200, 200]);
    await client.payments.record(body);
    await client.payments.record(body);
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.slice(0, 4)).toEqual(Array(4).fill(keys[0]));
    expect(keys[4]).not.toBe(keys[0]);
  });

  it('of a POST without a key end at an answer that may come after the work', async () => {
    const login = { email: 'a@example.com', password: PASSWORD };
    for (const answer of [503, 'broken'] as const) {
      const { client, sent } = answering([answer]);
      await expect(client.auth.signIn(login)).rejects.toThrow();
      expect(sent).toHaveLength(1);
    }
    const { client, sent } = answering([[429, { 'retry-after': '0' }], 200]);
    await client.auth.signIn(login);
    expect(sent).toHaveLength(2);
  });

  it('wait as long as Retry-After asks, and back off otherwise', async () => {
    const { client, sent } = answering([[503, { 'retry-after': '1' }], 200]);
    await client.accounts.get(1);
    expect((sent[1]?.at ?? 0) - (sent[0]?.at ?? 0)).toBeGreaterThanOrEqual(995);
  });

  it('are reported before they are sent', async () => {
    const retries: Retry[] = [];
    const { client } = answering([[503, { 'retry-after': '0' }], 'broken', 200], {
      onRetry: (retry) => retries.push(retry),
    });
    await client.payments.record(body);
    expect(retries).toMatchObject([
      { operation: 'payments.record', attempt: 1, reason: { status: 503 } },
      { operation: 'payments.record', attempt: 2, reason: { name: 'ConnectionError' } },
    ]);
    for (const { delayMs } of retries) expect(delayMs).toBeGreaterThan(0);
  });

  it('end when the service asks for a longer pause than the client accepts', async () => {
    const { client, sent } = answering([[429, { 'retry-after': '3600' }]]);
    await expect(client.accounts.get(1)).rejects.toMatchObject({ status: 429, retryAfterSeconds: 3600 });
    expect(sent).toHaveLength(1);
  });

  it('repeat a request whose first try still runs, but no other conflict', async () => {
    const running = answering([[409, { 'retry-after': '0' }], 200]);
    await running.client.payments.record(body);
    expect(running.sent).toHaveLength(2);
    const taken = answering([409]);
    await expect(taken.client.payments.record(body)).rejects.toMatchObject({ status: 409 });
    expect(taken.sent).toHaveLength(1);
  });

  it('are as many as the options say', async () => {
    const { client, sent } = answering([503, 503, 503]);
    await expect(client.accounts.get(1, {}, { maxRetries: 1 })).rejects.toBeInstanceOf(ApiError);
    expect(sent).toHaveLength(2);
  });

  it('end with the signal of the caller, also between two of them', async () => {
    const { client, sent } = answering([[503, { 'retry-after': '30' }]]);
    const ending = new AbortController();
    const call = client.accounts.get(1, {}, { signal: ending.signal });
    await untilPasses(() => expect(sent).toHaveLength(1));
    ending.abort(new Error('Enough.'));
    await expect(call).rejects.toThrow('Enough.');
    expect(sent).toHaveLength(1);
  });

  it('end at once if `onRetry` aborts the signal', async () => {
    const ending = new AbortController();
    const { client, sent } = answering([[503, { 'retry-after': '30' }]], {
      onRetry: () => ending.abort(new Error('Enough.')),
    });
    await expect(client.accounts.get(1, {}, { signal: ending.signal })).rejects.toThrow('Enough.');
    expect(sent).toHaveLength(1);
  });

  it('that take too long are a connection error', async () => {
    const hanging = clientWith({
      maxRetries: 0,
      fetch: (_url, options) =>
        new Promise((_resolve, reject) => {
          options?.signal?.addEventListener('abort', () => reject(options.signal?.reason));
        }),
    });
    const error = await hanging.health.get({}, { timeoutMs: 20 }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toMatch(/No answer within 20 ms/);
  });

  it('name the reason of a failed connection', async () => {
    const closed = createClient({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0, fetch: refused });
    await expect(closed.health.get()).rejects.toThrow('The connection failed (ECONNREFUSED): GET http');
  });

  it('report an answer that is not from the service', async () => {
    const proxied = clientWith({
      maxRetries: 0,
      fetch: async () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
    });
    const error = await proxied.health.get().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect(error).toMatchObject({ status: 502, body: '<h1>Bad gateway</h1>' });
  });

  it('report a success that is not JSON, such as the sign-in page of a proxy', async () => {
    const page = '<h1>Sign in to the network</h1>';
    const proxied = clientWith({ fetch: async () => new Response(page) });
    for (const call of [proxied.health.get(), proxied.settings.get()]) {
      const error = await call.catch((thrown) => thrown);
      expect(error).toBeInstanceOf(UnexpectedAnswerError);
      expect(error).toMatchObject({ status: 200, body: page });
    }
  });
});

describe('an address', () => {
  it.each([
    ['ams.example.com', /must begin with https/],
    ['https://ams.example.com/api/', /must not include \/api/],
  ])('that no call could reach is refused at once: %s', (baseUrl, message) => {
    expect(() => createClient({ baseUrl })).toThrow(message);
  });
});

describe('an access token that is neither a token nor an API key', () => {
  it('is refused with the format of API keys', async () => {
    const client = clientWith({ auth: { apiKey: 'ams-key-1' } });
    await expect(client.accounts.list()).rejects.toThrow(/An API key is ams_key_/);
  });
});

function clientWith(options: Partial<ClientOptions>): Client {
  return createClient({ baseUrl: service.origin, ...options });
}

/** As fetch of Node.js fails if nothing listens. */
async function refused(): Promise<never> {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
  throw new TypeError('fetch failed', { cause });
}
