import { beforeAll, describe, expect, it } from 'vitest';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newAccountThatIs,
  newApiKey,
  pay,
  reverse,
  runJobs,
  setToday,
  useInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const DAY = '2026-11-02' as PlainDate;
const service = useService({ PLAN_CHANGE_REASONS: 'illness, harvest' });
const limited = useInstance(service, { APPROVAL_LIMIT: '1000' });
const shortly = useInstance(service, { MAX_DEFERRED_DAYS: '30' });

beforeAll(() => setToday(service, DAY));

type Data = Answer['body'];

function send(id: number, body: object, options: object = {}): Promise<Answer> {
  return service.call('POST', `/accounts/${id}/plan-changes`, body, options);
}

/** What the change would do. */
const show = (id: number, body: object): Promise<Data> => dataOf(send(id, body));

const confirmed = (body: object, { version, paid }: Data, reason = 'a test') => ({
  reason,
  ...body,
  confirm: { version, paid },
});

/** Shows the change, and does it. */
async function change(id: number, body: object): Promise<Data> {
  const shown = await show(id, body);
  return dataOf(send(id, confirmed(body, shown)), 201);
}

const undo = (id: number) => change(id, { kind: 'undo' });

const changesOf = (id: number): Promise<Data> =>
  dataOf(service.call('GET', `/accounts/${id}/plan-changes?sort=id:asc`));

const scheduleOf = (id: number): Promise<Data> =>
  dataOf(service.call('GET', `/accounts/${id}/schedule`)).then(({ items }) => items);

/** The weekly demo plan: a deposit of 2,000, and 52 instalments of 400 from 9 November on. */
const account = () => newAccount(service);

describe('a discount', () => {
  it('is shown without changing anything', async () => {
    const { id } = await account();
    await pay(service, id, 2_400);
    const shown = await show(id, { kind: 'discount', amount: 500 });
    expect(shown).toMatchObject({
      accountId: id,
      kind: 'discount',
      version: 0,
      paid: 2_400,
      readsPaid: true,
      needsApproval: false,
      priceChange: -500,
      before: { total: 22_800, instalmentCount: 52, completionDate: '2027-11-01', balance: 20_400 },
      after: { total: 22_300, instalmentCount: 51, completionDate: '2027-10-25', balance: 19_900 },
    });
    expect(shown.after.runs).toEqual([
      { count: 50, amount: 400, firstDueDate: '2026-11-09', lastDueDate: '2027-10-18' },
      { count: 1, amount: 300, firstDueDate: '2027-10-25', lastDueDate: '2027-10-25' },
    ]);
    expect(await accountNow(service, id)).toMatchObject({ planVersion: 0, total: 22_800 });
    expect(await changesOf(id)).toEqual([]);
  });

  it('lowers the price, with its ledger entries, event, audit entry and entry in the timeline', async () => {
    const { id } = await account();
    await pay(service, id, 2_400);
    const done = await change(id, { kind: 'discount', amount: 500, reason: 'late', reasonCode: 'illness' });
    expect(done).toMatchObject({
      ...{
        accountId: id,
        version: 1,
        kind: 'discount',
        effectiveOn: DAY,
        reason: 'late',
        reasonCode: 'illness',
      },
      ...{ priceChange: -500, undoes: null, undoneBy: null, actor: 'admin@example.com', approvalId: null },
      before: { total: 22_800 },
      after: { total: 22_300, instalmentCount: 51 },
    });
    expect(await changesOf(id)).toEqual([done]);
    const now = await accountNow(service, id);
    expect(now).toMatchObject({ planVersion: 1, total: 22_300, balance: 19_900, restructured: null });
    const { events } = await dataOf(service.call('GET', `/events?limit=1000`));
    expect(events.findLast(({ type }: Data) => type === 'account.plan_changed')).toMatchObject({
      resourceId: id,
      data: {
        ...{ kind: 'discount', changeId: done.id, planVersion: 1, total: 22_300, previousTotal: 22_800 },
        nextDueDate: '2026-11-16',
      },
    });
    const [entry] = await dataOf(
      service.call('GET', `/audit?filter[action]=account.change_plan&sort=id:desc`),
    );
    expect(entry).toMatchObject({ resourceId: id, after: { kind: 'discount', changeId: done.id } });
    const { entries } = await dataOf(service.call('GET', `/accounts/${id}/timeline?kind=plan_change`));
    expect(entries).toEqual([
      expect.objectContaining({ kind: 'plan_change', status: 'discount', reason: 'late', amount: -500 }),
    ]);
    await expectBooksToBalance(service.context);
  });
});

/** The refused fields of a change, which must have status 400. */
const refused = async (id: number, body: object) => wrongFields(await send(id, body));

const statusOfAnswer = ({ status }: Answer) => status;

