import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import {
  expectToAgree,
  payInBulk,
  type StatementRow,
  sellDaily,
  statementOf,
} from '../support/account-statements.ts';
import { newAccount, newCustomer, pay, setToday, useService, wrongFields } from '../support/harness.ts';

const service = useService({
  COMPANY_NAME: 'Jua Nguvu Solar',
  COMPANY_ADDRESS: 'Ngong Road 117 | Nairobi',
  PAYBILL_NUMBERS: '600638',
});
const hasReader = spawnSync('pdftotext', ['-v']).error === undefined;

describe('GET /accounts/:id/statement as PDF', () => {
  async function printed(id: number, query = '') {
    const response = await fetch(`${service.origin}/api/accounts/${id}/statement?format=pdf${query}`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.status, String(bytes.subarray(0, 500))).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/pdf');
    const name = response.headers.get('content-disposition');
    return {
      name,
      unprintable: response.headers.get('unprintable-characters'),
      text: execFileSync('pdftotext', ['-layout', '-', '-'], { input: bytes, encoding: 'utf8' }),
      bytes,
    };
  }
  const figure = (amount: number) =>
    amount.toLocaleString('en', { minimumFractionDigits: 2 }).replace('-', '–');

  it.skipIf(!hasReader)('prints every payment on request, in four scripts, on several pages', async () => {
    setToday(service, '2027-06-30');
    const customer = await newCustomer(service, { firstName: 'Zoë Łucja Ольга', lastName: 'ወልደ محمد' });
    const account = await newAccount(service, {
      customerId: customer.id,
      payplanId: 1,
      activationDate: '2026-12-01',
    });
    for (let i = 0; i < 60; i++)
      await pay(service, account.id, 246.9, {
        paymentDate: addDays('2026-12-02' as PlainDate, 3 * i),
        transactionRef: `R${account.id}-${i}`,
      });
    const json = await expectToAgree(service, account.id);
    expect(json.rows.length).toBeGreaterThan(200);
    const { text, name } = await printed(account.id, '&detail=full');
    expect(name).toBe(`inline; filename="statement_${account.accountNumber}_2026-12-01_2027-06-30.pdf"`);
    for (const word of [
      'Zoë Łucja Ольга',
      'ወልደ',
      'محمد',
      'Jua Nguvu Solar',
      'Ngong Road 117',
      account.accountNumber,
      '600638',
    ])
      expect(text).toContain(word);
    const lines = text.split('\n');
    const lastOfRuns = json.rows.filter(
      ({ type }: { type: string }, at: number) =>
        type !== 'instalment' || json.rows[at + 1]?.type !== 'instalment',
    );
    expect(lastOfRuns.length).toBeLessThan(json.rows.length);
    for (const row of lastOfRuns)
      expect(
        lines.some((line) => line.includes(figure(row.dueSoFar)) && line.includes(figure(row.owedInTotal))),
        JSON.stringify(row),
      ).toBe(true);
    for (let i = 0; i < 60; i++) expect(text).toContain(`R${account.id}-${i}`);
    expect(text).toContain(`KES ${figure(Number(json.closing.arrears))}`);
    const pages = text.split('\f').slice(0, -1);
    expect(pages.length).toBeGreaterThan(4);
    const first = pages[0]?.replace(/\s+/g, ' ') ?? '';
    expect(first).toContain(
      'As of 30 June 2027 DUE NOW NEXT PAYMENT DUE DATE KES 0.00 KES 6.00 11 July 2027',
    );
    expect(first).toContain(`KES ${figure(Number(json.closing.arrears))}`);
    expect(first).toContain(`KES ${figure(60 * 246.9)}`);
    expect(first).toContain('How to pay');
    for (const [index, page] of pages.entries())
      expect(page).toContain(`Page ${index + 1} of ${pages.length}`);
    for (const page of pages.slice(0, -1)) expect(page).toContain('Owed in total');
  });

  it.skipIf(!hasReader)(
    'has two pages for a year of daily payments, with the sums of the payments and what they cover',
    async () => {
      setToday(service, '2027-06-30');
      const { id } = await sellDaily(service, '2026-07-02', 365);
      await payInBulk(service, id, 300, (at) => ({
        amount: 60,
        paymentDate: addDays('2026-07-03' as PlainDate, at),
      }));
      const { rows, totals, closing } = await expectToAgree(service, id);
      expect(rows.length).toBeGreaterThan(600);
      const { text, name } = await printed(id);
      expect(name).toContain('_2026-07-02_2027-06-30.pdf');
      expect(text.split('\f').slice(0, -1)).toHaveLength(2);
      const lines = text.split('\n').map((line) => line.trim().replace(/\s+/g, ' '));
      const march = rows.filter(({ date }: StatementRow) => date.startsWith('2027-03'));
      const after = march
        .map((row: StatementRow) => `${figure(row.dueSoFar)} ${figure(row.owedInTotal)}`)
        .at(-1);
      expect(lines).toContain('1–31 Mar 2027 Instalments 242 to 272 of 365: 31 × 60.00 1,860.00');
      expect(lines).toContain(`1–31 Mar 2027 31 payments by Cash 1,860.00 ${after}`);
      expect(lines).toContain('instalments 217 to 247');
      const sums = [totals.due, totals.paid, closing.dueSoFar, closing.owedInTotal].map(Number).map(figure);
      expect(lines).toContain(`30 Jun 2027 Balance ${sums.join(' ')}`);
      expect(amountsOf(lines, /^.*\d+ payments? by /)).toBe(totals.paid);
      const page = lines.join(' ');
      expect(page).toContain('Deposit 1,500 + 363 instalments of 60 due until today = 23,280; paid 18,000');
      expect(page).toContain('In each month, payments are one line');
      expect(page).toContain('PAYBILL NUMBER ACCOUNT NUMBER 600638 ACC');
      const translated = (await printed(id, '&lang=sw')).text;
      expect(translated.split('\f').slice(0, -1)).toHaveLength(2);
      const swahili = translated.replace(/\s+/g, ' ');
      expect(swahili).toContain('1–31 Mac 2027 Malipo 31 kwa Cash');
      expect(swahili).toContain('Omba kwetu taarifa yenye kila malipo.');
      // A short period has each payment.
      const april = (await printed(id, '&from=2027-04-01&to=2027-04-16')).text.replace(/\s+/g, ' ');
      expect(april).toContain('16 Apr 2027 Payment by Cash');
      expect(april).not.toContain('Omba kwetu');
      expect(april).not.toContain('Ask us for the statement with every payment');
    },
  );

  it.skipIf(!hasReader)(
    'begins later if the months do not fit, with the balances brought forward',
    async () => {
      setToday(service, '2027-06-30');
      const { id } = await sellDaily(service, '2024-07-02', 1_095);
      await payInBulk(service, id, 250, (at) => ({
        amount: 240,
        paymentDate: addDays('2024-07-03' as PlainDate, 4 * at),
      }));
      const whole = await expectToAgree(service, id);
      const { text, name } = await printed(id);
      const [, from = ''] = name?.match(/_(\d{4}-\d{2}-01)_2027-06-30\.pdf/) ?? [];
      expect(from > '2025-06-01' && from < '2026-07-01').toBe(true);
      const cut = await statementOf(service, id, { from });
      expect(cut.closing).toEqual(whole.closing);
      const plain = text.replace(/\s+/g, ' ');
      expect(plain).toContain(
        `Brought forward ${figure(cut.opening.dueSoFar)} ${figure(cut.opening.owedInTotal)}`,
      );
      expect(plain).toContain(' is in the balance brought forward.');
      expect(text.split('\f').slice(0, -1).length).toBeLessThanOrEqual(2);
      // A period that the caller chooses stays as it is.
      expect((await printed(id, '&from=2024-07-02')).name).toContain('_2024-07-02_2027-06-30.pdf');
    },
  );

  it('is refused if more lines than can be printed are requested', async () => {
    setToday(service, '2027-06-30');
    const { id } = await sellDaily(service, '2024-07-01', 1_095);
    const paymentDate = '2025-01-01';
    await payInBulk(service, id, 1_001, () => ({ amount: 1, paymentDate }));
    const ask = (query: string) => service.call('GET', `/accounts/${id}/statement?format=pdf${query}`);
    expect(wrongFields(await ask('&detail=full'))).toEqual(['from', 'to']);
    expect(wrongFields(await ask('&detail=all'))).toEqual(['detail']);
  });

  /** The sum of the first amount of each line that matches. */
  function amountsOf(lines: string[], pattern: RegExp): number {
    return lines
      .filter((line) => pattern.test(line))
      .reduce((sum, line) => sum + Number(line.match(/ ([\d,]+\.\d\d) /)?.[1]?.replace(/,/g, '')), 0);
  }

  it.skipIf(!hasReader)('shows � for each character that no font has, and names them', async () => {
    const customer = await newCustomer(service, { firstName: 'שרה', lastName: '漢' });
    const account = await newAccount(service, { customerId: customer.id });
    await pay(service, account.id, 50, { transactionRef: 'R😀' });
    const { text, unprintable } = await printed(account.id);
    expect(unprintable).toBe('count=2, characters=(U+6F22 U+1F600), fields=(customer.name rows.detail)');
    expect(text).toContain('שרה');
    expect(text.match(/\uFFFD/g)).toHaveLength(2);
  });

  it.skipIf(!hasReader)('shows the arrears, their date and the sum paid on the first page', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    await pay(service, id, 2_000);
    setToday(service, '2026-11-20');
    await pay(service, id, 500);
    const plain = async (query = '') => (await printed(id, query)).text.replace(/\s+/g, ' ');
    expect(await plain()).toContain(
      'As of 20 November 2026 DUE NOW DUE SINCE PAID KES 300.00 16 November 2026 KES 2,500.00 ' +
        'OWED IN TOTAL PAID UNTIL KES 20,300.00 15 November 2026',
    );
    // A statement to another day does not show the present balance.
    const earlier = await plain('&to=2026-11-10');
    expect(earlier).toContain('As of 10 November 2026 DUE DUE SINCE PAID KES 400.00 9 November 2026');
    expect(earlier).not.toContain('DUE NOW');
    await pay(service, id, 300);
    const next = await plain();
    expect(next).toContain(
      'DUE NOW NEXT PAYMENT DUE DATE KES 0.00 KES 400.00 23 November 2026 PAID OWED IN TOTAL',
    );
    expect(next).not.toContain('PAID IN FULL');
    await pay(service, id, 20_100);
    const done = await plain();
    expect(done).toContain('PAID IN FULL');
    expect(done).toContain('PAID YOUR CREDIT KES 22,900.00 KES 100.00');
    expect(done).not.toMatch(/DUE NOW|How to pay/);
  });

  it.skipIf(!hasReader)(
    'shows how an account ended, and prints text that looks like markup unchanged',
    async () => {
      setToday(service, '2026-11-02');
      const customer = await newCustomer(service, { firstName: '#panic() $x$', lastName: '*b* \\ @ref' });
      const { id } = await newAccount(service, { customerId: customer.id });
      await pay(service, id, 100);
      await pay(service, id, 50, { transactionRef: '#set page(width: 1pt)' });
      await service.call('PUT', `/accounts/${id}`, { status: 'cancelled', reason: 'moved away' });
      const { text } = await printed(id);
      expect(text).toContain('#panic() $x$ *b* \\ @ref');
      expect(text).toContain('#set page(width: 1pt)');
      expect(text).toContain('Account cancelled');
      expect(text).toContain('Nothing is to be paid');
      expect(text).not.toContain('How to pay');
    },
  );
});
