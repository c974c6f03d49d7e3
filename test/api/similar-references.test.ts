import { beforeAll, describe, expect, it } from 'vitest';
import { SYSTEM, today } from '../../src/core/context.ts';
import { inTransaction } from '../../src/core/database/transactions.ts';
import { addDays } from '../../src/core/values/dates.ts';
import { similarKey } from '../../src/core/values/reference.ts';
import { mobilemoney } from '../../src/mobile-money/providers/mobilemoney.ts';
import { readingSettings, readNotification } from '../../src/mobile-money/providers/rules.ts';
import { notificationToPost } from '../../src/payments/notifications/rules.ts';
import { manualPaymentToPost } from '../../src/payments/posting/manual-payment-rules.ts';
import { postPayments } from '../../src/payments/posting/post-payments.ts';
import type { PaymentToPost } from '../../src/payments/posting/rules.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  letAgentsRecordMobileMoney,
  newAccount,
  notify,
  pay,
  paymentNow,
  reverse,
  runJobs,
  setToday,
  signUp,
  statementsOf,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { until } from '../support/waiting.ts';

// Staff type the letter O for the digit 0, and I for 1. Real transaction ids contain all of these.

const service = useService({ AGENT_BACKDATING_DAYS: '365' });
beforeAll(() => letAgentsRecordMobileMoney(service));
beforeAll(() => setToday(service, '2026-11-30'));

let references = 0;
/** A transaction id with the digits 0 and 1, and the text that staff type instead. */
function newReferences(): { transId: string; typed: string } {
  references += 1;
  const end = String(references).padStart(2, '2').replaceAll('0', '9').replaceAll('1', '8');
  return { transId: `QA0I${end}${references}1O`, typed: `QAOI${end}${references}IO` };
}

/** Reports a payment of 400 on 2 November. */
async function notified(fields: Record<string, unknown>) {
  return (await notify(service, notification({ TransTime: '20261102101530', ...fields }))).body.data;
}
const conflictOf = async (transId: string) =>
  (await dataOf(service.call('GET', `/notifications?filter[transactionRef]=${transId}`)))[0];
const resolve = (id: number, body: object) =>
  service.call('POST', `/notifications/${id}/resolve`, { paymentId: null, reason: 'checked', ...body });

/** The report of a payment of 400 on 2 November, as a transaction of the posting queue posts it. */
function incomingReport(fields: Record<string, unknown>): PaymentToPost {
  const body = JSON.stringify(notification({ TransTime: '20261102101530', ...fields }));
  const sent = mobilemoney.read(Buffer.from(body));
  if (!sent) throw new Error('The report was not read.');
  const { config, clock } = service.context;
  const reading = readNotification(
    mobilemoney,
    sent,
    body,
    clock.now(),
    readingSettings(service.context, mobilemoney),
  );
  if (!('notification' in reading)) throw new Error('The report has problems.');
  return notificationToPost(reading.notification, config.PHONE_REGION);
}

/** A conflict between a manual payment and a notification of 400 on one day. */
async function conflict() {
  const account = await newAccount(service);
  const { transId, typed } = newReferences();
  const manual = await pay(service, account.id, 400, { transactionRef: typed, paymentDate: '2026-11-02' });
  const { outcome } = await notified({ TransID: transId, BillRefNumber: account.accountNumber });
  expect(outcome).toBe('conflict');
  const stored = await conflictOf(transId);
  expect(stored).toMatchObject({
    flags: ['similar_reference'],
    conflictingPaymentId: manual.id,
    paymentId: null,
  });
  expect((await accountNow(service, account.id)).paid).toBe(400);
  await expectBooksToBalance(service.context);
  return { account, transId, manual, id: stored.id as number };
}

