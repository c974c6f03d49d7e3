import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ApiCall,
  createMobilemoneyApi,
  type MobilemoneyApi,
} from '../../src/mobile-money/providers/mobilemoney-api.ts';
import { mobilemoneyPull } from '../../src/mobile-money/providers/mobilemoney-pull.ts';
import { ProviderApiError } from '../../src/mobile-money/providers/provider.ts';
import { type ProviderApi, startProviderApi } from '../../tools/simulator/provider-api/server.ts';

const CALL = { path: '/test/v1/echo', body: { Field: 'value' } };

let provider: ProviderApi;
let api: MobilemoneyApi;

beforeAll(async () => {
  provider = await startProviderApi({
    operations: {
      'POST /test/v1/echo': ({ fields }) => ({ body: fields }),
      'GET /test/v1/list': ({ fields }) => ({ body: { asked: fields } }),
      'POST /test/v1/huge': () => ({ body: { text: 'x'.repeat(9 * 1024 * 1024) } }),
      'POST /test/v1/html': () => ({ body: '<html>' }),
      'POST /test/v1/cut': () => ({ body: { text: 'x'.repeat(1_000) }, isCutOff: true }),
    },
  });
});
beforeEach(() => {
  const { url, credentials } = provider;
  api = createMobilemoneyApi({ url, ...credentials });
});
afterAll(() => provider.close());

async function failureOf(work: Promise<unknown>): Promise<ProviderApiError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderApiError)) throw new Error(`There is no ProviderApiError: ${error}`);
  return error;
}

describe('a call of the provider’s API', () => {
  it('sends the fields as JSON, or with GET in the query', async () => {
    expect((await api.call(CALL)).fields).toEqual({ Field: 'value' });
    const listed = await api.call({ path: '/test/v1/list', body: { From: 'a b' }, method: 'GET' });
    expect(listed.fields).toEqual({ asked: { From: 'a b' } });
  });

  it('uses one access token for many calls, also if they start together', async () => {
    const before = provider.tokens.issuedCount;
    await Promise.all(Array.from({ length: 10 }, () => api.call(CALL)));
    await api.call(CALL);
    expect(provider.tokens.issuedCount).toBe(before + 1);
  });

  it('gets another token before the current one expires', async () => {
    let nowMs = 0;
    const { url, credentials } = provider;
    const clocked = createMobilemoneyApi({ url, ...credentials }, () => nowMs);
    await clocked.call(CALL);
    const before = provider.tokens.issuedCount;
    nowMs = 3_538_000; // The token is valid for 3,599 s.
    await clocked.call(CALL);
    expect(provider.tokens.issuedCount).toBe(before);
    nowMs = 3_540_000;
    await clocked.call(CALL);
    expect(provider.tokens.issuedCount).toBe(before + 1);
  });

  it('is repeated with another token if the provider refuses the current one', async () => {
    await api.call(CALL);
    const before = provider.tokens.issuedCount;
    provider.tokens.expireAll();
    const answers = await Promise.all([api.call(CALL), api.call(CALL)]);
    expect(answers.map(({ fields }) => fields)).toEqual([{ Field: 'value' }, { Field: 'value' }]);
    expect(provider.tokens.issuedCount).toBe(before + 1);
  });

  it('reports wrong credentials without showing them', async () => {
    const wrong = createMobilemoneyApi({
      url: provider.url,
      consumerKey: 'key-1',
      consumerSecret: 'secret-1',
    });
    const error = await failureOf(wrong.call(CALL));
    expect(error.problem).toBe('unauthorized');
    expect(error.message).toMatch(/MOBILEMONEY_CONSUMER_KEY/);
    expect(error.message).not.toMatch(/key-1|secret-1/);
  });

  it('reports a refusal because of too many calls with the time to wait', async () => {
    Object.assign(provider.failures, { refusedAsBusy: 1, retryAfterSeconds: 7 });
    expect(await failureOf(api.call(CALL))).toMatchObject({ problem: 'busy', retryAfterSeconds: 7 });
    await expect(api.call(CALL)).resolves.toBeDefined();
  });

  it('distinguishes a call that was never sent from a call without an answer', async () => {
    provider.failures.isDown = true;
    expect((await failureOf(api.call(CALL))).problem).toBe('not_sent');
    provider.failures.isDown = false;
    await api.call(CALL);
    provider.failures.isDown = true;
    expect((await failureOf(api.call(CALL))).problem).toBe('no_answer');
    provider.failures.isDown = false;
  });

  it('was never sent if the address accepts no connection, although there is a token', async () => {
    const other = await startProviderApi({ operations: {} });
    const { url, credentials } = other;
    const away = createMobilemoneyApi({ url, ...credentials });
    await failureOf(away.call(CALL));
    await other.close();
    await failureOf(away.call(CALL)); // It may use the old connection.
    expect((await failureOf(away.call(CALL))).problem).toBe('not_sent');
  });

  it('has 60 s if it is a query for payments', async () => {
    const calls: ApiCall[] = [];
    const recording: MobilemoneyApi = {
      async call(made) {
        calls.push(made);
        return { fields: { ResponseCode: '1001', Response: [] }, text: '' };
      },
    };
    const pull = mobilemoneyPull(recording, { number: '254700000001', callbackUrl: 'http://service.test' });
    const window = { shortCode: '600638', from: new Date(0), to: new Date(1) };
    await pull.readPage(window, 0, new AbortController().signal);
    expect(calls).toMatchObject([{ timeoutMs: 60_000 }]);
  });

  it('ends after its time limit', async () => {
    // A provider of its own, because the call may arrive after its time limit.
    const silent = await startProviderApi({
      operations: {
        'GET /test/v1/list': () => ({ body: {} }),
        'POST /test/v1/echo': () => new Promise(() => {}),
      },
    });
    try {
      const waiting = createMobilemoneyApi({ url: silent.url, ...silent.credentials });
      await waiting.call({ path: '/test/v1/list', body: {}, method: 'GET' });
      const error = await failureOf(waiting.call({ ...CALL, timeoutMs: 1 }));
      expect(error).toMatchObject({ problem: 'no_answer', message: expect.stringMatching(/time limit/) });
    } finally {
      await silent.close();
    }
  });

  it.each([
    ['/test/v1/huge', 'too_large'],
    ['/test/v1/html', 'no_answer'],
    ['/test/v1/cut', 'no_answer'],
    ['/test/v1/unknown', 'refused'],
    ['/test/v1/list', 'refused'],
  ])('of %s has the problem %s', async (path, problem) => {
    expect((await failureOf(api.call({ path, body: {} }))).problem).toBe(problem);
  });

  it('of a provider with an error of its own has no answer', async () => {
    await api.call(CALL);
    provider.failures.errorStatus = 503;
    const error = await failureOf(api.call(CALL));
    provider.failures.errorStatus = null;
    expect(error).toMatchObject({ problem: 'no_answer', status: 503 });
  });
});

describe('the simulated provider', () => {
  it('refuses a body that is not JSON, and continues', async () => {
    const url = `${provider.url}/test/v1/echo`;
    expect((await fetch(url, { method: 'POST', body: '{' })).status).toBe(400);
    await api.call(CALL);
  });
});
