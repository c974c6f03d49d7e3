import { createHash } from 'node:crypto';
import { type KyselyPlugin, RawNode, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { lockAccounts } from '../../src/accounts/ledger/store.ts';
import { SYSTEM, today } from '../../src/core/context.ts';
import { Database } from '../../src/core/database/db.ts';
import { databaseOf } from '../../src/core/database/transactions.ts';
import { createLog } from '../../src/core/log.ts';
import { unassignPayment } from '../../src/payments/assign-payment.ts';
import { insertLearned } from '../../src/payments/matching/store.ts';
import { listUnmatched } from '../../src/payments/matching/view.ts';
import { lockPaymentRows } from '../../src/payments/store.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newAccountThatIs,
  newCustomer,
  notify,
  pay,
  paymentNow,
  reverse,
  setToday,
  statementsOf,
  useService,
} from '../support/harness.ts';

const service = useService();
beforeAll(() => setToday(service, '2026-11-02'));

async function post(fields: Record<string, unknown>): Promise<number> {
  return (await dataOf(notify(service, fields))).paymentId;
}

afterAll(() => expectBooksToBalance(service.context));

const sha256 = (digits: string) => createHash('sha256').update(digits).digest('hex');

async function send(BillRefNumber: string, MSISDN: string) {
  const id = await post({ BillRefNumber, MSISDN });
  return (await service.call('GET', `/payments/${id}`)).body.data;
}

async function assign(payment: { id: number }, account: { id: number }) {
  const answer = await service.call('POST', `/payments/${payment.id}/assign`, { accountId: account.id });
  expect(answer.status, answer.text).toBe(200);
}

async function unassign(payment: { id: number }) {
  const answer = await service.call('POST', `/payments/${payment.id}/unassign`, { reason: 'not theirs' });
  expect(answer.status, answer.text).toBe(200);
}

async function suggestionsOf(payment: { id: number }) {
  const { body } = await service.call('GET', `/payments/unmatched?filter[id]=${payment.id}`);
  return body.data[0].suggestions;
}

let numbers = 0;
/** The digits of a number that nobody has used yet. */
function stranger(): string {
  numbers += 1;
  return `2547880${String(numbers).padStart(5, '0')}`;
}

describe('GET /payments/unmatched', () => {
  it('lists payments without an account, with the fields of the payer and suggestions', async () => {
    const customer = await newCustomer(service, {
      firstName: 'Joy',
      lastName: 'Wambui',
      phone: '+254722000001',
    });
    const accounts = [
      await newAccount(service, { customerId: customer.id }),
      await newAccount(service, { customerId: customer.id }),
    ];
    const id = await post({ BillRefNumber: '0722000001', MSISDN: '254722000001', TransAmount: '12.34' });
    const { body } = await service.call('GET', `/payments/unmatched?filter[id]=${id}`);
    const payment = await paymentNow(service, id);
    expect(body.data).toEqual([
      {
        ...payment,
        reference: '0722000001',
        payer: '254722000001',
        flags: [],
        suggestions: accounts.map(({ id: accountId, accountNumber }) => ({
          accountId,
          accountNumber,
          customerName: 'Joy Wambui',
          reason: 'the reference is the phone number of the customer; the customer’s phone paid',
          reasons: [
            { code: 'phone', assignedOn: null },
            { code: 'payer_phone', assignedOn: null },
          ],
          confidence: 'high',
          status: 'active',
          balance: 22_800,
          nextDueDate: accounts[0].nextDueDate,
          nextDueAmount: 2_000,
        })),
      },
    ]);
    expect(payment).toMatchObject({
      amount: 12.34,
      status: 'unmatched',
      accountId: null,
      accountNumber: null,
    });
  });

  it('lists no matched, assigned or reversed payment', async () => {
    const account = await newAccount(service);
    const matched = await post({ BillRefNumber: account.accountNumber });
    const entered = await pay(service, account.id, 1);
    const assigned = await post({ BillRefNumber: 'nobody' });
    const reversed = await post({ BillRefNumber: 'nobody' });
    const waiting = await post({ BillRefNumber: 'nobody' });
    await service.call('POST', `/payments/${assigned}/assign`, { accountId: account.id });
    await reverse(service, reversed);
    const all = [matched, entered.id, assigned, reversed, waiting].join(',');
    const { body } = await service.call('GET', `/payments/unmatched?filter[id][in]=${all}`);
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([waiting]);
    expect(body.pagination.total).toBe(1);
    await expectBooksToBalance(service.context);
  });
});

