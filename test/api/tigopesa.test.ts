import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  accountNow,
  newAccount,
  setToday,
  type TestService,
  useInstance,
  useService,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const ADDRESS = '/webhooks/payments/tigopesa';

const service = useService();
beforeAll(() => setToday(service, '2026-11-02'));

let last = 0;
const transactionId = () => `BP261102.1240.B${String(++last).padStart(5, '0')}`;

const element = (name: string, text: string) => `<${name}>${text}</${name}>`;

function command(fields: Record<string, string>): string {
  const sent = {
    TYPE: 'SYNC_BILLPAY_REQUEST',
    TXNID: transactionId(),
    MSISDN: '0721777777',
    AMOUNT: '1000',
    COMPANYNAME: '12345',
    CUSTOMERREFERENCEID: '',
    ...fields,
  };
  const elements = Object.entries(sent).map(([name, text]) => element(name, text));
  return `<?xml version="1.0"?>\n<COMMAND>\n${elements.join('\n')}\n</COMMAND>\n`;
}

/** Posts bytes like a gateway. @returns the fields of the answer by name. */
async function post(xml: string, query = '', to: Pick<TestService, 'origin'> = service) {
  const response = await fetch(`${to.origin}/api${ADDRESS}${query}`, {
    method: 'POST',
    headers: { 'content-type': 'text/xml' },
    body: xml,
  });
  const text = await response.text();
  const fields = Object.fromEntries(
    [...text.matchAll(/<([A-Z]+)>([^<]*)<\/\1>/g)].map(([, name, value]) => [name, value]),
  );
  return { status: response.status, type: response.headers.get('content-type'), text, fields };
}

const pay = (fields: Record<string, string>) => post(command(fields));

async function paymentsOf(reference: string): Promise<Answer['body'][]> {
  const { body } = await service.call('GET', `/payments?filter[transactionRef]=${reference}`);
  return body.data;
}

async function newestNotification(): Promise<Answer['body']> {
  return (await service.call('GET', '/notifications?sort=id:desc&limit=1')).body.data[0];
}

describe('a bill payment', () => {
  it('is posted to the account that it names, and answered in XML', async () => {
    const { id, accountNumber } = await newAccount(service);
    const TXNID = transactionId();
    const { status, type, text, fields } = await pay({
      TXNID,
      CUSTOMERREFERENCEID: accountNumber,
      AMOUNT: '1000.50',
    });
    expect(status).toBe(200);
    expect(type).toBe('text/xml; charset=utf-8');
    const [payment] = await paymentsOf(TXNID);
    expect(text).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><COMMAND><TYPE>SYNC_BILLPAY_RESPONSE</TYPE>' +
        `<TXNID>${TXNID}</TXNID><REFID>${payment.id}</REFID><RESULT>TS</RESULT><ERRORCODE>error000</ERRORCODE>` +
        '<ERRORDESCRIPTION>Transaction successful</ERRORDESCRIPTION><MSISDN>0721777777</MSISDN><FLAG>Y</FLAG>' +
        '<CONTENT>Transaction successful</CONTENT></COMMAND>',
    );
    expect(payment).toMatchObject({
      accountId: id,
      amount: 1000.5,
      status: 'matched',
      paymentDate: '2026-11-02',
    });
    expect((await accountNow(service, id)).paid).toBe(1000.5);
    expect(fields.RESULT).toBe('TS');
  });

  it.each(['single', 'bulk'])(
    'has another id than all payments of the day of equal amount: %s calls',
    async (kind) => {
      const { id: accountId, accountNumber } = await newAccount(service);
      const record = async () => {
        const payment = { accountId, amount: 1000, paymentMethodId: 2, transactionRef: transactionId() };
        const { status, body } =
          kind === 'single'
            ? await service.call('POST', '/payments', payment)
            : await service.call('POST', '/payments/bulk', { items: [payment] });
        expect([status, body.data?.items?.[0].status ?? 'created'], JSON.stringify(body)).toEqual([
          kind === 'single' ? 201 : 200,
          'created',
        ]);
      };
      const report = async () => {
        const { fields } = await pay({ CUSTOMERREFERENCEID: accountNumber });
        expect(fields).toMatchObject({ RESULT: 'TS', REFID: expect.stringMatching(/^\d+$/) });
      };
      for (const post of [record, report, record, report]) await post();
      expect((await accountNow(service, accountId)).paid).toBe(4000);
    },
  );

  it('that arrives many times concurrently is posted once', async () => {
    const { id, accountNumber } = await newAccount(service);
    const xml = command({ CUSTOMERREFERENCEID: accountNumber });
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(xml)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await accountNow(service, id)).paid).toBe(1000);
  });

  it('may share a transaction id with one of another provider', async () => {
    const [mine, theirs] = [await newAccount(service), await newAccount(service)];
    const TXNID = transactionId();
    await pay({ TXNID, CUSTOMERREFERENCEID: mine.accountNumber });
    const other = await service.call(
      'POST',
      '/webhooks/payments/mobilemoney',
      {
        TransID: TXNID,
        TransAmount: '400',
        BillRefNumber: theirs.accountNumber,
        TransTime: '20261102101530',
      },
      { token: null },
    );
    expect(other.status, other.text).toBe(200);
    expect(other.body.data.outcome).toBe('matched');
    expect((await accountNow(service, mine.id)).paid).toBe(1000);
    expect((await accountNow(service, theirs.id)).paid).toBe(400);
    const proof = await service.call('GET', '/reports/proof');
    expect(
      proof.body.data.checks.filter(({ violationCount }: { violationCount: number }) => violationCount > 0),
    ).toEqual([]);
  });

  it('that contradicts a manual payment of its transaction is stored as a conflict for staff', async () => {
    const { id, accountNumber } = await newAccount(service);
    const TXNID = transactionId();
    await service.call('POST', '/payments', {
      accountId: id,
      amount: 7,
      paymentMethodId: 1,
      transactionRef: TXNID,
    });
    const { fields } = await pay({ TXNID, CUSTOMERREFERENCEID: accountNumber });
    expect(fields).toMatchObject({ RESULT: 'TS', REFID: '' });
    expect(await newestNotification()).toMatchObject({ outcome: 'conflict', transactionRef: TXNID });
    expect((await accountNow(service, id)).paid).toBe(7);
  });
});

