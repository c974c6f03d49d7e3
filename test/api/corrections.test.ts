import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newApiKey,
  notify,
  pay,
  paymentNow,
  reverse,
  setToday,
  startInstanceForTest,
  useService,
  wrongFields,
} from '../support/harness.ts';

const CASH = 2;
const TOTAL = 22_800; // of the weekly demo plan
const service = useService();

beforeAll(() => setToday(service, '2026-11-02'));
afterAll(() => expectBooksToBalance(service.context));

/** The payment with who recorded, reversed and approved it. */
const withPeople = (id: number) => dataOf(service.call('GET', `/payments/${id}?expand=people`));
const correct = (id: number, amount: number, options: { token?: string } = {}) =>
  service.call('POST', `/payments/${id}/correct-amount`, { amount, reason: 'typed wrongly' }, options);

/** The reason of a refusal, which names the way out. */
async function refusalOf(id: number, amount = 450): Promise<string> {
  const before = await paymentNow(service, id);
  const answer = await correct(id, amount);
  expect(answer.status, answer.text).toBe(400);
  expect((await paymentNow(service, id)).status).toBe(before.status);
  return answer.body.error.details?.fields?.[0].message ?? answer.body.error.message;
}

let references = 0;
const newReference = () => `RIGHT${++references}A`;

describe('a correction of an amount', () => {
  it('is refused while a statement of the provider reports the transaction, with another amount or the same', async () => {
    const { id: accountId } = await newAccount(service);
    const transactionRef = newReference();
    const { id } = await pay(service, accountId, 400, { transactionRef, paymentMethodId: 1 });
    const file = [
      'Receipt No.,Completion Time,Transaction Status,Paid In',
      `${transactionRef},02-11-2026 10:15:30,Completed,450.00`,
    ];
    const headers = { 'content-type': 'text/csv' };
    const upload = await service.call('POST', '/reconciliations/statements', file.join('\n'), { headers });
    expect(upload.status, upload.text).toBe(201);
    expect(await refusalOf(id)).toContain(`statement ${upload.body.data.id} of the provider`);
    await reverse(service, id);
  });

  it('reverses the payment, and records one that differs only in the amount', async () => {
    const { id: accountId } = await newAccount(service);
    const agent = await service.signInAs('agent');
    const body = {
      accountId,
      amount: 400,
      paymentMethodId: CASH,
      transactionRef: 'Book 7/12',
      paymentDate: '2026-10-30',
      metadata: { till: '4' },
      externalId: 'TILL-4-1',
    };
    const { id } = await dataOf(service.call('POST', '/payments', body, { token: agent }), 201);
    const finance = await service.tokenOf('finance');
    const corrected = await dataOf(correct(id, 450, { token: finance }));
    expect(corrected).toMatchObject({
      accountId,
      amount: 450,
      paymentMethodId: CASH,
      transactionRef: 'Book 7/12',
      paymentDate: '2026-10-30',
      metadata: { till: '4' },
      externalId: null,
      status: 'matched',
      source: 'manual',
      correctsPaymentId: id,
    });
    expect(await accountNow(service, accountId)).toMatchObject({ paid: 450 });
    const old = await withPeople(id);
    expect(old).toMatchObject({
      amount: 400,
      status: 'reversed',
      reversalReason: 'typed wrongly',
      correctedByPaymentId: corrected.id,
      correctsPaymentId: null,
      approvedBy: null,
    });
    // The agent who recorded the payment has the money.
    expect(await withPeople(corrected.id)).toMatchObject({
      recordedBy: old.recordedBy,
      reversedBy: null,
    });
    const me = await dataOf(service.call('GET', '/auth/me', undefined, { token: agent }));
    const reverser = await dataOf(service.call('GET', '/auth/me', undefined, { token: finance }));
    expect([old.recordedBy, old.reversedBy]).toEqual([me.email, reverser.email]);
    const again = await dataOf(correct(corrected.id, 460));
    expect(again).toMatchObject({ correctsPaymentId: corrected.id, amount: 460 });
    const { body: listed } = await service.call('GET', `/payments?filter[correctsPaymentId]=${corrected.id}`);
    expect(listed.data.map((row: { id: number }) => row.id)).toEqual([again.id]);
    await expectBooksToBalance(service.context);
  });

  it('changes the status of an account at most once', async () => {
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, TOTAL);
    const history = async () =>
      (
        await dataOf(
          service.call('GET', `/audit?filter[resource]=account&filter[resourceId]=${accountId}&limit=100`),
        )
      ).filter(({ action }: { action: string }) => action === 'account.status').length;
    const before = await history();
    const more = await dataOf(correct(id, TOTAL + 100));
    expect(await accountNow(service, accountId)).toMatchObject({ status: 'completed', credit: 100 });
    expect(await history()).toBe(before);
    const less = await dataOf(correct(more.id, TOTAL - 100));
    expect(await accountNow(service, accountId)).toMatchObject({ status: 'active', balance: 100, credit: 0 });
    expect(await history()).toBe(before + 1);
    await correct(less.id, TOTAL);
    expect(await accountNow(service, accountId)).toMatchObject({ status: 'completed', balance: 0 });
    await expectBooksToBalance(service.context);
  });

  it('is done once if two users correct at once, and once for a repeated request', async () => {
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, 400, { transactionRef: newReference() });
    const answers = await Promise.all([correct(id, 450), correct(id, 460), correct(id, 470)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    const [done] = answers.filter(({ status }) => status === 200);
    expect((await accountNow(service, accountId)).paid).toBe(done?.body.data.amount);

    const headers = { 'idempotency-key': `correction-${id}` };
    const path = `/payments/${done?.body.data.id}/correct-amount`;
    const body = { amount: 480, reason: 'typed wrongly' };
    const [first, second] = await Promise.all([
      service.call('POST', path, body, { headers }),
      service.call('POST', path, body, { headers }),
    ]);
    const third = await service.call('POST', path, body, { headers });
    for (const answer of [first, second, third].filter(({ status }) => status !== 409))
      expect(answer.body.data).toMatchObject({ amount: 480 });
    expect((await accountNow(service, accountId)).paid).toBe(480);
  });

  it('keeps a method that is no longer active', async () => {
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, 400, { paymentMethodId: 4 });
    await service.call('PUT', '/payment-methods/4', { active: false });
    expect(await dataOf(correct(id, 401))).toMatchObject({ paymentMethodId: 4 });
    await service.call('PUT', '/payment-methods/4', { active: true });
  });

  it('needs the permission to record payments, too', async () => {
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, 400);
    const { key } = await newApiKey(service, ['payments:reverse']);
    expect((await correct(id, 450, { token: key })).status).toBe(403);
    expect((await correct(id, 450, { token: await service.signInAs('agent') })).status).toBe(403);
    expect((await paymentNow(service, id)).status).toBe('matched');
  });
});