describe('what staff assigned', () => {
  const UNMATCHED = { status: 'unmatched', accountId: null, matchMethod: null, matchReason: null };

  it('is matched the next time for the same payer and reference, with the reason', async () => {
    const account = await newAccount(service);
    const payer = stranger();
    await assign(await send('Mama Njeri shop', payer), account);
    const why = `the same reference from the same payer was assigned to ${account.accountNumber} on 2026-11-02`;
    const learned = {
      status: 'matched',
      accountId: account.id,
      matchMethod: 'learned',
      matchReason: why,
    };
    for (const [reference, number] of [
      ['mama njeri SHOP.', payer],
      ['Mama-Njeri shop', `0${payer.slice(3)}`],
      ['MAMA NJERI SHOP', sha256(payer)],
    ] as const) {
      expect(await send(reference, number), reference).toMatchObject(learned);
    }
    expect((await accountNow(service, account.id)).paid).toBe(1600);
  });

  it('is forgotten when the customer gets another phone, because somebody else may have the old one', async () => {
    const phones = ['+254711222331', '+254711222332'];
    const [phone, other] = phones.map((one) => one.slice(1)) as [string, string];
    const customer = await newCustomer(service, { phone: phones[0] });
    const relative = await newCustomer(service, { phone: phones[0] });
    const account = await newAccount(service, { customerId: customer.id });
    const shared = await newAccount(service, { customerId: relative.id });
    await assign(await send('our solar home', phone), account);
    await assign(await send('our pump', phone), shared);
    await assign(await send('our solar home', other), account);
    expect(await send('our solar home', phone)).toMatchObject({ accountId: account.id });

    await dataOf(service.call('PUT', `/customers/${customer.id}`, { phone: phones[1] }));

    expect(await send('our solar home', phone)).toMatchObject({ status: 'unmatched', accountId: null });
    expect(await send('our pump', phone)).toMatchObject({ accountId: shared.id, matchMethod: 'learned' });
    expect(await send('our solar home', other)).toMatchObject({ accountId: account.id });
  });

  it('is not needed for a phone, unless a customer without an account was registered with it later', async () => {
    const { id: customerId } = await newCustomer(service, { phone: '+254711222371' });
    const account = await newAccount(service, { customerId });
    expect(await send('0711222371', stranger())).toMatchObject({ accountId: account.id });
    const newer = await newCustomer(service, { phone: '+254711222371' });
    for (const [reference, payer] of [
      ['0711222371', stranger()],
      ['', '254711222371'],
    ] as const)
      expect(await send(reference, payer)).toMatchObject(UNMATCHED);
    const own = await newAccount(service, { customerId: newer.id });
    await dataOf(service.call('PUT', `/customers/${customerId}`, { phone: '+254711222379' }));
    expect(await send('', '254711222371')).toMatchObject({ accountId: own.id });
  });

  it('is not needed for a phone if the customer who was registered later has paid an account, or was imported', async () => {
    const { id: customerId } = await newCustomer(service, { phone: '+254711222381' });
    const account = await newAccount(service, { customerId });
    const { id: sonId } = await newCustomer(service, { phone: '+254711222381' });
    await newAccountThatIs(service, 'completed', { customerId: sonId });
    expect(await send('', '254711222381')).toMatchObject({ accountId: account.id });
    const imported = await newCustomer(service, { phone: '+254711222381' });
    expect(await send('', '254711222381')).toMatchObject(UNMATCHED);
    await service.parts.pool.query(
      `with made as (insert into imports default values returning id)
      update customers set import_id = made.id from made where customers.id = $1`,
      [imported.id],
    );
    expect(await send('', '254711222381')).toMatchObject({ accountId: account.id });
  });

  it('is forgotten when the reference is a phone that the customer no longer has', async () => {
    for (const typed of ['711222341', '00254711222341']) {
      const customer = await newCustomer(service, { phone: '+254711222341' });
      const account = await newAccount(service, { customerId: customer.id });
      await newAccount(service, { customerId: customer.id });
      const payer = stranger();
      await assign(await send(typed, payer), account);
      expect(await send(typed, payer)).toMatchObject({ accountId: account.id, matchMethod: 'learned' });
      await dataOf(service.call('PUT', `/customers/${customer.id}`, { phone: '+254711222349' }));
      expect(await send(typed, payer), typed).toMatchObject({ status: 'unmatched', accountId: null });
    }
  });

  it.each(['typed as the reference', 'of the payer'])(
    'is forgotten when another customer is registered with the phone %s',
    async (where) => {
      const [phone, change] = where === 'of the payer' ? ['711222351', 'PUT'] : ['711222361', 'POST'];
      const customer = await newCustomer(service, { phone: `+254${phone}` });
      const account = await newAccount(service, { customerId: customer.id });
      await newAccount(service, { customerId: customer.id });
      const [reference, payer] =
        where === 'of the payer' ? ['the shop', `254${phone}`] : [`0${phone}`, stranger()];
      await assign(await send(reference, payer), account);
      expect(await send(reference, payer)).toMatchObject({ accountId: account.id, matchMethod: 'learned' });
      const other = await newCustomer(service, change === 'POST' ? { phone: `+254${phone}` } : {});
      if (change === 'PUT')
        await dataOf(service.call('PUT', `/customers/${other.id}`, { phone: `+254${phone}` }));
      expect(await send(reference, payer)).toMatchObject({ status: 'unmatched', accountId: null });
    },
  );

  it('is not learned for another payer, another reference, a masked number or an empty reference', async () => {
    const account = await newAccount(service);
    const payer = stranger();
    const masked = `${payer.slice(0, 4)}****${payer.slice(-3)}`;
    await assign(await send('kwa mama', payer), account);
    await assign(await send('kwa baba', masked), account);
    await assign(await send('', payer), account);
    for (const [reference, number] of [
      ['kwa mama', stranger()],
      ['kwa dada', payer],
      ['kwa mama', masked],
      ['kwa baba', masked],
      ['', payer],
    ] as const) {
      expect(await send(reference, number), `${reference} ${number}`).toMatchObject(UNMATCHED);
    }
  });

  it('counts only while the account is open', async () => {
    const account = await newAccount(service);
    const payer = stranger();
    await assign(await send('closing', payer), account);
    await move(service, account.id, 'suspended');
    expect(await send('closing', payer)).toMatchObject({ accountId: account.id });
    await move(service, account.id, 'cancelled');
    expect(await send('closing', payer)).toMatchObject(UNMATCHED);
  });

  it('is forgotten when the payment, or one matched by it, is unassigned', async () => {
    const account = await newAccount(service);
    const payer = stranger();
    const assigned = await send('mistake', payer);
    await assign(assigned, account);
    await unassign(assigned);
    const next = await send('mistake', payer);
    expect(next).toMatchObject(UNMATCHED);
    await assign(next, account);
    const learned = await send('mistake', payer);
    expect(learned).toMatchObject({ matchMethod: 'learned' });
    await unassign(learned);
    expect(await send('mistake', payer)).toMatchObject(UNMATCHED);
  });

  it('is forgotten for its payment even if the payer’s number is read differently now', async () => {
    const account = await newAccount(service);
    const assigned = await send('moved', '0788123456');
    await assign(assigned, account);
    const config = { ...service.context.config, PHONE_REGION: 'RW' };
    const learned = () =>
      service.context.db
        .selectFrom('learned_references')
        .select('account_id')
        .where('payment_id', '=', assigned.id)
        .execute();
    expect(await learned()).toHaveLength(1);
    await unassignPayment({ ...service.context, config }, SYSTEM, assigned.id, 'not theirs');
    expect(await learned()).toEqual([]);
    await assign(assigned, account);
  });

  it('does not wait for a lock of its account', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    const payment = await send('busy', stranger());
    await service.context.db.transaction().execute(async (working) => {
      await lockAccounts(working, [other.id]);
      await lockPaymentRows(working, [payment.id]);
      await service.context.db.transaction().execute(async (tx) => {
        await sql`set local lock_timeout = '200ms'`.execute(tx);
        await insertLearned(tx, {
          typedKey: 'BUSY',
          payerSha256: Buffer.from('nobody'),
          accountId: one.id,
          overruledAccountId: other.id,
          paymentId: payment.id,
          assignedOn: today(service.context),
          createdBy: null,
        });
      });
    });
  });

  it('and unassigned stays in the worklist when the provider reports it, with the reference that the payer sent', async () => {
    const account = await newAccount(service);
    const entry = await pay(service, account.id, 250, { transactionRef: 'TAKENOFF1', paymentMethodId: 1 });
    await unassign(entry);
    const reported = { TransID: 'TAKENOFF1', TransAmount: '250.00', BillRefNumber: account.accountNumber };
    expect(await post(reported)).toBe(entry.id);
    expect((await service.call('GET', `/payments/${entry.id}`)).body.data).toMatchObject(UNMATCHED);
    expect((await suggestionsOf(entry))[0]).toMatchObject({ accountId: account.id, confidence: 'high' });
  });

  it('is the newest assignment, or the one before when the newest is undone', async () => {
    const [one, other] = [await newAccount(service), await newAccount(service)];
    const payer = stranger();
    const [first, second] = [await send('change', payer), await send('change', payer)];
    await assign(first, one);
    await assign(second, other);
    expect(await send('change', payer)).toMatchObject({ accountId: other.id });
    await unassign(second);
    expect(await send('change', payer)).toMatchObject({ accountId: one.id });
  });

  it('is remembered when the payment is reversed', async () => {
    const account = await newAccount(service);
    const payer = stranger();
    const assigned = await send('bounced', payer);
    await assign(assigned, account);
    await reverse(service, assigned.id);
    expect(await send('bounced', payer)).toMatchObject({ accountId: account.id, matchMethod: 'learned' });
  });

  it('overrides the account of a national id', async () => {
    const wrong = await newAccount(service, {
      customerId: (await newCustomer(service, { nationalId: 'CORRECTED-1' })).id,
    });
    const right = await newAccount(service);
    const payer = stranger();
    const payment = await send('corrected 1', payer);
    expect(payment).toMatchObject({ accountId: wrong.id, matchMethod: 'national_id' });
    await unassign(payment);
    await assign(payment, right);
    expect(await send('corrected 1', payer)).toMatchObject({ accountId: right.id, matchMethod: 'learned' });
    expect(await send('corrected 1', stranger())).toMatchObject({ accountId: wrong.id });
  });

  it('does not override the number of another open account: both are suggested', async () => {
    const [typed, meant] = [await newAccount(service), await newAccount(service)];
    const payer = stranger();
    const payment = await send(typed.accountNumber, payer);
    await unassign(payment);
    await assign(payment, meant);
    const next = await send(typed.accountNumber, payer);
    expect(next).toMatchObject(UNMATCHED);
    expect((await suggestionsOf(next)).slice(0, 2)).toEqual([
      expect.objectContaining({ accountId: meant.id, confidence: 'high' }),
      expect.objectContaining({ accountId: typed.id, reason: 'the reference is the account number' }),
    ]);
    await assign(next, typed);
    expect(await send(typed.accountNumber, payer)).toMatchObject({
      accountId: typed.id,
      matchMethod: 'account_number',
    });
  });

  it('overrides the number of a closed account that the payer still types', async () => {
    const [old, present] = [await newAccount(service), await newAccount(service)];
    await pay(service, old.id, old.total);
    const payer = stranger();
    const payment = await send(old.accountNumber, payer);
    expect(payment).toMatchObject({ accountId: old.id });
    await unassign(payment);
    await assign(payment, present);
    expect(await send(old.accountNumber, payer)).toMatchObject({
      accountId: present.id,
      matchMethod: 'learned',
    });
    expect(await send(old.accountNumber, stranger())).toMatchObject({ accountId: old.id });
  });
});

