import { beforeAll, describe, expect, it } from 'vitest';
import { notify, setToday, useService, wrongFields } from '../support/harness.ts';

/** A JSON number is exact up to 2^53. A larger total is refused, never rounded. */
const service = useService();

const LARGEST = 999_999_999_999.99;
const ids: number[] = [];

beforeAll(async () => {
  setToday(service, '2026-03-20');
  for (let day = 1; day <= 10; day += 1) {
    const TransTime = `202603${String(day).padStart(2, '0')}120000`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => notify(service, { TransTime, TransAmount: '999999999999.99' })),
    );
    ids.push(...answers.map((answer) => answer.body.data.paymentId));
  }
});

describe('a report of payments', () => {
  const report = (endDate: string, format = 'json') =>
    service.call('GET', `/reports/payments?startDate=2026-03-01&endDate=${endDate}&format=${format}`);

  it('is refused when its total exceeds an exact number', async () => {
    const answer = await report('2026-03-10');
    expect(wrongFields(answer)).toEqual(['endDate']);
    expect(answer.body.error.message).toContain('ask for a shorter period, or for format=csv');
  });

  it('succeeds for a shorter period, or as a file', async () => {
    const { body } = await report('2026-03-05');
    expect(body.data.totals).toMatchObject({ received: 49_999_999_999_999.5, net: 49_999_999_999_999.5 });
    const csv = await report('2026-03-10', 'csv');
    expect(csv.status).toBe(200);
    expect(csv.text.match(/999999999999\.99/g)).toHaveLength(100);
  });
});

describe('a reconciliation', () => {
  it('is refused when its total exceeds an exact number, changes nothing, and succeeds for fewer payments', async () => {
    const key = { headers: { 'idempotency-key': 'all of them' } };
    for (const options of [{}, key]) {
      const answer = await service.call('POST', '/payments/reconcile', { paymentIds: ids }, options);
      expect(wrongFields(answer)).toEqual(['paymentIds']);
      expect(answer.body.error.message).toContain('send fewer ids at a time');
    }
    const reconciled = await service.call('GET', '/payments?filter[reconciliationId][isnull]=false');
    expect(reconciled.body.pagination.total).toBe(0);
    expect((await service.call('GET', '/reconciliations')).body.pagination.total).toBe(0);
    expect((await service.call('GET', '/audit?filter[action]=payments.reconcile')).body.data).toEqual([]);

    const few = await service.call('POST', '/payments/reconcile', { paymentIds: ids.slice(0, 3) });
    expect(few.body.data.totals.reconciled).toBe(Number((3 * LARGEST).toFixed(2)));
  });
});