describe('a change', () => {
  it('takes effect only if the account is still as it was when the effect was shown', async () => {
    const { id } = await account();
    const body = { kind: 'discount', amount: 500 };
    const shown = await show(id, body);
    await pay(service, id, 100);
    const paid = await send(id, confirmed(body, shown));
    expect(paid.status, paid.text).toBe(409);
    expect(paid.body.error.details.fields).toEqual([
      { path: 'confirm.paid', message: 'was 0 when the effect was shown, and is now 100' },
    ]);
    await dataOf(send(id, confirmed(body, { version: 0, paid: 100 })), 201);
    const again = await send(id, confirmed(body, { version: 0, paid: 100 }));
    expect(again.status, again.text).toBe(409);
    expect(again.body.error.details.fields).toEqual([
      { path: 'confirm.version', message: 'was 0 when the effect was shown, and is now 1' },
    ]);
    expect(await accountNow(service, id)).toMatchObject({ planVersion: 1, total: 22_300 });
  });

  it('that does not read the sum paid takes effect although money arrived', async () => {
    const { id } = await account();
    const body = { kind: 'price_correction', amount: 500 };
    const shown = await show(id, body);
    expect(shown.readsPaid).toBe(false);
    await pay(service, id, 100);
    await dataOf(send(id, { ...body, reason: 'a test', confirm: { version: 0 } }), 201);
  });

  it('of two concurrent confirmations takes effect once', async () => {
    const { id } = await account();
    const body = { kind: 'discount', amount: 500 };
    const shown = await show(id, body);
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(id, confirmed(body, shown))));
    expect(answers.map(statusOfAnswer).sort()).toEqual([201, 409, 409, 409, 409]);
    expect(await accountNow(service, id)).toMatchObject({ planVersion: 1, total: 22_300 });
  });

  it('and a concurrent payment both count, or the change is refused', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await account();
      const body = { kind: 'discount', amount: 500 };
      const shown = await show(id, body);
      const [made] = await Promise.all([send(id, confirmed(body, shown)), pay(service, id, 22_400)]);
      const total = made.status === 201 ? 22_300 : 22_800;
      expect([201, 409]).toContain(made.status);
      expect(await accountNow(service, id)).toMatchObject({
        ...{ total, paid: 22_400, credit: Math.max(0, 22_400 - total) },
        status: made.status === 201 ? 'completed' : 'active',
      });
    }
    await expectBooksToBalance(service.context);
  });

  it('with an Idempotency-Key is made once', async () => {
    const { id } = await account();
    const body = confirmed({ kind: 'discount', amount: 500 }, { version: 0, paid: 0 });
    const options = { headers: { 'idempotency-key': 'discount-1' } };
    const first = await send(id, body, options);
    const second = await send(id, body, options);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect(await accountNow(service, id)).toMatchObject({ planVersion: 1 });
  });

  const ANY = { kind: 'discount', amount: 500 };
  it.each([
    ['needs a kind', { amount: 500 }, ['kind']],
    ['refuses an unknown kind', { kind: 'payoff' }, ['kind']],
    ['needs the fields of its kind', { kind: 'discount' }, ['amount']],
    ['refuses the fields of another kind', { ...ANY, from: '2026-11-09', days: 3 }, ['days', 'from']],
    ['refuses an amount above what is unpaid', { ...ANY, amount: 22_800.01 }, ['amount']],
    ['refuses an amount with too many decimals', { ...ANY, amount: 0.001 }, ['amount']],
    ['refuses an unknown reason code', { ...ANY, reasonCode: 'none' }, ['reasonCode']],
    ['needs a reason to be confirmed', { ...ANY, confirm: { version: 0, paid: 0 } }, ['reason']],
    [
      'needs the sum paid to be confirmed, if it reads it',
      { ...ANY, reason: 'a test', confirm: { version: 0 } },
      ['confirm.paid'],
    ],
    ['needs one way to defer', { kind: 'deferral', from: '2026-12-07' }, ['periods']],
    ['refuses two ways to defer', { kind: 'deferral', from: '2026-12-07', periods: 1, days: 3 }, ['days']],
    [
      'refuses to move arrears in the way of another kind',
      { kind: 'deferral', from: '2026-12-07', days: 3, arrears: 'move' },
      ['arrears'],
    ],
    [
      'needs a rhythm to spread',
      { kind: 'revision', firstDueDate: '2026-12-07', instalmentCount: 3 },
      ['frequency'],
    ],
    ['refuses an undo without a change', { kind: 'undo' }, ['kind']],
    [
      'refuses a pay plan that is that of the account',
      { kind: 'sale_correction', payplanId: 2 },
      ['payplanId'],
    ],
  ])('%s', async (_what, body, fields) => {
    const { id } = await account();
    expect(await refused(id, body)).toEqual(fields);
  });

  it('of an unknown account is not found', async () => {
    expect((await send(999_999, ANY)).status).toBe(404);
    expect((await service.call('GET', '/accounts/999999/plan-changes')).status).toBe(404);
  });

  it.each([
    ['pending', 200],
    ['active', 200],
    ['suspended', 200],
    ['defaulted', 200],
    ['repossessed', 400],
    ['completed', 200],
    ['written_off', 400],
    ['cancelled', 400],
  ] as const)('of the price of an account that is %s is answered with %i', async (status, expected) => {
    const { id } = await newAccountThatIs(service, status);
    const answer = await send(id, { kind: 'price_correction', amount: 500 });
    expect(answer.status, answer.text).toBe(expected);
    if (expected === 400) expect(wrongFields(answer)).toEqual(['id']);
  });
});

