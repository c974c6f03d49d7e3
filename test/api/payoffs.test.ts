import { beforeAll, describe, expect, it } from 'vitest';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { accountNow, dataOf, newAccount, pay, reverse, setToday, useService } from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const DAY = '2026-11-02' as PlainDate;
const service = useService();

type Data = Answer['body'];

beforeAll(() => setToday(service, DAY));

let plans = 0;

/** Ten weekly instalments of 100, without a deposit, that offer 10 % to a customer who pays them early. */
function newPlan(fields: object = {}): Promise<Data> {
  plans += 1;
  const body = {
    ...{
      name: `Offer ${plans}`,
      deposit: 0,
      instalmentAmount: 100,
      instalmentCount: 10,
      frequency: 'weekly',
    },
    earlyPayoff: { discountBasisPoints: 1_000 },
    ...fields,
  };
  return dataOf(service.call('POST', '/payplans', body), 201);
}

async function account(plan: object = {}, fields: object = {}): Promise<Data> {
  const { id: payplanId } = await newPlan(plan);
  return newAccount(service, { payplanId, ...fields });
}

const changesOf = (id: number): Promise<Data[]> =>
  dataOf(service.call('GET', `/accounts/${id}/plan-changes?sort=id:asc`));

const kindsOf = async (id: number) => (await changesOf(id)).map(({ kind }) => kind);

const PAID_OFF = { status: 'completed', total: 900, paid: 900, balance: 0, credit: 0, planVersion: 1 };

describe('what a pay plan offers', () => {
  it('is shown with its defaults, changed and ended', async () => {
    const plan = await newPlan();
    expect(plan.earlyPayoff).toEqual({ discountBasisPoints: 1_000, until: null, minDues: 2 });
    const offer = { discountBasisPoints: 500, until: '2027-06-30', minDues: 1 };
    const path = `/payplans/${plan.id}`;
    expect((await dataOf(service.call('PUT', path, { earlyPayoff: offer }))).earlyPayoff).toEqual(offer);
    expect((await dataOf(service.call('PUT', path, { name: `${plan.name} b` }))).earlyPayoff).toEqual(offer);
    expect((await dataOf(service.call('PUT', path, { earlyPayoff: null }))).earlyPayoff).toBeNull();
    expect((await dataOf(service.call('GET', path))).earlyPayoff).toBeNull();
  });
});

describe('an early payoff', () => {
  it('is earned by the payment that brings the sum paid to the price without the discount', async () => {
    const { id } = await account();
    await pay(service, id, 900);
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
    const [change] = await changesOf(id);
    expect(change).toMatchObject({
      ...{ kind: 'payoff', version: 1, effectiveOn: DAY, reason: null, priceChange: -100 },
      ...{ actor: 'admin@example.com', undoes: null, undoneBy: null },
      before: { total: 1_000, instalmentCount: 10 },
      after: { total: 900, instalmentCount: 9, completionDate: '2027-01-04' },
    });
    const { events } = await dataOf(service.call('GET', '/events?limit=1000'));
    const own = events.filter(({ accountId }: Data) => accountId === id);
    expect(own.map(({ type }: Data) => type)).toEqual([
      ...['account.opened', 'payment.received', 'account.plan_changed', 'account.paid_until_changed'],
      'account.completed',
    ]);
    expect(own.map(({ accountVersion }: Data) => accountVersion)).toEqual([1, 2, 3, 4, 5]);
    expect(own[2].data).toEqual({
      ...{ kind: 'payoff', changeId: change?.id, planVersion: 1, total: 900, previousTotal: 1_000 },
      nextDueDate: null,
    });
    await expectBooksToBalance(service.context);
  });

  it('counts two payments of one day as one', async () => {
    const { id } = await account();
    await pay(service, id, 450);
    await pay(service, id, 450);
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
  });

  it('makes what is paid beyond it credit', async () => {
    const { id } = await account();
    await pay(service, id, 950);
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, paid: 950, credit: 50 });
  });

  it('is not earned by less, or by money of several days', async () => {
    const { id } = await account();
    await pay(service, id, 899);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', total: 1_000, paid: 899 });
    const { id: early } = await account();
    await pay(service, early, 450, { paymentDate: '2026-11-01' });
    await pay(service, early, 450);
    expect(await accountNow(service, early)).toMatchObject({ status: 'active', total: 1_000 });
    await pay(service, early, 45);
    expect(await accountNow(service, early)).toMatchObject({ status: 'completed', total: 945, paid: 945 });
    await expectBooksToBalance(service.context);
  });
});

