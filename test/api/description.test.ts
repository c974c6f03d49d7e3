import { join } from 'node:path';
import { sql } from 'kysely';
import type { OpenAPIV3_1 } from 'openapi-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { today } from '../../src/core/context.ts';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import {
  type Description,
  examplesOfMedia,
  type Operation,
  readDescription,
} from '../support/api-description.ts';
import { BROWSER, DAY, ENDINGS, LATER_DAY, STORY } from '../support/example-order.ts';
import {
  newAccount,
  pay,
  setToday,
  startInstanceForTest,
  startRequestJobs,
  startTestService,
  type TestService,
  useService,
} from '../support/harness.ts';
import { createCaller } from '../support/http.ts';
import {
  createBrowser,
  passProvider,
  providerSettings,
  startRealProvider,
} from '../support/identity-providers.ts';
import { untilImportJobEnds } from '../support/imports.ts';
import { PROVIDER_ROUTES } from '../support/provider-routes.ts';
import { eventually } from '../support/waiting.ts';

/** Sends the examples of the API description in the order of ../support/example-order.ts. */

const PROVIDER = 'google';
const PUBLIC_FORMATS = ['binary', 'date', 'date-time', 'email'];
/** Files without a readable example. */
const BINARY = ['application/pdf', 'application/zip'];

let service: TestService;
/** Of a service with a test clock, which the openapi.json of the repository does not describe. */
let description: Description;
let seen: Record<string, unknown>;
/** The ids to send instead of those of the examples, by operation. */
const otherIds: Record<string, string> = {};
/** The session cookie. */
let cookie: string;

/** Turns payment requests and status queries on. No provider listens at this address. */
const REQUEST_SETTINGS = {
  MOBILEMONEY_CALLBACK_URL: 'http://localhost:8080',
  MOBILEMONEY_API_URL: 'http://localhost:1',
  MOBILEMONEY_CONSUMER_KEY: 'key',
  MOBILEMONEY_CONSUMER_SECRET: 'secret',
  MOBILEMONEY_SHORT_CODE: '600638',
  MOBILEMONEY_PASSKEY: 'passkey',
  MOBILEMONEY_INITIATOR: 'operator',
  MOBILEMONEY_INITIATOR_PASSWORD: 'password of the operator',
  MOBILEMONEY_CERTIFICATE: join(import.meta.dirname, '..', 'support', 'provider-certificate.pem'),
};

const documented = useService();
beforeAll(async () => {
  const answer = await createCaller(documented.origin)('GET', '/api-docs/openapi.json');
  description = readDescription(answer.body as OpenAPIV3_1.Document);
});

/** A new service before the first step of the story. */
function beginStory(day: string): void {
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const provider = await startRealProvider({
      otto: { email: 'otto@example.org', email_verified: true, name: 'Otto' },
    });
    const started = await startTestService({
      ...providerSettings(PROVIDER.toUpperCase(), provider.issuer),
      ...REQUEST_SETTINGS,
      CASH_COUNTS: 'on',
    });
    service = started.service;
    await provider.open(`${service.origin}/api/auth/${PROVIDER}/callback`);
    const jobs = startRequestJobs(service);
    closers.push(() => jobs.stop(), started.close, provider.close);
    seen = {};
    cookie = '';
    setToday(service, day);
  });
  afterAll(async () => {
    for (const close of closers) await close();
  });
}

function operationOf(name: string): Operation {
  const found = description.operations.find((operation) => operation.name === name);
  if (!found) throw new Error(`${name} is not described.`);
  return found;
}

/** The answer of a successful call: the only status below 300, or a redirect if there is none. */
function successOf({ responses }: Operation): number {
  return Math.min(...Object.keys(responses).map(Number));
}

function namesOf(operations: Operation[]): string[] {
  return operations.map(({ name }) => name);
}

/** Every schema in a part of the document, at any depth. */
function schemasIn(part: unknown): Record<string, unknown>[] {
  if (typeof part !== 'object' || part === null) return [];
  const inner = Object.entries(part)
    .filter(([key]) => key !== 'example' && key !== 'examples')
    .flatMap(([, value]) => schemasIn(value));
  return Array.isArray(part) ? inner : [part as Record<string, unknown>, ...inner];
}