describe('a notification whose reference differs from that of a manual payment only in O and 0, or in I and 1', () => {
  it('is a conflict, and is linked to this payment if staff choose it', async () => {
    const { account, transId, manual, id } = await conflict();
    expect((await resolve(id, { paymentId: manual.id })).body.data).toMatchObject({
      outcome: 'linked',
      paymentId: manual.id,
      flags: ['other_method'],
    });
    expect(await paymentNow(service, manual.id)).toMatchObject({ transactionRef: manual.transactionRef });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    const again = await service.call('POST', '/payments', {
      ...{ accountId: account.id, amount: 400, paymentMethodId: 2, transactionRef: transId },
    });
    expect([again.status, again.body.error.details.id]).toEqual([409, manual.id]);
    await expectBooksToBalance(service.context);
    await reverse(service, manual.id);
    expect(await conflictOf(transId)).toMatchObject({ outcome: 'matched' });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('is posted beside this payment if both are real', async () => {
    const { account, transId, manual, id } = await conflict();
    const { body } = await resolve(id, { bothAreReal: true });
    expect(body.data).toMatchObject({ outcome: 'matched', flags: [] });
    expect(await paymentNow(service, manual.id)).toMatchObject({ status: 'matched' });
    expect((await accountNow(service, account.id)).paid).toBe(800);
    const [audited] = await dataOf(
      service.call('GET', `/audit?filter[action]=notification.resolve&filter[resourceId]=${id}`),
    );
    expect(audited.after).toEqual({ paymentId: null, bothAreReal: true, reason: 'checked' });
    const repeat = await notify(
      service,
      notification({ TransID: transId, BillRefNumber: account.accountNumber }),
    );
    expect(repeat.body.data.outcome).not.toBe('matched');
    await reverse(service, manual.id);
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('replaces this payment if staff choose none', async () => {
    const { account, manual, id } = await conflict();
    expect((await resolve(id, {})).body.data).toMatchObject({ outcome: 'matched' });
    expect(await paymentNow(service, manual.id)).toMatchObject({ status: 'reversed' });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('is posted when this payment is reversed', async () => {
    const { account, transId, manual } = await conflict();
    await reverse(service, manual.id);
    expect(await conflictOf(transId)).toMatchObject({ outcome: 'matched', flags: [] });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('is linked to a manual payment with exactly its reference', async () => {
    const { id, accountNumber } = await newAccount(service);
    const { transId, typed } = newReferences();
    await pay(service, id, 400, { transactionRef: typed, paymentDate: '2026-11-02' });
    const exact = await pay(service, id, 400, { transactionRef: transId, paymentDate: '2026-11-02' });
    expect(await notified({ TransID: transId, BillRefNumber: accountNumber })).toMatchObject({
      outcome: 'linked',
      paymentId: exact.id,
    });
    await expectBooksToBalance(service.context);
  });

  it('is posted if that payment is of the provider, or is linked to a transaction', async () => {
    const { id, accountNumber: BillRefNumber } = await newAccount(service);
    const { transId, typed } = newReferences();
    await pay(service, id, 400, { transactionRef: typed, paymentDate: '2026-11-02' });
    expect(await notified({ TransID: typed, BillRefNumber })).toMatchObject({ outcome: 'linked' });
    expect(await notified({ TransID: transId, BillRefNumber })).toMatchObject({ outcome: 'matched' });
    expect(await notified({ TransID: similarKey(transId), BillRefNumber })).toMatchObject({
      outcome: 'matched',
    });
    await expectBooksToBalance(service.context);
  });

  it('cannot be resolved with bothAreReal and a payment, or if a manual payment has exactly the reference', async () => {
    const { manual, id } = await conflict();
    expect((await resolve(id, { paymentId: manual.id, bothAreReal: true })).status).toBe(400);
    const { id: accountId, accountNumber } = await newAccount(service);
    const { transId } = newReferences();
    await pay(service, accountId, 300, { transactionRef: transId });
    expect(await notified({ TransID: transId, BillRefNumber: accountNumber })).toMatchObject({
      outcome: 'conflict',
    });
    const refused = await resolve((await conflictOf(transId)).id, { bothAreReal: true });
    expect(refused.body.error.details.fields).toMatchObject([{ path: 'bothAreReal' }]);
  });

  it('is posted once with a manual payment that arrives at the same time', async () => {
    const { id, accountNumber } = await newAccount(service);
    const pairs = Array.from({ length: 5 }, newReferences);
    await Promise.all(
      pairs.flatMap(({ transId, typed }) => [
        notified({ TransID: transId, BillRefNumber: accountNumber }),
        service.call('POST', '/payments', {
          ...{
            accountId: id,
            amount: 400,
            paymentMethodId: 2,
            transactionRef: typed,
            paymentDate: '2026-11-02',
          },
        }),
      ]),
    );
    expect((await accountNow(service, id)).paid).toBe(5 * 400);
    await expectBooksToBalance(service.context);
  });
});

describe('a manual payment whose reference differs from that of a provider’s payment only in O and 0, or in I and 1', () => {
  it('is refused, unless staff who assign payments say that both are real', async () => {
    const { id: accountId, accountNumber } = await newAccount(service);
    const { transId, typed } = newReferences();
    const { paymentId } = await notified({ TransID: transId, BillRefNumber: accountNumber });
    const body = {
      accountId,
      amount: 400,
      paymentMethodId: 2,
      transactionRef: typed,
      paymentDate: '2026-11-02',
    };
    const refused = await service.call('POST', '/payments', body);
    expect([refused.status, refused.body.error.details]).toEqual([
      409,
      { resource: 'payment', field: 'transactionRef', id: paymentId },
    ]);
    expect(refused.body.error.message).toContain('bothAreReal');
    const { accessToken: token } = await signUp(service, { role: 'agent' });
    const byAgent = await service.call('POST', '/payments', { ...body, bothAreReal: true }, { token });
    expect([byAgent.status, byAgent.body.error.message]).toEqual([409, expect.stringContaining('finance')]);
    expect((await service.call('POST', '/payments', { ...body, bothAreReal: true })).status).toBe(201);
    expect(
      (await service.call('POST', '/payments', { ...body, amount: 401, transactionRef: `${typed}O` })).status,
    ).toBe(201);
    await expectBooksToBalance(service.context);
  });
});

describe('a reference that contains a transaction id beside other text', () => {
  const withText = (id: string) => [
    `MPESA ${id}`,
    `${id} Confirmed. Ksh400.00 sent to SUNLIGHT`,
    `Ref: ${id.toLowerCase()}`,
    `M-PESA/${id}`,
    `#${id}.`,
    `${id} / ws_CO_021120261015301234`,
  ];
  let ids = 0;
  const newId = () => `SKQ7TEXT${String(++ids).padStart(2, '0')}`;

  it('is refused if the provider has reported this transaction', async () => {
    const account = await newAccount(service);
    const transId = newId();
    const { paymentId } = await notified({ TransID: transId, BillRefNumber: account.accountNumber });
    const record = (transactionRef: string, fields: object = {}) =>
      service.call('POST', '/payments', {
        ...{ accountId: account.id, amount: 400, paymentMethodId: 1, paymentDate: '2026-11-02' },
        ...{ transactionRef, ...fields },
      });
    for (const text of withText(transId)) {
      const { status, body } = await record(text);
      expect([text, status, body.error?.details.id]).toEqual([text, 409, paymentId]);
    }
    expect((await record(`MPESA ${transId}`, { amount: 30 })).status).toBe(201);
    expect((await record(`MPESA ${transId}`, { bothAreReal: true, paymentMethodId: 2 })).status).toBe(201);
    expect((await accountNow(service, account.id)).paid).toBe(830);
    await expectBooksToBalance(service.context);
  });

  it('is a conflict if the provider reports this transaction later', async () => {
    const account = await newAccount(service);
    for (const text of withText('SKQ7TEXT90')) {
      const transId = newId();
      const transactionRef = text.replaceAll(/SKQ7TEXT90/gi, transId);
      const fields = { transactionRef, paymentDate: '2026-11-02', paymentMethodId: 1 };
      const manual = await pay(service, account.id, 400, fields);
      const { outcome } = await notified({ TransID: transId, BillRefNumber: account.accountNumber });
      expect([transactionRef, outcome]).toEqual([transactionRef, 'conflict']);
      const stored = await conflictOf(transId);
      expect(stored).toMatchObject({ flags: ['similar_reference'], conflictingPaymentId: manual.id });
      expect((await resolve(stored.id, { paymentId: manual.id })).body.data.outcome).toBe('linked');
    }
    expect((await accountNow(service, account.id)).paid).toBe(2400);
    await expectBooksToBalance(service.context);
  });

  it('is found without reading all manual payments of this amount', async () => {
    const account = await newAccount(service);
    const transId = newId();
    for (const transactionRef of ['INV 2026/0001', 'INV 2026/0002', `MPESA ${transId}`])
      await pay(service, account.id, 432, { transactionRef, paymentDate: '2026-11-02' });
    const statements = await statementsOf(() =>
      notified({ TransID: transId, BillRefNumber: account.accountNumber, TransAmount: '432.00' }),
    );
    const search = statements.find(({ text }) => text.includes('as asked (at int'));
    const { rows } = await service.parts.pool.query(search ?? '');
    expect(rows.map((row) => row.transaction_ref)).toEqual([`MPESA ${transId}`]);
  });

  it('keeps no conflict if the payment is reversed while the notification is posted', async () => {
    const [wrong, account] = [await newAccount(service), await newAccount(service)];
    const transId = newId();
    const fields = { transactionRef: `MPESA ${transId}`, paymentDate: '2026-11-02' };
    const manual = await pay(service, wrong.id, 400, fields);
    const work: Promise<unknown>[] = [];
    const storingWaits = 'lock table notifications in share row exclusive mode';
    await whileHolding(service, storingWaits, async (holder) => {
      const isWaiting = async (count: number) => (await waitingForLock(holder)).length === count;
      work.push(notified({ TransID: transId, BillRefNumber: account.accountNumber }));
      await until('the notification to be decided', () => isWaiting(1));
      let isReversed = false;
      work.push(
        reverse(service, manual.id).then(() => {
          isReversed = true;
        }),
      );
      await until('the reversal to wait', async () => isReversed || (await isWaiting(2)));
    });
    await Promise.all(work);
    expect(await conflictOf(transId)).toMatchObject({ outcome: 'matched', flags: [] });
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  describe('in conflict with two transactions that its reference contains', () => {
    /** Starts both resolutions while the payment is locked, so that both have read the books before either changes them. */
    async function resolveBoth(choose: (manualId: number) => [object, object]) {
      const account = await newAccount(service);
      const transIds = [newId(), newId()] as const;
      const manual = await pay(service, account.id, 400, {
        transactionRef: `${transIds[0]} and ${transIds[1]}`,
        paymentDate: '2026-11-02',
      });
      const ids: number[] = [];
      for (const TransID of transIds) {
        const { outcome } = await notified({ TransID, BillRefNumber: account.accountNumber });
        expect(outcome).toBe('conflict');
        ids.push((await conflictOf(TransID)).id);
      }
      const work: ReturnType<typeof resolve>[] = [];
      const lock = `select from payments where id = ${manual.id} for no key update`;
      await whileHolding(service, lock, async (holder) => {
        for (const [at, body] of choose(manual.id).entries()) {
          work.push(resolve(ids[at] ?? 0, body));
          await until(
            'the resolutions to wait',
            async () => (await waitingForLock(holder)).length === at + 1,
          );
        }
      });
      const answers = await Promise.all(work);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
      await expectBooksToBalance(service.context);
      await runJobs(service);
      await expectBooksToBalance(service.context);
      const outcomes = [await conflictOf(transIds[0]), await conflictOf(transIds[1])].map(
        ({ outcome }) => outcome,
      );
      expect((await accountNow(service, account.id)).paid).toBe(800);
      const { status } = await paymentNow(service, manual.id);
      return { outcomes: outcomes.toSorted(), status };
    }

    const LINKED = { outcomes: ['linked', 'matched'], status: 'matched' };
    const REVERSED = { outcomes: ['matched', 'matched'], status: 'reversed' };

    it('is linked to one of them if staff choose it for both at the same moment', async () => {
      expect(await resolveBoth((id) => [{ paymentId: id }, { paymentId: id }])).toEqual(LINKED);
    });

    it('is not reversed if staff choose it for one of them at the moment at which others choose no payment', async () => {
      expect([LINKED, REVERSED]).toContainEqual(await resolveBoth((id) => [{ paymentId: id }, {}]));
      expect([LINKED, REVERSED]).toContainEqual(await resolveBoth((id) => [{}, { paymentId: id }]));
    });

    it('is reversed once if staff choose no payment for both at the same moment', async () => {
      expect(await resolveBoth(() => [{}, {}])).toEqual(REVERSED);
    });

    it('no longer keeps a transaction waiting when the provider reports another one with exactly its reference', async () => {
      const { account, manual, transId } = await conflict();
      await notified({ TransID: manual.transactionRef, BillRefNumber: account.accountNumber });
      await runJobs(service);
      expect(await conflictOf(transId)).toMatchObject({ outcome: 'matched' });
      expect((await accountNow(service, account.id)).paid).toBe(800);
      await expectBooksToBalance(service.context);
    });
  });

  it('keeps no conflict if it is reversed by a resolution while the report of another id in it is posted', async () => {
    // Three accounts, so that nobody waits for the lock of an account.
    const [wrong, account, other] = [
      await newAccount(service),
      await newAccount(service),
      await newAccount(service),
    ];
    const [first, second] = [newId(), newId()];
    const manual = await pay(service, wrong.id, 400, {
      transactionRef: `${first} and ${second}`,
      paymentDate: '2026-11-02',
    });
    await notified({ TransID: first, BillRefNumber: account.accountNumber });
    const { id } = await conflictOf(first);
    await service.parts.pool.query(`
      create function wait_in_test() returns trigger language plpgsql as
        'begin perform pg_advisory_xact_lock(4711); return new; end';
      create trigger wait_in_test before insert on notifications for each row when (new.trans_id = '${second}')
        execute function wait_in_test()`);
    const work: Promise<unknown>[] = [];
    await whileHolding(service, 'select pg_advisory_xact_lock(4711)', async (holder) => {
      const isWaiting = async (count: number) => (await waitingForLock(holder)).length === count;
      work.push(notified({ TransID: second, BillRefNumber: other.accountNumber }));
      await until('the report to be decided', () => isWaiting(1));
      let isResolved = false;
      work.push(
        resolve(id, {}).then(() => {
          isResolved = true;
        }),
      );
      await until('the resolution to wait', async () => isResolved || (await isWaiting(2)));
    });
    await Promise.all(work);
    await service.parts.pool.query('drop function wait_in_test cascade');
    await runJobs(service);
    expect(await paymentNow(service, manual.id)).toMatchObject({ status: 'reversed' });
    expect(await conflictOf(first)).toMatchObject({ outcome: 'matched' });
    expect(await conflictOf(second)).toMatchObject({ outcome: 'matched' });
    await expectBooksToBalance(service.context);
  });

  it('keeps no conflict with a payment that the same batch links to another transaction', async () => {
    const account = await newAccount(service);
    const id = newId();
    const transactionRef = `${id} ok`;
    await pay(service, account.id, 400, { transactionRef, paymentDate: '2026-11-02' });
    const batch = [transactionRef, id].map((TransID) => incomingReport({ TransID }));
    await inTransaction(service.context.db, (tx) => postPayments(tx, service.context, batch));
    await runJobs(service);
    expect(await conflictOf(id)).toMatchObject({ outcome: 'unmatched' });
    await expectBooksToBalance(service.context);
  });

  it('is another payment if the id is a part of a longer word, or the text contains none', async () => {
    const account = await newAccount(service);
    for (const transactionRef of [
      'INV-2026-0001 November',
      'XSKQ7TEXT80Y visit',
      'paid at the office 12/11',
    ]) {
      await pay(service, account.id, 400, { transactionRef, paymentDate: '2026-11-02' });
    }
    const { outcome } = await notified({ TransID: 'SKQ7TEXT80', BillRefNumber: account.accountNumber });
    expect(outcome).toBe('matched');
  });
});

describe('another id that the report of a payment has, such as that of the payer’s bank', () => {
  let payments = 0;
  const newIds = () => {
    payments += 1;
    return { transId: `SKR8BANK${10 + payments}`, bankId: `FT26306${10 + payments}XQ` };
  };
  const record = (accountId: number, fields: object) =>
    service.call('POST', '/payments', {
      ...{ accountId, amount: 400, paymentMethodId: 4, paymentDate: '2026-11-29', ...fields },
    });

  it.each([
    ['its own field', (id: string) => ({ ThirdPartyTransID: id })],
    ['a field of another name, in lower case', (id: string) => ({ bank: { reference: id.toLowerCase() } })],
  ])('is a conflict if staff have recorded the payment with it: in %s', async (_, fieldsOf) => {
    const account = await newAccount(service);
    const { transId, bankId } = newIds();
    const manual = await pay(service, account.id, 400, {
      ...{ transactionRef: bankId, paymentDate: '2026-11-03', paymentMethodId: 4 },
    });
    const { outcome } = await notified({
      ...{ TransID: transId, BillRefNumber: account.accountNumber, ...fieldsOf(bankId) },
    });
    expect(outcome).toBe('conflict');
    const stored = await conflictOf(transId);
    expect(stored).toMatchObject({ flags: ['similar_reference'], conflictingPaymentId: manual.id });
    await expectBooksToBalance(service.context);
    expect((await resolve(stored.id, { paymentId: manual.id })).body.data.outcome).toBe('linked');
    expect((await accountNow(service, account.id)).paid).toBe(400);
    await expectBooksToBalance(service.context);
  });

  it('is refused as the reference of a manual payment after the report, on the account or for an unmatched payment', async () => {
    const account = await newAccount(service);
    for (const BillRefNumber of [account.accountNumber, 'no idea']) {
      const { transId, bankId } = newIds();
      const { paymentId } = await notified({
        ...{ TransID: transId, BillRefNumber, ThirdPartyTransID: bankId, TransTime: '20261129101530' },
      });
      for (const transactionRef of [bankId, `'${bankId.toLowerCase()}`]) {
        const { status, body } = await record(account.id, { transactionRef });
        expect([transactionRef, status, body.error?.details.id]).toEqual([transactionRef, 409, paymentId]);
        const bulk = await service.call('POST', '/payments/bulk', {
          items: [
            {
              accountId: account.id,
              amount: 400,
              paymentMethodId: 4,
              paymentDate: '2026-11-29',
              transactionRef,
            },
          ],
        });
        expect(bulk.body.data?.items[0].status, bulk.text).toBe('failed');
      }
      expect((await record(account.id, { transactionRef: bankId, amount: 30 })).status).toBe(201);
      expect(
        (await record(account.id, { transactionRef: bankId, bothAreReal: true, paymentMethodId: 3 })).status,
      ).toBe(201);
    }
    await expectBooksToBalance(service.context);
  });

  it('is not the reference that the payer typed, an account number, or an id of a payment of another amount or week', async () => {
    const account = await newAccount(service);
    const { bankId } = newIds();
    await pay(service, account.id, 400, {
      transactionRef: bankId,
      paymentDate: '2026-11-02',
      paymentMethodId: 4,
    });
    await pay(service, account.id, 400, {
      ...{ transactionRef: account.accountNumber, paymentDate: '2026-11-02', paymentMethodId: 4 },
    });
    const outcomeOf = async (fields: object) => {
      const { transId } = newIds();
      return (await notified({ TransID: transId, BillRefNumber: account.accountNumber, ...fields })).outcome;
    };
    expect(await outcomeOf({ ThirdPartyTransID: account.accountNumber })).toBe('matched');
    expect(await outcomeOf({ BillRefNumber: bankId })).toBe('unmatched');
    expect(await outcomeOf({ Remarks: `EQUITY/${bankId} PESALINK` })).toBe('matched');
    expect(await outcomeOf({ ThirdPartyTransID: bankId, TransAmount: '401' })).toBe('matched');
    expect(await outcomeOf({ ThirdPartyTransID: bankId, TransTime: '20261106101530' })).toBe('matched');
    await expectBooksToBalance(service.context);
  });

  it('is posted once if the report and the manual payment arrive at the same time', async () => {
    const account = await newAccount(service);
    await Promise.all(
      Array.from({ length: 5 }, newIds).flatMap(({ transId, bankId }) => [
        notified({
          ...{ TransID: transId, BillRefNumber: account.accountNumber, ThirdPartyTransID: bankId },
          TransTime: '20261129101530',
        }),
        record(account.id, { transactionRef: bankId }),
      ]),
    );
    expect((await accountNow(service, account.id)).paid).toBe(5 * 400);
    await expectBooksToBalance(service.context);
  });

  it('is not the reference that the payer typed, if a manual payment with this reference follows', async () => {
    const account = await newAccount(service);
    const { transId, bankId } = newIds();
    await notified({ TransID: transId, BillRefNumber: bankId, TransTime: '20261129101530' });
    expect((await record(account.id, { transactionRef: bankId })).status).toBe(201);
  });

  describe('excludes a manual payment with this reference from being posted at the same moment', () => {
    /** The report of a payment, and a manual payment under another id in this report, on different accounts. */
    async function newPair(): Promise<[PaymentToPost, PaymentToPost]> {
      const [named, account] = [await newAccount(service), await newAccount(service)];
      const { transId, bankId } = newIds();
      const report = incomingReport({
        ...{ TransID: transId, BillRefNumber: named.accountNumber, ThirdPartyTransID: bankId },
        TransTime: '20261129101530',
      });
      const manual = manualPaymentToPost({
        ...{ actor: SYSTEM, accountId: account.id, amountMinor: 40_000n, paymentMethodId: 4 },
        ...{ transactionRef: bankId, paymentDate: addDays(today(service.context), -1), bothAreReal: false },
        ...{ externalId: null, metadata: {} },
      });
      return [report, manual];
    }

    it.each(['report', 'manual payment'])('in one batch that starts with the %s', async (first) => {
      const pair = await newPair();
      const batch = first === 'report' ? pair : pair.toReversed();
      const results = await inTransaction(service.context.db, (tx) =>
        postPayments(tx, service.context, batch),
      );
      expect([...results.done]).toEqual([[batch[0], { outcome: expect.anything() }]]);
      expect([...results.notNow.keys()]).toEqual([batch[1]]);
      await expectBooksToBalance(service.context);
    });

    it.each(['report', 'manual payment'])('in another transaction after the %s', async (first) => {
      const pair = await newPair();
      const [earlier, later] = first === 'report' ? pair : pair.toReversed();
      const results = await inTransaction(service.context.db, async (tx) => {
        await postPayments(tx, service.context, earlier ? [earlier] : []);
        return inTransaction(service.context.db, (other) =>
          postPayments(other, service.context, later ? [later] : []),
        );
      });
      expect(results.done.size).toBe(0);
      expect([...results.notNow.keys()]).toEqual([later]);
      await expectBooksToBalance(service.context);
    });
  });

  it('is no part of a payment that staff record under a reference with other text', async () => {
    const account = await newAccount(service);
    const { transId, bankId } = newIds();
    await notified({
      ...{ TransID: transId, BillRefNumber: account.accountNumber, ThirdPartyTransID: bankId },
      TransTime: '20261129101530',
    });
    expect((await record(account.id, { transactionRef: `${bankId} Equity` })).status).toBe(201);
  });
});
