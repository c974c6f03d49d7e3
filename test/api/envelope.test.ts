import { once } from 'node:events';
import { connect } from 'node:net';
import type { FastifyReply } from 'fastify';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { notFound, unavailable } from '../../src/core/http/errors.ts';
import {
  newAccount,
  newCustomer,
  PASSWORD,
  useService,
  whileHolding,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, createCaller } from '../support/http.ts';
import { until } from '../support/waiting.ts';

const service = useService({ CORS_ORIGINS: 'https://shop.example' });

const CASH = 2;

/** A connection that sends bytes unchanged. */
function openConnection() {
  const socket = connect(Number(new URL(service.origin).port), '127.0.0.1');
  socket.setNoDelay();
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  const closed = once(socket, 'close');
  return {
    write: (bytes: string) => socket.write(bytes),
    /** Sends requests, and waits until the service has begun to answer them. */
    async writeRequests(...requests: string[]) {
      let begun = 0;
      const count = () => {
        begun += 1;
      };
      service.app.server.on('request', count);
      socket.write(requests.join(''));
      await until('the service to read the requests', () => begun === requests.length);
      service.app.server.off('request', count);
    },
    /** Sends bytes that are not HTTP, and waits until the service has read them. */
    async writeUnreadable(bytes: string) {
      const read = once(service.app.server, 'clientError');
      socket.write(bytes);
      await read;
    },
    untilReceived: (text: string) => until(`${text} on the connection`, () => received.includes(text)),
    /** Everything that the service has sent when the connection ends. */
    async all(): Promise<string> {
      await closed;
      return received;
    },
  };
}

function send(bytes: string): Promise<string> {
  const connection = openConnection();
  connection.write(bytes);
  return connection.all();
}

