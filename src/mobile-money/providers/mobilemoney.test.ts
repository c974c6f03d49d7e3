import { describe, expect, it } from 'vitest';
import { mobilemoney } from './mobilemoney.ts';
import { readNotification } from './rules.ts';

const RULES = { currency: { code: 'KES', decimals: 2 }, timeZone: 'Africa/Nairobi', paybillNumbers: [] };
const RECEIVED = new Date('2026-03-02T09:00:00Z');

const SENT = {
  TransactionType: 'Pay Bill',
  TransID: 'RKTQDM7W6S',
  TransTime: '20260301235930',
  TransAmount: '400.50',
  BusinessShortCode: '600638',
  BillRefNumber: 'ACC10000071',
  MSISDN: '254712345678',
};

function read(body: unknown, rules: Partial<typeof RULES & { paybillNumbers: string[] }> = {}) {
  const rawBody = JSON.stringify(body) ?? '';
  const sent = mobilemoney.read(Buffer.from(rawBody));
  if (!sent) return { problems: [{ path: 'body' }] };
  return readNotification(mobilemoney, sent, rawBody, RECEIVED, { ...RULES, ...rules });
}

function accepted(body: unknown, rules = {}) {
  const reading = read(body, rules);
  if ('problems' in reading) throw new Error(JSON.stringify(reading.problems));
  return reading.notification;
}

function refused(body: unknown): string[] {
  const reading = read(body);
  return 'problems' in reading ? reading.problems.map(({ path }) => path) : [];
}

describe('a notification', () => {
  it('is read with all fields, and with its time as East Africa Time', () => {
    expect(accepted(SENT)).toMatchObject({
      provider: 'mobilemoney',
      rawBody: JSON.stringify(SENT),
      transId: 'RKTQDM7W6S',
      amountMinor: 40050n,
      transTime: new Date('2026-03-01T20:59:30Z'),
      businessShortCode: '600638',
      billRef: 'ACC10000071',
      payer: '254712345678',
      flags: [],
    });
  });

  it.each([
    [undefined, '2026-03-01T20:59:30Z', null],
    ['Africa/Nairobi', '2026-03-01T20:59:30Z', 'Africa/Nairobi'],
    ['Africa/Maputo', '2026-03-01T21:59:30Z', 'Africa/Maputo'],
    ['Africa/Accra', '2026-03-01T23:59:30Z', 'Africa/Accra'],
  ])('is read with its time in the zone %s', (providerTimeZone, time, timeZone) => {
    const notification = accepted(SENT, { providerTimeZone });
    expect(notification).toMatchObject({ transTime: new Date(time), timeZone, flags: [] });
    const inKampala = notification.readIn?.('Africa/Kampala');
    expect(inKampala).toMatchObject({ transTime: new Date('2026-03-01T20:59:30Z'), flags: [] });
    expect(inKampala?.contentHash).toEqual(accepted(SENT).contentHash);
  });

  it('can have numbers where the documentation has texts', () => {
    const numbers = { ...SENT, TransTime: 20260301235930, TransAmount: 400.5, BusinessShortCode: 600638 };
    const read = accepted({ ...numbers, MSISDN: 254712345678, BillRefNumber: 7 });
    expect(read).toMatchObject({ amountMinor: 40050n, businessShortCode: '600638', billRef: '7', flags: [] });
    expect(read.payer).toBe('254712345678');
    expect(accepted({ ...SENT, TransID: 12345 }).transId).toBe('12345');
  });

  it('needs only the transaction id and the amount', () => {
    expect(accepted({ TransID: 'a1', TransAmount: '1' })).toMatchObject({
      transId: 'A1',
      amountMinor: 100n,
      transTime: RECEIVED,
      businessShortCode: null,
      billRef: null,
      payer: null,
      flags: ['unreadable_time'],
    });
  });

  it.each([undefined, null, '', '   ', 'x'.repeat(65), {}, ['A'], true])(
    'is refused with TransID %j',
    (TransID) => {
      expect(refused({ ...SENT, TransID })).toEqual(['TransID']);
    },
  );

  it.each([
    undefined,
    null,
    '',
    '0',
    '0.00',
    '-1',
    '1,5',
    '1.005',
    '1e3',
    'ten',
    '1000000000000',
    1e21,
    Number.NaN,
    {},
    [1],
  ])('is refused with TransAmount %j', (TransAmount) => {
    expect(refused({ ...SENT, TransAmount })).toEqual(['TransAmount']);
  });

  it.each([undefined, null, 'text', 5, [SENT]])('is refused if the body is %j', (body) => {
    expect(refused(body)).toEqual(['body']);
  });

  it.each(['', 'yesterday', '20260230101010', '20260301246060', '2026030123593', 5, null])(
    'with the time %j gets the time of its receipt, and is flagged',
    (TransTime) => {
      expect(accepted({ ...SENT, TransTime })).toMatchObject({
        transTime: RECEIVED,
        flags: ['unreadable_time'],
      });
    },
  );

  it('of a later business day gets the time of its receipt, and is flagged', () => {
    expect(accepted({ ...SENT, TransTime: '20260302235959' }).flags).toEqual([]);
    expect(accepted({ ...SENT, TransTime: '20260303000000' })).toMatchObject({
      transTime: RECEIVED,
      flags: ['future_time'],
    });
  });

  it('for a short code of another business is flagged', () => {
    expect(accepted(SENT, { paybillNumbers: ['600638'] }).flags).toEqual([]);
    expect(accepted(SENT, { paybillNumbers: ['600639'] }).flags).toEqual(['other_short_code']);
    expect(accepted({ ...SENT, BusinessShortCode: '' }, { paybillNumbers: ['600638'] }).flags).toEqual([
      'other_short_code',
    ]);
  });

  it('has the payer’s name that the provider sends', () => {
    const names = { FirstName: ' JOHN ', MiddleName: '', LastName: 'MWANGI' };
    expect(accepted({ ...SENT, ...names }).payerName).toBe('JOHN MWANGI');
    expect(accepted({ ...SENT, FirstName: 'JOHN' }).payerName).toBe('JOHN');
    expect(accepted({ ...SENT, FirstName: null, LastName: ['x'] }).payerName).toBeNull();
    expect(accepted(SENT).payerName).toBeNull();
  });

  it('is stored without control characters and with limited length', () => {
    expect(accepted({ ...SENT, BillRefNumber: `a\0b\n${'x'.repeat(1000)}` }).billRef).toBe(
      `ab${'x'.repeat(254)}`,
    );
  });
});

