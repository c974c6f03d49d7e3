import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataOf, useService, wrongFields } from '../support/harness.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** Deliveries are tested in webhook-deliveries.test.ts. */
const service = useService({ WEBHOOKS_OUT_ALLOW: '127.0.0.0/8, erp.internal' });

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  return receiver;
}

const URL_OF_ERP = 'https://erp.example.com/hooks';

function newEndpoint(fields: Record<string, unknown> = {}) {
  const body = { url: URL_OF_ERP, types: ['payment.*'], ...fields };
  return dataOf(service.call('POST', '/webhook-endpoints', body), 201);
}
const read = async (id: number) => (await service.call('GET', `/webhook-endpoints/${id}`)).body.data;

describe('a webhook endpoint', () => {
  it('is created with a secret that is shown only then', async () => {
    const { secret, ...endpoint } = await newEndpoint({ description: 'ERP' });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(endpoint).toMatchObject({
      url: URL_OF_ERP,
      types: ['payment.*'],
      description: 'ERP',
      inOrder: false,
      active: true,
      disabledReason: null,
      failingSince: null,
      previousSecretExpiresAt: null,
    });
    expect(await read(endpoint.id)).toEqual(endpoint);
    const list = await service.call('GET', `/webhook-endpoints?filter[id]=${endpoint.id}`);
    expect(list.body.data).toEqual([endpoint]);
    const audit = await service.call(
      'GET',
      `/audit?filter[resource]=webhook_endpoint&filter[resourceId]=${endpoint.id}`,
    );
    expect(audit.body.data).toMatchObject([
      { action: 'webhook_endpoint.create', after: { url: URL_OF_ERP } },
    ]);
    expect(audit.text).not.toContain(secret.slice('whsec_'.length));
  });

  it.each([
    'http://erp.example.com/',
    'https://user:password@erp.example.com/',
    'https://erp.example.com:25/',
    'https://10.0.0.1/',
    'https://167772161/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data/',
    'not an address',
    'https:///erp.example.com/',
    'https:erp.example.com',
    'https://localhost:9443/',
  ])('is refused with the address %s', async (url) => {
    const answer = await service.call('POST', '/webhook-endpoints', { url, types: ['payment.*'] });
    expect(wrongFields(answer)).toEqual(['url']);
    const { id } = await newEndpoint();
    expect(wrongFields(await service.call('PUT', `/webhook-endpoints/${id}`, { url }))).toEqual(['url']);
  });

  it('keeps the query of its address out of the audit trail', async () => {
    const { id } = await newEndpoint({ url: `${URL_OF_ERP}?token=first` });
    await service.call('PUT', `/webhook-endpoints/${id}`, { url: `${URL_OF_ERP}?token=second` });
    await service.call('DELETE', `/webhook-endpoints/${id}`);
    const filter = `filter[resource]=webhook_endpoint&filter[resourceId]=${id}&sort=id:asc`;
    const { body, text } = await service.call('GET', `/audit?${filter}`);
    const url = `${URL_OF_ERP}?…`;
    expect(body.data).toMatchObject([{ after: { url } }, { after: { url } }, { before: { url } }]);
    expect(text).not.toMatch(/first|second/);
  });

  it('may have a private address that WEBHOOKS_OUT_ALLOW names', async () => {
    await newEndpoint({ url: 'http://erp.internal:8069/hooks' });
    await newEndpoint({ url: 'http://127.0.0.1:9000/' });
  });

  it.each([
    [['payment.lost']],
    [['payments.*']],
    [[]],
    [['payment']],
    [['*.received']],
    [['payment.*', 'none.*']],
  ])('is refused with the types %j', async (types) => {
    const answer = await service.call('POST', '/webhook-endpoints', { url: URL_OF_ERP, types });
    expect(wrongFields(answer)[0]).toMatch(/^types/);
  });

  it('can be changed, disabled and enabled', async () => {
    const { id } = await newEndpoint();
    const change = (body: object) => service.call('PUT', `/webhook-endpoints/${id}`, body);
    expect((await change({ types: ['*'], inOrder: true, description: null })).body.data).toMatchObject({
      url: URL_OF_ERP,
      types: ['*'],
      inOrder: true,
      description: null,
      active: true,
    });
    expect((await change({ active: false })).body.data).toMatchObject({
      active: false,
      disabledReason: 'user',
      disabledAt: expect.any(String),
    });
    expect((await change({ active: true })).body.data).toMatchObject({
      active: true,
      disabledReason: null,
      disabledAt: null,
    });
    const audit = await service.call(
      'GET',
      `/audit?filter[resource]=webhook_endpoint&filter[resourceId]=${id}&sort=id:asc`,
    );
    expect(audit.body.data.map(({ after }: { after: object }) => after)).toEqual([
      { url: URL_OF_ERP, types: ['payment.*'], description: null, inOrder: false },
      { types: ['*'], inOrder: true, description: null },
      { active: false },
      { active: true },
    ]);
    expect(audit.body.data[1].before).toEqual({ types: ['payment.*'], inOrder: false, description: null });
  });

  it('disappears when it is deleted', async () => {
    const { id } = await newEndpoint();
    expect((await service.call('DELETE', `/webhook-endpoints/${id}`)).status).toBe(200);
    for (const path of [`/webhook-endpoints/${id}`, `/webhook-endpoints/${id}/deliveries`])
      expect((await service.call('GET', path)).status).toBe(404);
    expect((await service.call('DELETE', `/webhook-endpoints/${id}`)).status).toBe(404);
    expect((await service.call('GET', `/webhook-endpoints?filter[id]=${id}`)).body.data).toEqual([]);
  });
});

