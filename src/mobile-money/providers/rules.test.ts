import { describe, expect, it } from 'vitest';
import type { Config } from '../../core/context.ts';
import { mobilemoney } from './mobilemoney.ts';
import {
  amountTextOf,
  answerUrl,
  cleanText,
  isOurs,
  isRecord,
  notificationFields,
  parseJsonObject,
  readAmountOf,
  readNotification,
  readPulled,
  recordOf,
  shortened,
  textOf,
} from './rules.ts';

const KES = { code: 'KES', decimals: 2 };
const SETTINGS = { currency: KES, timeZone: 'Africa/Nairobi', paybillNumbers: ['600638'] };
const RECEIVED = new Date('2026-03-02T09:00:00Z');
const SENT = {
  transactionId: 'rktqdm7w6s',
  amount: '400.50',
  time: '20260301235930',
  businessShortCode: '600638',
  reference: 'ACC10000071',
  payer: '254712345678',
  payerName: null,
};

describe('a call of a provider', () => {
  const read = (
    provider = mobilemoney,
    sent: typeof SENT | (typeof SENT & { transactionId: null }) = SENT,
  ) => {
    const reading = readNotification(provider, sent, '', RECEIVED, SETTINGS);
    return 'problems' in reading ? reading.problems.map(({ path }) => path) : reading.notification;
  };

  it('is refused with all wrong fields, by the names that the provider uses', () => {
    expect(read(mobilemoney, { ...SENT, transactionId: '', amount: '0' })).toEqual([
      'TransID',
      'TransAmount',
    ]);
  });

  it('is refused with all fields that could be read', () => {
    const readable = (sent: Partial<typeof SENT>, provider = mobilemoney) => {
      const reading = readNotification(provider, { ...SENT, ...sent }, '', RECEIVED, SETTINGS);
      return 'problems' in reading ? reading.readable : undefined;
    };
    const others = {
      businessShortCode: '600638',
      billRef: 'ACC10000071',
      payer: '254712345678',
      payerName: null,
    };
    const transTime = new Date('2026-03-01T20:59:30Z');
    expect(readable({ amount: '0' })).toEqual({
      ...others,
      transId: 'RKTQDM7W6S',
      amountMinor: null,
      transTime,
    });
    for (const transactionId of ['', 'x'.repeat(65)])
      expect(readable({ transactionId })).toEqual({
        ...others,
        transId: null,
        amountMinor: 40_050n,
        transTime,
      });
    expect(readable({ transactionId: 'x'.repeat(64), amount: '0' })?.transId).toBe('X'.repeat(64));
    // The time of receipt is not a time that the provider sent.
    expect(readable({ amount: '0', time: 'never' })?.transTime).toBeNull();
    const { readTime: _, ...withoutTime } = mobilemoney;
    expect(readable({ amount: '0' }, withoutTime)?.transTime).toBeNull();
  });

  it('can have a transaction id of 64 characters', () => {
    expect(read(mobilemoney, { ...SENT, transactionId: 'x'.repeat(64) })).toMatchObject({
      transId: 'X'.repeat(64),
    });
  });

  it('has the time of its receipt if the provider sends no time', () => {
    const { readTime: _, ...withoutTime } = mobilemoney;
    const received = { transTime: RECEIVED, flags: [], providerSendsTime: false };
    expect(read(withoutTime)).toMatchObject(received);
  });

  it('has the time of its receipt, and a flag, if it is older than mobile money', () => {
    const at = (time: string) => read({ ...mobilemoney, readTime: () => new Date(time) });
    expect(at('1999-12-31T23:59:59.999Z')).toMatchObject({ transTime: RECEIVED, flags: ['unreadable_time'] });
    expect(at('2000-01-01T00:00:00.000Z')).toMatchObject({ flags: [] });
  });

  it('has the flag of its time and the flag of its short code', () => {
    expect(read(mobilemoney, { ...SENT, time: 'never', businessShortCode: '1' })).toMatchObject({
      flags: ['unreadable_time', 'other_short_code'],
    });
  });

  it('can be refused only if the provider returns refused money', () => {
    expect(read({ ...mobilemoney, acceptsUnmatched: true })).toMatchObject({ isRefusable: false });
    expect(read({ ...mobilemoney, acceptsUnmatched: false })).toMatchObject({ isRefusable: true });
  });

  it('answers no payment request, and is neither stored nor from a statement', () => {
    expect(read()).toMatchObject({
      source: 'webhook',
      providerStatementId: null,
      paymentRequestId: null,
      timeZone: null,
      stored: null,
      acceptedPaymentId: null,
      bothAreReal: false,
    });
  });
});