describe('a correction is refused', () => {
  it('for the same amount, and for a payment that does not exist', async () => {
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, 400);
    expect(wrongFields(await correct(id, 400))).toEqual(['amount']);
    expect(wrongFields(await correct(id, 0))).toEqual(['amount']);
    expect((await correct(999_999, 450)).status).toBe(404);
  });

  it('for a payment of a provider, and one that is linked to its report', async () => {
    const { accountNumber, id: accountId } = await newAccount(service);
    const { paymentId } = await dataOf(notify(service, { BillRefNumber: accountNumber }));
    expect(await refusalOf(paymentId)).toContain('a provider reported it');
    const transactionRef = newReference();
    const manual = await pay(service, accountId, 400, { transactionRef });
    const linked = await dataOf(
      notify(service, { TransID: transactionRef, BillRefNumber: accountNumber, TransAmount: '400.00' }),
    );
    expect(linked).toMatchObject({ outcome: 'linked' });
    expect(await refusalOf(manual.id)).toContain('linked to this report');
    await expectBooksToBalance(service.context);
  });

  it('for a payment with a conflict waiting, which a reversal would post', async () => {
    const { accountNumber, id: accountId } = await newAccount(service);
    const transactionRef = newReference();
    const { id } = await pay(service, accountId, 400, { transactionRef });
    const conflict = await dataOf(
      notify(service, { TransID: transactionRef, BillRefNumber: accountNumber, TransAmount: '450.00' }),
    );
    expect(conflict).toMatchObject({ outcome: 'conflict' });
    expect(await refusalOf(id)).toMatch(
      /Resolve the conflict first with POST \/api\/notifications\/\d+\/resolve/,
    );
    expect((await accountNow(service, accountId)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('for an amount that a provider has reported under a similar reference', async () => {
    const { accountNumber, id: accountId } = await newAccount(service);
    await dataOf(
      notify(service, {
        TransID: 'SIMILAR0A1',
        BillRefNumber: accountNumber,
        TransAmount: '450.00',
        TransTime: '20261102101530',
      }),
    );
    const { id } = await pay(service, accountId, 400, { transactionRef: 'SIMILARO A1' });
    expect(await refusalOf(id, 450)).toContain('must not be that of payment');
    expect((await accountNow(service, accountId)).paid).toBe(850);
    expect((await correct(id, 451)).status).toBe(200);
  });

  it('for a reconciled, an unmatched and a reversed payment', async () => {
    const { id: accountId } = await newAccount(service);
    const reconciled = await pay(service, accountId, 400);
    const batch = { reconciliationDate: '2026-11-02', paymentIds: [reconciled.id] };
    await dataOf(service.call('POST', '/payments/reconcile', batch));
    expect(await refusalOf(reconciled.id)).toContain('it is reconciled');
    const unmatched = await pay(service, accountId, 400);
    await dataOf(service.call('POST', `/payments/${unmatched.id}/unassign`, { reason: 'of somebody else' }));
    expect(await refusalOf(unmatched.id)).toContain('Assign it to its account first');
    const reversed = await pay(service, accountId, 400);
    await reverse(service, reversed.id);
    expect(await refusalOf(reversed.id)).toContain('cannot go from reversed');
  });

  it('while a request for approval is pending, and its own approval counts the larger amount', async () => {
    const admin = service.adminToken;
    const limited = await startInstanceForTest(service, { APPROVAL_LIMIT: '1000' });
    const { id: accountId } = await newAccount(service);
    const { id } = await pay(service, accountId, 5_000);
    const path = `/payments/${id}/correct-amount`;
    const request = await dataOf(
      limited.call('POST', path, { amount: 10, reason: 'typed wrongly' }, { token: admin }),
      202,
    );
    expect(request).toMatchObject({
      action: 'correct_payment',
      amount: 10,
      countedAmount: 5_000,
      paymentId: id,
    });
    const again = await limited.call('POST', path, { amount: 20, reason: 'typed wrongly' }, { token: admin });
    expect([again.status, again.body.error.code]).toEqual([409, 'DUPLICATE_ENTRY']);
    // Also if this amount needs no approval.
    expect((await correct(id, 20)).status).toBe(409);
    const token = await service.tokenOf('finance');
    await dataOf(limited.call('POST', `/approvals/${request.id}/approve`, undefined, { token }));
    expect(await accountNow(service, accountId)).toMatchObject({ paid: 10 });
    const old = await withPeople(id);
    expect(old).toMatchObject({ status: 'reversed', correctedByPaymentId: expect.any(Number) });
    const approver = await dataOf(service.call('GET', '/auth/me', undefined, { token }));
    expect(old.approvedBy).toBe(approver.email);
    expect(old.reversedBy).not.toBe(approver.email);
    await expectBooksToBalance(service.context);
  });
});

it('keeps the paid amount equal to the sum of the payments after any mix of payments, corrections and reversals', async () => {
  const amount = fc.integer({ min: 1, max: 30_000 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('pay' as const), amount, hasReference: fc.boolean() }),
    fc.record({ kind: fc.constant('correct' as const), amount, which: fc.nat(20) }),
    fc.record({ kind: fc.constant('reverse' as const), which: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const { id: accountId } = await newAccount(service);
      /** The amounts of the unreversed payments, by id. */
      const expected = new Map<number, number>();
      for (const next of steps) {
        if (next.kind === 'pay') {
          const fields = next.hasReference ? { transactionRef: newReference() } : {};
          const { id } = await pay(service, accountId, next.amount, fields);
          expected.set(id, next.amount);
          continue;
        }
        const ids = [...expected.keys()];
        const id = ids[next.which % ids.length];
        if (id === undefined) continue;
        if (next.kind === 'reverse') {
          await reverse(service, id);
          expected.delete(id);
          continue;
        }
        const answer = await correct(id, next.amount);
        expect(answer.status).toBe(next.amount === expected.get(id) ? 400 : 200);
        if (answer.status !== 200) continue;
        expected.delete(id);
        expected.set(answer.body.data.id, next.amount);
      }
      const paid = [...expected.values()].reduce((sum, one) => sum + one, 0);
      expect(await accountNow(service, accountId)).toMatchObject({
        paid,
        balance: Math.max(0, TOTAL - paid),
        credit: Math.max(0, paid - TOTAL),
        status: paid >= TOTAL ? 'completed' : 'active',
      });
    }),
    { numRuns: 12 },
  );
  await expectBooksToBalance(service.context);
});