function expectError(answer: Answer, status: number, code: string): void {
  expect(answer.body, answer.text).toEqual({
    success: false,
    error: { code, message: expect.stringMatching(/\S/), details: expect.any(Object) },
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/);
}

describe('an answer', () => {
  it('that succeeds has data and a message, and for a list the pagination', async () => {
    const { id } = await newCustomer(service);
    const one = await service.call('GET', `/customers/${id}`);
    expect(one.body).toEqual({ success: true, data: expect.any(Object), message: 'Customer found.' });
    const many = await service.call('GET', `/customers?filter[id]=${id}`);
    expect(many.body).toEqual({
      success: true,
      data: [one.body.data],
      pagination: { page: 1, limit: 20, total: 1, totalPages: 1 },
      message: 'Customers found.',
    });
  });

  it('is JSON in UTF-8 that must not be cached, with the headers that protect a browser', async () => {
    const { headers } = await service.call('GET', '/customers');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('to HEAD has the headers of GET and no body', async () => {
    const answer = await service.call('HEAD', '/customers');
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: '' });
  });
});

describe('the request id', () => {
  it.each(['a', 'Trace-1.2_3', 'x'.repeat(64)])('"%s" of the caller comes back', async (id) => {
    const answer = await service.call('GET', '/customers', undefined, { headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toBe(id);
  });

  it.each(['', 'x'.repeat(65), 'a b', '<script>', 'a/b', 'ü'])('"%s" is replaced by a new id', async (id) => {
    const answer = await service.call('GET', '/customers', undefined, { headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('is different for each request', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () =>
        (await service.call('GET', '/customers')).headers.get('x-request-id'),
      ),
    );
    expect(new Set(ids).size).toBe(5);
  });
});

describe('what the service does not have', () => {
  it.each([
    ['GET', '/nothing'],
    ['DELETE', '/customers/1'],
    ['PATCH', '/customers/1'],
    ['POST', '/customers/1'],
    ['GET', '/customers/1/nothing'],
    ['GET', '/Customers'],
  ])('%s %s is 404 in the envelope', async (method, path) => {
    expectError(await service.call(method, path), 404, 'NOT_FOUND');
  });

  it('in another version names the current version', async () => {
    for (const path of ['/api/v2/accounts', '/api/v0/accounts', '/api/v2']) {
      const answer = await createCaller(service.origin)('GET', path);
      expectError(answer, 404, 'NOT_FOUND');
      expect(answer.body.error.message).toContain('v1');
    }
  });

  it('at the root is 404', async () => {
    for (const path of ['/api', '/favicon.ico', '/.env']) {
      expectError(await createCaller(service.origin)('GET', path), 404, 'NOT_FOUND');
    }
  });
});

describe('a request that HTTP itself refuses', () => {
  const post = (body: string, headers: Record<string, string>) =>
    createCaller(`${service.origin}/api`)('POST', '/auth/login', body, { headers });

  it.each(['{', '{"email":', 'text', "{'a':1}", '{"a":1,}', '\ufeff{}', '{"a":"\u0001"}'])(
    'because %j is not JSON is 400 in the envelope',
    async (body) => {
      expectError(await post(body, {}), 400, 'VALIDATION_ERROR');
    },
  );

  it.each([
    ['/auth/login', (value: string) => `{"email":${value}}`],
    // The items are checked one by one, after the body.
    ['/payments/bulk', (value: string) => `{"items":[{"amount":${value}}]}`],
  ])('because its body is nested deep is 400 at once, at %s', async (path, bodyWith) => {
    const headers = { 'idempotency-key': `deep ${path}` };
    for (const levels of [32, 2_000]) {
      const body = bodyWith('['.repeat(levels) + ']'.repeat(levels));
      const answer = await service.call('POST', path, body, { headers });
      expectError(answer, 400, 'VALIDATION_ERROR');
      expect(answer.body.error.details.fields).toEqual([
        { path: 'body', message: 'must be nested at most 32 levels deep' },
      ]);
    }
    const allowed = await service.call('POST', path, bodyWith('['.repeat(29) + ']'.repeat(29)), { headers });
    expect(allowed.text).not.toContain('levels deep');
  });

  it('because its bytes are not UTF-8 is 400 in the envelope', async () => {
    const response = await fetch(`${service.origin}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ success: false, error: { code: 'VALIDATION_ERROR' } });
  });

  it('because its body is above 1 MB is 413 in the envelope', async () => {
    const answer = await post(`"${'x'.repeat(1024 * 1024)}"`, {});
    expectError(answer, 413, 'VALIDATION_ERROR');
    expect(answer.body.error.message).toBe('The body must have at most 16384 bytes.');
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])(
    'because its type is %s is 415 in the envelope',
    async (type) => {
      expectError(await post('a=b', { 'content-type': type }), 415, 'VALIDATION_ERROR');
    },
  );

  it('because its address cannot be decoded is 400 in the envelope, with the request id', async () => {
    const headers = { 'x-request-id': 'bad-address' };
    const answer = await service.call('GET', '/customers/%zz', undefined, { headers });
    expectError(answer, 400, 'VALIDATION_ERROR');
    expect(answer.headers.get('x-request-id')).toBe('bad-address');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['cannot be decoded', '/customers/%zz', 400, /cannot be decoded/],
    ['has a part that is too long', `/customers/${'1'.repeat(201)}`, 414, /more than 200 characters/],
  ])('because its address %s names neither path nor query', async (_what, path, status, message) => {
    const answer = await fetch(`${service.origin}/api${path}?token=hunter2`);
    const text = await answer.text();
    expect(answer.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ success: false, error: { code: 'VALIDATION_ERROR' } });
    expect(text).toMatch(message);
    expect(text).not.toMatch(/hunter2|customers/);
  });

  it.each([
    ['has no Host', '/api/customers', ''],
    ['has two Hosts', '/api/customers', 'Host: a\r\nhost: b\r\n'],
    ['has none, at an address that needs no user', '/livez', ''],
    ['has none, at an address that cannot be decoded either', '/api/customers/%zz', ''],
  ])('because it %s is 400 in the envelope, with the headers of every answer', async (_what, path, hosts) => {
    const bytes = await send(
      `GET ${path} HTTP/1.1\r\n${hosts}X-Request-Id: no-host\r\nConnection: close\r\n\r\n`,
    );
    const [head = '', body = ''] = bytes.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 /);
    for (const header of [
      'x-request-id: no-host',
      'cache-control: no-store',
      'x-content-type-options: nosniff',
    ])
      expect(head.toLowerCase()).toContain(header);
    expect(JSON.parse(body)).toMatchObject({
      success: false,
      error: { code: 'VALIDATION_ERROR', details: { fields: [{ path: 'Host' }] } },
    });
  });

  it('may be sent as HTTP/1.0 without a Host', async () => {
    expect(await send('GET /livez HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
  });

  it.each([
    ['GARBAGE\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n', 400],
  ])('because its bytes are not HTTP is answered in the envelope', async (bytes, status) => {
    const [head = '', body = ''] = (await send(bytes)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/X-Request-Id: [0-9a-f-]{36}/);
    expect(JSON.parse(body)).toEqual({
      success: false,
      error: { code: 'VALIDATION_ERROR', message: expect.any(String), details: {} },
    });
  });
});

describe('bytes that are not HTTP, behind a request that is still being answered', () => {
  const GARBAGE = '}}\r\n\r\n';

  async function payment() {
    const { id: accountId } = await newAccount(service);
    const body = JSON.stringify({ accountId, amount: 100, paymentMethodId: CASH });
    const bytes =
      `POST /api/payments HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.adminToken}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return { accountId, bytes };
  }

  /** Locks the account while the work is done, so that its payments wait. */
  const whileHeld = (accountId: number, work: () => Promise<unknown>) =>
    whileHolding(service, `select id from accounts where id = ${accountId} for update`, work);

  it.each<[string, string[]]>([
    ['later', [GARBAGE]],
    ['at once', ['', GARBAGE]],
    ['again and again', Array.from({ length: 12 }, () => GARBAGE)],
    [
      'as a further request',
      ['POST /api/payments HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ],
  ])('do not hide its answer, coming %s, and end the connection', async (_when, [first = '', ...later]) => {
    const { accountId, bytes } = await payment();
    const connection = openConnection();
    await whileHeld(accountId, async () => {
      if (first === '') return connection.writeUnreadable(bytes + later.join(''));
      await connection.writeRequests(bytes);
      for (const garbage of [first, ...later]) await connection.writeUnreadable(garbage);
    });
    const received = await connection.all();
    expect(received.match(/HTTP\/1.1/g), received).toHaveLength(1);
    expect(received).toMatch(/^HTTP\/1.1 201 /);
    expect(received).toMatch(/\r\nconnection: close\r\n/i);
    expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '').data).toMatchObject({ accountId, amount: 100 });
  });

  it('do not hide the answers to several', async () => {
    const one = await payment();
    const two = await payment();
    const connection = openConnection();
    await whileHeld(one.accountId, async () => {
      await connection.writeRequests(one.bytes, two.bytes);
      await connection.writeUnreadable(GARBAGE);
    });
    const received = await connection.all();
    expect(received.match(/HTTP\/1.1 \d+/g), received).toEqual(['HTTP/1.1 201', 'HTTP/1.1 201']);
    for (const { accountId } of [one, two]) expect(received).toContain(`"accountId":${accountId},`);
  });

  it('are answered where they are the body of the request', async () => {
    const connection = openConnection();
    await connection.writeRequests(
      'POST /api/payments HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
        `Authorization: Bearer ${service.adminToken}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    await connection.writeUnreadable('zz\r\n');
    expect(await connection.all()).toMatch(/^HTTP\/1.1 400 /);
  });

  it('are answered behind one that was answered before', async () => {
    const connection = openConnection();
    connection.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await connection.untilReceived('HTTP/1.1 200');
    await connection.writeUnreadable(GARBAGE);
    const received = await connection.all();
    expect(received.match(/HTTP\/1.1 \d+/g), received).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });
});

describe('a request that is wrong in several parts', () => {
  it('gets all errors at once: path, body and query', async () => {
    const body = { firstName: 5, unknown: 1 };
    const answer = await service.call('PUT', '/customers/abc?one=1&two=2', body);
    expect(wrongFields(answer)).toEqual(['firstName', 'id', 'one', 'two', 'unknown']);
    expect(answer.body.error.message).toMatch(/^5 fields are wrong: /);
  });

  it.each([
    ['/customers/abc', { firstName: 'A' }, ['id']],
    ['/customers/abc', { firstName: 5 }, ['firstName', 'id']],
    ['/customers/abc?one=1', { firstName: 'A' }, ['id', 'one']],
    ['/customers/1?one=1', { firstName: 5 }, ['firstName', 'one']],
    ['/customers/1?one=1', { firstName: 'A' }, ['one']],
    ['/customers/1', {}, ['body']],
  ])('gets only the errors that apply: PUT %s %j', async (path, body, paths) => {
    expect(wrongFields(await service.call('PUT', path, body))).toEqual(paths);
  });
});

describe('work that ends after its caller was answered 503', () => {
  /** The log lines of a request whose work ends late, in order. */
  async function linesOf(work: (reply: FastifyReply) => unknown): Promise<Record<string, unknown>[]> {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const app = buildApp({ ...service.parts, log });
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    app.get(
      '/late',
      { config: { access: 'public', answerTimeoutMs: 20 }, schema: {} },
      async (_request, reply) => {
        await ended;
        return work(reply);
      },
    );
    const answer = await app.inject({ url: '/late', headers: { 'x-request-id': 'late' } });
    expect(answer.statusCode).toBe(503);
    end();
    await app.inject('/livez'); // When it is answered, the late work has ended.
    await app.close();
    return lines.filter(({ reqId }) => reqId === 'late');
  }
  const answered = [
    { level: 40, msg: 'request failed' },
    { level: 30, msg: 'request', path: '/late', status: 503 },
  ];
  const msg = 'a request failed after its answer was sent';

  it('successfully, adds nothing to the log', async () => {
    expect(await linesOf(() => ({ done: true }))).toMatchObject(answered);
    expect(await linesOf((reply) => reply.status(201).send({ done: true }))).toMatchObject(answered);
  });

  it('with a refusal or without the database, logs one line at the level info', async () => {
    for (const error of [notFound('customer', 1), unavailable(new Error('a statement took too long'))]) {
      const lines = await linesOf(() => Promise.reject(error));
      expect(lines).toMatchObject([
        ...answered,
        { level: 30, msg, err: { message: expect.stringContaining(error.message) } },
      ]);
    }
  });

  it('with a defect, logs one line at the level error', async () => {
    const lines = await linesOf(() => Promise.reject(new TypeError('a defect')));
    expect(lines).toMatchObject([...answered, { level: 50, msg, err: { message: 'a defect' } }]);
  });
});

describe('a request that a client writes in an unusual way', () => {
  const customer = { firstName: 'Jane', lastName: 'Doe', phone: '+254712000111' };

  it('gets the challenge of RFC 6750 with a wrong password', async () => {
    const body = { email: 'admin@example.com', password: 'wrong' };
    const answer = await service.call('POST', '/auth/login', body, { token: null });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="api"']);
  });

  it('is refused with two Idempotency-Key headers', async () => {
    const connection = openConnection();
    const body = JSON.stringify(customer);
    connection.write(
      [
        'POST /api/customers HTTP/1.1',
        'host: localhost',
        `authorization: Bearer ${service.adminToken}`,
        'content-type: application/json',
        'idempotency-key: first',
        'idempotency-key: second',
        `content-length: ${body.length}`,
        'connection: close',
        '',
        body,
      ].join('\r\n'),
    );
    const answer = await connection.all();
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('Idempotency-Key: must be sent once');
  });

  it('is refused with a compressed body', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const answer = await service.call('POST', '/customers', customer, { headers });
    expect([answer.status, answer.body.error.message]).toEqual([
      415,
      'Content-Encoding is not supported: send the body uncompressed.',
    ]);
  });

  it('is accepted with a Content-Encoding that names no compression', async () => {
    const headers = { 'content-encoding': 'utf-8' };
    expect((await service.call('POST', '/customers', customer, { headers })).status).toBe(201);
  });

  it('gets 204 for OPTIONS that is no preflight', async () => {
    const response = await fetch(`${service.origin}/api/customers`, { method: 'OPTIONS' });
    expect([response.status, await response.text()]).toEqual([204, '']);
  });

  it('may end the path of a list with a slash', async () => {
    const answers = await Promise.all(['/customers', '/customers/'].map((path) => service.call('GET', path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('a browser of an origin that may call', () => {
  const preflight = (origin: string, method: string) =>
    service.call('OPTIONS', '/customers/1', undefined, {
      token: null,
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type',
      },
    });

  it.each(['GET', 'POST', 'PUT'])('is allowed %s', async (method) => {
    const { status, headers } = await preflight('https://shop.example', method);
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(headers.get('access-control-allow-methods')?.split(/, */)).toContain(method);
    expect(headers.get('access-control-allow-headers')).toContain('authorization');
  });

  it('may read the headers for retries and limits', async () => {
    const answer = await service.call('GET', '/customers', undefined, {
      headers: { origin: 'https://shop.example' },
    });
    expect(answer.headers.get('access-control-expose-headers')?.split(/, */)).toEqual(
      expect.arrayContaining([
        ...['x-request-id', 'retry-after', 'ratelimit', 'ratelimit-policy'],
        ...['idempotent-replayed', 'etag', 'content-disposition', 'unprintable-characters'],
      ]),
    );
  });

  it('allows no other origin', async () => {
    const { headers } = await preflight('https://other.example', 'GET');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('each error code', () => {
  /** Makes every registration of a customer fail with a defect. @returns a function that ends this. */
  async function breakCustomers(): Promise<() => Promise<void>> {
    const { db } = service.context;
    await sql`
      create function break_for_a_test() returns trigger language plpgsql as
        $$ begin raise exception 'a secret of the inside'; end $$`.execute(db);
    await sql`
      create trigger break_for_a_test before insert on customers
      for each row execute function break_for_a_test()`.execute(db);
    return async () => {
      await sql`drop function break_for_a_test cascade`.execute(db);
    };
  }
  const person = { firstName: 'A', lastName: 'B', phone: '+254711000003' };
  const user = { email: 'admin@example.com', password: PASSWORD, firstName: 'A', lastName: 'B' };

  it.each<[string, number, () => Promise<Answer>]>([
    [
      'AUTH_FAILED',
      401,
      () => service.call('POST', '/auth/login', { email: user.email, password: 'a wrong password' }),
    ],
    ['UNAUTHORIZED', 401, () => service.call('GET', '/customers', undefined, { token: null })],
    [
      'FORBIDDEN',
      403,
      async () => service.call('POST', '/customers', person, { token: await service.signInAs('viewer') }),
    ],
    ['NOT_FOUND', 404, () => service.call('GET', '/customers/999999')],
    ['VALIDATION_ERROR', 400, () => service.call('POST', '/customers', {})],
    ['DUPLICATE_ENTRY', 409, () => service.call('POST', '/auth/register', user)],
    [
      'INTERNAL_ERROR',
      500,
      async () => {
        const mend = await breakCustomers();
        try {
          return await service.call('POST', '/customers', person);
        } finally {
          await mend();
        }
      },
    ],
  ])('%s comes with the status %d', async (code, status, ask) => {
    const answer = await ask();
    expectError(answer, status, code);
    expect(answer.text).not.toContain('inside');
  });
});