describe('a pulled payment', () => {
  const provider = { ...mobilemoney, acceptsUnmatched: false };
  const pulled = {
    sent: { ...SENT, time: '2026-03-01 23:59:30' },
    doubt: null,
    time: new Date('2026-03-01T20:59:30Z'),
    raw: '{"a":1}',
  };

  it('has the time that the provider lists, and is never refused, because its money has moved', () => {
    expect(readPulled(provider, pulled, RECEIVED, SETTINGS)).toMatchObject({
      notification: {
        source: 'pull',
        isRefusable: false,
        rawBody: '{"a":1}',
        transTime: pulled.time,
        transId: 'RKTQDM7W6S',
        amountMinor: 40050n,
      },
    });
  });

  it('is not imported without an amount', () => {
    const reading = readPulled(
      provider,
      { ...pulled, sent: { ...pulled.sent, amount: null } },
      RECEIVED,
      SETTINGS,
    );
    expect(reading).toMatchObject({ problems: [{ path: 'TransAmount' }] });
  });

  it('has the content of the notification of the same payment, although its time has another format', () => {
    const called = readNotification(provider, SENT, '', RECEIVED, SETTINGS);
    const found = readPulled(provider, pulled, RECEIVED, SETTINGS);
    if ('problems' in called || 'problems' in found) throw new Error('A payment is refused.');
    expect(found.notification.contentHash).toEqual(called.notification.contentHash);
  });
});

describe('two calls with one transaction id', () => {
  const hash = (provider: typeof mobilemoney, time: string) => {
    const reading = readNotification(provider, { ...SENT, time }, '', RECEIVED, SETTINGS);
    return 'problems' in reading ? undefined : reading.notification.contentHash.toString('hex');
  };

  it('are different if their unreadable times are different', () => {
    expect(hash(mobilemoney, 'never')).toBe(hash(mobilemoney, 'never'));
    expect(hash(mobilemoney, 'never')).not.toBe(hash(mobilemoney, 'soon'));
  });

  it('are different if their times are different, although the provider’s times are not read', () => {
    const { readTime: _, ...withoutTime } = mobilemoney;
    expect(hash(withoutTime, '1')).not.toBe(hash(withoutTime, '2'));
  });
});

describe('a payment on a statement', () => {
  it('has the fields that calls have, too', () => {
    const payment = { ...SENT, transId: 'RKTQDM7W6S', amountMinor: 40050n, payerName: 'NAME' };
    const { contentHash, ...fields } = notificationFields(mobilemoney, payment, { paybillNumbers: [] });
    expect(contentHash).toHaveLength(32);
    expect(fields).toEqual({
      provider: 'mobilemoney',
      methodCode: 'mobile_money',
      isRefusable: !mobilemoney.acceptsUnmatched,
      providerSendsTime: true,
      transId: 'RKTQDM7W6S',
      amountMinor: 40050n,
      businessShortCode: '600638',
      billRef: 'ACC10000071',
      payer: '254712345678',
      payerName: 'NAME',
      flags: [],
      paymentRequestId: null,
      timeZone: null,
      stored: null,
      acceptedPaymentId: null,
      bothAreReal: false,
    });
  });
});

describe('a short code', () => {
  it.each([
    ['600638', ['600638', '600639'], true],
    ['600640', ['600638', '600639'], false],
    [null, ['600638'], false],
    ['600640', [], true],
    [null, [], true],
  ])('%s is ours for the configured short codes %j: %s', (businessShortCode, paybillNumbers, isOne) => {
    expect(isOurs({ businessShortCode }, { paybillNumbers })).toBe(isOne);
  });
});

