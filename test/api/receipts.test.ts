import { execFileSync, spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { formatReceiptNumber } from '../../src/documents/receipts/rules.ts';
import {
  dataOf,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  pay,
  paymentNow,
  reverse,
  setToday,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { eventually } from '../support/waiting.ts';

const service = useService({ COMPANY_NAME: 'Sunrise Pumps Ltd' });

beforeAll(() => setToday(service, '2026-11-02'));

async function newPaid(amount = 400, fields: object = {}) {
  const { id: customerId } = await newCustomer(service, { firstName: '<b>Wanjiru</b>', lastName: 'Kamau' });
  const account = await newAccount(service, { customerId });
  return {
    account,
    payment: await pay(service, account.id, amount, { transactionRef: `BOOK-${account.id}`, ...fields }),
  };
}

const print = (id: number, paper = 'text', fields: object = {}) =>
  service.call('POST', `/payments/${id}/receipt`, { paper, ...fields });
const lookUp = (number: string) => service.call('GET', `/receipts/${encodeURIComponent(number)}`);

describe('the receipt of a payment', () => {
  it('is text to share, and says COPY from the second time on', async () => {
    const { account, payment } = await newPaid();
    const first = await print(payment.id);
    expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(first.text.split('\n')).toEqual([
      'Sunrise Pumps Ltd',
      `Receipt ${formatReceiptNumber(payment.id)}`,
      'Received: KES 400.00',
      'Date: 2 Nov 2026',
      'From: <b>Wanjiru</b> Kamau',
      `Account: ${account.accountNumber}`,
      `Paid by: Cash, BOOK-${account.id}`,
      expect.stringMatching(/^Received by: ./),
      '',
    ]);
    expect((await print(payment.id)).text).toContain(`Receipt ${payment.receiptNumber} (COPY)`);
    expect((await print(payment.id, 'text', { lang: 'sw' })).text).toContain(
      `Risiti ${payment.receiptNumber} (NAKALA)`,
    );
  });

  it('is original once if many users print at once', async () => {
    const { payment } = await newPaid();
    const prints = await Promise.all(Array.from({ length: 5 }, () => print(payment.id)));
    expect(prints.filter(({ text }) => !text.includes('COPY'))).toHaveLength(1);
  });

  it('is not printed if the payment is deleted meanwhile, as by the undo of an import', async () => {
    const { payment } = await newPaid();
    const client = await service.parts.pool.connect();
    try {
      await client.query('begin');
      await client.query('set local session_replication_role = replica'); // without the triggers that keep payments
      await client.query('delete from payments where id = $1', [payment.id]);
      const printed = print(payment.id);
      await eventually(async () => {
        const { rows } = await service.parts.pool.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%payment_receipts%'`,
        );
        return rows.length;
      }).toBe(1);
      await client.query('commit');
      expect((await printed).status).toBe(404);
    } finally {
      client.release();
    }
  });

  it('says REVERSED, and names the receipts of a correction', async () => {
    const { payment } = await newPaid();
    const body = { amount: 450, reason: 'private remark' };
    const right = await dataOf(service.call('POST', `/payments/${payment.id}/correct-amount`, body));
    const old = (await print(payment.id)).text;
    expect(old).toContain('REVERSED on 2 Nov 2026: this receipt is not valid');
    expect(old).toContain(`Replaced by receipt ${right.receiptNumber}`);
    expect(old).not.toContain('private remark');
    const { text } = await print(right.id);
    expect(text).toContain('Received: KES 450.00');
    expect(text).toContain(`Corrects receipt ${payment.receiptNumber}`);
    expect(text).not.toMatch(/COPY|REVERSED/);
  });

  it('does not exist while the payment is unmatched', async () => {
    const { paymentId } = await dataOf(notify(service, { BillRefNumber: 'nobody' }));
    const refused = await print(paymentId);
    expect([refused.status, refused.body.error.details.fields[0].message]).toEqual([
      400,
      expect.stringContaining('assign the payment first'),
    ]);
    expect((await paymentNow(service, paymentId)).receiptNumber).toBeNull();
    expect((await lookUp(formatReceiptNumber(paymentId))).status).toBe(404);
    expect((await print(999_999)).status).toBe(404);
    const { id: accountId } = await newAccount(service);
    await dataOf(service.call('POST', `/payments/${paymentId}/assign`, { accountId }));
    expect((await print(paymentId)).text).not.toContain('COPY');
  });

  it.skipIf(spawnSync('pdftotext', ['-v']).error)('is a PDF for rolls of 80 mm, and for A4', async () => {
    const { payment } = await newPaid();
    for (const [paper, size] of [
      ['roll', /Page size: +226\.77/],
      ['a4', /Page size: +595\.\d+ x 841\.\d+/],
    ] as const) {
      const response = await fetch(`${service.origin}/api/payments/${payment.id}/receipt`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ paper }),
      });
      expect(response.headers.get('content-type')).toBe('application/pdf');
      const input = Buffer.from(await response.arrayBuffer());
      expect(execFileSync('pdfinfo', ['-'], { input, encoding: 'utf8' })).toMatch(size);
      const text = execFileSync('pdftotext', ['-layout', '-', '-'], { input, encoding: 'utf8' });
      expect(text).toContain(payment.receiptNumber);
      expect(text).toContain('<b>Wanjiru</b> Kamau');
      expect(text).toMatch(/KES\s400\.00/);
      expect(text.includes('COPY')).toBe(paper === 'a4');
    }
  });

  it('needs the permissions to record payments, and to read customers and payments', async () => {
    const { payment } = await newPaid();
    const path = `/payments/${payment.id}/receipt`;
    const statusWith = async (token: string) =>
      (await service.call('POST', path, { paper: 'text' }, { token })).status;
    expect(await statusWith(await service.tokenOf('viewer'))).toBe(403);
    expect(await statusWith((await newApiKey(service, ['payments:record', 'payments:read'])).key)).toBe(403);
    expect((await print(payment.id)).text).not.toContain('COPY');
  });
});