/** Their examples change nothing, so their answers are not stored under an Idempotency-Key. */
const SHOWN_ONLY = ['POST /api/accounts/{id}/plan-changes'];

describe('every operation', () => {
  it('has a summary, one described tag, and its required permission', () => {
    expect(description.operations.length).toBeGreaterThan(25);
    const tags = new Map(description.document.tags?.map((tag) => [tag.name, tag.description]));
    for (const operation of description.operations) {
      expect(operation.summary, operation.name).toMatch(/^[A-Z].*\S$/);
      expect(operation.tags, operation.name).toHaveLength(1);
      expect(tags.get(operation.tags[0] ?? ''), operation.name).toMatch(/\.$/);
      expect(operation.description, operation.name).toMatch(
        /Needs (no access token|the access token|the permission)/,
      );
    }
  });

  it('has an example of its body and of every parameter that it needs', () => {
    for (const { name, body, parameters } of description.operations) {
      if (body && Object.keys(body.schema).length > 0) expect(examplesOfMedia(body), name).not.toEqual([]);
      for (const parameter of parameters.filter(({ required }) => required)) {
        expect(parameter.example, `${name}: ${parameter.name}`).toBeDefined();
      }
    }
  });

  it('has a name that a client can call it by, and a summary of at most eight words', () => {
    const names = description.operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const operation of description.operations) {
      const { name, operationId, summary } = operation;
      expect(successOf(operation), name).toBeLessThan(400);
      expect(operationId, name).toMatch(/^[a-z]+[A-Z][A-Za-z]+$/);
      expect(operationId, name).not.toMatch(/By[A-Z]|^(post|put)[A-Z]/);
      expect(summary.split(' ').length, name).toBeLessThanOrEqual(8);
    }
  });

  it('describes its success in a sentence, with an example', () => {
    for (const operation of description.operations) {
      const response = operation.responses[successOf(operation)];
      expect(response?.description, operation.name).toMatch(/^[A-Z].*\.$/);
      expect(response?.description, operation.name).not.toContain('Default');
      for (const [type, media] of Object.entries(response?.content ?? {})) {
        if (!BINARY.includes(type)) expect(examplesOfMedia(media), operation.name).not.toEqual([]);
      }
    }
  });

  it('shows every error that it can answer, in the envelope', () => {
    for (const { name, responses } of description.operations) {
      const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
      expect(Object.keys(responses), name).toEqual(expect.arrayContaining(['400', '500', '503']));
      for (const [status, { content = {} }] of errors) {
        const examples = Object.values(content).flatMap(examplesOfMedia);
        expect(examples, `${name} ${status}`).not.toEqual([]);
      }
    }
  });

  it('documents the errors of its body, its idempotency key and its rate limit', () => {
    for (const { name, body, parameters, responses } of description.operations) {
      const statuses = Object.keys(responses);
      const takesKey = parameters.some((parameter) => parameter.name === 'Idempotency-Key');
      expect(statuses.includes('413') && statuses.includes('415'), name).toBe(body !== undefined);
      expect(statuses.includes('422'), name).toBe(takesKey);
      const uncounted = /^\/(health|livez|readyz|api\/test)/.test(name.split(' ')[1] ?? '');
      expect(statuses.includes('429'), name).toBe(!uncounted);
    }
  });

  it('documents that it refuses unknown fields, except for the provider’s', () => {
    const open = description.operations.filter(({ body }) => {
      const reference = (body?.schema as { $ref?: string } | undefined)?.$ref?.split('/').at(-1) ?? '';
      const schema = (description.document.components?.schemas?.[reference] ?? body?.schema) as
        | { additionalProperties?: unknown }
        | undefined;
      return body && schema?.additionalProperties !== false;
    });
    // A file has no fields.
    expect(namesOf(open).sort()).toEqual([
      'POST /api/reconciliations/statements',
      ...PROVIDER_ROUTES.map((route) => route.replace('POST ', 'POST /api').replace(':key', '{key}')).sort(),
      'PUT /api/imports/{id}/files/{file}',
    ]);
  });
});