describe('an amount', () => {
  it.each([
    ['0.01', 1n],
    ['0', undefined],
    ['-0.01', undefined],
    ['999999999999.99', 99_999_999_999_999n],
    ['1000000000000', undefined],
    ['x', undefined],
    [null, undefined],
  ])('%s is read as %s', (amount, minor) => {
    expect(readAmountOf({ amount }, KES)).toBe(minor);
  });

  it.each([
    [undefined, null],
    [null, null],
    [' 5 ', '5'],
    ['', 'empty'],
    [5.5, '5.5'],
    [[5], '[5]'],
    [{ value: 5 }, '{"value":5}'],
  ])('sent as %j is stored as %j, so that an unreadable amount is not a missing one', (value, text) => {
    expect(amountTextOf(value)).toBe(text);
  });
});

describe('a body', () => {
  it('is read only if it is a JSON object', () => {
    expect(parseJsonObject(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
    for (const body of ['', '{', '[]', 'null', '5', '"text"']) {
      expect(parseJsonObject(Buffer.from(body))).toBeUndefined();
    }
  });

  it('is read although a name contains bytes that are not UTF-8', () => {
    const body = Buffer.from('{"name":"Jos\xe9","id":"A"}', 'latin1');
    expect(parseJsonObject(body)).toEqual({ name: 'Jos\ufffd', id: 'A' });
  });

  it('has records: objects that are neither null nor arrays', () => {
    const values = [{}, { a: 1 }, null, undefined, [], 'text', 5];
    expect(values.map(isRecord)).toEqual([true, true, false, false, false, false, false]);
    expect(values.map(recordOf)).toEqual([
      {},
      { a: 1 },
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('a field', () => {
  it.each([
    ['text', 'text'],
    [' text\n', 'text'],
    [7, '7'],
    [0, '0'],
    ['', null],
    ['\u200b', null],
    [null, null],
    [true, null],
    [['text'], null],
  ])('with the value %j is read as %j', (value, text) => {
    expect(textOf({ field: value }, 'field')).toBe(text);
  });

  it('is empty if the call does not have it, even if every object has a property of this name', () => {
    expect(textOf({}, 'field')).toBeNull();
    expect(textOf(Object.create({ field: 'inherited' }), 'field')).toBeNull();
  });

  it.each([
    '{"field":123456789012345678901}',
    '{"field" : 123456789012345678901 , "b": 1}',
    '{"b":1,"field":\n123456789012345678901\n}',
  ])('keeps the digits that JavaScript would round: %s', (body) => {
    expect(textOf(JSON.parse(body), 'field', body)).toBe('123456789012345678901');
  });

  it('of a rounded number has no value if the digits are unknown', () => {
    expect(textOf({ field: 2 ** 60 }, 'field')).toBeNull();
    expect(textOf({ field: -(2 ** 60) }, 'field', `{"field":${-(2 ** 60)}}`)).toBeNull();
  });

  it('keeps all digits of a text', () => {
    expect(textOf({ field: '123456789012345678901' }, 'field', '{}')).toBe('123456789012345678901');
  });

  it('of the largest exact number is read as it is', () => {
    expect(textOf({ field: Number.MAX_SAFE_INTEGER }, 'field')).toBe('9007199254740991');
  });
});

describe('a text of a provider', () => {
  it.each([
    ['  ACC 1 ', 'ACC 1'],
    ['A\u0000C\u200bC\u202e', 'ACC'],
    ['\ud800', '\ufffd'],
    [' \n ', null],
    [`  ${'x'.repeat(300)}`, 'x'.repeat(256)],
  ])('%j is stored as %j', (text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it('is stored with at most 500 characters if it is a message', () => {
    expect(shortened('x'.repeat(501))).toBe('x'.repeat(500));
    expect(shortened('text')).toBe('text');
    expect(shortened(null)).toBeNull();
  });
});

describe('the address for the answers of a provider', () => {
  const receiver = { callbackUrl: () => 'https://pay.example.com' };
  const row = { provider: 'mobilemoney', callback_key: 'k1' };

  it('has the key of the call', () => {
    expect(answerUrl({ WEBHOOK_SECRET: '' } as Config, receiver, 'status', row)).toBe(
      'https://pay.example.com/api/webhooks/payments/mobilemoney/status/k1',
    );
  });

  it('has the secret of the webhook, if one is set', () => {
    expect(answerUrl({ WEBHOOK_SECRET: 'a&b' } as Config, receiver, 'requests', row)).toBe(
      'https://pay.example.com/api/webhooks/payments/mobilemoney/requests/k1?token=a%26b',
    );
  });
});
