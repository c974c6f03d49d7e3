import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newAccountThatIs,
  notify,
  pay,
  reverse,
  runJobs,
  setToday,
  startServiceForTest,
  type TestService,
  useInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const DAY = '2026-11-02' as PlainDate;
const service = useService();
const limited = useInstance(service, { APPROVAL_LIMIT: '100' });

type Data = Answer['body'];

beforeAll(() => setToday(service, DAY));

let plans = 0;

/** Ten weekly instalments of 100, without a deposit, that offer 10 % to a customer who pays them early. */
function newPlan(fields: object = {}, on: TestService = service): Promise<Data> {
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
  return dataOf(on.call('POST', '/payplans', body), 201);
}

async function account(plan: object = {}, fields: object = {}): Promise<Data> {
  const { id: payplanId } = await newPlan(plan);
  return newAccount(service, { payplanId, ...fields });
}

const changesOf = (id: number): Promise<Data[]> =>
  dataOf(service.call('GET', `/accounts/${id}/plan-changes?sort=id:asc`));

async function change(id: number, body: object): Promise<Data> {
  const path = `/accounts/${id}/plan-changes`;
  const { version, paid } = await dataOf(service.call('POST', path, body));
  const confirmed = { reason: 'a test', ...body, confirm: { version, paid } };
  return dataOf(service.call('POST', path, confirmed), 201);
}

const kindsOf = async (id: number) => (await changesOf(id)).map(({ kind }) => kind);

const OFFER = { discountBasisPoints: 1_000, minDues: 1 };
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