describe('the examples', () => {
  it('match their schemas', () => {
    const problems = description.operations.flatMap(({ name, body, parameters, responses }) => [
      ...parameters
        .filter(({ example }) => example !== undefined)
        .map(({ schema, example }) => [name, description.problemOf(schema, example)]),
      ...[body, ...Object.values(responses).flatMap(({ content = {} }) => Object.values(content))].flatMap(
        (media) =>
          media
            ? examplesOfMedia(media).map((example) => [name, description.problemOf(media.schema, example)])
            : [],
      ),
    ]);
    expect(problems.length).toBeGreaterThan(300);
    expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
  });

  it('of every schema, at any depth, match it', () => {
    const shown = schemasIn([description.document.paths, description.document.components])
      .filter((part) => !('schema' in part))
      .flatMap(({ example, examples = [], ...schema }) =>
        [...(Array.isArray(examples) ? examples : []), example].map((one) => ({ schema, one })),
      )
      .filter(({ one }) => one !== undefined);
    expect(shown.length).toBeGreaterThan(35);
    const problems = shown.map(({ schema, one }) => ({ one, problem: description.problemOf(schema, one) }));
    expect(problems.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });
});

describe('the schemas', () => {
  it('use only standard keywords', () => {
    const schemas = schemasIn([description.document.paths, description.document.components]);
    const formats = new Set(
      schemas.map(({ format }) => format).filter((format) => typeof format === 'string'),
    );
    expect([...formats].sort()).toEqual(PUBLIC_FORMATS);
    for (const schema of schemas) {
      if (Array.isArray(schema.enum)) expect(schema.type, JSON.stringify(schema)).toBeDefined();
      expect(Object.keys(schema).filter((key) => key.startsWith('x-'))).toEqual([]);
    }
  });
});

describe('as a measure of answers, the description', () => {
  const answer = (fields: object) =>
    description.problemOfAnswer({
      method: 'GET',
      path: '/api/v1/customers/1',
      status: 404,
      contentType: 'application/json; charset=utf-8',
      body: { success: false, error: { code: 'NOT_FOUND', message: 'None.', details: {} } },
      ...fields,
    });

  it('fails for an answer that it does not describe', () => {
    expect(answer({})).toBeUndefined();
    expect(answer({ status: 409 })).toMatch(/has no answer 409/);
    expect(answer({ contentType: 'text/html' })).toMatch(/has no text\/html/);
    expect(answer({ body: { success: false } })).toMatch(/must have required property 'error'/);
    expect(answer({ status: 200 })).toMatch(/must have required property 'data'/);
    expect(answer({ path: '/api/payments/unmatched', status: 404 })).toMatch(/has no answer 404/);
  });
});

it('every write is in the story', () => {
  const writes = description.operations.filter(({ method }) => method !== 'GET');
  const shown = [...STORY, ...ENDINGS].filter((name) => !name.startsWith('GET '));
  expect(namesOf(writes).sort()).toEqual(shown.sort());
});

describe.each([DAY, LATER_DAY])('sent in their order on %s, the examples', (day) => {
  beginStory(day);

  it('have the results that the story lists', async () => {
    for (const name of STORY) {
      await replay(operationOf(name));
      if (name === 'PUT /api/test/clock') setToday(service, day);
    }
    await requestApprovals();
    await prepareCash();
    await prepareCalls(day as PlainDate);
    await readCreated();
    await signInThroughProvider();
    for (const name of ENDINGS) await replay(operationOf(name));
  });

  async function readCreated(): Promise<void> {
    // A job finds gaps only after some minutes.
    const gap = { from_time: new Date('2026-11-02T08:15:30Z'), until_time: new Date('2026-11-02T08:17:02Z') };
    await service.context.db
      .insertInto('balance_gaps')
      .values({ provider: 'mobilemoney', short_code: '600638', difference_minor: 800n, ...gap })
      .execute();
    // The examples only show what a change would do, because an answer that does it has another status.
    const correction = { kind: 'price_correction', amount: 1, reason: 'A test', confirm: { version: 0 } };
    const changed = await service.call('POST', '/accounts/1/plan-changes', correction);
    expect(changed.status, changed.text).toBe(201);
    const reads = description.operations.filter(
      ({ name }) => ![...STORY, ...ENDINGS, ...BROWSER].includes(name),
    );
    for (const operation of reads) await replay(operation);
  }

  async function signInThroughProvider(): Promise<void> {
    const browser = createBrowser();
    const [start, callback] = BROWSER.map(operationOf) as [Operation, Operation];
    expect(start.parameters.find(({ name }) => name === 'provider')?.example).toBe(PROVIDER);
    const redirect = await browser.send(`${service.origin}${pathOf(start)}`);
    expect(redirect.status).toBe(successOf(start));
    const back = await passProvider(browser, redirect.headers.get('location') ?? '', 'otto');
    const answer = await browser.send(back);
    expect(answer.status).toBe(successOf(callback));
    expectAsShown(callback, await answer.json());
  }
});

/** Sends every example of a request. Sends it twice if an idempotency key makes this safe. */
async function replay(operation: Operation): Promise<void> {
  const { name, method, parameters, body } = operation;
  const takesKey = parameters.some((parameter) => parameter.name === 'Idempotency-Key');
  for (const [index, sent] of (body ? examplesOfMedia(body) : [undefined]).entries()) {
    const headers: Record<string, string> = {
      ...(operation.bodyType !== undefined && { 'content-type': operation.bodyType }),
      ...(takesKey && { 'idempotency-key': `${name} ${index}` }),
      ...(cookie && { cookie }),
    };
    if (name.startsWith('POST /api/reconciliations/statements/{id}/')) await untilStatementRests();
    if (name.includes(' /api/imports/{id}/')) await untilImportJobEnds(service, 1);
    if (name.includes('/bulk-deferrals/{id}/')) await untilBulkDeferralRests();
    const call = () =>
      createCaller(service.origin)(method, pathOf(operation), withLiveValues(sent), {
        headers,
        token: operation.security.some((scheme) => 'bearer' in scheme) ? service.adminToken : null,
      });
    const answer = await call();
    expect(answer.status, `${name}: ${answer.text}`).toBe(successOf(operation));
    for (const set of answer.headers.getSetCookie()) cookie = set.split(';', 1)[0] ?? '';
    if (answer.body) {
      seen[`${name} ${index}`] = answer.body;
      expectAsShown(operation, answer.body);
    }
    if (takesKey && !SHOWN_ONLY.includes(name)) {
      const again = await call();
      expect(again.headers.get('idempotent-replayed'), name).toBe('true');
      expect(again.body, name).toEqual(answer.body);
      // The repeat has taken an id that no payment gets. The ids of the story have no gaps.
      if (name === 'POST /api/payments')
        await sql`select setval('payments_id_seq', max(id)) from payments`.execute(service.context.db);
    }
  }
}

/** The requests 1 and 2 of another user, which the admin decides, and 3 of the admin, which the admin withdraws. */
async function requestApprovals(): Promise<void> {
  const limited = await startInstanceForTest(service, { APPROVAL_LIMIT: '0' });
  const other = await service.signInAs('finance');
  for (const token of [other, other, service.adminToken]) {
    const { id } = await pay(service, 2, 10);
    const answer = await limited.call('POST', `/payments/${id}/reverse`, { reason: 'A test' }, { token });
    expect(answer.status, answer.text).toBe(202);
    // The last request is withdrawn. A provider reports the payment 1, so that its amount can no longer be corrected.
    otherIds['POST /api/payments/{id}/correct-amount'] = String(id);
  }
}

/**
 * Cash of the admin and of others, for the examples: the count 2 waits for a confirmation, and the count 3 for a reason. The hand-over 1
 * waits for the admin, and 2 is of the admin. The deposits 3 and 4 and the settlements 1 and 2 wait for a decision. The user 2 has a
 * difference.
 */
async function prepareCash(): Promise<void> {
  const login = { email: 'amina@example.com', password: 'a long enough password' };
  const { body } = await service.call('POST', '/auth/login', login, { token: null });
  const amina: string = body.data.accessToken;
  const admin = service.adminToken;
  const [finance, first, second] = await Promise.all(['finance', 'agent', 'agent'].map(service.signInAs));
  const send = async (token: string | undefined, path: string, sent?: object): Promise<{ id: number }> => {
    const answer = await service.call('POST', path, sent, { token: token ?? null });
    expect(answer.status, `${path}: ${answer.text}`).toBeLessThan(300);
    return answer.body.data;
  };
  const count = (token: string | undefined, counted: number) =>
    send(token, '/cash/counts', { paymentMethodId: 2, counted });
  const own = await count(admin, 100);
  await send(finance, `/cash/counts/${own.id}/confirm`, { isEarlierCash: true });
  await count(finance, 9_000);
  await count(admin, 90);
  const handOver = (token: string | undefined, fields: object) =>
    send(token, '/cash/hand-overs', { paymentMethodId: 2, amount: 5_000, ...fields });
  const { body: me } = await service.call('GET', '/auth/me', undefined, { token: finance ?? null });
  await handOver(finance, { toUserId: 1 });
  await handOver(admin, { toUserId: me.data.id });
  await handOver(finance, { slipNumber: 'A 1' });
  await handOver(finance, { slipNumber: 'A 2' });
  for (const holder of [amina, first, second]) {
    const opening = await count(holder, 200);
    await send(finance, `/cash/counts/${opening.id}/confirm`, { isEarlierCash: true });
    const { id } = await count(holder, 100);
    await send(holder, `/cash/counts/${id}/explain`, { reason: 'A test' });
    if (holder === amina) continue;
    const { body: user } = await service.call('GET', '/auth/me', undefined, { token: holder ?? null });
    const settlement = { kind: 'difference', paymentMethodId: 2, amount: -100, reason: 'A test' };
    await send(finance, '/cash/settlements', { ...settlement, holderId: user.data.id });
  }
}

/** A late account, which is in the call list, and one whose customer has promised to pay. */
async function prepareCalls(day: PlainDate): Promise<void> {
  const activationDate = addDays(day, -91);
  await newAccount(service, { activationDate });
  const { id } = await newAccount(service, { activationDate });
  const promise = { amount: 400, date: addDays(day, 1) };
  const answer = await service.call('POST', '/calls', { accountId: id, result: 'promise', promise });
  expect(answer.status, answer.text).toBe(201);
}

/** Waits until the job of the statement has ended, because a statement has only one stage at a time. */
async function untilStatementRests(): Promise<void> {
  const status = async () => (await service.call('GET', '/reconciliations/statements/1')).body.data.status;
  await eventually(status).toBe('done');
}

async function untilBulkDeferralRests(): Promise<void> {
  const status = async () => (await service.call('GET', '/plan-changes/bulk-deferrals/1')).body.data.status;
  await eventually(status).not.toMatch(/ing$/);
}

/** The address with the example of each parameter that has one. */
function pathOf({ name: operation, path, parameters }: Operation): string {
  const query = new URLSearchParams();
  let concrete = path;
  for (const { name, in: place, example } of parameters) {
    if (example === undefined) continue;
    if (place === 'path') concrete = concrete.replace(`{${name}}`, otherIds[operation] ?? String(example));
    if (place !== 'query') continue;
    // Lists such as `include` change the fields of the answer.
    if (Array.isArray(example)) continue;
    if (typeof example !== 'object') query.set(name, String(example));
    else for (const [key, value] of Object.entries(example ?? {})) query.set(`${name}[${key}]`, value);
  }
  return query.size > 0 ? `${concrete}?${query}` : concrete;
}

/**
 * Replaces the values of an example that the story cannot know: the refresh token by the current one, and the first date that a bulk
 * deferral moves by a later day.
 */
function withLiveValues(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const login = seen['POST /api/auth/login 0'] as { data: { refreshToken: string } } | undefined;
  if ('refreshToken' in body) return { refreshToken: login?.data.refreshToken };
  return 'from' in body && 'filter' in body ? { ...body, from: addDays(today(service.context), 60) } : body;
}

/** Expects that the answer matches its schema, and has the message and the fields of the example. */
function expectAsShown(operation: Operation, body: unknown): void {
  const media = operation.responses[successOf(operation)]?.content?.['application/json'];
  expect(description.problemOf(media?.schema ?? {}, body), operation.name).toBeUndefined();
  const [example] = media ? examplesOfMedia(media) : [];
  expect(outlineOf(body), operation.name).toEqual(outlineOf(example));
}

function outlineOf(body: unknown) {
  const { message, data } = body as { message?: string; data?: object | object[] };
  const fields = Object.keys(body as object).sort();
  const row = Array.isArray(data) ? data[0] : data;
  return { fields, message, ...(row && { data: Object.keys(row).sort() }) };
}
