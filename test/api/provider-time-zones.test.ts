import { describe, expect, it } from 'vitest';
import {
  dataOf,
  newAccount,
  newCustomer,
  notify,
  startInstanceForTest,
  useService,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';

const service = useService();

/** A provider's clock that is two hours behind East Africa Time. */
const LAGOS = { MOBILEMONEY_TIMEZONE: 'Africa/Lagos' };

async function newReference(): Promise<string> {
  const { id: customerId } = await newCustomer(service);
  return (await newAccount(service, { customerId })).accountNumber;
}

/** The payments of a transaction, with the time zone and the instant of each of its notifications. */
async function stored(transId: string) {
  const { db } = service.context;
  const notifications = await db
    .selectFrom('notifications')
    .select(['time_zone', 'trans_time', 'outcome', 'flags'])
    .where('trans_id', '=', transId)
    .orderBy('id')
    .execute();
  const payments = await db
    .selectFrom('payments')
    .select(['payment_date', 'amount_minor'])
    .where('provider_trans_id', '=', transId)
    .execute();
  return { notifications, payments };
}

describe('the time of a notification', () => {
  it('is read in the zone of the provider, and stored with the zone', async () => {
    const lagos = await startInstanceForTest(service, LAGOS);
    const BillRefNumber = await newReference();
    // 23:30 in Lagos is 01:30 of the next day in Nairobi.
    const sent = notification({ TransID: 'ZONE1', TransTime: '20261101233000', BillRefNumber });
    expect((await dataOf(notify(lagos, sent))).outcome).toBe('matched');
    expect(await stored('ZONE1')).toMatchObject({
      notifications: [{ time_zone: 'Africa/Lagos', trans_time: '2026-11-01T22:30:00.000Z', flags: [] }],
      payments: [{ payment_date: '2026-11-02' }],
    });
  });

  it('is read in the zone of the first notification if the setting has changed, and the payment keeps its date', async () => {
    const lagos = await startInstanceForTest(service, LAGOS);
    for (const [transId, first, second] of [
      ['ZONE2', service, lagos],
      ['ZONE3', lagos, service],
    ] as const) {
      const BillRefNumber = await newReference();
      const sent = notification({ TransID: transId, TransTime: '20261101223000', BillRefNumber });
      expect((await dataOf(notify(first, sent))).outcome).toBe('matched');
      const before = await stored(transId);
      expect((await dataOf(notify(second, sent))).outcome).toBe('repeated');
      const contradiction = { ...sent, TransTime: '20261101213000' };
      expect((await dataOf(notify(second, contradiction))).outcome).toBe('differs');
      const { notifications, payments } = await stored(transId);
      expect(payments).toEqual(before.payments);
      const [{ time_zone: zone } = { time_zone: null }] = before.notifications;
      expect(notifications.map((one) => one.time_zone)).toEqual([zone, zone]);
    }
  });

  it('of an earlier version is East Africa Time', async () => {
    const lagos = await startInstanceForTest(service, LAGOS);
    const BillRefNumber = await newReference();
    const sent = notification({ TransID: 'ZONE4', TransTime: '20261101223000', BillRefNumber });
    await notify(service, sent);
    await service.context.db
      .updateTable('notifications')
      .set({ time_zone: null })
      .where('trans_id', '=', 'ZONE4')
      .execute();
    expect((await dataOf(notify(lagos, sent))).outcome).toBe('repeated');
  });
});