describe('a bill payment that the gateway has to give back', () => {
  it('names no account: the customer reference is invalid', async () => {
    const TXNID = transactionId();
    const answer = await pay({ TXNID, CUSTOMERREFERENCEID: 'NOBODY' });
    expect(answer.status).toBe(200);
    expect(answer.fields).toMatchObject({ TXNID, RESULT: 'TF', ERRORCODE: 'error010', FLAG: 'N', REFID: '' });
    expect(await paymentsOf(TXNID)).toEqual([]);
    expect(await newestNotification()).toMatchObject({
      status: 'rejected',
      failure: 'refused: wrong_account',
    });
  });

  it('exceeds the limit of its account, also among concurrent ones: the amount is invalid', async () => {
    const { id, accountNumber } = await newAccount(service);
    const largest = { CUSTOMERREFERENCEID: accountNumber, AMOUNT: '999999999999.99' };
    const answers = await Promise.all(Array.from({ length: 13 }, () => pay(largest)));
    const codes = answers.map(({ fields }) => fields.ERRORCODE).sort();
    expect(codes).toEqual([...Array(10).fill('error000'), ...Array(3).fill('error012')]);
    expect((await accountNow(service, id)).paid).toBe(9_999_999_999_999.9);
  });

  it.each(['', '1.005'])('has the amount %j', async (AMOUNT) => {
    const { accountNumber } = await newAccount(service);
    const { fields } = await pay({ CUSTOMERREFERENCEID: accountNumber, AMOUNT });
    expect(fields).toMatchObject({ RESULT: 'TF', ERRORCODE: 'error100' });
  });

  it('cannot be posted because the database fails: it gets 503, and a repeat posts it once', async () => {
    const { id, accountNumber } = await newAccount(service);
    const xml = command({ CUSTOMERREFERENCEID: accountNumber });
    await sql`alter table payments add constraint broken check (amount_minor <> 100000) not valid`.execute(
      service.context.db,
    );
    try {
      const { status, fields } = await post(xml);
      expect([status, fields]).toEqual([503, {}]);
    } finally {
      await sql`alter table payments drop constraint broken`.execute(service.context.db);
    }
    expect((await post(xml)).fields).toMatchObject({ RESULT: 'TS' });
    expect((await accountNow(service, id)).paid).toBe(1000);
  });
});