describe('a receipt number', () => {
  it('leads to the amount, the day and the account', async () => {
    const { account, payment } = await newPaid(400, { paymentDate: '2026-10-30' });
    const number = payment.receiptNumber;
    const found = await dataOf(lookUp(number));
    expect(found).toEqual({
      number,
      paymentId: payment.id,
      amount: 400,
      currency: 'KES',
      paymentDate: '2026-10-30',
      accountId: account.id,
      accountNumber: account.accountNumber,
      status: 'valid',
      reversedOn: null,
      correctsNumber: null,
      correctedByNumber: null,
      isPrinted: false,
    });
    await print(payment.id);
    await reverse(service, payment.id);
    expect(await dataOf(lookUp(number.toLowerCase().replace('r', 'r ')))).toMatchObject({
      status: 'reversed',
      reversedOn: '2026-11-02',
      isPrinted: true,
    });
    const [hit] = await dataOf(service.call('GET', `/search?q=${number}`));
    expect(hit).toMatchObject({
      type: 'payment',
      id: payment.id,
      matchedOn: 'receiptNumber',
      match: 'exact',
    });
  });

  it('is refused if its check digit is wrong, and finds nothing if it is made up', async () => {
    const { payment } = await newPaid();
    const digits = payment.receiptNumber.slice(1);
    for (let by = 1; by < 10; by += 1) {
      const forged = `R${digits.slice(0, -1)}${(Number(digits.at(-1)) + by) % 10}`;
      const answer = await lookUp(forged);
      expect([answer.status, wrongFields(answer)], forged).toEqual([400, ['number']]);
      expect(answer.body.error.details.fields[0].message).toContain('its check digit is wrong');
      expect(await dataOf(service.call('GET', `/search?q=${forged}&types=payment`))).toEqual([]);
    }
    expect((await lookUp(formatReceiptNumber(payment.id + 1_000))).status).toBe(404);
    expect((await lookUp("R1' or '1'='1")).status).toBe(400);
    expect((await lookUp('ACC10000012')).status).toBe(400);
  });
});