describe('the suggestions', () => {
  async function holder(fields: Record<string, unknown> = {}) {
    const customer = await newCustomer(service, { phone: `+${stranger()}`, ...fields });
    return { customer, account: await newAccount(service, { customerId: customer.id }) };
  }
  async function suggested(fields: Record<string, unknown>) {
    return suggestionsOf({ id: await post({ BillRefNumber: 'unknown', MSISDN: stranger(), ...fields }) });
  }
  const suggestion = (accountId: number, reason: string, confidence: string) =>
    expect.objectContaining({ accountId, reason, confidence });

  it('contain the account whose number was typed with one wrong digit', async () => {
    const { account } = await holder();
    const number: string = account.accountNumber;
    expect(await suggested({ BillRefNumber: number.slice(0, -1) })).toContainEqual(
      suggestion(account.id, 'the reference is the account number with one typing error', 'medium'),
    );
  });

  it('contain the accounts of customers with the name of the payer, in any order and case', async () => {
    const { account } = await holder({ firstName: 'Nyambura', lastName: 'Ōtieno' });
    const names = { FirstName: 'OTIENO', MiddleName: 'Wangui', LastName: 'NYAMBURA' };
    const reason = 'the payer has the customer’s name';
    expect(await suggested(names)).toEqual([suggestion(account.id, reason, 'low')]);
    expect(await suggested({ FirstName: 'NYAMBURA' })).toEqual([]);
    expect(await suggested({ FirstName: 'Nyamb', LastName: 'Otien' })).toEqual([]);
  });

  it('use the two longest words of a name', async () => {
    await holder({ firstName: 'Akinyi', lastName: 'Wambugu' });
    expect(await suggested({ FirstName: 'WAMBUGU', MiddleName: 'Oko', LastName: 'AKINYI' })).toHaveLength(1);
    expect(await suggested({ FirstName: 'WAMBUGU', MiddleName: 'Chepkemoi', LastName: 'AKINYI' })).toEqual(
      [],
    );
  });

  it('omit names if their search takes too long, and log it', async () => {
    const { account } = await holder({ firstName: 'Nekesa', lastName: 'Simiyu' });
    await post({ FirstName: 'Nekesa', LastName: 'Simiyu', BillRefNumber: `${account.accountNumber}1` });
    const slowNames: KyselyPlugin = {
      transformQuery({ node }) {
        const text = JSON.stringify(node, (_key, value) => (typeof value === 'bigint' ? `${value}` : value));
        return text.includes('search_text like') ? RawNode.createWithSql('select pg_sleep(3600)') : node;
      },
      transformResult: async ({ result }) => result,
    };
    const log = createLog({ LOG_LEVEL: 'silent', production: true });
    const warn = vi.spyOn(log, 'warn');
    const { dialect, pool, limits } = databaseOf(service.context.db);
    const db = new Database(dialect, pool, { ...limits, namesMs: 50 }, undefined, [slowNames]);
    const context = { ...service.context, db };
    const page = await listUnmatched(context, log, {
      ...{ filters: [], isPlain: true, page: 1, limit: 1 },
      order: [{ field: { name: 'id', kind: 'id', column: 'p.id' }, direction: 'desc' }],
    });
    expect(page.rows[0]?.suggestions).toContainEqual(expect.objectContaining({ accountId: account.id }));
    expect(warn).toHaveBeenCalledWith(
      expect.anything(),
      'the names of 1 payers were not searched: the time limit was reached',
    );
  });

  it('contain the accounts that fit a masked number, which never matches by itself', async () => {
    const { account } = await holder({ phone: '+256771234987', firstName: 'Achieng' });
    const masked = 'the customer’s phone has the visible digits of the payer’s number';
    for (const MSISDN of ['25677****987', '25677 ***** 987']) {
      expect(await suggested({ MSISDN })).toEqual([suggestion(account.id, masked, 'low')]);
    }
    expect(await suggested({ MSISDN: '25677****987', FirstName: 'ACHIENG' })).toEqual([
      suggestion(account.id, `${masked}; the payer shares a name with the customer`, 'low'),
    ]);
    const empty = await post({ BillRefNumber: '', MSISDN: '25677****987' });
    expect(await suggestionsOf({ id: empty })).toHaveLength(1);
  });

  it('include accounts learned from the reference alone or the payer alone', async () => {
    const account = await newAccount(service);
    const payer = stranger();
    await assign(await send('duka la juma', payer), account);
    expect(await suggested({ BillRefNumber: 'duka la juma' })).toEqual([
      suggestion(
        account.id,
        'a payment with the same reference from another payer was assigned to the account on 2026-11-02',
        'low',
      ),
    ]);
    expect(await suggested({ MSISDN: sha256(payer) })).toEqual([
      suggestion(
        account.id,
        'a payment of the same payer with another reference was assigned to the account on 2026-11-02',
        'medium',
      ),
    ]);
  });

  it('show the status, the balance and the next due date of each account, from one statement', async () => {
    const { customer, account } = await holder({ nationalId: 'STANDING-7' });
    const late = await newAccount(service, { customerId: customer.id });
    await pay(service, late.id, 2_100);
    await move(service, late.id, 'suspended');
    const id = await post({ BillRefNumber: 'standing 7' });
    const sent = await statementsOf(async () => {
      for (const { accountId, status, balance, nextDueDate, nextDueAmount } of await suggestionsOf({ id }))
        expect(await accountNow(service, accountId)).toMatchObject({
          status,
          balance,
          nextDueDate,
          nextDueAmount,
        });
    });
    const reads = sent.filter(({ text }) => /first_name.*from "accounts" as "a"/s.test(text));
    expect(reads).toHaveLength(1);
    const [first, second] = await suggestionsOf({ id });
    expect(first).toMatchObject({ accountId: account.id, status: 'active', nextDueAmount: 2_000 });
    expect(second).toMatchObject({ accountId: late.id, status: 'suspended', nextDueAmount: 300 });
  });

  it('are at most ten, and the same ten each time', async () => {
    const { customer } = await holder({ nationalId: 'MANY-ACCOUNTS' });
    const items = Array(11).fill({ customerId: customer.id, productId: 1, payplanId: 2 });
    await dataOf(service.call('POST', '/accounts/bulk', { items }));
    const id = await post({ BillRefNumber: 'many accounts' });
    const first = await suggestionsOf({ id });
    expect(first).toHaveLength(10);
    expect(await suggestionsOf({ id })).toEqual(first);
  });

  it('omit a name that too many customers have', async () => {
    const names = { firstName: 'Popular', lastName: 'Namesake' };
    const customers = Array.from({ length: 21 }, () => ({ ...names, phone: `+${stranger()}` }));
    const created = await dataOf(service.call('POST', '/customers/bulk', { items: customers }));
    const items = created.items.map(({ data }: { data: { id: number } }) => ({
      ...{ customerId: data.id, productId: 1, payplanId: 2 },
    }));
    await dataOf(service.call('POST', '/accounts/bulk', { items }));
    expect(await suggested({ FirstName: 'Popular', LastName: 'Namesake' })).toEqual([]);
  });
});
