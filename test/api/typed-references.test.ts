import { beforeAll, describe, expect, it } from 'vitest';
import { dataOf, newAccount, notify, setToday, useService } from '../support/harness.ts';
import { notification } from '../support/http.ts';

// What payers type into the phone, and where it must lead. {n} is the number of the account without `ACC`, {m} the number of
// another account, and {z} is {n} with the letters O for 0 and I for 1.

const service = useService();
let account: { id: number; accountNumber: string };
let other: { id: number; accountNumber: string };
beforeAll(async () => {
  setToday(service, '2026-11-02');
  [account, other] = [await newAccount(service), await newAccount(service)];
});

/** A match is also accepted before the money moves. A suggestion is refused then, and waits in the worklist otherwise. */
const REFERENCES: Record<'match' | 'suggestion' | 'nothing', string[]> = {
  match: [
    'ACC{n}',
    'acc{n}',
    'ACC {n}',
    'ACC-{n}',
    '{n}',
    "'ACC{n}",
    'ACC{n} JANE',
    'JANE ACC{n}',
    'payment for ACC{n}',
    'A/C ACC{n}',
    'A/C NO: ACC{n}.',
    'ACC: {n} jane doe',
    'ＡＣＣ{n} Jane',
    'ACC{n} ACC{n}',
    'ACC{n}/ACC{n}',
    'ACC{n} {n}',
    'ACC{n}JANE',
    'ACC{n} NOV 2026',
    'ACC{n} 2/11/2026',
    'ACC{n} 5 lamps',
  ],
  suggestion: [
    'ACC NO {n}',
    'ACCOUNT {n}',
    '{n} JANE',
    'JANE {n}',
    'payment for {n}',
    '{n} {n}',
    '{n} 0712345678',
    'ACC{n} 0712345678',
    'ACC{n} 0712 345 678',
    'ACC{n} ID 23456789',
    'ACC{n} ACC{m}',
    'ACC{n} {m}',
    'ACC{z}',
    '{z}',
    'ACC{z} JANE',
    'acc{z} jane',
    'ACC{n}O',
    'ACC{n}I JANE',
  ],
  nothing: ['JANE DOE', 'ACC', 'ACC NO', '0712 999 888', 'SOLAR 2026', 'ACC99999999 JANE'],
};

describe.each(Object.entries(REFERENCES))('a %s', (expected, references) => {
  it.each(references)('is what %s leads to', async (typed) => {
    const digits = account.accountNumber.slice(3);
    const BillRefNumber = typed
      .replaceAll('{n}', digits)
      .replaceAll('{m}', other.accountNumber.slice(3))
      .replaceAll('{z}', digits.replaceAll('0', 'O').replaceAll('1', 'I'));
    const sent = notification({ BillRefNumber, TransAmount: '100.00' });
    const asked = await service.call('POST', '/webhooks/payments/mobilemoney/validation', sent, {
      token: null,
    });
    expect(asked.body.data.accepted, BillRefNumber).toBe(expected === 'match');
    const { paymentId, outcome } = (await notify(service, sent)).body.data;
    expect(outcome, BillRefNumber).toBe(expected === 'match' ? 'matched' : 'unmatched');
    if (expected === 'match') {
      const payment = await dataOf(service.call('GET', `/payments/${paymentId}`));
      expect(payment).toMatchObject({ accountId: account.id, matchMethod: 'account_number' });
      return;
    }
    const [row] = await dataOf(service.call('GET', `/payments/unmatched?filter[id]=${paymentId}`));
    const suggested = row.suggestions.filter((one: { accountId: number }) => one.accountId === account.id);
    expect(suggested, BillRefNumber).toHaveLength(expected === 'suggestion' ? 1 : 0);
    if (expected === 'suggestion') expect(['medium', 'high']).toContain(suggested[0].confidence);
  });
});