describe('an earlier version of the service', () => {
  it('refuses the database from the first offer on, also after it, because of the payoffs', async () => {
    const other = await startServiceForTest();
    await setToday(other, DAY);
    const { db } = other.context;
    const oldestUsable = async () =>
      (await sql<{ name: string }>`select oldest_usable_migration() as name`.execute(db)).rows[0]?.name;
    expect(await oldestUsable()).toBe('0036_oldest_usable_migration');
    const { id: payplanId } = await newPlan({}, other);
    expect(await oldestUsable()).toBe('0112_early_payoff');
    const { id } = await newAccount(other, { payplanId });
    await pay(other, id, 900);
    await dataOf(other.call('PUT', `/payplans/${payplanId}`, { earlyPayoff: null }));
    expect(await oldestUsable()).toBe('0112_early_payoff');
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

describe('requests for approval', () => {
  const approve = (id: number) =>
    limited.call('POST', `/approvals/${id}/approve`, undefined, { token: service.adminToken });

  it('to reverse a payment end the payoff when they are approved', async () => {
    const { id } = await account();
    const { id: paymentId } = await pay(service, id, 900);
    const token = await service.tokenOf('finance');
    const path = `/payments/${paymentId}/reverse`;
    const requested = await dataOf(limited.call('POST', path, { reason: 'typed twice' }, { token }), 202);
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
    expect((await approve(requested.id)).status).toBe(200);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', total: 1_000, paid: 0 });
    expect(await kindsOf(id)).toEqual(['payoff', 'undo']);
    await expectBooksToBalance(service.context);
  });

  it('to change the plan are obsolete after a payoff', async () => {
    const { id } = await account();
    const token = await service.tokenOf('finance');
    const body = { kind: 'deferral', from: '2026-11-16', periods: 1, reason: 'ill', confirm: { version: 0 } };
    const requested = await dataOf(
      limited.call('POST', `/accounts/${id}/plan-changes`, body, { token }),
      202,
    );
    await pay(service, id, 900);
    expect((await approve(requested.id)).status).toBe(409);
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
  });

  it('are not needed because of a payoff of the day', async () => {
    const { id } = await account();
    await pay(service, id, 900);
    const confirm = { version: 1, paid: 900 };
    const body = { kind: 'price_correction', amount: 50, reason: 'too high', confirm };
    const path = `/accounts/${id}/plan-changes`;
    expect((await limited.call('POST', path, body, { token: await service.tokenOf('finance') })).status).toBe(
      201,
    );
  });
});

describe('a correction of the price after a payoff', () => {
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
      ...{ status: 'active', total: 920, paid: 450, balance: 470, planVersion: 12 },
      originalTerms: { nextDueDate: '2026-12-07', daysPastDue: 0 },
    });
    const changes = await changesOf(id);
    expect(
      changes.slice(5).map(({ kind, effectiveOn, priceChange }) => [kind, effectiveOn, priceChange]),
    ).toEqual([
      ['undo', '2026-11-05', 50],
      ['undo', '2026-11-05', 30],
      ['undo', DAY, 100],
      ['price_correction', '2026-11-05', -200],
      ['undo', '2026-11-05', 200],
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

  it.each([
    // Money before the day, and on it.
    { date: DAY, paid: { '2026-10-20': 300 }, amount: 640, total: 940 },
    { date: DAY, paid: { '2026-10-20': 300, [DAY]: 200 }, amount: 439, total: 1_000 },
    { date: '2026-10-26', paid: { '2026-10-20': 300 }, amount: 630, total: 930 },
    { date: '2026-10-26', paid: { '2026-10-20': 300 }, amount: 629, total: 1_000 },
    // A payoff of the latest day with money, whose discount depends on what was paid before it.
    { date: '2026-10-25', paid: { '2026-10-27': 300 }, amount: 667, total: 967, credit: 0 },
    { date: '2026-10-25', paid: { '2026-10-27': 300 }, amount: 670, total: 967, credit: 3 },
    { date: '2026-10-25', paid: { '2026-10-27': 300 }, amount: 666, total: 1_000 },
    { date: '2026-10-25', paid: { '2026-10-27': 300 }, amount: 1_000, total: 1_000, credit: 300 },
    // What is unpaid on the day itself, the deposit or the activation, is paid or over by the latest day with money.
    {
      date: '2026-10-26',
      deposit: 100,
      paid: { '2026-10-27': 100 },
      amount: 1_000,
      total: 1_090,
      credit: 10,
    },
    { date: '2026-10-04', paid: { '2026-10-27': 300 }, amount: 670, total: 967, credit: 3 },
  ])(
    'of $amount on $date has the account after this payment, if it has paid $paid',
    async ({ date, deposit = 0, paid, amount, total, credit = 0 }) => {
      const { id } = await account({ earlyPayoff: OFFER, deposit }, { activationDate: '2026-10-05' });
      for (const [paymentDate, sum] of Object.entries(paid)) await pay(service, id, sum, { paymentDate });
      const made = await quote(id, `?date=${date}&amount=${amount}`);
      await pay(service, id, amount, { paymentDate: date });
      const after = await accountNow(service, id);
      expect(after).toMatchObject({ total, credit });
      expect(made.payment).toMatchObject({
        ...{ balance: after.balance, credit, nextDueDate: after.nextDueDate, paidUntil: after.paidUntil },
        completes: after.status === 'completed',
      });
      if ('2026-10-27' in paid) expect(made).toMatchObject({ noEarlyPayoff: 'later_entries' });
    },
  );

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

/** Each way in which the last 450 of two payments reach an account that has paid 450 on the day. */
const LAST_450: Record<string, (account: Data) => Promise<unknown>> = {
  'a notification of a provider': async ({ accountNumber }) => {
    const sent = { BillRefNumber: accountNumber, TransAmount: '450.00', TransTime: '20261102101530' };
    return notify(service, sent);
  },
  'an unmatched payment that is assigned': async ({ id }) => {
    const sent = { BillRefNumber: 'nobody', TransAmount: '450.00', TransTime: '20261102101530' };
    const { body } = await notify(service, sent);
    expect(body.data.outcome).toBe('unmatched');
    await dataOf(service.call('POST', `/payments/${body.data.paymentId}/assign`, { accountId: id }));
  },
  'credit of another account': async ({ id }) => {
    const giver = await account({ earlyPayoff: null });
    await pay(service, giver.id, 1_450);
    const body = { toAccountId: id, amount: 450, reason: 'of the same family' };
    await dataOf(service.call('POST', `/accounts/${giver.id}/credit/transfer`, body), 201);
  },
  'the correction of a lower amount': async ({ id }) => {
    const { id: paymentId } = await pay(service, id, 45);
    const body = { amount: 450, reason: 'typed wrongly' };
    await dataOf(service.call('POST', `/payments/${paymentId}/correct-amount`, body));
  },
  'a payment in a bulk call': async ({ id }) => {
    const items = [{ accountId: id, amount: 450, paymentMethodId: 2 }];
    const { items: made } = await dataOf(service.call('POST', '/payments/bulk', { items }));
    expect(made).toMatchObject([{ status: 'created' }]);
  },
};

describe('money that earns a payoff', () => {
  it.each(Object.keys(LAST_450))('can be %s', async (way) => {
    const opened = await account();
    await pay(service, opened.id, 450);
    await LAST_450[way]?.(opened);
    expect(await accountNow(service, opened.id)).toMatchObject(PAID_OFF);
    expect(await kindsOf(opened.id)).toEqual(['payoff']);
    await expectBooksToBalance(service.context);
  });

  it('can be several payments of one batch, of which a later one is credit', async () => {
    const { id } = await account();
    const items = [450, 450, 100].map((amount) => ({ accountId: id, amount, paymentMethodId: 2 }));
    const { items: made } = await dataOf(service.call('POST', '/payments/bulk', { items }));
    expect(made.map(({ warnings = [] }: Data) => warnings.map(({ code }: Data) => code))).toEqual([
      [],
      ['same_payment'],
      ['above_balance'],
    ]);
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, paid: 1_000, credit: 100 });
    await expectBooksToBalance(service.context);
  });

  it('is confirmed by the user if it is above the price after the discount', async () => {
    const { id } = await account();
    await pay(service, id, 300);
    const record = (amount: number, more = {}) =>
      service.call('POST', '/payments', {
        accountId: id,
        amount,
        paymentMethodId: 2,
        checks: 'confirm',
        ...more,
      });
    const asked = await record(650);
    expect(asked).toMatchObject({
      status: 409,
      body: { error: { details: { balance: 600, credit: 0, warnings: [{ code: 'above_balance' }] } } },
    });
    const confirmation = { codes: ['above_balance'], balance: 600, credit: 0 };
    const refused = await record(650, { confirmation: { ...confirmation, balance: 700 } });
    expect(refused.status).toBe(409);
    expect((await record(650, { confirmation })).status).toBe(201);
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, paid: 950, credit: 50 });
    const { id: exact } = await account();
    expect(
      (await service.call('POST', '/payments', { accountId: exact, amount: 900, paymentMethodId: 2 })).body
        .warnings,
    ).toEqual([]);
  });

  it('can be two payments of the same moment, one of which sees the other', async () => {
    for (let i = 0; i < 5; i++) {
      const { id } = await account();
      await Promise.all([450, 450].map((amount) => pay(service, id, amount)));
      expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
    }
    await expectBooksToBalance(service.context);
  });

  it('earns it once if a provider repeats its notification', async () => {
    const { id, accountNumber } = await account();
    const sent = {
      BillRefNumber: accountNumber,
      TransAmount: '900.00',
      TransTime: '20261102101530',
      TransID: 'REPEATED1',
    };
    await Promise.all([notify(service, sent), notify(service, sent), notify(service, sent)]);
    await notify(service, sent);
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
    expect(await kindsOf(id)).toEqual(['payoff']);
  });

  it('earns it when a notification whose posting failed is posted by the job', async () => {
    const { id, accountNumber } = await account();
    const { db } = service.context;
    await sql`create function refuse_payoff() returns trigger language plpgsql as
      'begin raise exception ''broken on purpose''; end'`.execute(db);
    await sql`create trigger refuse before insert on plan_changes for each row execute function refuse_payoff()`.execute(
      db,
    );
    const sent = { BillRefNumber: accountNumber, TransAmount: '900.00', TransTime: '20261102101530' };
    const answers = [await notify(service, { ...sent, TransID: 'FAILED1' })];
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', paid: 0, planVersion: 0 });
    await sql`drop trigger refuse on plan_changes`.execute(db);
    answers.push(await notify(service, { ...sent, TransID: 'FAILED1' }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
    expect(await kindsOf(id)).toEqual(['payoff']);
    await expectBooksToBalance(service.context);
  });

  it('counts on the latest date with money, also in the past, unless a change of the plan is later', async () => {
    const { id } = await account({}, { activationDate: '2026-10-05' });
    await pay(service, id, 300, { paymentDate: '2026-10-20' });
    // Three instalments are due up to 26 October: 300 is paid, 700 is left, 70 is offered.
    await pay(service, id, 630, { paymentDate: '2026-10-26' });
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', total: 930, credit: 0 });
    expect(await changesOf(id)).toMatchObject([{ kind: 'payoff', effectiveOn: '2026-10-26' }]);
    const { id: later } = await account({}, { activationDate: '2026-10-05' });
    await pay(service, later, 300, { paymentDate: '2026-10-27' });
    await pay(service, later, 630, { paymentDate: '2026-10-26' });
    expect(await accountNow(service, later)).toMatchObject({ status: 'active', total: 1_000 });
    // 667 before 27 October leave 333, so 33 is offered on that day.
    await pay(service, later, 37, { paymentDate: '2026-10-25' });
    expect(await accountNow(service, later)).toMatchObject({ status: 'completed', total: 967, credit: 0 });
    expect(await changesOf(later)).toMatchObject([{ kind: 'payoff', effectiveOn: '2026-10-27' }]);
    const { id: changed } = await account({}, { activationDate: '2026-10-05' });
    await change(changed, { kind: 'deferral', from: '2026-11-16', periods: 1 });
    await pay(service, changed, 960, { paymentDate: '2026-10-26' });
    expect(await accountNow(service, changed)).toMatchObject({ status: 'active', total: 1_000 });
    await expectBooksToBalance(service.context);
  });

  it.each(['suspended', 'defaulted', 'repossessed', 'pending'] as const)(
    'on an account that is %s',
    async (status) => {
      const plan = await newPlan();
      const { id } = await newAccountThatIs(service, status, { payplanId: plan.id });
      await pay(service, id, 900);
      const earns = status === 'suspended' || status === 'defaulted';
      expect(await accountNow(service, id)).toMatchObject(earns ? PAID_OFF : { status, total: 1_000 });
      expect(await kindsOf(id)).toEqual(earns ? ['payoff'] : []);
    },
  );
});

/** Each way in which an account loses the second of two payments of 450, which have earned a payoff. */
const LOSSES: Record<string, (paymentId: number) => Promise<unknown>> = {
  'a reversal': (paymentId) => reverse(service, paymentId),
  'an unassignment': (paymentId) =>
    dataOf(service.call('POST', `/payments/${paymentId}/unassign`, { reason: 'of another customer' })),
  'the correction to a lower amount': (paymentId) =>
    dataOf(
      service.call('POST', `/payments/${paymentId}/correct-amount`, { amount: 449, reason: 'typed wrongly' }),
    ),
};

describe('a payoff', () => {
  it.each(Object.keys(LOSSES))('ends by %s', async (way) => {
    const { id } = await account();
    await pay(service, id, 450);
    const { id: paymentId } = await pay(service, id, 450);
    expect((await accountNow(service, id)).status).toBe('completed');
    await LOSSES[way]?.(paymentId);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', total: 1_000, planVersion: 2 });
    await expectBooksToBalance(service.context);
  });

  it('stays if the amount of a payment is corrected to a higher one, or credit leaves the account', async () => {
    const { id } = await account();
    const { id: paymentId } = await pay(service, id, 900);
    const body = { amount: 950, reason: 'typed wrongly' };
    await dataOf(service.call('POST', `/payments/${paymentId}/correct-amount`, body));
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, paid: 950, credit: 50 });
    await dataOf(
      service.call('POST', `/accounts/${id}/credit/refund`, { amount: 50, reason: 'paid too much' }),
      201,
    );
    expect(await accountNow(service, id)).toMatchObject(PAID_OFF);
    expect(await kindsOf(id)).toEqual(['payoff']);
    await expectBooksToBalance(service.context);
  });

  it('ends and another one is earned by a corrected amount, as if its payment was reversed and recorded again', async () => {
    const paid = async () => {
      const { id } = await account();
      const { id: paymentId } = await pay(service, id, 300, { paymentDate: '2026-11-01' });
      await pay(service, id, 730);
      expect(await accountNow(service, id)).toMatchObject({ total: 930, paid: 1_030, credit: 100 });
      return { id, paymentId };
    };
    // 195 leave 805 on the day of the payoff, so 80 is offered.
    const now = { status: 'completed', total: 920, paid: 925, credit: 5, planVersion: 3 };
    const [corrected, reversed] = [await paid(), await paid()];
    const body = { amount: 195, reason: 'typed wrongly' };
    await dataOf(service.call('POST', `/payments/${corrected.paymentId}/correct-amount`, body));
    expect(await accountNow(service, corrected.id)).toMatchObject(now);
    await reverse(service, reversed.paymentId);
    await pay(service, reversed.id, 195, { paymentDate: '2026-11-01' });
    expect(await accountNow(service, reversed.id)).toMatchObject(now);
    for (const { id } of [corrected, reversed])
      expect(await kindsOf(id)).toEqual(['payoff', 'undo', 'payoff']);
    await expectBooksToBalance(service.context);
  });

  it('ends and another one is earned on an earlier day if no money is left on its own day', async () => {
    const { id } = await account({}, { activationDate: '2026-10-05' });
    await pay(service, id, 300, { paymentDate: '2026-10-20' });
    const { id: lastId } = await pay(service, id, 630, { paymentDate: '2026-10-26' });
    const { id: paymentId } = await pay(service, id, 660, { paymentDate: '2026-10-20' });
    await reverse(service, lastId);
    expect(await accountNow(service, id)).toMatchObject({ total: 930, paid: 960, credit: 30 });
    // Eight instalments are due after 20 October, so 80 is offered on this day.
    const body = { amount: 625, reason: 'typed wrongly' };
    await dataOf(service.call('POST', `/payments/${paymentId}/correct-amount`, body));
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', total: 920, credit: 5 });
    expect((await changesOf(id)).at(-1)).toMatchObject({ kind: 'payoff', effectiveOn: '2026-10-20' });
    const { rows } = await dataOf(service.call('GET', `/accounts/${id}/statement?from=2026-10-20`));
    const counted = rows.filter(({ charged, paid }: Data) => charged !== 0 || paid !== 0);
    expect(counted.map((row: Data) => [row.date, row.type, row.charged, row.paid, row.owedInTotal])).toEqual([
      ['2026-10-20', 'plan_change', -80, 0, 920],
      ['2026-10-20', 'payment', 0, 300, 620],
      ['2026-10-20', 'payment', 0, 625, -5],
    ]);
    await expectBooksToBalance(service.context);
  });

  it('is earned by the corrected amount of an account that was completed without one', async () => {
    const { id: payplanId } = await newPlan({ earlyPayoff: null });
    const { id } = await newAccount(service, { payplanId });
    const { id: paymentId } = await pay(service, id, 1_000);
    const offer = { earlyPayoff: { discountBasisPoints: 1_000 } };
    await dataOf(service.call('PUT', `/payplans/${payplanId}`, offer));
    const body = { amount: 950, reason: 'typed wrongly' };
    await dataOf(service.call('POST', `/payments/${paymentId}/correct-amount`, body));
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, paid: 950, credit: 50 });
    await expectBooksToBalance(service.context);
  });

  it('ends by the undo of a correction of the price whose credit has left the account', async () => {
    const { id } = await account();
    await pay(service, id, 900);
    await change(id, { kind: 'price_correction', amount: 50 });
    const refund = { amount: 50, reason: 'the price was wrong' };
    await dataOf(service.call('POST', `/accounts/${id}/credit/refund`, refund), 201);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', total: 850, paid: 850 });
    await change(id, { kind: 'undo' });
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', total: 1_000, paid: 850 });
    await expectBooksToBalance(service.context);
  });

  it('stays if its pay plan ends the offer', async () => {
    const plan = await newPlan();
    const { id } = await newAccount(service, { payplanId: plan.id });
    const { id: paymentId } = await pay(service, id, 900);
    await dataOf(service.call('PUT', `/payplans/${plan.id}`, { earlyPayoff: null }));
    await pay(service, id, 10);
    expect(await accountNow(service, id)).toMatchObject({ ...PAID_OFF, paid: 910, credit: 10 });
    await reverse(service, paymentId);
    await pay(service, id, 890);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', total: 1_000, paid: 900 });
    await expectBooksToBalance(service.context);
  });

  it('leaves the original terms of an account whose instalments were deferred', async () => {
    const { id } = await account({}, { activationDate: '2026-10-05' });
    await pay(service, id, 100, { paymentDate: '2026-10-12' });
    await change(id, { kind: 'deferral', from: '2026-11-09', periods: 4, arrears: 'behind' });
    const before = await accountNow(service, id);
    expect(before).toMatchObject({ nextDueDate: '2026-12-07', originalTerms: { daysPastDue: 14 } });
    const { id: paymentId } = await pay(service, id, 810);
    const payoff = { status: 'completed', total: 910, nextDueDate: null, originalTerms: null };
    expect(await accountNow(service, id)).toMatchObject({ ...payoff, restructured: before.restructured });
    await expectBooksToBalance(service.context);
    await reverse(service, paymentId);
    const { nextDueDate, originalTerms, restructured, total } = await accountNow(service, id);
    expect({ nextDueDate, originalTerms, restructured, total }).toEqual({
      ...{ nextDueDate: before.nextDueDate, originalTerms: before.originalTerms },
      ...{ restructured: before.restructured, total: 1_000 },
    });
    await expectBooksToBalance(service.context);
  });

  it('cannot be undone by hand', async () => {
    const { id } = await account();
    await pay(service, id, 900);
    const answer = await service.call('POST', `/accounts/${id}/plan-changes`, { kind: 'undo' });
    expect(wrongFields(answer)).toEqual(['kind']);
  });

  it('counts on no day after its undo', async () => {
    const { id } = await account();
    const summary = (on: string) =>
      dataOf(service.call('GET', `/reports/accounts/summary?startDate=${DAY}&endDate=${on}`));
    setToday(service, '2026-11-08');
    const before = await summary('2026-11-06');
    await pay(service, id, 450, { paymentDate: DAY });
    const { id: paymentId } = await pay(service, id, 450, { paymentDate: DAY });
    setToday(service, '2026-11-12');
    await reverse(service, paymentId);
    const after = await summary('2026-11-06');
    expect(after.opened).toEqual(before.opened);
    expect(after.outstanding).toBe(before.outstanding - 450);
    const made = await dataOf(service.call('GET', `/accounts/${id}/statement?from=${DAY}&to=2026-11-12`));
    expect(made.rows.map(({ type }: Data) => type)).not.toContain('plan_change');
    setToday(service, DAY);
    await expectBooksToBalance(service.context);
  });
});