describe('a price correction', () => {
  it('makes credit of what was paid above the new price, also on a completed account', async () => {
    const { id } = await account();
    await pay(service, id, 22_800);
    const done = await change(id, { kind: 'price_correction', amount: 3_000 });
    expect(done).toMatchObject({ kind: 'price_correction', priceChange: -3_000 });
    expect(await accountNow(service, id)).toMatchObject({
      ...{ status: 'completed', total: 19_800, paid: 22_800, credit: 3_000, balance: 0 },
    });
    await dataOf(
      service.call('POST', `/accounts/${id}/credit/refund`, { amount: 1_000, reason: 'back' }),
      201,
    );
    // The price rises again above the sum paid, so the account is open again.
    await undo(id);
    expect(await accountNow(service, id)).toMatchObject({
      ...{ status: 'active', total: 22_800, paid: 21_800, credit: 0, balance: 1_000 },
    });
    await expectBooksToBalance(service.context);
  });

  it('can leave no instalment, and is undone to the same schedule', async () => {
    const { id } = await account();
    const before = await scheduleOf(id);
    await change(id, { kind: 'price_correction', amount: 20_800 });
    expect(await accountNow(service, id)).toMatchObject({ total: 2_000, nextDueDate: DAY });
    expect(await scheduleOf(id)).toHaveLength(1);
    await pay(service, id, 2_000);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed' });
    await undo(id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', balance: 20_800 });
    expect((await scheduleOf(id)).map(({ dueDate, amount }: Data) => [dueDate, amount])).toEqual(
      before.map(({ dueDate, amount }: Data) => [dueDate, amount]),
    );
    await expectBooksToBalance(service.context);
  });

  it('completes an account that has paid the new price, and an undo reopens it', async () => {
    const { id } = await newAccountThatIs(service, 'defaulted');
    await pay(service, id, 20_000);
    await change(id, { kind: 'price_correction', amount: 2_800 });
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed', credit: 0 });
    await undo(id);
    expect(await accountNow(service, id)).toMatchObject({
      ...{ status: 'defaulted', reason: 'the plan was changed', balance: 2_800 },
    });
  });

  it('of a recovered debt makes credit, and its undo a loss if the credit has left', async () => {
    const { id } = await newAccountThatIs(service, 'written_off');
    await pay(service, id, 22_800);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed' });
    await change(id, { kind: 'price_correction', amount: 800 });
    await dataOf(service.call('POST', `/accounts/${id}/credit/refund`, { amount: 800, reason: 'back' }), 201);
    await expectBooksToBalance(service.context);
    await undo(id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'written_off', balance: 800 });
    await expectBooksToBalance(service.context);
  });
});

describe('an undo', () => {
  it('restores the schedule before the newest change, one after the other', async () => {
    const { id } = await account();
    const schedules = [await scheduleOf(id)];
    for (const amount of [500, 700, 400]) {
      await change(id, { kind: 'discount', amount });
      schedules.push(await scheduleOf(id));
    }
    for (const expected of schedules.slice(0, -1).toReversed()) {
      await undo(id);
      expect(await scheduleOf(id)).toEqual(expected);
    }
    expect(await refused(id, { kind: 'undo' })).toEqual(['kind']);
    const list = await changesOf(id);
    const firstId = list[0].id;
    expect(
      list.map(({ version, kind, undoes, undoneBy }: Data) => [version, kind, undoes, undoneBy]),
    ).toEqual([
      [1, 'discount', null, firstId + 5],
      [2, 'discount', null, firstId + 4],
      [3, 'discount', null, firstId + 3],
      [4, 'undo', firstId + 2, null],
      [5, 'undo', firstId + 1, null],
      [6, 'undo', firstId, null],
    ]);
    await expectBooksToBalance(service.context);
  });
});

describe('the list of changes', () => {
  it('can be filtered by kind, account, day and whether a change is undone', async () => {
    const [one, other] = [await account(), await account()];
    await change(one.id, { kind: 'discount', amount: 1 });
    await change(other.id, { kind: 'price_correction', amount: 2 });
    await undo(other.id);
    const found = async (filter: string) =>
      (await dataOf(service.call('GET', `/plan-changes?sort=id:asc&${filter}`)))
        .filter(({ accountId }: Data) => [one.id, other.id].includes(accountId))
        .map(({ accountId, kind }: Data) => [accountId, kind]);
    expect(await found('filter[kind]=discount&limit=100')).toEqual([[one.id, 'discount']]);
    expect(await found(`filter[accountId]=${other.id}`)).toEqual([
      [other.id, 'price_correction'],
      [other.id, 'undo'],
    ]);
    expect(await found('filter[undone]=true&limit=100')).toEqual([[other.id, 'price_correction']]);
    expect(await found(`filter[effectiveOn][gt]=${DAY}`)).toEqual([]);
  });
});