describe('a payoff whose price is no longer paid', () => {
  it('is undone with the reversal, and earned again by a later payment', async () => {
    const { id } = await account();
    const { id: paymentId } = await pay(service, id, 450);
    await pay(service, id, 450);
    await reverse(service, paymentId);
    expect(await accountNow(service, id)).toMatchObject({
      ...{ status: 'active', reason: 'a payment was reversed', total: 1_000, paid: 450, planVersion: 2 },
      ...{ nextDueDate: '2026-12-07', originalTerms: null },
    });
    const [payoff, undo] = await changesOf(id);
    expect(payoff).toMatchObject({ kind: 'payoff', undoneBy: undo?.id });
    expect(undo).toMatchObject({ kind: 'undo', undoes: payoff?.id, priceChange: 100, effectiveOn: DAY });
    await pay(service, id, 450);
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, planVersion: 3 });
    expect(await kindsOf(id)).toEqual(['payoff', 'undo', 'payoff']);
    await expectBooksToBalance(service.context);
  });
});

describe('a correction of the price after a payoff', () => {
  async function change(id: number, body: object): Promise<Data> {
    const path = `/accounts/${id}/plan-changes`;
    const { version, paid } = await dataOf(service.call('POST', path, body));
    const confirmed = { reason: 'a test', ...body, confirm: { version, paid } };
    return dataOf(service.call('POST', path, confirmed), 201);
  }

  it('stays on its day if the payoff is undone later', async () => {
    const { id } = await account();
    const { id: paymentId } = await pay(service, id, 450);
    await pay(service, id, 450);
    setToday(service, '2026-11-05');
    await change(id, { kind: 'price_correction', amount: 200 });
    await change(id, { kind: 'undo' });
    await change(id, { kind: 'price_correction', amount: 30 });
    await change(id, { kind: 'price_correction', amount: 50 });
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', total: 820, credit: 80 });
    setToday(service, '2026-11-10');
    await reverse(service, paymentId);
    expect(await accountNow(service, id)).toMatchObject({
      ...{ status: 'active', total: 920, paid: 450, balance: 470, planVersion: 10 },
      originalTerms: { nextDueDate: '2026-12-07', daysPastDue: 0 },
    });
    const changes = await changesOf(id);
    expect(
      changes.slice(5).map(({ kind, effectiveOn, priceChange }) => [kind, effectiveOn, priceChange]),
    ).toEqual([
      ['undo', '2026-11-05', 50],
      ['undo', '2026-11-05', 30],
      ['undo', DAY, 100],
      ['price_correction', '2026-11-05', -30],
      ['price_correction', '2026-11-05', -50],
    ]);
    expect(changes.at(-1)).toMatchObject({
      reason: 'a test',
      actor: 'admin@example.com',
      after: { total: 920 },
    });
    for (const [to, total] of [
      [DAY, 1_000],
      ['2026-11-04', 1_000],
      ['2026-11-05', 920],
      ['2026-11-10', 920],
    ]) {
      const made = await dataOf(service.call('GET', `/accounts/${id}/statement?from=${DAY}&to=${to}`));
      expect(made.closing.owedInTotal, String(to)).toBe(Number(total) - 450);
    }
    await expectBooksToBalance(service.context);
    setToday(service, DAY);
  });
});

describe('a quote', () => {
  const quote = (id: number, query = ''): Promise<Data> =>
    dataOf(service.call('GET', `/accounts/${id}/quote${query}`));

  it('has the amount of an early payoff, which a payment then earns', async () => {
    const { id } = await account({ earlyPayoff: { discountBasisPoints: 1_000, until: '2026-11-30' } });
    await pay(service, id, 100, { paymentDate: '2026-11-01' });
    await pay(service, id, 200);
    const made = await quote(id, '?amount=620');
    expect(made).toMatchObject({
      settlement: 700,
      earlyPayoff: { amount: 610, discount: 90, until: '2026-11-30', duesLeft: 9 },
      noEarlyPayoff: null,
      payment: { balance: 0, credit: 10, completes: true, paymentState: 'paid_off' },
    });
    expect((await quote(id, '?amount=609')).payment).toMatchObject({ balance: 91, completes: false });
    const later = await quote(id, '?date=2026-11-09');
    expect(later.earlyPayoff).toEqual({ amount: 630, discount: 70, until: '2026-11-30', duesLeft: 7 });
    expect(await quote(id, '?date=2026-12-01')).toMatchObject({ earlyPayoff: null, noEarlyPayoff: 'ended' });
    await pay(service, id, 610);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', total: 910, credit: 0 });
    expect(await quote(id)).toMatchObject({ earlyPayoff: null, noEarlyPayoff: 'status' });
  });

  it('says why an account has no early payoff', async () => {
    const { id: without } = await account({ earlyPayoff: null });
    expect(await quote(without)).toMatchObject({ earlyPayoff: null, noEarlyPayoff: 'not_offered' });
    const { id: unpaid } = await account({ deposit: 100 });
    expect(await quote(unpaid)).toMatchObject({ noEarlyPayoff: 'deposit_unpaid' });
    const { id: few } = await account({ instalmentCount: 1 });
    expect(await quote(few)).toMatchObject({ noEarlyPayoff: 'too_few_dues' });
    const { id: small } = await account({ instalmentAmount: 1, instalmentCount: 9 });
    expect(await quote(small)).toMatchObject({ noEarlyPayoff: 'too_small' });
  });
});