describe('a body that is not a bill payment', () => {
  const entity = '<!DOCTYPE COMMAND [<!ENTITY a "1000">]>';
  const billion = `<!DOCTYPE COMMAND [<!ENTITY a "lol">${Array.from(
    { length: 9 },
    (_, n) => `<!ENTITY ${'b'.repeat(n + 1)} "${`&${n === 0 ? 'a' : 'b'.repeat(n)};`.repeat(10)}">`,
  ).join('')}]>`;
  const file = '<!DOCTYPE COMMAND [<!ENTITY f SYSTEM "file:///etc/passwd">]>';
  const body = (fields: string) => `<COMMAND><TYPE>SYNC_BILLPAY_REQUEST</TYPE>${fields}</COMMAND>`;
  const fields =
    '<TXNID>BP1</TXNID><AMOUNT>1000</AMOUNT><CUSTOMERREFERENCEID>ACC10000012</CUSTOMERREFERENCEID>';

  it.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['JSON', '{"TransID":"BP1","TransAmount":"1000"}'],
    ['an element that does not end', body(fields).replace('</COMMAND>', '')],
    ['elements that cross', '<COMMAND><TYPE>SYNC_BILLPAY_REQUEST<TXNID></TYPE></TXNID></COMMAND>'],
    ['another element', body(fields).replaceAll('COMMAND', 'ORDER')],
    ['another type', body(fields).replace('SYNC_BILLPAY_REQUEST', 'REQMFCI')],
    ['a field twice', body(`${fields}<AMOUNT>9000</AMOUNT>`)],
    ['a field within a field', body(fields.replace('1000', '1<B>000</B>'))],
    ['a second document', body(fields) + body('<MSISDN>1</MSISDN>')],
    ['text after the document', `${body(fields)}more`],
    ['an entity that nobody declared', body(fields.replace('1000', '&a;'))],
    ['an entity of its own', entity + body(fields.replace('1000', '&a;'))],
    ['an entity that grows to a billion', billion + body(fields.replace('BP1', `&${'b'.repeat(9)};`))],
    ['an entity that reads a file', file + body(fields.replace('BP1', '&f;'))],
    ['a document type without entities', `<!DOCTYPE COMMAND>${body(fields)}`],
    ['ten thousand elements within each other', '<COMMAND>'.repeat(6_000)],
  ])('is refused and stored: %s', async (_what, xml) => {
    const answer = await post(xml);
    expect(answer.status).toBe(200);
    expect(answer.fields).toMatchObject({ RESULT: 'TF', ERRORCODE: 'error100', TXNID: '' });
    expect(await newestNotification()).toMatchObject({ status: 'rejected', paymentId: null });
    expect(await paymentsOf('BP1')).toEqual([]);
  });

  it('is read in every equivalent form of XML', async () => {
    const { accountNumber } = await newAccount(service);
    const TXNID = transactionId();
    const xml = `\uFEFF<?xml version="1.0" encoding="utf-8"?><!-- from the gateway --><COMMAND><TYPE>SYNC_BILLPAY_REQUEST</TYPE><TXNID a="1"><![CDATA[${TXNID}]]></TXNID><MSISDN/><AMOUNT>&#49;000</AMOUNT><SENDERNAME>A &amp; B</SENDERNAME><CUSTOMERREFERENCEID> ${accountNumber} </CUSTOMERREFERENCEID></COMMAND>`;
    expect((await post(xml)).fields).toMatchObject({ TXNID, RESULT: 'TS', MSISDN: '' });
  });

  it('is answered without markup of the sender', async () => {
    const { text } = await pay({ TXNID: 'BP&lt;RESULT&gt;TS&lt;/RESULT&gt;', AMOUNT: '10' });
    expect(text).toContain('<TXNID>BP&lt;RESULT&gt;TS&lt;/RESULT&gt;</TXNID>');
    expect(text).toContain('<RESULT>TF</RESULT>');
  });

  it('of more than 64 KiB is refused', async () => {
    const { status } = await post(`<COMMAND>${' '.repeat(70_000)}</COMMAND>`);
    expect(status).toBe(413);
  });
});

describe('with a secret', () => {
  const secured = useInstance(service, { WEBHOOK_SECRET: 'a secret of the gateway' });

  it('bill payments without it, or with another, are refused and not stored', async () => {
    const { accountNumber } = await newAccount(service);
    const xml = command({ CUSTOMERREFERENCEID: accountNumber });
    const before = await newestNotification();
    expect((await post(xml, '', secured)).status).toBe(401);
    expect((await post(xml, '?token=another', secured)).status).toBe(401);
    expect(await newestNotification()).toEqual(before);
    expect((await post(xml, '?token=a%20secret%20of%20the%20gateway', secured)).fields).toMatchObject({
      RESULT: 'TS',
    });
  });
});

describe('with own business numbers', () => {
  const numbered = useInstance(service, { PAYBILL_NUMBERS: '12345' });

  it('bill payments to another number are refused', async () => {
    const { accountNumber } = await newAccount(service);
    const to = (COMPANYNAME: string) =>
      post(command({ CUSTOMERREFERENCEID: accountNumber, COMPANYNAME }), '', numbered);
    expect((await to('54321')).fields).toMatchObject({ RESULT: 'TF', ERRORCODE: 'error100' });
    expect(await newestNotification()).toMatchObject({
      status: 'rejected',
      failure: 'refused: wrong_short_code',
    });
    expect((await to('12345')).fields).toMatchObject({ RESULT: 'TS' });
  });
});