describe('what a change did', () => {
  /** The fields of `PlanChangeOutcome` in the list of changes, which the timeline has, too. */
  async function outcomeOf(id: number, { id: changeId }: Data) {
    const made = (await changesOf(id)).find((one: Data) => one.id === changeId);
    const { kind, priceChange, arrearsMoved, instalments, payplanName, undoneChange } = made;
    const outcome = { kind, priceChange, arrearsMoved, instalments, payplanName, undoneChange };
    const { entries } = await dataOf(service.call('GET', `/accounts/${id}/timeline?kind=plan_change`));
    expect(entries.find((entry: Data) => entry.id === changeId).planChange).toEqual(outcome);
    return outcome;
  }
  const nothing = {
    ...{ priceChange: 0, arrearsMoved: 0, instalments: null, payplanName: null, undoneChange: null },
  };

  it('names the instalments that a deferral moved, and those that a revision made', async () => {
    const { id } = await account();
    const deferral = await change(id, { kind: 'deferral', from: '2027-10-18', periods: 2 });
    expect(await outcomeOf(id, deferral)).toEqual({
      ...{ ...nothing, kind: 'deferral' },
      instalments: {
        ...{ count: 3, movedFrom: '2027-10-18', firstDueDate: '2027-11-01', lastDueDate: '2027-11-15' },
      },
    });
    const revision = await change(id, {
      ...{ kind: 'revision', firstDueDate: '2027-01-04', instalmentCount: 10, frequency: 'monthly' },
    });
    expect(await outcomeOf(id, revision)).toEqual({
      ...{ ...nothing, kind: 'revision' },
      instalments: { count: 10, movedFrom: null, firstDueDate: '2027-01-04', lastDueDate: '2027-10-04' },
    });
  });

  it('names the discount, the pay plan that was meant, and the change that an undo undid', async () => {
    const { id } = await account();
    expect(await outcomeOf(id, await change(id, { kind: 'discount', amount: 50 }))).toEqual({
      ...{ ...nothing, kind: 'discount', priceChange: -50 },
    });
    expect(await outcomeOf(id, await undo(id))).toEqual({
      ...{ ...nothing, kind: 'undo', priceChange: 50 },
      undoneChange: { kind: 'discount', effectiveOn: DAY },
    });
    const { name } = await dataOf(service.call('GET', '/payplans/1'));
    const corrected = await change(id, { kind: 'sale_correction', payplanId: 1 });
    expect(await outcomeOf(id, corrected)).toMatchObject({ kind: 'sale_correction', payplanName: name });
  });

  it('is listed with the customer, whose name only callers with customers:read see', async () => {
    const { id, customerId } = await account();
    const { id: changeId } = await change(id, { kind: 'discount', amount: 1 });
    const { firstName, lastName } = await dataOf(service.call('GET', `/customers/${customerId}`));
    const path = `/plan-changes?filter[id]=${changeId}`;
    const customerName = `${firstName} ${lastName}`;
    const { accountNumber } = await accountNow(service, id);
    expect(await dataOf(service.call('GET', path))).toMatchObject([
      { accountId: id, accountNumber, customerId, customerName },
    ]);
    const { key: token } = await newApiKey(service, ['accounts:read']);
    expect(await dataOf(service.call('GET', path, undefined, { token }))).toMatchObject([
      { customerId, customerName: null },
    ]);
  });
});