describe('a test of an endpoint', () => {
  it('is signed, reports the answer, and is in the list of deliveries', async () => {
    const receiver = await receive();
    receiver.answer = (_received, response) => response.writeHead(201).end('welcome');
    const { id, secret } = await newEndpoint({ url: receiver.url });
    const answer = await service.call('POST', `/webhook-endpoints/${id}/test`, {});
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toMatchObject({
      eventId: null,
      eventType: 'test',
      outcome: 'delivered',
      status: 201,
      answer: 'welcome',
      error: null,
      nextAttemptAt: null,
    });
    const [received] = receiver.received;
    expect(received?.event).toMatchObject({ type: 'test' });
    expect(new Webhook(secret).verify(received?.body ?? '', received?.headers ?? {})).toMatchObject({
      type: 'test',
    });
    expect(received?.headers).toMatchObject(answer.body.data.requestHeaders);
    const list = await service.call('GET', `/webhook-endpoints/${id}/deliveries`);
    expect(list.body.data).toEqual([answer.body.data]);
    const one = await service.call('GET', `/webhook-endpoints/${id}/deliveries/${answer.body.data.id}`);
    expect(one.body.data).toEqual({ ...answer.body.data, requestBody: null });
  });

  it('reports a refusal, a redirect and an unreachable receiver', async () => {
    const receiver = await receive();
    const { id } = await newEndpoint({ url: receiver.url });
    const attempt = async () => (await service.call('POST', `/webhook-endpoints/${id}/test`, {})).body.data;
    receiver.answer = (_received, response) => response.writeHead(500).end('broken');
    expect(await attempt()).toMatchObject({
      outcome: 'given_up',
      status: 500,
      answer: 'broken',
      error: null,
    });
    receiver.answer = (_received, response) => response.writeHead(302, { location: receiver.url }).end();
    expect(await attempt()).toMatchObject({ outcome: 'given_up', status: 302 });
    expect(receiver.received).toHaveLength(2);
    await receiver.close();
    expect(await attempt()).toMatchObject({
      outcome: 'given_up',
      status: null,
      answer: null,
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('the secret of an endpoint', () => {
  it('is rotated with an overlap, during which messages are signed with both', async () => {
    const receiver = await receive();
    const { id, secret: first } = await newEndpoint({ url: receiver.url });
    const rotate = (body: object) =>
      dataOf(service.call('POST', `/webhook-endpoints/${id}/rotate-secret`, body));
    const accepts = async (secret: string) => {
      await service.call('POST', `/webhook-endpoints/${id}/test`, {});
      const { body, headers } = receiver.received.at(-1) ?? { body: '', headers: {} };
      try {
        return Boolean(new Webhook(secret).verify(body, headers));
      } catch {
        return false;
      }
    };
    const begunMs = Date.now();
    const { secret: second, previousSecretExpiresAt } = await rotate({ overlapSeconds: 3_600 });
    const rotatedMs = Date.parse(previousSecretExpiresAt) - 3_600_000;
    expect(rotatedMs).toBeGreaterThanOrEqual(begunMs);
    expect(rotatedMs).toBeLessThanOrEqual(Date.now());
    expect([await accepts(first), await accepts(second)]).toEqual([true, true]);
    const { secret: third } = await rotate({ overlapSeconds: 0 });
    expect([await accepts(first), await accepts(second), await accepts(third)]).toEqual([false, false, true]);
    expect(
      wrongFields(
        await service.call('POST', `/webhook-endpoints/${id}/rotate-secret`, { overlapSeconds: -1 }),
      ),
    ).toEqual(['overlapSeconds']);
  });
});

describe('a receiver', () => {
  it('refuses an altered body, an old timestamp and a wrong secret', async () => {
    const receiver = await receive();
    const { id, secret } = await newEndpoint({ url: receiver.url });
    const other = await newEndpoint();
    await service.call('POST', `/webhook-endpoints/${id}/test`, {});
    const [{ body, headers }] = receiver.received as [Receiver['received'][number]];
    const old = String(Math.floor(Date.now() / 1000) - 3600);
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
    expect(() => new Webhook(secret).verify(body.replace('test', 'tost'), headers)).toThrow(/signature/i);
    expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-timestamp': old })).toThrow(
      /too old/,
    );
    expect(() => new Webhook(other.secret).verify(body, headers)).toThrow(/signature/i);
  });
});
