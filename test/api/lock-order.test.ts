import { beforeAll, describe, expect, it } from 'vitest';
import { lockEmployee } from '../../src/catalogue/employees/store.ts';
import { lockProduct } from '../../src/catalogue/products/store.ts';
import { lockCustomer } from '../../src/customers/store.ts';
import {
  newAccount,
  newCustomer,
  notify,
  pay,
  setToday,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import { eventually } from '../support/waiting.ts';

/** Transactions that lock several rows lock them in one order: otherwise PostgreSQL ends some of them as deadlocks. */
const service = useService();
beforeAll(() => setToday(service, '2026-03-02'));

/**
 * Holds the account with the lower id, starts the work, and expects that the work waits for that account without holding
 * the other one.
 */
async function expectAscendingLocks<T>(
  [low, high]: readonly [number, number],
  work: () => Promise<T>,
): Promise<T> {
  let working: Promise<T> | undefined;
  const lock = `select from accounts where id = ${low} for no key update`;
  await whileHolding(service, lock, async (holder) => {
    working = work();
    await eventually(() => waitingForLock(holder)).toHaveLength(1);
    await holder.query('select from accounts where id = $1 for no key update nowait', [high]);
  });
  return working as Promise<T>;
}

describe('a transaction that locks two accounts', () => {
  it.each(['from the lower to the higher id', 'from the higher to the lower id'])(
    'locks them by ascending id: a transfer of credit %s',
    async (direction) => {
      const [low, high] = [await newAccount(service), await newAccount(service)];
      for (const { id, total } of [low, high]) await pay(service, id, total + 100);
      const [from, to] = direction.startsWith('from the lower') ? [low, high] : [high, low];
      const answer = await expectAscendingLocks([low.id, high.id], () =>
        service.call('POST', `/accounts/${from.id}/credit/transfer`, {
          toAccountId: to.id,
          amount: 1,
          reason: 'asked for it',
        }),
      );
      expect(answer.status, answer.text).toBe(201);
    },
  );

  it.each([1, 2])(
    'locks them by ascending id: a conflict whose first payment (method %i) is on the lower id',
    async (methodOfLow) => {
      const [low, high] = [await newAccount(service), await newAccount(service)];
      const TransID = `CONFLICT${methodOfLow}`;
      const record = (method: number) =>
        pay(service, (method === methodOfLow ? low : high).id, 1, {
          transactionRef: TransID,
          paymentMethodId: method,
        });
      await record(1);
      await record(2);
      const notified = await notify(service, { TransID, TransAmount: '1.00' });
      expect(notified.body.data.outcome).toBe('conflict');
      const { body } = await service.call('GET', `/notifications?filter[transactionRef]=${TransID}`);
      const answer = await expectAscendingLocks([low.id, high.id], () =>
        service.call('POST', `/notifications/${body.data[0].id}/resolve`, {
          paymentId: null,
          reason: 'neither is right',
        }),
      );
      expect(answer.status, answer.text).toBe(200);
    },
  );
});

describe('a change of a resource that accounts refer to', () => {
  it('does not delay new accounts', async () => {
    const { id: customerId } = await newCustomer(service);
    const { id: employeeId } = (await service.call('POST', '/employees', { name: 'Agent' })).body.data;
    await service.context.db.transaction().execute(async (tx) => {
      expect(await lockCustomer(tx, customerId)).toBeDefined();
      expect(await lockProduct(tx, 1)).toBeDefined();
      expect(await lockEmployee(tx, employeeId)).toBeDefined();
      await newAccount(service, { customerId, productId: 1, employeeId });
    });
  });
});