describe('an approval', () => {
  const asAdmin = () => ({ token: service.adminToken });
  const request = async (id: number, body: object) =>
    dataOf(limited.call('POST', `/accounts/${id}/plan-changes`, body, asAdmin()), 202);
  const approve = async (approvalId: number) =>
    limited.call('POST', `/approvals/${approvalId}/approve`, undefined, {
      token: await service.tokenOf('finance'),
    });

  it('is needed for a change of the price above the limit, and the change takes effect on its day', async () => {
    const { id } = await account();
    const body = { kind: 'discount', amount: 1_000.01, reason: 'a test', confirm: { version: 0, paid: 0 } };
    const { confirm, ...asked } = body;
    const shown = await dataOf(limited.call('POST', `/accounts/${id}/plan-changes`, asked, asAdmin()));
    expect(shown.needsApproval).toBe(true);
    const requested = await request(id, body);
    expect(requested).toMatchObject({
      ...{ action: 'change_plan', amount: 1_000.01, accountId: id, reason: 'a test' },
      facts: { planVersion: 0, paid: 0, balance: null, credit: null, accountStatus: null },
    });
    expect(requested.planChange).toEqual({ ...asked, payplanName: null });
    setToday(service, '2026-11-03');
    const approved = await approve(requested.id);
    expect(approved.status, approved.text).toBe(200);
    const [made] = await changesOf(id);
    expect(made).toMatchObject({
      ...{ effectiveOn: '2026-11-03', approvalId: requested.id, requestedBy: 'admin@example.com' },
    });
    expect(made.actor).toMatch(/^user/);
    setToday(service, DAY);
    await expectBooksToBalance(service.context);
  });

  it('shows the requested change to the approver, who can ask for its present effect', async () => {
    const { id } = await account();
    const plan = { deposit: 2_000, instalmentAmount: 500, instalmentCount: 52, frequency: 'weekly' };
    const meant = { name: 'The plan that was meant', ...plan };
    const { id: payplanId, total } = await dataOf(service.call('POST', '/payplans', meant), 201);
    const asked = { kind: 'sale_correction', payplanId, reason: 'another plan' };
    const requested = await request(id, { ...asked, confirm: { version: 0, paid: 0 } });
    const token = await service.tokenOf('manager');
    const { planChange } = await dataOf(
      limited.call('GET', `/approvals/${requested.id}`, undefined, { token }),
    );
    expect(planChange).toEqual({ ...asked, payplanName: meant.name });
    const { payplanName, ...body } = planChange;
    const path = `/accounts/${id}/plan-changes`;
    expect(await dataOf(limited.call('POST', path, body, { token }))).toMatchObject({ after: { total } });
    const listed = await dataOf(
      limited.call('GET', `/approvals?filter[id]=${requested.id}`, undefined, { token }),
    );
    expect(listed).toMatchObject([{ planChange }]);
  });

  it('is not needed for a change of the price up to the limit', async () => {
    const { id } = await account();
    const body = { kind: 'discount', amount: 1_000, reason: 'a test', confirm: { version: 0, paid: 0 } };
    await dataOf(limited.call('POST', `/accounts/${id}/plan-changes`, body, asAdmin()), 201);
  });

  it('is obsolete after a payment if the change reads the sum paid', async () => {
    const { id } = await account();
    const requested = await request(id, {
      ...{ kind: 'discount', amount: 2_000, reason: 'a test', confirm: { version: 0, paid: 0 } },
    });
    await pay(service, id, 100);
    const refusal = await approve(requested.id);
    expect(refusal.status, refusal.text).toBe(409);
    expect(refusal.body.error.details.fields).toEqual([
      { path: 'paid', message: 'was 0 when requested, and is now 100' },
    ]);
    const ended = await dataOf(service.call('GET', `/approvals/${requested.id}`));
    expect(ended).toMatchObject({ status: 'obsolete', changedFacts: ['paid'] });
  });

  it('stays possible after a payment if the change does not read the sum paid', async () => {
    const { id } = await account();
    const requested = await request(id, {
      ...{ kind: 'price_correction', amount: 2_000, reason: 'a test', confirm: { version: 0 } },
    });
    await pay(service, id, 100);
    expect((await approve(requested.id)).status).toBe(200);
  });

  it('is obsolete after another change of the plan, and a job ends it', async () => {
    const { id } = await account();
    const requested = await request(id, {
      ...{ kind: 'price_correction', amount: 2_000, reason: 'a test', confirm: { version: 0 } },
    });
    await change(id, { kind: 'discount', amount: 1 });
    await runJobs(service);
    const ended = await dataOf(service.call('GET', `/approvals/${requested.id}`));
    expect(ended).toMatchObject({ status: 'obsolete', changedFacts: ['planVersion'] });
  });

  it.each(['approving it', 'a job'])(
    'is obsolete once its first new date has come: %s ends it',
    async (by) => {
      const { id } = await account();
      const requested = await request(id, {
        ...{ kind: 'deferral', from: '2026-11-09', periods: 1, reason: 'a test', confirm: { version: 0 } },
      });
      // The price stays, so the balance decides.
      expect(requested).toMatchObject({ amount: 22_800, facts: { planVersion: 0, paid: null } });
      setToday(service, '2026-11-09');
      if (by === 'a job') await runJobs(service);
      else {
        const refusal = await approve(requested.id);
        expect(refusal.status, refusal.text).toBe(409);
        expect(refusal.body.error.details.fields).toEqual([
          { path: 'from', message: 'was possible until 2026-11-08, and today is 2026-11-09' },
        ]);
      }
      expect(await dataOf(service.call('GET', `/approvals/${requested.id}`))).toMatchObject({
        status: 'obsolete',
      });
      expect(await changesOf(id)).toEqual([]);
      setToday(service, DAY);
    },
  );

  it('of a sale correction is obsolete once the first instalment of the other plan has come', async () => {
    const plan = {
      name: 'Daily, for a correction',
      deposit: 2_000,
      instalmentAmount: 100,
      instalmentCount: 10,
    };
    const { id: payplanId } = await dataOf(
      service.call('POST', '/payplans', { ...plan, frequency: 'daily' }),
      201,
    );
    const { id } = await account();
    const requested = await request(id, {
      ...{ kind: 'sale_correction', payplanId, reason: 'a test', confirm: { version: 0 } },
    });
    // The first instalment of the present plan is due on 9 November, that of the other plan on 3 November.
    setToday(service, '2026-11-03');
    const refusal = await approve(requested.id);
    expect(refusal.status, refusal.text).toBe(409);
    expect(refusal.body.error.details.fields).toEqual([
      { path: 'payplanId', message: 'was possible until 2026-11-02, and today is 2026-11-03' },
    ]);
    expect(await dataOf(service.call('GET', `/approvals/${requested.id}`))).toMatchObject({
      status: 'obsolete',
    });
    setToday(service, DAY);
  });

  it('is obsolete if the account can no longer be changed', async () => {
    const { id } = await account();
    const requested = await request(id, {
      ...{ kind: 'price_correction', amount: 2_000, reason: 'a test', confirm: { version: 0 } },
    });
    await move(service, id, 'cancelled');
    const refusal = await approve(requested.id);
    expect(refusal.status, refusal.text).toBe(409);
    expect(await dataOf(service.call('GET', `/approvals/${requested.id}`))).toMatchObject({
      status: 'obsolete',
    });
  });
});

