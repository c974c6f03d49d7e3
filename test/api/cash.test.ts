import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { inSnapshot } from '../../src/core/database/transactions.ts';
import { findHolderRows } from '../../src/payments/cash/overview-store.ts';
import { CASH_CHECKS } from '../../src/reports/proof/cash-checks-store.ts';
import { runCheck } from '../../src/reports/proof/store.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { newAccount, startInstanceForTest, useInstance, useService } from '../support/harness.ts';
import { eventually } from '../support/waiting.ts';

const CASH = 2;
const service = useService({ CASH_COUNTS: 'on', CASH_CEILING: '1000' });
/** The same database, with approvals. */
const limited = useInstance(service, { CASH_COUNTS: 'on', APPROVAL_LIMIT: '5000' });

interface Person {
  id: number;
  token: string;
}

async function newPerson(role: string): Promise<Person> {
  const token = await service.signInAs(role);
  return { token, id: (await service.call('GET', '/auth/me', undefined, { token })).body.data.id };
}

/** Sends a request as the person. @returns the data of the answer. */
async function as(person: Pick<Person, 'token'>, method: string, path: string, body?: unknown) {
  const { status, text, body: answer } = await service.call(method, path, body, { token: person.token });
  expect(status, text).toBeLessThan(300);
  return answer.data;
}

/** The status and the error of a refused request. */
async function refusal(person: Pick<Person, 'token'>, method: string, path: string, body?: unknown) {
  const { status, body: answer } = await service.call(method, path, body, { token: person.token });
  return { status, code: answer.error?.code, message: answer.error?.message };
}

const post = (person: Pick<Person, 'token'>, path: string, body?: unknown) => as(person, 'POST', path, body);
const count = (person: Person, counted: number) =>
  post(person, '/cash/counts', { paymentMethodId: CASH, counted });

let finance: Person;
let manager: Person;
let account: { id: number };

beforeAll(async () => {
  finance = await newPerson('finance');
  manager = await newPerson('manager');
  account = await newAccount(service);
});

async function payCash(person: Pick<Person, 'token'>, amount: number, fields: object = {}): Promise<number> {
  return (
    await post(person, '/payments', { accountId: account.id, amount, paymentMethodId: CASH, ...fields })
  ).id;
}

/** A user who has counted an opening amount that finance has confirmed. */
async function newHolder(role = 'agent', opening = 0): Promise<Person> {
  const person = await newPerson(role);
  const { id } = await count(person, opening);
  await post(finance, `/cash/counts/${id}/confirm`, { isEarlierCash: true });
  return person;
}

async function rowOf(person: Person) {
  const { holders } = await as(finance, 'GET', '/cash/overview');
  return holders.find((row: { holderId: number }) => row.holderId === person.id);
}

