import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '../../packages/client/src/index.ts';

/** The example that the reference implementations of Standard Webhooks use. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"test": 2432232314}';
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const OTHER_SECRET = `whsec_${Buffer.from('another secret of 24 byte').toString('base64')}`;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_614_265_330_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function signed(body: string, timestamp = HEADERS['webhook-timestamp'], secret = SECRET): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const content = `${HEADERS['webhook-id']}.${timestamp}.${body}`;
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

describe('verifyWebhook', () => {
  it('returns the body of the example of the standard, as text or as bytes', async () => {
    expect(await verifyWebhook(BODY, HEADERS, SECRET)).toEqual({ test: 2432232314 });
    expect(await verifyWebhook(Buffer.from(BODY), new Headers(HEADERS), SECRET)).toEqual({
      test: 2432232314,
    });
    expect(
      await verifyWebhook(
        '{"name":"Wanjirũ"}',
        { ...HEADERS, 'webhook-signature': signed('{"name":"Wanjirũ"}') },
        SECRET,
      ),
    ).toEqual({
      name: 'Wanjirũ',
    });
  });

  it('reads headers in any case', async () => {
    const shouted = Object.fromEntries(
      Object.entries(HEADERS).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(await verifyWebhook(BODY, shouted, SECRET)).toEqual({ test: 2432232314 });
  });

  it('accepts any of several secrets and any of several signatures', async () => {
    expect(await verifyWebhook(BODY, HEADERS, [OTHER_SECRET, SECRET])).toBeTruthy();
    const several = `v1a,AAAA v1,AAAA ${HEADERS['webhook-signature']}`;
    expect(await verifyWebhook(BODY, { ...HEADERS, 'webhook-signature': several }, SECRET)).toBeTruthy();
  });

  it.each([
    ['another body', `${BODY} `, {}],
    ['another id', BODY, { 'webhook-id': 'msg_other' }],
    ['another time within the tolerance', BODY, { 'webhook-timestamp': '1614265331' }],
    ['a signature of another secret', BODY, { 'webhook-signature': signed(BODY, undefined, OTHER_SECRET) }],
    ['a signature that is not base64', BODY, { 'webhook-signature': 'v1,!!!' }],
    ['another version', BODY, { 'webhook-signature': HEADERS['webhook-signature'].replace('v1', 'v2') }],
    ['no signature', BODY, { 'webhook-signature': '' }],
    ['a time that is not a number', BODY, { 'webhook-timestamp': 'now' }],
    ['no id', BODY, { 'webhook-id': undefined }],
  ])('refuses %s', async (_what, body, changed) => {
    await expect(verifyWebhook(body, { ...HEADERS, ...changed }, SECRET)).rejects.toBeInstanceOf(
      WebhookVerificationError,
    );
  });

  it.each([
    '',
    'whsec_',
    'changeme',
    'whsec_!!!',
    'whsec_…',
    'whsec_AA==',
    `${SECRET}=`,
    SECRET.slice(0, -4),
  ])(
    'throws for the invalid secret %j, even if a message is signed with the decoded secret',
    async (secret) => {
      const keys = [Buffer.alloc(0), Buffer.alloc(1), Buffer.from(secret.replace(/^whsec_/, ''), 'base64')];
      for (const key of keys) {
        const forged = signed(BODY, undefined, `whsec_${key.toString('base64')}`);
        const verified = verifyWebhook(BODY, { ...HEADERS, 'webhook-signature': forged }, [SECRET, secret]);
        await expect(verified).rejects.toThrow(/A webhook secret must be/);
        await expect(verified).rejects.not.toBeInstanceOf(WebhookVerificationError);
      }
    },
  );

  it('refuses a delivery if there is no secret', async () => {
    await expect(verifyWebhook(BODY, HEADERS, [])).rejects.toBeInstanceOf(WebhookVerificationError);
  });

  it('refuses a delivery that is older or newer than the tolerance', async () => {
    for (const timestamp of ['1614265029', '1614265631']) {
      const headers = {
        ...HEADERS,
        'webhook-timestamp': timestamp,
        'webhook-signature': signed(BODY, timestamp),
      };
      await expect(verifyWebhook(BODY, headers, SECRET)).rejects.toThrow(/300 s/);
      expect(await verifyWebhook(BODY, headers, SECRET, { toleranceSeconds: 600 })).toBeTruthy();
    }
  });
});
