import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  accountNow,
  dataOf,
  newAccount,
  newCustomer,
  notify,
  pay,
  paymentNow,
  useService,
  wrongFields,
} from '../support/harness.ts';

// Ids and references of digits that a spreadsheet or a program has written as numbers: 12345678.0, 7.1E8.

const service = useService();

const CHANGED = ['12345678.0', '12.00', '12345678,0', "'12345678.0", '="12345678.0"', '7.1E8', '2.54712E+11'];
const LONG = CHANGED.filter((text) => text !== '12.00');

const customer = { firstName: 'A', lastName: 'B', phone: '0712345678' };
const refusal = (path: string) => [
  { path, message: expect.stringMatching(/a spreadsheet or a program has changed, such as 12345678\.0/) },
];

describe('a new id that a spreadsheet has changed is refused by name', () => {
  it.each(CHANGED)('%s', async (text) => {
    const { id: accountId, customerId, productId, payplanId } = await newAccount(service);
    const bodies: [string, string, object, string][] = [
      ['POST', '/customers', { ...customer, nationalId: text }, 'nationalId'],
      ['POST', '/customers', { ...customer, externalId: text }, 'externalId'],
      ['POST', '/customers/check', { ...customer, nationalId: text }, 'nationalId'],
      ['PUT', `/customers/${customerId}`, { nationalId: text }, 'nationalId'],
      ['PUT', `/customers/${customerId}`, { externalId: text }, 'externalId'],
      ['PUT', `/customers/by-external-id/${encodeURIComponent(text)}`, customer, 'externalId'],
      ['PUT', `/customers/by-external-id/NEW-1`, { ...customer, nationalId: text }, 'nationalId'],
      ['POST', '/employees', { name: 'E', externalId: text }, 'externalId'],
      ['PUT', '/employees/1', { externalId: text }, 'externalId'],
      ['POST', '/products', { sku: 'S', name: 'P', category: 'c', price: 1, externalId: text }, 'externalId'],
      ['PUT', '/products/1', { externalId: text }, 'externalId'],
      ['POST', '/accounts', { customerId, productId, payplanId, externalId: text }, 'externalId'],
      ['PUT', `/accounts/${accountId}`, { externalId: text }, 'externalId'],
      ['POST', '/payments', { accountId, amount: 1, paymentMethodId: 2, externalId: text }, 'externalId'],
      [
        'PUT',
        `/customers/${customerId}/kyc`,
        {
          verificationType: 'national_id',
          verificationStatus: 'pending',
          documents: [{ type: 'national_id', number: text }],
        },
        'documents[0].number',
      ],
    ];
    await dataOf(service.call('POST', '/employees', { name: 'E' }), 201);
    for (const [method, path, body, field] of bodies) {
      const refused = await service.call(method, path, body);
      expect([path, refused.status, refused.body.error?.details.fields]).toEqual([path, 400, refusal(field)]);
    }
    const payment = await pay(service, accountId, 1);
    const changed = await service.call('PUT', `/payments/${payment.id}`, { externalId: text });
    expect(changed.body.error?.details.fields).toEqual(refusal('externalId'));
    expect((await accountNow(service, accountId)).externalId).toBeNull();
  });

  it('in a bulk call for its item only', async () => {
    const items = [
      { ...customer, nationalId: '87654321.0' },
      { ...customer, nationalId: '87654321' },
    ];
    const { body } = await service.call('POST', '/customers/bulk', { items });
    expect(body.data.items).toMatchObject([
      { status: 'failed', error: { details: { fields: refusal('nationalId') } } },
      { status: 'created' },
    ]);
  });
});

it.each(LONG)(
  'refuses the reference %s of a manual payment, a bulk payment and a refund',
  async (transactionRef) => {
    const { id: accountId } = await newAccount(service);
    const payment = { accountId, amount: 1, paymentMethodId: 2, transactionRef };
    const refused = await service.call('POST', '/payments', payment);
    expect(refused.body.error?.details.fields).toEqual(refusal('transactionRef'));
    const bulk = await service.call('POST', '/payments/bulk', { items: [payment] });
    expect(bulk.body.data.items).toMatchObject([{ status: 'failed' }]);
    const refund = { amount: 1, reason: 'r', transactionRef };
    const refunded = await service.call('POST', `/accounts/${accountId}/credit/refund`, refund);
    expect(wrongFields(refunded)).toEqual(['transactionRef']);
    expect((await accountNow(service, accountId)).paid).toBe(0);
  },
);

it('accepts ids and references that only look similar', async () => {
  const { id: accountId } = await newAccount(service);
  for (const transactionRef of ['12E45', '7E81234567', 'A12345678.0', '12345678.5'])
    await pay(service, accountId, 1, { transactionRef });
  await newCustomer(service, { nationalId: '31-12.0/A', externalId: 'v2.0' });
});