describe('a form', () => {
  const readForm = (text: string) => mobilemoney.read(Buffer.from(text));

  it('is read like a JSON object, also its balance', () => {
    const form = new URLSearchParams({ ...SENT, FirstName: 'JANE', OrgAccountBalance: '99.00' }).toString();
    expect(readForm(form)).toEqual(
      mobilemoney.read(Buffer.from(JSON.stringify({ ...SENT, FirstName: 'JANE' }))),
    );
    expect(mobilemoney.readBalance?.(Buffer.from(form))).toBe('99.00');
  });

  it.each(['', 'text', 'TransAmount=400', 'TransID=A&TransID=B&TransAmount=400'])(
    'cannot be read if it is %j',
    (text) => {
      expect(readForm(text)).toBeUndefined();
    },
  );
});

describe('two notifications of one transaction', () => {
  const hash = (change: Record<string, unknown> = {}) =>
    accepted({ ...SENT, ...change }).contentHash.toString('hex');

  it('are equal if their fields have the same values in different formats', () => {
    expect(hash({ TransAmount: 400.5 })).toBe(hash());
    expect(hash({ TransAmount: '400.500' })).toBe(hash());
    expect(hash({ MSISDN: 254712345678 })).toBe(hash());
    expect(hash({ OrgAccountBalance: '1.00', FirstName: 'A', TransactionType: 'Buy Goods' })).toBe(hash());
  });

  it.each([
    { TransAmount: '400.51' },
    { TransTime: '20260301235931' },
    { BillRefNumber: 'ACC10000072' },
    { MSISDN: '254712345679' },
    { BusinessShortCode: '600639' },
  ])('differ if one of them has %j', (change) => {
    expect(hash(change)).not.toBe(hash());
  });
});