describe('the status', () => {
  it('of an account whose payment is reversed after a discount is open again', async () => {
    const { id } = await account();
    await change(id, { kind: 'discount', amount: 800 });
    const payment = await pay(service, id, 22_000);
    expect(await accountNow(service, id)).toMatchObject({ status: 'completed' });
    await reverse(service, payment.id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', balance: 22_000 });
    await expectBooksToBalance(service.context);
  });
});

describe('the rights', () => {
  it.each([
    ['admin', 200],
    ['manager', 200],
    ['finance', 200],
    ['agent', 403],
    ['collector', 403],
    ['viewer', 403],
  ])('let a user with the role %s change plans: %i', async (role, status) => {
    const { id } = await account();
    const answer = await send(id, { kind: 'discount', amount: 1 }, { token: await service.tokenOf(role) });
    expect(answer.status).toBe(status);
  });
});

/** An account of the weekly demo plan that is activated on 5 October: instalments of 400 from 12 October on. */
const earlier = () => newAccount(service, { activationDate: '2026-10-05' });

describe('each kind of change', () => {
  const kinds: [
    string,
    { paid: number; body: object; effect: object; after: object; first?: [string, number] },
  ][] = [
    [
      'deferral by periods moves each instalment to the date of a later one',
      {
        paid: 3_600,
        body: { kind: 'deferral', from: '2026-11-09', periods: 2 },
        effect: { readsPaid: false, priceChange: 0, arrearsMoved: 0, aheadMoved: 0 },
        after: {
          ...{ total: 22_800, instalmentCount: 52, completionDate: '2027-10-18', arrears: 0 },
          ...{ nextDueDate: '2026-11-23', restructured: { kind: 'deferral', date: DAY } },
        },
      },
    ],
    [
      'deferral by days moves each instalment by these days',
      {
        paid: 3_600,
        body: { kind: 'deferral', from: '2026-11-09', days: 3 },
        effect: { readsPaid: false, priceChange: 0 },
        after: { completionDate: '2027-10-07', nextDueDate: '2026-11-12' },
      },
    ],
    [
      'deferral with the arrears moves them behind the last instalment',
      {
        paid: 2_400,
        body: { kind: 'deferral', from: '2026-11-09', periods: 2, arrears: 'behind' },
        effect: { readsPaid: true, priceChange: 0, arrearsMoved: 1_200 },
        after: {
          ...{ total: 22_800, instalmentCount: 52, completionDate: '2027-11-08', arrears: 0 },
          ...{ nextDueDate: '2026-11-23', daysPastDue: 0 },
        },
      },
    ],
    [
      'revision spreads what is not yet due over the count of instalments',
      {
        paid: 3_600,
        body: {
          ...{ kind: 'revision', firstDueDate: '2026-12-05', instalmentCount: 10 },
          ...{ frequency: 'monthly', monthsWithoutDues: [5, 6] },
        },
        effect: { readsPaid: true, priceChange: 0, aheadMoved: 0 },
        after: {
          ...{ total: 22_800, instalmentCount: 14, completionDate: '2027-11-05' },
          ...{
            nextDueDate: '2026-12-05',
            nextDueAmount: 1_920,
            restructured: { kind: 'revision', date: DAY },
          },
        },
      },
    ],
    [
      'revision makes what was paid ahead an instalment of today',
      {
        paid: 4_000,
        body: {
          ...{ kind: 'revision', firstDueDate: '2026-12-05', instalmentAmount: 1_000, frequency: 'monthly' },
        },
        effect: { aheadMoved: 400, arrearsMoved: 0 },
        // The instalment of today is 400 + 400.
        after: { total: 22_800, instalmentCount: 23, nextDueDate: '2026-12-05', nextDueAmount: 1_000 },
      },
    ],
    [
      'revision with the arrears spreads them, too',
      {
        paid: 2_000,
        body: {
          ...{ kind: 'revision', firstDueDate: '2026-12-05', instalmentCount: 10, frequency: 'monthly' },
          arrears: 'move',
        },
        effect: { arrearsMoved: 1_600, aheadMoved: 0 },
        after: { arrears: 0, instalmentCount: 10, nextDueAmount: 2_080, total: 22_800 },
      },
    ],
    [
      'revision to harvests has an instalment after each',
      {
        paid: 3_600,
        body: {
          ...{ kind: 'revision', firstDueDate: '2026-12-05' },
          harvest: {
            entries: [
              { month: 3, day: 15, shareBasisPoints: 6_000 },
              { month: 9, day: 30, shareBasisPoints: 4_000 },
            ],
            ...{ cycles: 2, leadDays: 0 },
          },
        },
        effect: { priceChange: 0 },
        after: { total: 22_800, instalmentCount: 8, nextDueDate: '2027-03-15', nextDueAmount: 5_760 },
      },
    ],
    [
      'discount cuts the last instalments',
      {
        paid: 3_600,
        body: { kind: 'discount', amount: 900 },
        effect: { readsPaid: true, priceChange: -900 },
        after: { total: 21_900, instalmentCount: 50, completionDate: '2027-09-20', restructured: null },
      },
    ],
    [
      'price correction cuts the last instalments',
      {
        paid: 3_600,
        body: { kind: 'price_correction', amount: 900 },
        effect: { readsPaid: false, priceChange: -900 },
        after: { total: 21_900, instalmentCount: 50 },
      },
    ],
    [
      'price rise appends instalments',
      {
        paid: 3_600,
        body: { kind: 'price_rise', amount: 900, consent: 'signed on 1 November' },
        effect: { readsPaid: false, priceChange: 900 },
        after: { total: 23_700, instalmentCount: 55, completionDate: '2027-10-25' },
      },
    ],
  ];

  it.each(kinds)('%s, and is undone to the same schedule', async (_what, { paid, body, effect, after }) => {
    const { id } = await earlier();
    await pay(service, id, paid);
    const before = await scheduleOf(id);
    const shown = await show(id, body);
    expect(shown).toMatchObject({ ...effect, after });
    const made = await dataOf(send(id, confirmed(body, shown)), 201);
    const { runs, arrears, nextDueDate, restructured } = shown.after;
    expect(await accountNow(service, id)).toMatchObject({
      ...{ planVersion: 1, total: shown.after.total, arrears, nextDueDate, restructured },
    });
    expect(await show(id, { kind: 'undo' })).toMatchObject({ before: { runs }, undoes: made.id });
    await undo(id);
    expect(await scheduleOf(id)).toEqual(before);
    expect(await accountNow(service, id)).toMatchObject({ planVersion: 2, restructured: null });
  });

  it('leaves books in balance', () => expectBooksToBalance(service.context));

  it('of the sale takes the terms of another pay plan, from the same activation date', async () => {
    const { id } = await account();
    const before = await accountNow(service, id);
    const schedule = await scheduleOf(id);
    const plan = await dataOf(service.call('GET', '/payplans/1'));
    const made = await change(id, { kind: 'sale_correction', payplanId: 1 });
    expect(made.priceChange).toBe(plan.total - before.total);
    const terms = ({ deposit, total, graceDays, payplanId, frequency }: Data) => ({
      ...{ deposit, total, graceDays, payplanId, frequency },
    });
    expect(terms(await accountNow(service, id))).toEqual(terms({ ...plan, payplanId: 1 }));
    await undo(id);
    expect(terms(await accountNow(service, id))).toEqual(terms(before));
    expect(await scheduleOf(id)).toEqual(schedule);
    await expectBooksToBalance(service.context);
  });

  it('of the sale is refused once the first instalment has fallen due', async () => {
    expect(await refused((await earlier()).id, { kind: 'sale_correction', payplanId: 1 })).toEqual(['kind']);
  });

  it('refuses a first date that is not after today', async () => {
    const { id } = await earlier();
    expect(await refused(id, { kind: 'deferral', from: DAY, periods: 1 })).toEqual(['from']);
    const revision = { kind: 'revision', instalmentCount: 5, frequency: 'weekly' };
    expect(await refused(id, { ...revision, firstDueDate: DAY })).toEqual(['firstDueDate']);
  });

  it('cannot defer the instalments by more days within a year than is allowed', async () => {
    const { id } = await account();
    const ask = (body: object) =>
      shortly.call('POST', `/accounts/${id}/plan-changes`, body, { token: service.adminToken });
    const from = '2026-12-07';
    expect(wrongFields(await ask({ kind: 'deferral', from, days: 31 }))).toEqual(['days']);
    expect(wrongFields(await ask({ kind: 'deferral', from, periods: 5 }))).toEqual(['periods']);
    await change(id, { kind: 'deferral', from, periods: 4 });
    const used = await ask({ kind: 'deferral', from: '2027-01-04', days: 3 });
    expect(wrongFields(used)).toEqual(['days']);
    expect(used.body.error.message).toContain('by 31 days within 365 days; at most 30');
    expect((await ask({ kind: 'deferral', from: '2027-01-04', days: 2 })).status).toBe(200);
    await undo(id);
    expect((await ask({ kind: 'deferral', from, days: 30 })).status).toBe(200);
    await change(id, { kind: 'deferral', from, periods: 4 });
    setToday(service, '2027-11-02');
    expect((await ask({ kind: 'deferral', from: '2027-11-08', days: 30 })).status).toBe(200);
    setToday(service, DAY);
  });

  it('needs the consent of the customer for a price rise', async () => {
    const { id } = await account();
    const body = { kind: 'price_rise', amount: 100, reason: 'a test', confirm: { version: 0 } };
    expect(await refused(id, body)).toEqual(['consent']);
    const made = await dataOf(send(id, { ...body, consent: 'by phone on 1 November' }), 201);
    expect(made).toMatchObject({ consent: 'by phone on 1 November', priceChange: 100 });
  });

  it('of an account with runs keeps the months without instalments of the newest revision', async () => {
    const { id } = await account();
    await change(id, {
      ...{ kind: 'revision', firstDueDate: '2027-03-02', instalmentAmount: 4_000, frequency: 'monthly' },
      monthsWithoutDues: [5, 6],
    });
    const { after } = await show(id, { kind: 'price_rise', amount: 4_000 });
    // March, April, July, August, September and 800 in October; then 4,000 in November.
    expect(after.runs.at(-1)).toMatchObject({ lastDueDate: '2027-11-02' });
    await change(id, { kind: 'deferral', from: '2027-04-02', periods: 1 });
    expect((await accountNow(service, id)).rhythm).toEqual({ frequency: 'monthly', every: 1, days: [] });
    const dates = (await scheduleOf(id)).map(({ dueDate }: Data) => dueDate);
    expect(dates.filter((date: string) => ['05', '06'].includes(date.slice(5, 7)))).toEqual([]);
  });
});

describe('a price rise after a revision to one small instalment', () => {
  it('appends the instalment that was computed from the count', async () => {
    const plan = {
      name: 'Rounded',
      price: 600,
      deposit: 100,
      instalmentCount: 5,
      roundingUnit: 50,
      frequency: 'weekly',
    };
    const { id: payplanId } = await dataOf(service.call('POST', '/payplans', plan), 201);
    const { id } = await newAccount(service, { payplanId });
    await change(id, { kind: 'discount', amount: 499 });
    await change(id, {
      kind: 'revision',
      firstDueDate: '2027-01-04',
      instalmentCount: 1,
      frequency: 'monthly',
    });
    const { after } = await show(id, { kind: 'price_rise', amount: 100 });
    const instalments = (after.runs as Data[]).map(({ count, amount }) => [count, amount]);
    expect(instalments).toEqual([
      [1, 1],
      [2, 50],
    ]);
  });
});

describe('a series of changes', () => {
  it('undone newest first leads back to the original schedule', async () => {
    const { id } = await earlier();
    await pay(service, id, 4_100);
    const original = await scheduleOf(id);
    const bodies = [
      { kind: 'deferral', from: '2026-11-16', periods: 3 },
      { kind: 'discount', amount: 650 },
      { kind: 'revision', firstDueDate: '2026-12-01', instalmentCount: 7, frequency: 'monthly', every: 2 },
      { kind: 'price_rise', amount: 1_000, consent: 'in writing' },
      { kind: 'deferral', from: '2027-02-01', days: 10 },
      { kind: 'price_correction', amount: 5_000 },
    ];
    const schedules = [original];
    for (const body of bodies) {
      await change(id, body);
      schedules.push(await scheduleOf(id));
    }
    for (const expected of schedules.slice(0, -1).toReversed()) {
      await undo(id);
      expect(await scheduleOf(id)).toEqual(expected);
    }
    expect(await accountNow(service, id)).toMatchObject({ planVersion: 12, restructured: null });
    await expectBooksToBalance(service.context);
  });
});

describe('a late account', () => {
  /** Suspended by the policy: 28 days late with 7 days of grace. */
  async function suspended() {
    const { id: payplanId } = await dataOf(
      service.call('POST', '/payplans', {
        ...{ name: `Suspending ${Math.random()}`, deposit: 0, instalmentAmount: 100, instalmentCount: 10 },
        ...{ frequency: 'weekly', graceDays: 7, autoSuspend: true },
      }),
      201,
    );
    const { id } = await newAccount(service, { payplanId, activationDate: '2026-10-05' });
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject({ status: 'suspended', daysPastDue: 21 });
    return id;
  }

  it('is active again if a deferral ends its lateness', async () => {
    const id = await suspended();
    await change(id, { kind: 'deferral', from: '2026-11-09', periods: 1, arrears: 'behind' });
    expect(await accountNow(service, id)).toMatchObject({
      ...{ status: 'active', reason: 'plan changed: 0 days past due, 7 days of grace', arrears: 0 },
      restructured: { kind: 'deferral', date: DAY },
    });
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active' });
    // After the undo the account is late again, and its days of grace begin today.
    await undo(id);
    await runJobs(service);
    expect(await accountNow(service, id)).toMatchObject({ status: 'active', daysPastDue: 21 });
    await expectBooksToBalance(service.context);
  });

  it('stays suspended after a change that leaves it late, and after its undo', async () => {
    const id = await suspended();
    await change(id, { kind: 'deferral', from: '2026-11-09', periods: 1 });
    expect(await accountNow(service, id)).toMatchObject({ status: 'suspended', arrears: 400 });
    await undo(id);
    expect(await accountNow(service, id)).toMatchObject({ status: 'suspended' });
  });
});