it('reads a number of JSON with a decimal point as a whole number, and no text and no fraction as an id', async () => {
  const { id } = await newAccount(service);
  const send = (accountId: string) =>
    fetch(`${service.origin}/api/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service.adminToken}` },
      body: `{"accountId": ${accountId}, "amount": 1, "paymentMethodId": 2}`,
    });
  expect((await send(`${id}.0`)).status).toBe(201);
  for (const wrong of [`"${id}.0"`, `"${id}"`, `${id}.5`])
    expect((await send(wrong)).status, wrong).toBe(400);
  for (const path of [`/accounts/${id}.0`, `/accounts/7.1E8`, `/accounts?customerId=${id}.0`])
    expect((await service.call('GET', path)).status, path).toBe(400);
});

it('keeps ids that earlier versions stored: they can be read, sent again, and replaced', async () => {
  const { id } = await newCustomer(service);
  await sql`update customers set external_id = '555.0', national_id = '555555.0', national_id_key = '5555550' where id = ${id}`.execute(
    service.context.db,
  );
  const byId = '/customers/by-external-id/555.0';
  expect(await dataOf(service.call('GET', byId))).toMatchObject({ id });
  const same = { externalId: '555.0', nationalId: '555555.0' };
  expect(await dataOf(service.call('PUT', `/customers/${id}`, { ...same, firstName: 'C' }))).toMatchObject(
    same,
  );
  expect(await dataOf(service.call('PUT', byId, { ...customer, nationalId: '555555.0' }))).toMatchObject({
    id,
  });
  const right = { externalId: '555', nationalId: '555555' };
  expect(await dataOf(service.call('PUT', `/customers/${id}`, right))).toMatchObject(right);
});

it('accepts a document number that an earlier version stored for the customer, and refuses it for another', async () => {
  const [owner, other] = [await newCustomer(service), await newCustomer(service)];
  const sendTo = ({ id }: { id: number }, number: string) => {
    const documents = ['a text', { type: 'passport', number: '7' }, { type: 'national_id', number }];
    const body = { verificationType: 'national_id', verificationStatus: 'pending', documents };
    return service.call('PUT', `/customers/${id}/kyc`, body);
  };
  await dataOf(sendTo(owner, 'to be replaced'));
  await sql`
    update kyc_records set documents = replace(documents::text, 'to be replaced', '555555.0')::jsonb
    where customer_id = ${owner.id}`.execute(service.context.db);
  expect((await dataOf(sendTo(owner, '555555.0'))).documents[2]).toMatchObject({ number: '555555.0' });
  for (const refused of [await sendTo(owner, '666666.0'), await sendTo(other, '555555.0')])
    expect(refused.body.error?.details.fields).toEqual(refusal('documents[2].number'));
});

it('refuses a stored id in a call that creates, also in bulk', async () => {
  const { id } = await newCustomer(service);
  await sql`update customers set external_id = '1001.0' where id = ${id}`.execute(service.context.db);
  const again = { ...customer, externalId: '1001.0' };
  expect((await service.call('POST', '/customers', again)).body.error.details.fields).toEqual(
    refusal('externalId'),
  );
  const { body } = await service.call('POST', '/customers/bulk', { items: [again] });
  expect(body.data.items).toMatchObject([
    { status: 'failed', error: { details: { fields: refusal('externalId') } } },
  ]);
});

describe('a reference that a payer or a program has typed with decimals', () => {
  it('is accepted, but is not the number or the national id with another digit', async () => {
    const { accountNumber } = await newAccount(service);
    // With the decimals as digits, the number of an account has a valid check digit.
    const digits = accountNumber.replace('ACC', '');
    const longer = Number(digits) - 1_000_000;
    const other = await newCustomer(service, { nationalId: '4455667780' });
    await newAccount(service, { customerId: other.id });
    await sql`select setval(pg_get_serial_sequence('accounts', 'id'), ${longer}, false)`.execute(
      service.context.db,
    );
    expect((await newAccount(service)).accountNumber).toBe(`ACC${digits}0`);
    for (const BillRefNumber of [`${digits}.0`, '445566778.0']) {
      const { outcome, paymentId } = (await notify(service, { BillRefNumber })).body.data;
      expect([BillRefNumber, outcome]).toEqual([BillRefNumber, 'unmatched']);
      expect((await paymentNow(service, paymentId)).accountId).toBeNull();
    }
  });

  it('is not the reference with another digit that staff have assigned before', async () => {
    const { id: accountId } = await newAccount(service);
    const send = async (BillRefNumber: string) =>
      (await notify(service, { BillRefNumber, MSISDN: '254733445566' })).body.data;
    const { paymentId } = await send('6677889900');
    await dataOf(service.call('POST', `/payments/${paymentId}/assign`, { accountId }));
    expect((await send('667788990.0')).outcome).toBe('unmatched');
    const learned = await send('6677889900');
    expect(learned.outcome).toBe('matched');
    expect((await paymentNow(service, learned.paymentId)).accountId).toBe(accountId);
  });
});