describe('a cash count', () => {
  it('expects the count before plus the cash recorded since, and closes at once if nothing differs', async () => {
    const holder = await newHolder('agent', 500);
    await payCash(holder, 200);
    await payCash(holder, 50);
    expect(await count(holder, 750)).toMatchObject({
      counted: 750,
      previous: 500,
      posted: 250,
      moved: 0,
      expected: 750,
      difference: 0,
      status: 'closed',
      isOpening: false,
    });
    await expectBooksToBalance(service.context);
  });

  it('does not show the holder what is expected before it is saved', async () => {
    const holder = await newHolder('agent', 500);
    await payCash(holder, 200);
    const { methods } = await as(holder, 'GET', '/cash/own');
    expect(JSON.stringify(methods)).not.toContain('700');
    const cashier = await newHolder('finance', 500);
    await payCash(cashier, 200);
    const { holders } = await as(cashier, 'GET', '/cash/overview');
    expect(holders.find((row: { holderId: number }) => row.holderId === cashier.id)).toMatchObject({
      inHand: null,
      uncounted: null,
    });
  });

  it('needs a reason for a difference, which stays with the holder until another difference offsets it', async () => {
    const holder = await newHolder();
    await payCash(holder, 200);
    const short = await count(holder, 150);
    expect(short).toMatchObject({ expected: 200, difference: -50, status: 'open' });
    expect(
      await refusal(holder, 'POST', '/cash/counts', { paymentMethodId: CASH, counted: 200 }),
    ).toMatchObject({
      status: 409,
      code: 'DUPLICATE_ENTRY',
    });
    const other = await newHolder();
    expect(await refusal(other, 'POST', `/cash/counts/${short.id}/explain`, { reason: 'x' })).toMatchObject({
      status: 404,
    });
    expect(
      await post(holder, `/cash/counts/${short.id}/explain`, { reason: 'too much change' }),
    ).toMatchObject({
      status: 'closed',
      reason: 'too much change',
    });
    expect(await rowOf(holder)).toMatchObject({ inHand: 150, openDifference: -50 });
    const found = await count(holder, 200);
    expect(found).toMatchObject({ expected: 150, difference: 50 });
    await post(holder, `/cash/counts/${found.id}/explain`, { reason: 'found it' });
    expect(await rowOf(holder)).toMatchObject({ inHand: 200, openDifference: 0 });
    await expectBooksToBalance(service.context);
  });

  it('takes back-dated payments, reversals and refunds that came after the last count', async () => {
    const holder = await newHolder('manager');
    const paid = await newAccount(service);
    const id = await payCash(holder, 300);
    await post(holder, '/payments', { accountId: paid.id, amount: paid.total + 100, paymentMethodId: CASH });
    await count(holder, paid.total + 400);
    await payCash(holder, 70, { paymentDate: '2026-01-05' });
    await post(finance, `/payments/${id}/reverse`, { reason: 'wrong customer' });
    await post(holder, `/accounts/${paid.id}/credit/refund`, {
      amount: 100,
      paymentMethodId: CASH,
      reason: 'asked for it',
    });
    expect(await count(holder, paid.total + 70)).toMatchObject({ posted: -330, difference: 0 });
    await expectBooksToBalance(service.context);
  });

  it('belongs to who requested a refund, and not to who approved it', async () => {
    const requester = await newHolder('manager', 1_000);
    const approver = await newHolder('finance', 1_000);
    const rich = await newAccount(service);
    await service.call('POST', '/payments', {
      accountId: rich.id,
      amount: rich.total + 9_000,
      paymentMethodId: 1,
    });
    const refund = { amount: 6_000, paymentMethodId: CASH, reason: 'asked for it' };
    const requested = await limited.call('POST', `/accounts/${rich.id}/credit/refund`, refund, {
      token: requester.token,
    });
    expect(requested.status).toBe(202);
    await post(approver, `/approvals/${requested.body.data.id}/approve`);
    expect(await rowOf(requester)).toMatchObject({ uncounted: -6_000 });
    expect(await rowOf(approver)).toMatchObject({ uncounted: 0 });
    await expectBooksToBalance(service.context);
  });

  it('does not take the cash of API keys, which is listed without a holder', async () => {
    const before = (await as(finance, 'GET', '/cash/overview')).withoutHolder[0]?.amount ?? 0;
    const { key: secret } = await as({ token: service.adminToken }, 'POST', '/api-keys', {
      name: `till ${Math.random()}`,
      permissions: ['payments:record', 'payments:read', 'cash:read'],
    });
    await payCash({ token: secret }, 40);
    expect((await as({ token: secret }, 'GET', '/cash/overview')).withoutHolder).toEqual([
      { paymentMethodId: CASH, paymentMethod: 'Cash', amount: before + 40 },
    ]);
    expect(
      await refusal({ token: secret }, 'POST', '/cash/counts', { paymentMethodId: CASH, counted: 1 }),
    ).toMatchObject({
      status: 403,
    });
  });

  it('accepts one of two counts that are saved at once', async () => {
    const holder = await newHolder();
    await payCash(holder, 100);
    const answers = await Promise.all(
      [90, 80].map((counted) =>
        service.call('POST', '/cash/counts', { paymentMethodId: CASH, counted }, { token: holder.token }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  });

  it('is refused for a payment method that is not cash', async () => {
    const holder = await newPerson('agent');
    expect(await refusal(holder, 'POST', '/cash/counts', { paymentMethodId: 1, counted: 5 })).toMatchObject({
      status: 400,
      message: 'paymentMethodId: must refer to a payment method with cash: true',
    });
  });
});

describe('a payment method with cash', () => {
  it('stays cash once somebody has counted it, and can be deactivated', async () => {
    const change = async (id: number, body: object) => {
      const { status, body: answer } = await service.call('PUT', `/payment-methods/${id}`, body, {
        token: manager.token,
      });
      return { status, error: answer.error, data: answer.data };
    };
    const { id } = await post(manager, '/payment-methods', {
      code: 'petty_cash',
      name: 'Petty cash',
      cash: true,
    });
    expect(await change(id, { cash: false })).toMatchObject({ status: 200, data: { cash: false } });
    expect(await change(id, { cash: true })).toMatchObject({ status: 200, data: { cash: true } });
    await post(await newPerson('agent'), '/cash/counts', { paymentMethodId: id, counted: 5 });
    const refused = await change(id, { cash: false });
    expect(refused).toMatchObject({ status: 400, error: { code: 'VALIDATION_ERROR' } });
    expect(refused.error.details.fields).toEqual([
      {
        path: 'cash',
        message:
          'must stay true, because staff have counted cash of this method. To end its use, send active: false.',
      },
    ]);
    expect(await change(id, { active: false, cash: true })).toMatchObject({ status: 200 });
  });

  it('stays cash, or gets no count, if the two come at the same time', async () => {
    const { id } = await post(manager, '/payment-methods', { code: 'box', name: 'Cash box', cash: true });
    const agent = await newPerson('agent');
    const [changed, counted] = await Promise.all([
      service.call('PUT', `/payment-methods/${id}`, { cash: false }, { token: manager.token }),
      service.call('POST', '/cash/counts', { paymentMethodId: id, counted: 5 }, { token: agent.token }),
    ]);
    expect([
      [400, 201],
      [200, 400],
    ]).toContainEqual([changed.status, counted.status]);
  });
});

describe('an opening count', () => {
  it('makes earlier cash “before” when another person of finance confirms it', async () => {
    const holder = await newPerson('finance');
    await payCash(holder, 900);
    expect(await rowOf(holder)).toMatchObject({ isStarted: false, inHand: null, uncounted: 900 });
    const opening = await count(holder, 120);
    expect(opening).toMatchObject({ isOpening: true, expected: 900, difference: -780, status: 'open' });
    const confirm = `/cash/counts/${opening.id}/confirm`;
    expect(await refusal(holder, 'POST', confirm, { isEarlierCash: true })).toMatchObject({ status: 403 });
    expect(await refusal(manager, 'POST', confirm, { isEarlierCash: true })).toMatchObject({ status: 403 });
    await post(finance, confirm, { isEarlierCash: true });
    expect(await rowOf(holder)).toMatchObject({ inHand: 120, openDifference: 0 });
    await expectBooksToBalance(service.context);
  });

  it('leaves a difference with a new holder who had no earlier cash', async () => {
    const holder = await newPerson('agent');
    await payCash(holder, 90);
    const opening = await count(holder, 60);
    await post(finance, `/cash/counts/${opening.id}/confirm`, { isEarlierCash: false });
    expect(await rowOf(holder)).toMatchObject({ inHand: 60, openDifference: -30 });
    await expectBooksToBalance(service.context);
  });
});

describe('a hand-over', () => {
  it('moves cash to a user who counts the same amount without seeing it', async () => {
    const [giver, receiver] = [await newHolder('agent', 800), await newHolder('finance', 10)];
    const sent = await post(giver, '/cash/hand-overs', {
      paymentMethodId: CASH,
      toUserId: receiver.id,
      amount: 543.21,
    });
    expect(sent).toMatchObject({ amount: 543.21, status: 'pending' });
    for (const path of ['/cash/own', `/cash/hand-overs/${sent.id}`, '/cash/hand-overs']) {
      expect(JSON.stringify(await as(receiver, 'GET', path)), path).not.toContain('543.21');
    }
    const admin = { token: service.adminToken };
    for (const path of [`/audit?filter[resource]=cash_handover`, '/events']) {
      expect(JSON.stringify(await as(admin, 'GET', path)), path).not.toContain('543.21');
    }
    expect(await rowOf(giver)).toMatchObject({ inHand: 800 });
    expect(await post(receiver, `/cash/hand-overs/${sent.id}/receive`, { counted: 543.21 })).toMatchObject({
      status: 'received',
      amount: 543.21,
      received: 543.21,
    });
    expect(await rowOf(giver)).toMatchObject({ inHand: 256.79 });
    expect(await rowOf(receiver)).toMatchObject({ inHand: 553.21 });
    expect(await count(giver, 256.79)).toMatchObject({ moved: -543.21, difference: 0 });
    expect(await count(receiver, 553.21)).toMatchObject({ moved: 543.21, difference: 0 });
    await expectBooksToBalance(service.context);
  });

  it('moves nothing and ends if the counts differ', async () => {
    const [giver, receiver] = [await newHolder('agent', 800), await newHolder()];
    const body = { paymentMethodId: CASH, toUserId: receiver.id, amount: 500 };
    const { id } = await post(giver, '/cash/hand-overs', body);
    expect(await post(receiver, `/cash/hand-overs/${id}/receive`, { counted: 400 })).toMatchObject({
      status: 'unequal',
      amount: 500,
      received: 400,
    });
    expect(await refusal(receiver, 'POST', `/cash/hand-overs/${id}/receive`, { counted: 500 })).toMatchObject(
      {
        status: 400,
      },
    );
    expect(await rowOf(giver)).toMatchObject({ inHand: 800 });
    expect(await rowOf(receiver)).toMatchObject({ inHand: 0 });
    await expectBooksToBalance(service.context);
  });

  it('is counted by its receiver only, and withdrawn by its giver only', async () => {
    const [giver, receiver, other] = [await newHolder('agent', 800), await newHolder(), await newHolder()];
    const body = { paymentMethodId: CASH, toUserId: receiver.id, amount: 500 };
    const { id } = await post(giver, '/cash/hand-overs', body);
    expect(await refusal(other, 'POST', `/cash/hand-overs/${id}/receive`, { counted: 500 })).toMatchObject({
      status: 404,
    });
    expect(await refusal(finance, 'POST', `/cash/hand-overs/${id}/receive`, { counted: 500 })).toMatchObject({
      status: 403,
    });
    expect(await refusal(receiver, 'POST', `/cash/hand-overs/${id}/withdraw`)).toMatchObject({ status: 403 });
    expect(await post(giver, `/cash/hand-overs/${id}/withdraw`)).toMatchObject({ status: 'withdrawn' });
    expect(await refusal(receiver, 'POST', `/cash/hand-overs/${id}/receive`, { counted: 500 })).toMatchObject(
      {
        status: 400,
      },
    );
  });

  it('needs an opening count on both sides', async () => {
    const [holder, other] = [await newHolder('agent', 9), await newPerson('agent')];
    const body = { paymentMethodId: CASH, amount: 5 };
    expect(await refusal(holder, 'POST', '/cash/hand-overs', { ...body, toUserId: other.id })).toMatchObject({
      status: 400,
    });
    expect(await refusal(other, 'POST', '/cash/hand-overs', { ...body, toUserId: holder.id })).toMatchObject({
      status: 400,
    });
  });

  it('to the bank leaves the hand at once, and another person of finance confirms it once', async () => {
    const holder = await newHolder('finance', 700);
    const body = { paymentMethodId: CASH, slipNumber: 'Slip 7/1', amount: 700 };
    const { id } = await post(holder, '/cash/hand-overs', body);
    expect(await rowOf(holder)).toMatchObject({ inHand: 0 });
    expect(
      await refusal(holder, 'POST', '/cash/hand-overs', { ...body, slipNumber: 'SLIP 71' }),
    ).toMatchObject({
      status: 409,
    });
    const line = { statementDate: '2026-11-02', statementText: 'CASH DEP 71' };
    expect(await refusal(holder, 'POST', `/cash/hand-overs/${id}/confirm`, line)).toMatchObject({
      status: 403,
    });
    expect(await refusal(manager, 'POST', `/cash/hand-overs/${id}/confirm`, line)).toMatchObject({
      status: 403,
    });
    expect(await post(finance, `/cash/hand-overs/${id}/confirm`, line)).toMatchObject({
      status: 'confirmed',
      ...line,
    });
    expect(await refusal(finance, 'POST', `/cash/hand-overs/${id}/reject`, { reason: 'x' })).toMatchObject({
      status: 400,
    });
    await expectBooksToBalance(service.context);
  });

  it('to the bank returns to the hand if finance rejects it', async () => {
    const holder = await newHolder('agent', 700);
    const body = { paymentMethodId: CASH, slipNumber: 'LOST 1', amount: 300 };
    const { id } = await post(holder, '/cash/hand-overs', body);
    await count(holder, 400);
    await post(finance, `/cash/hand-overs/${id}/reject`, { reason: 'not on the statement' });
    expect(await rowOf(holder)).toMatchObject({ inHand: 700 });
    await post(holder, '/cash/hand-overs', body);
    await expectBooksToBalance(service.context);
  });
});

describe('a settlement', () => {
  async function holderWithDifference(): Promise<Person> {
    const holder = await newHolder('agent', 100);
    const { id } = await count(holder, 70);
    await post(holder, `/cash/counts/${id}/explain`, { reason: 'lost' });
    return holder;
  }
  const settlementOf = (holder: Person, fields: object) => ({
    holderId: holder.id,
    paymentMethodId: CASH,
    reason: 'agreed with the office',
    ...fields,
  });

  it('of a difference needs finance and a second person, and posts nothing', async () => {
    const holder = await holderWithDifference();
    const body = settlementOf(holder, { kind: 'difference', amount: -30 });
    expect(await refusal(manager, 'POST', '/cash/settlements', body)).toMatchObject({ status: 403 });
    const { id } = await post(finance, '/cash/settlements', body);
    expect(await rowOf(holder)).toMatchObject({ openDifference: -30 });
    expect(await refusal(finance, 'POST', `/cash/settlements/${id}/confirm`)).toMatchObject({ status: 403 });
    const { rows: before } = await sql<{ n: number }>`select count(*) as n from ledger_entries`.execute(
      service.context.db,
    );
    expect(await post(manager, `/cash/settlements/${id}/confirm`)).toMatchObject({ status: 'confirmed' });
    const { rows: after } = await sql<{ n: number }>`select count(*) as n from ledger_entries`.execute(
      service.context.db,
    );
    expect(after).toEqual(before);
    expect(await rowOf(holder)).toMatchObject({ openDifference: 0, inHand: 70 });
    await expectBooksToBalance(service.context);
  });

  it.each([-31])('of %s is refused if the open difference is -30', async (amount) => {
    const holder = await holderWithDifference();
    const body = settlementOf(holder, { kind: 'difference', amount });
    expect(await refusal(finance, 'POST', '/cash/settlements', body)).toMatchObject({ status: 400 });
  });

  it('is refused if another count has offset the difference before it is confirmed', async () => {
    const holder = await holderWithDifference();
    const body = settlementOf(holder, { kind: 'difference', amount: -30 });
    const { id } = await post(finance, '/cash/settlements', body);
    const found = await count(holder, 100);
    await post(holder, `/cash/counts/${found.id}/explain`, { reason: 'found' });
    expect(await refusal(manager, 'POST', `/cash/settlements/${id}/confirm`)).toMatchObject({ status: 400 });
    await post(finance, `/cash/settlements/${id}/reject`, { reason: 'found' });
    await expectBooksToBalance(service.context);
  });

  it('closes the cash of a holder who left, and moves what came back to finance', async () => {
    const holder = await holderWithDifference();
    const cashier = await newHolder('finance');
    await payCash(holder, 500);
    await post(holder, '/cash/hand-overs', { paymentMethodId: CASH, toUserId: cashier.id, amount: 1 });
    const body = settlementOf(holder, { kind: 'closing', counted: 450 });
    expect(await refusal(cashier, 'POST', '/cash/settlements', body)).toMatchObject({ status: 400 });
    const left = await service.call('PUT', `/users/${holder.id}`, { active: false });
    expect(left.body.message).toBe(
      'User changed. The user still holds cash: KES 570 (Cash). Finance and a second person must close it.',
    );
    const { id } = await post(cashier, '/cash/settlements', body);
    expect(await post(manager, `/cash/settlements/${id}/confirm`)).toMatchObject({
      amount: -150,
      status: 'confirmed',
    });
    expect(await rowOf(holder)).toMatchObject({ inHand: 0, openDifference: 0 });
    expect(await rowOf(cashier)).toMatchObject({ inHand: 450 });
    await expectBooksToBalance(service.context);
  });

  it('closes the cash of a holder whose new role may not count it', async () => {
    const holder = await newHolder('agent', 80);
    const cashier = await newHolder('finance');
    const body = settlementOf(holder, { kind: 'closing', counted: 80 });
    expect(await refusal(cashier, 'POST', '/cash/settlements', body)).toMatchObject({ status: 400 });
    const changeRole = async (role: string) =>
      (await service.call('PUT', `/users/${holder.id}`, { role })).body.message;
    expect(await changeRole('manager')).toBe('User changed.');
    expect(await changeRole('collector')).toBe(
      'User changed. The user still holds cash: KES 80 (Cash). Finance and a second person must close it.',
    );
    expect(await rowOf(holder)).toMatchObject({ active: false, inHand: 80 });
    const { id } = await post(cashier, '/cash/settlements', body);
    expect(await post(manager, `/cash/settlements/${id}/confirm`)).toMatchObject({ status: 'confirmed' });
    expect(await rowOf(holder)).toMatchObject({ inHand: 0, openDifference: 0 });
    expect(await rowOf(cashier)).toMatchObject({ inHand: 80 });
    await expectBooksToBalance(service.context);
  });

  it('closes the cash of a holder who gives the reason of a difference at the same time', async () => {
    const holder = await newHolder('agent', 100);
    const cashier = await newHolder('finance');
    const short = await count(holder, 70);
    await service.call('PUT', `/users/${holder.id}`, { active: false });
    const { id } = await post(
      cashier,
      '/cash/settlements',
      settlementOf(holder, { kind: 'closing', counted: 60 }),
    );
    let confirmed: Promise<unknown> | undefined;
    await service.context.db.transaction().execute(async (tx) => {
      await sql`
        update cash_counts set status = 'closed', reason = 'lost', closed_at = now() where id = ${short.id}`.execute(
        tx,
      );
      confirmed = post(manager, `/cash/settlements/${id}/confirm`);
      confirmed.catch(() => {}); // It is awaited below.
      await eventually(waitingForCount).toBe(1);
    });
    expect(await confirmed).toMatchObject({ status: 'confirmed', amount: -40 });
    expect(await as(finance, 'GET', `/cash/counts/${short.id}`)).toMatchObject({ reason: 'lost' });
    expect(await rowOf(holder)).toMatchObject({ inHand: 0, openDifference: 0 });
  });

  it('is not rejected by the holder, but can be taken back by its requester', async () => {
    const holder = await newHolder('manager', 100);
    const short = await count(holder, 70);
    await post(holder, `/cash/counts/${short.id}/explain`, { reason: 'lost' });
    const body = settlementOf(holder, { kind: 'difference', amount: -30 });
    const { id } = await post(finance, '/cash/settlements', body);
    const path = `/cash/settlements/${id}/reject`;
    expect(await refusal(holder, 'POST', path, { reason: 'not me' })).toMatchObject({
      status: 403,
      code: 'FORBIDDEN',
    });
    expect(await post(finance, path, { reason: 'wrong amount' })).toMatchObject({ status: 'rejected' });
  });

  it('says what the caller may do with it, as hand-overs and opening counts do', async () => {
    const holder = await newHolder('finance', 100);
    const short = await count(holder, 70);
    await post(holder, `/cash/counts/${short.id}/explain`, { reason: 'lost' });
    const settlement = await post(
      finance,
      '/cash/settlements',
      settlementOf(holder, { kind: 'difference', amount: -30 }),
    );
    const deposit = { paymentMethodId: CASH, slipNumber: `M${holder.id}`, amount: 20 };
    const handover = await post(holder, '/cash/hand-overs', deposit);
    const starter = await newPerson('finance');
    const opening = await count(starter, 5);
    const settlementPath = `/cash/settlements/${settlement.id}`;
    const seenBy = async (person: Person) => {
      const { mayConfirm, mayReject } = await as(person, 'GET', settlementPath);
      const { mayDecide } = await as(person, 'GET', `/cash/hand-overs/${handover.id}`);
      const { mayConfirm: mayOpen } = await as(person, 'GET', `/cash/counts/${opening.id}`);
      return { mayConfirm, mayReject, mayDecide, mayOpen };
    };
    const nothing = { mayConfirm: false, mayReject: false, mayDecide: false, mayOpen: false };
    expect(await seenBy(holder)).toEqual({ ...nothing, mayOpen: true });
    expect(await seenBy(starter)).toEqual({
      mayConfirm: true,
      mayReject: true,
      mayDecide: true,
      mayOpen: false,
    });
    expect(await seenBy(finance)).toEqual({
      mayConfirm: false,
      mayReject: true,
      mayDecide: true,
      mayOpen: true,
    });
    expect(await seenBy(manager)).toEqual({ ...nothing, mayConfirm: true, mayReject: true });
    await post(finance, `${settlementPath}/reject`, { reason: 'wrong' });
    await post(finance, `/cash/hand-overs/${handover.id}/reject`, { reason: 'no such slip' });
    await post(finance, `/cash/counts/${opening.id}/confirm`, { isEarlierCash: true });
    for (const person of [starter, finance, manager]) expect(await seenBy(person)).toEqual(nothing);
  });

  /** The number of statements that wait for the lock of a count. */
  async function waitingForCount(): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%cash_counts%'`.execute(
      service.context.db,
    );
    return rows[0]?.n ?? 0;
  }
});

describe('cash that was handed over', () => {
  async function handedOverPayment(): Promise<number> {
    const holder = await newHolder();
    const id = await payCash(holder, 25);
    await post(holder, '/cash/hand-overs', { paymentMethodId: CASH, slipNumber: `P${id}`, amount: 25 });
    return id;
  }

  it('is reversed by finance only', async () => {
    const id = await handedOverPayment();
    expect(await refusal(manager, 'POST', `/payments/${id}/reverse`, { reason: 'wrong' })).toMatchObject({
      status: 403,
      code: 'FORBIDDEN',
    });
    await post(finance, `/payments/${id}/reverse`, { reason: 'wrong' });
  });

  it('is reversed with a second person at any amount if approvals are on', async () => {
    const id = await handedOverPayment();
    const requested = await limited.call(
      'POST',
      `/payments/${id}/reverse`,
      { reason: 'wrong' },
      { token: finance.token },
    );
    expect(requested.status, requested.text).toBe(202);
    const approved = await limited.call('POST', `/approvals/${requested.body.data.id}/approve`, undefined, {
      token: manager.token,
    });
    expect(approved.status, approved.text).toBe(200);
    expect(await as(finance, 'GET', `/payments/${id}`)).toMatchObject({ status: 'reversed' });
    await expectBooksToBalance(service.context);
  });

  it('needs finance at the approval, too, if it was handed over after the request', async () => {
    const holder = await newHolder();
    const id = await payCash(holder, 6_000);
    const requested = await limited.call(
      'POST',
      `/payments/${id}/reverse`,
      { reason: 'wrong' },
      { token: manager.token },
    );
    expect(requested.status, requested.text).toBe(202);
    await post(holder, '/cash/hand-overs', { paymentMethodId: CASH, slipNumber: `L${id}`, amount: 6_000 });
    const path = `/approvals/${requested.body.data.id}/approve`;
    expect(await refusal(await newPerson('manager'), 'POST', path)).toMatchObject({ status: 403 });
    await post(finance, path);
  });

  it('is corrected by finance only, also when it has been corrected before', async () => {
    const first = await handedOverPayment();
    const correct = (amount: number) => ({ amount, reason: 'typed wrongly' });
    const path = (id: number) => `/payments/${id}/correct-amount`;
    expect(await refusal(manager, 'POST', path(first), correct(30))).toMatchObject({ status: 403 });
    const { id: second } = await post(finance, path(first), correct(30));
    expect(await refusal(manager, 'POST', path(second), correct(35))).toMatchObject({ status: 403 });
    await post(finance, path(second), correct(35));
    await expectBooksToBalance(service.context);
  });

  it('is corrected with a second person at any amount if approvals are on', async () => {
    const id = await handedOverPayment();
    const body = { amount: 30, reason: 'typed wrongly' };
    const { token } = finance;
    const requested = await limited.call('POST', `/payments/${id}/correct-amount`, body, { token });
    expect(requested.status, requested.text).toBe(202);
    expect(await as(finance, 'GET', `/payments/${id}`)).toMatchObject({ status: 'matched' });
  });

  it('leaves the right amount in the hand of the recorder when it is corrected before', async () => {
    const holder = await newHolder();
    const id = await payCash(holder, 25);
    await post(manager, `/payments/${id}/correct-amount`, { amount: 40, reason: 'typed wrongly' });
    expect(await rowOf(holder)).toMatchObject({ inHand: 40 });
  });

  it('is reversed by a manager while it is still in the hand', async () => {
    const holder = await newHolder();
    const id = await payCash(holder, 25);
    await post(manager, `/payments/${id}/reverse`, { reason: 'wrong' });
    expect(await rowOf(holder)).toMatchObject({ inHand: 0 });
  });
});

describe('the rights and warnings', () => {
  it('show agents only their own counts and hand-overs', async () => {
    const [own, other] = [await newHolder('agent', 5), await newHolder('agent', 5)];
    const list = await as(own, 'GET', '/cash/counts');
    expect(new Set(list.map((row: { holderId: number }) => row.holderId))).toEqual(new Set([own.id]));
    const theirs = await as(other, 'GET', '/cash/counts');
    expect(await refusal(own, 'GET', `/cash/counts/${theirs[0].id}`)).toMatchObject({ status: 404 });
    expect(await refusal(own, 'GET', '/cash/overview')).toMatchObject({ status: 403 });
  });

  it('warn above the ceiling, and refuse no payment', async () => {
    const holder = await newHolder();
    await payCash(holder, 1_000);
    expect((await as(holder, 'GET', '/cash/own')).methods[0]).toMatchObject({ isAboveCeiling: false });
    await payCash(holder, 1);
    expect((await as(holder, 'GET', '/cash/own')).methods[0]).toMatchObject({ isAboveCeiling: true });
    expect(await rowOf(holder)).toMatchObject({ isAboveCeiling: true });
  });

  it('warn in the answer to the payment that exceeds the ceiling, without asking for a confirmation', async () => {
    const holder = await newHolder();
    const record = async (amount: number, fields: object = {}) => {
      const body = { accountId: account.id, amount, paymentMethodId: CASH, ...fields };
      const answer = await service.call('POST', '/payments', body, { token: holder.token });
      expect(answer.status, answer.text).toBe(201);
      return answer.body.warnings.map(({ code }: { code: string }) => code);
    };
    expect(await record(999)).not.toContain('cash_above_ceiling');
    expect(await record(1)).not.toContain('cash_above_ceiling');
    const other = await newAccount(service);
    expect(await record(2, { accountId: other.id, checks: 'confirm' })).toEqual(['cash_above_ceiling']);
    const deposit = { paymentMethodId: CASH, slipNumber: `C${holder.id}`, amount: 900 };
    await post(holder, '/cash/hand-overs', deposit);
    expect(await record(3, { accountId: other.id })).toEqual([]);
  });

  it('warn about the first payment of a bulk call that exceeds the ceiling, and repeat the warning with the stored answer', async () => {
    const holder = await newHolder('manager');
    const { id: accountId } = await newAccount(service);
    const items = [600, 400, 1].map((amount) => ({ accountId, amount, paymentMethodId: CASH }));
    const headers = { 'idempotency-key': `ceiling-${holder.id}` };
    const options = { token: holder.token, headers };
    const send = () => service.call('POST', '/payments/bulk', { items }, options);
    const { body: first } = await send();
    const codes = first.data.items.map(({ warnings }: { warnings: { code: string }[] }) =>
      warnings.map(({ code }) => code),
    );
    expect(codes).toEqual([[], [], ['cash_above_ceiling']]);
    expect((await send()).body).toEqual(first);
  });

  it('warn about no payment of another method, of an API key, or of somebody who has not counted', async () => {
    const holder = await newHolder('manager');
    await payCash(holder, 5_000);
    const starter = await newPerson('manager');
    const { key } = await as({ token: service.adminToken }, 'POST', '/api-keys', {
      name: `till ${Math.random()}`,
      permissions: ['payments:record'],
    });
    for (const [token, paymentMethodId] of [
      [holder.token, 1],
      [starter.token, CASH],
      [key, CASH],
    ] as const) {
      const { id: accountId } = await newAccount(service);
      const answer = await service.call(
        'POST',
        '/payments',
        { accountId, amount: 2_000, paymentMethodId },
        { token },
      );
      expect([answer.status, answer.body.warnings]).toEqual([201, []]);
    }
  });

  it('show open cash-ups on Today', async () => {
    const holder = await newPerson('agent');
    await count(holder, 5);
    const { cash } = await as(holder, 'GET', '/reports/today');
    expect(cash).toEqual({ own: { openCounts: 1, toReceive: 0 }, toConfirm: null, all: null });
    expect((await as(finance, 'GET', '/reports/today')).cash.all.openCounts).toBeGreaterThan(0);
  });

  it('on Today count for each user only what the user may confirm', async () => {
    const holder = await newHolder('agent', 100);
    const opener = await newPerson('finance');
    const waitingFor = async (person: Person) => (await as(person, 'GET', '/reports/today')).cash.toConfirm;
    const people = [finance, manager, opener];
    const before = await Promise.all(people.map(waitingFor));
    const gained = async () => {
      const now = await Promise.all(people.map(waitingFor));
      return now.map((waiting, index) => waiting - (before[index] ?? 0));
    };
    await count(opener, 0);
    expect(await gained()).toEqual([1, 0, 0]);
    await post(holder, '/cash/hand-overs', { paymentMethodId: CASH, amount: 40, slipNumber: 'TODAY 1' });
    expect(await gained()).toEqual([2, 0, 1]);
    const short = await count(holder, 50); // Nobody confirms it: its holder gives the reason.
    expect(await gained()).toEqual([2, 0, 1]);
    await post(holder, `/cash/counts/${short.id}/explain`, { reason: 'Lost' });
    const body = {
      kind: 'difference',
      holderId: holder.id,
      paymentMethodId: CASH,
      amount: -10,
      reason: 'Paid',
    };
    await post(finance, '/cash/settlements', body);
    expect(await gained()).toEqual([2, 1, 2]);
  });

  it('refuse everything while cash counts are off', async () => {
    const off = await startInstanceForTest(service);
    const token = finance.token;
    const answer = await off.call('POST', '/cash/counts', { paymentMethodId: CASH, counted: 1 }, { token });
    expect(answer.status).toBe(409);
    expect(answer.body.error.message).toContain('CASH_COUNTS');
    expect((await off.call('GET', '/reports/today', undefined, { token })).body.data.cash).toBeNull();
  });
});

describe('the cash in hand', () => {
  it('is that of payments, reversals and hand-overs since the last count, whatever was counted before', async () => {
    const holder = await newHolder('agent', 100);
    const late = await newPerson('agent');
    const paymentId = await payCash(holder, 70);
    await payCash(late, 15);
    expect(await rowOf(holder)).toMatchObject({ uncounted: 70, inHand: 170 });
    expect(await rowOf(late)).toMatchObject({ isStarted: false, uncounted: 15, inHand: null });
    await count(holder, 170);
    expect(await rowOf(holder)).toMatchObject({ uncounted: 0, inHand: 170, openDifference: 0 });
    await post(manager, `/payments/${paymentId}/reverse`, { reason: 'wrong account' });
    await payCash(holder, 5);
    expect(await rowOf(holder)).toMatchObject({ uncounted: -65, inHand: 105 });
    await count(holder, 105);
    expect(await rowOf(holder)).toMatchObject({ uncounted: 0, inHand: 105, openDifference: 0 });
  });

  it('includes a payment that began before a count and committed after it', async () => {
    const holder = await newHolder();
    let early: Promise<number> | undefined;
    // A trigger of the test makes the payment of 11 wait after its entries are written.
    await sql
      .raw(`create function test_wait() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(987654); return null; end $$;
        create trigger zz_test_wait after insert on ledger_entries for each row
        when (new.amount_minor in (1100, -1100)) execute function test_wait()`)
      .execute(service.context.db);
    try {
      await service.context.db.transaction().execute(async (tx) => {
        await sql`select pg_advisory_xact_lock(987654)`.execute(tx);
        early = payCash(holder, 11, { accountId: (await newAccount(service)).id });
        await eventually(async () => {
          const { rows } = await sql<{ n: number }>`
            select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 987654 and not granted`.execute(
            service.context.db,
          );
          return rows[0]?.n;
        }).toBe(1);
        await payCash(holder, 7, { accountId: (await newAccount(service)).id });
        await count(holder, 7);
      });
      await early;
    } finally {
      await sql
        .raw('drop trigger zz_test_wait on ledger_entries; drop function test_wait()')
        .execute(service.context.db);
    }
    expect(await rowOf(holder)).toMatchObject({ uncounted: 11, inHand: 18 });
    await count(holder, 18);
    expect(await rowOf(holder)).toMatchObject({ uncounted: 0, inHand: 18 });
    expect(await inSnapshot(service.context.db, checksThatFail)).toEqual([]);
  });

  it('is read without the payments of earlier days', async () => {
    const holder = await newHolder('agent', 10);
    await payCash(holder, 1);
    class Undo extends Error {}
    let read = Number.NaN;
    const work = service.context.db.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx); // no trigger, no foreign key
      await sql`
        insert into payments
          (account_id, amount_minor, payment_method_id, payment_date, status, source, created_by, created_at)
        select ${account.id}, 100, ${CASH}, '2026-10-02', 'matched', 'manual', ${holder.id}, '2026-10-02'
        from generate_series(1, 20000)`.execute(tx);
      await sql`analyze payments, cash_count_entries`.execute(tx);
      await sql`set local enable_seqscan = off`.execute(tx); // In the test, this holder has nearly all payments.
      const before = await rowsRead(tx);
      expect(await findHolderRows(tx, holder.id)).toMatchObject([{ uncountedMinor: '100' }]);
      read = (await rowsRead(tx)) - before;
      throw new Undo();
    });
    await expect(work).rejects.toThrow(Undo);
    expect(read).toBeLessThan(100);
  });

  async function rowsRead(tx: Parameters<typeof findHolderRows>[0]): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n from pg_stat_xact_user_tables
      where relname in ('payments', 'cash_count_entries')`.execute(tx);
    return rows[0]?.n ?? Number.NaN;
  }
});

async function checksThatFail(tx: Parameters<typeof runCheck>[0]): Promise<string[]> {
  const names: string[] = [];
  for (const check of CASH_CHECKS) {
    if ((await runCheck(tx, check, null)).violationCount > 0) names.push(check.name);
  }
  return names;
}

describe('verify', () => {
  class Undo extends Error {}

  it.each([
    [
      'a taken entry that is free again',
      'delete from cash_count_entries where entry_id = (select max(entry_id) from cash_count_entries)',
      ['cash_counts', 'cash_in_hand'],
    ],
    [
      'an entry that another count took',
      'update cash_count_entries set count_id = (select max(id) from cash_counts) where entry_id = (select min(entry_id) from cash_count_entries)',
      ['cash_counts'],
    ],
    [
      'an entry of a count that does not exist',
      'update cash_count_entries set count_id = 999999 where entry_id = (select min(entry_id) from cash_count_entries)',
      ['cash_counts'],
    ],
    [
      'a counted amount',
      'update cash_counts set counted_minor = counted_minor + 1 where id = (select max(id) from cash_counts)',
      ['cash_counts'],
    ],
    [
      'a sum of entries',
      'update cash_counts set entries_minor = entries_minor + 1 where id = (select max(id) from cash_counts)',
      ['cash_counts'],
    ],
    [
      'a previous amount',
      'update cash_counts set previous_minor = previous_minor + 1 where id = (select max(id) from cash_counts where number > 1)',
      ['cash_counts'],
    ],
    [
      'a count that is gone',
      'delete from cash_counts where id = (select max(id) from cash_counts where number > 1)',
      ['cash_counts'],
    ],
    [
      'an own confirmation',
      'update cash_counts set confirmed_by = holder_id where id = (select min(id) from cash_counts where confirmed_by is not null)',
      ['cash_counts'],
    ],
    [
      'a move that is gone',
      'delete from cash_moves where id = (select max(id) from cash_moves)',
      ['cash_handovers'],
    ],
    [
      'a move of another amount',
      "update cash_moves set amount_minor = amount_minor - 1 where handover_id = (select max(id) from cash_handovers where status = 'deposited')",
      ['cash_handovers'],
    ],
    [
      'an amount of a deposit',
      "update cash_handovers set amount_minor = amount_minor + 1 where id = (select max(id) from cash_handovers where status = 'confirmed')",
      ['cash_handovers'],
    ],
    [
      'the line of a statement',
      "update cash_handovers set statement_text = 'other' where id = (select max(id) from cash_handovers where status = 'confirmed')",
      ['cash_handovers'],
    ],
    [
      'an own deposit that is confirmed',
      "update cash_handovers set decided_by = from_user_id where id = (select max(id) from cash_handovers where status = 'confirmed')",
      ['cash_handovers'],
    ],
    [
      'a settled amount',
      "update cash_settlements set amount_minor = amount_minor - 1 where id = (select max(id) from cash_settlements where status = 'confirmed')",
      ['cash_settlements'],
    ],
    [
      'a settlement without a second person',
      "update cash_settlements set decided_by = requested_by where id = (select max(id) from cash_settlements where status = 'confirmed')",
      ['cash_settlements'],
    ],
    [
      'a payment of another recorder',
      'update payments set created_by = (select max(id) from users) where id = (select min(payment_id) from cash_count_entries where payment_id is not null)',
      ['cash_counts'],
    ],
  ])('finds %s', async (_name, damage, expected) => {
    // Rows to break, whatever ran before.
    const [holder, cashier] = [await newHolder('agent', 100), await newHolder('finance')];
    await payCash(holder, 60);
    const body = { paymentMethodId: CASH, slipNumber: `V${holder.id}`, amount: 20 };
    const deposit = await post(holder, '/cash/hand-overs', body);
    const line = { statementDate: '2026-11-02', statementText: 'CASH' };
    await post(finance, `/cash/hand-overs/${deposit.id}/confirm`, line);
    const { id } = await count(holder, 130);
    await post(holder, `/cash/counts/${id}/explain`, { reason: 'lost' });
    const settlement = await post(finance, '/cash/settlements', {
      kind: 'difference',
      holderId: holder.id,
      paymentMethodId: CASH,
      amount: -10,
      reason: 'agreed',
    });
    await post(manager, `/cash/settlements/${settlement.id}/confirm`);
    await post(holder, '/cash/hand-overs', { ...body, slipNumber: `W${holder.id}` });
    await payCash(cashier, 5);
    await count(cashier, 5);
    expect(await inSnapshot(service.context.db, checksThatFail)).toEqual([]);
    let failed: string[] = [];
    const work = service.context.db.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx); // no trigger, no foreign key
      for (const constraint of ['confirmed', 'explained', 'two_people']) {
        await sql.raw(`alter table cash_counts drop constraint cash_counts_${constraint}`).execute(tx);
      }
      await sql.raw('alter table cash_handovers drop constraint cash_handovers_two_people').execute(tx);
      await sql.raw('alter table cash_settlements drop constraint cash_settlements_two_people').execute(tx);
      const { numAffectedRows } = await sql.raw(damage).execute(tx);
      expect(Number(numAffectedRows)).toBeGreaterThan(0);
      failed = await checksThatFail(tx);
      throw new Undo();
    });
    await expect(work).rejects.toThrow(Undo);
    expect(failed).toEqual(expect.arrayContaining(expected));
  });

  it('is not needed to keep rows: the database refuses to change what has ended', async () => {
    const holder = await newHolder('agent', 100);
    await payCash(holder, 5);
    await count(holder, 105);
    const { id } = await post(holder, '/cash/hand-overs', {
      paymentMethodId: CASH,
      slipNumber: `T${holder.id}`,
      amount: 50,
    });
    await post(finance, `/cash/hand-overs/${id}/confirm`, {
      statementDate: '2026-11-02',
      statementText: 'CASH',
    });
    for (const statement of [
      `update cash_handovers set statement_text = 'other' where id = ${id}`,
      `delete from cash_handovers where id = ${id}`,
      `update cash_counts set counted_minor = 1 where holder_id = ${holder.id}`,
      `update cash_moves set amount_minor = 1 where handover_id = ${id}`,
      `delete from cash_moves where handover_id = ${id}`,
      'delete from cash_count_entries',
    ]) {
      await expect(sql.raw(statement).execute(service.context.db), statement).rejects.toThrow(
        /never edited|only end/,
      );
    }
  });
});
