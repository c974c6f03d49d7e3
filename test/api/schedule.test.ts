import { describe, expect, it } from 'vitest';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  pay,
  reverse,
  setToday,
  useService,
} from '../support/harness.ts';

const service = useService();

function scheduleOf(id: number) {
  return dataOf(service.call('GET', `/accounts/${id}/schedule`));
}

describe('GET /accounts/:id/schedule', () => {
  it('shows the deposit and every instalment with what is paid of it', async () => {
    setToday(service, '2026-10-19');
    const account = await newAccount(service);
    await pay(service, account.id, 2_500);
    setToday(service, '2026-11-02');
    const schedule = await scheduleOf(account.id);
    expect(schedule).toMatchObject({
      accountId: account.id,
      accountNumber: account.accountNumber,
      currency: 'KES',
    });
    expect(schedule.items).toHaveLength(53);
    expect(schedule.items.slice(0, 4)).toEqual([
      { number: 0, dueDate: '2026-10-19', amount: 2_000, paid: 2_000, state: 'paid' },
      { number: 1, dueDate: '2026-10-26', amount: 400, paid: 400, state: 'paid' },
      { number: 2, dueDate: '2026-11-02', amount: 400, paid: 100, state: 'due' },
      { number: 3, dueDate: '2026-11-09', amount: 400, paid: 0, state: 'upcoming' },
    ]);
    const { nextDueDate, nextDueAmount, total } = await accountNow(service, account.id);
    expect({ nextDueDate, nextDueAmount }).toEqual({ nextDueDate: '2026-11-02', nextDueAmount: 300 });
    const sum = schedule.items.reduce((all: number, { amount }: { amount: number }) => all + amount, 0);
    expect(sum).toBe(total);
  });

  it('follows a reversal and a cancellation', async () => {
    setToday(service, '2026-10-19');
    const { id } = await newAccount(service);
    const payment = await pay(service, id, 2_400);
    setToday(service, '2026-10-27');
    await reverse(service, payment.id);
    expect((await scheduleOf(id)).items.slice(0, 3)).toMatchObject([
      { paid: 0, state: 'overdue' },
      { paid: 0, state: 'overdue' },
      { paid: 0, state: 'upcoming' },
    ]);
    await move(service, id, 'cancelled');
    const states = (await scheduleOf(id)).items.map(({ state }: { state: string }) => state);
    expect(new Set(states)).toEqual(new Set(['not_owed']));
  });

  it('answers the longest schedule of a plan', async () => {
    const terms = { deposit: 0, instalmentAmount: 1, instalmentCount: 10_000, frequency: 'daily' };
    const plan = await service.call('POST', '/payplans', { name: 'Longest', ...terms });
    const { id } = await newAccount(service, { payplanId: plan.body.data.id });
    const { items } = await scheduleOf(id);
    expect(items).toHaveLength(10_000);
    expect(items[0].number).toBe(1);
  });
});
