import { execFileSync, spawnSync } from 'node:child_process';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { activateDueAccounts } from '../../src/accounts/activate-due-accounts.ts';
import { csvLine, csvText, unquoted } from '../../src/core/values/csv.ts';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import { makeShortStatement } from '../../src/documents/account-statements/view.ts';
import {
  cents,
  expectToAgree,
  payInBulk,
  type StatementRow,
  sellDaily,
  statementOf,
} from '../support/account-statements.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newAccountThatIs,
  newCustomer,
  notify,
  pay,
  reverse,
  setToday,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { CLOSED, STATUSES } from '../support/status-model.ts';

const service = useService({
  COMPANY_NAME: 'Jua Nguvu Solar',
  COMPANY_ADDRESS: 'Ngong Road 117 | Nairobi',
  PAYBILL_NUMBERS: '600638',
});

async function quoteOf(id: number, query: Record<string, string | number> = {}) {
  const text = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return dataOf(service.call('GET', `/accounts/${id}/quote?${text}`));
}

/** The texts that a spreadsheet may run, and the separators that it may use. */
const cellArb = fc.string({
  unit: fc.constantFrom(...'=+-@;,|"\'\t \u00a0\ufeff＝＋－＠a1'),
  maxLength: 12,
});

/** The cells of a line as a spreadsheet splits it. It reads on after misplaced quotes. */
function cellsOf(line: string, separator: string, heedsQuotes: boolean): string[] {
  if (!heedsQuotes) return line.split(separator).map((cell) => cell.replace(/^"+/, ''));
  const cells: string[] = [];
  for (let rest = line + separator; rest !== ''; ) {
    const quoted = /^"((?:[^"]|"")*)"?/.exec(rest);
    const after = rest.slice(quoted?.[0].length ?? 0);
    const end = after.indexOf(separator);
    cells.push((quoted?.[1] ?? '').replaceAll('""', '"') + (end < 0 ? after : after.slice(0, end)));
    rest = end < 0 ? '' : after.slice(end + 1);
  }
  return cells;
}

const typesOf = (rows: StatementRow[]) => rows.map(({ type }) => type);

describe('GET /accounts/:id/statement', () => {
  it('closes with the figures of the account after every kind of event', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            kind: fc.constantFrom(
              'pay',
              'pay',
              'pay',
              'pay-all',
              'pay-all',
              'back-date',
              'reverse',
              'unassign',
              'refund',
              'give',
              'receive',
              'wait',
              'suspended',
              'active',
              ...CLOSED,
            ),
            amount: fc.integer({ min: 1, max: 900_000 }),
            days: fc.integer({ min: 1, max: 40 }),
          }),
          { minLength: 3, maxLength: 9 },
        ),
        async (steps) => {
          let day = new Date('2026-11-02T09:00:00Z');
          const dayText = (back = 0) =>
            new Date(day.getTime() - back * 86_400_000).toISOString().slice(0, 10);
          service.clock.set(day);
          const { id } = await newAccount(service);
          const other = await newAccount(service);
          await pay(service, other.id, other.total + 500);
          const moveCredit = (from: number, what: string, body: object) =>
            service.call('POST', `/accounts/${from}/credit/${what}`, { reason: 'a step', ...body });
          const payments: number[] = [];
          for (const { kind, amount, days } of steps) {
            if (kind === 'pay-all') payments.push((await pay(service, id, 24_000)).id);
            else if (kind === 'refund') await moveCredit(id, 'refund', { amount: amount / 1_000 });
            else if (kind === 'give')
              await moveCredit(id, 'transfer', { toAccountId: other.id, amount: amount / 1_000 });
            else if (kind === 'receive')
              await moveCredit(other.id, 'transfer', { toAccountId: id, amount: 20 });
            else if (kind === 'unassign') {
              const last = payments.pop();
              if (last) await service.call('POST', `/payments/${last}/unassign`, { reason: 'a step' });
            } else if (kind === 'pay') payments.push((await pay(service, id, amount / 100)).id);
            else if (kind === 'back-date')
              payments.push((await pay(service, id, amount / 100, { paymentDate: dayText(days) })).id);
            else if (kind === 'reverse') {
              const last = payments.pop();
              if (last) await reverse(service, last);
            } else if (kind === 'wait') {
              day = new Date(day.getTime() + days * 86_400_000);
              service.clock.set(day);
            } else await service.call('PUT', `/accounts/${id}`, { status: kind, reason: 'a step' });
            await expectToAgree(service, id);
          }
        },
      ),
      { numRuns: 25 },
    );
    await expectBooksToBalance(service.context);
  });

  it('shows a reversed payment and its reversal without counting them', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    const wrong = await pay(service, id, 5_000);
    setToday(service, '2026-11-20');
    await reverse(service, wrong.id);
    const { rows, totals } = await expectToAgree(service, id);
    expect(rows.filter(({ paymentId }) => paymentId === wrong.id)).toMatchObject([
      { type: 'payment', date: '2026-11-02', amount: 5_000, paid: 0, covers: [], reversedOn: '2026-11-20' },
      { type: 'reversal', date: '2026-11-20', amount: 5_000, paid: 0, covers: [] },
    ]);
    expect(totals.paid).toBe(0);
    const later = await statementOf(service, id, { from: '2026-11-17' });
    expect(typesOf(later.rows)).toEqual(['reversal']);
  });

  it('shows moves of credit and the allocation after them', async () => {
    setToday(service, '2026-11-02');
    const giver = await newAccount(service);
    const receiver = await newAccount(service);
    await pay(service, giver.id, giver.total + 300);
    const give = { toAccountId: receiver.id, amount: 200, reason: 'same family' };
    const { id: moveId } = (await service.call('POST', `/accounts/${giver.id}/credit/transfer`, give)).body
      .data;
    const back = { amount: 60, reason: 'asked for it', paymentMethodId: 2 };
    expect((await service.call('POST', `/accounts/${giver.id}/credit/refund`, back)).status).toBe(201);

    const given = await expectToAgree(service, giver.id);
    const last = given.rows.slice(-3);
    expect(last).toMatchObject([
      { type: 'payment', paid: giver.total + 300, credit: 300 },
      { type: 'transfer_out', paid: -200, creditMoveId: moveId, paymentId: null, owedInTotal: -100 },
      { type: 'refund', paid: -60, paymentMethod: 'Cash', owedInTotal: -40 },
    ]);
    expect(last[1]?.description).toBe(`Credit given to ${receiver.accountNumber}`);
    const taken = await expectToAgree(service, receiver.id);
    expect(taken.rows.at(-1)).toMatchObject({
      type: 'transfer_in',
      paid: 200,
      credit: 0,
      covers: [{ item: 0, amount: 200, paymentId: null, creditMoveId: moveId }],
      description: `Credit received from ${giver.accountNumber}`,
    });
  });

  it('covers pending accounts and future days', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service, { activationDate: '2026-11-20' });
    await pay(service, id, 500);
    const now = await expectToAgree(service, id);
    expect(now.period).toEqual({ from: '2026-11-02', to: '2026-11-02' });
    expect(typesOf(now.rows)).toEqual(['opened', 'payment']);
    const ahead = await statementOf(service, id, { to: '2026-11-30' });
    expect(typesOf(ahead.rows)).toEqual(['opened', 'payment', 'deposit', 'instalment']);
    expect(ahead.closing).toMatchObject({ arrears: 1_900, nextDueDate: '2026-11-20' });
  });

  it('opens a period with the closing figures of the period before', async () => {
    setToday(service, '2027-02-01');
    const { id } = await newAccount(service, { activationDate: '2026-11-02' });
    await pay(service, id, 2_000, { paymentDate: '2026-11-02' });
    await pay(service, id, 1_000, { paymentDate: '2026-12-01' });
    const { dueSoFar, owedInTotal } = (await statementOf(service, id, { to: '2026-11-30' })).closing;
    const { opening } = await statementOf(service, id, { from: '2026-12-01', to: '2026-12-31' });
    expect(opening).toEqual({ dueSoFar, owedInTotal });
    expect(opening.owedInTotal).not.toBe(0);
  });

  it('names the ledger events and the provider transaction of each row', async () => {
    setToday(service, '2026-11-02');
    const account = await newAccount(service);
    const sent = notification({
      BillRefNumber: account.accountNumber,
      TransAmount: '2000.00',
      TransTime: '20261102101530',
    });
    expect((await notify(service, sent)).status).toBe(200);
    const { rows } = await expectToAgree(service, account.id);
    const { db } = service.context;
    for (const { ledgerEventId, charged, paid, type } of rows.filter((row) => row.item === null)) {
      const { rows: entries } = await sql<{ change: number }>`
        select sum(amount_minor)::bigint as change from ledger_entries
        where event_id = ${ledgerEventId} and account_id = ${account.id} and ledger_account = 'receivable'`.execute(
        db,
      );
      expect(entries[0]?.change, type).toBe(cents(charged) - cents(paid));
    }
    expect(rows.at(-1)).toMatchObject({ type: 'payment', transactionRef: sent.TransID });
  });

  it('refuses a period that ends before it starts, a period with too many rows, and an unknown account', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    const ask = (query: string) => service.call('GET', `/accounts/${id}/statement?${query}`);
    expect(wrongFields(await ask('from=2026-11-03&to=2026-11-02'))).toEqual(['from']);
    expect(wrongFields(await ask('from=2026-11-03'))).toEqual(['from']);
    expect(wrongFields(await ask('from=2026-02-30&format=xml'))).toEqual(['format', 'from']);
    expect((await service.call('GET', '/accounts/999999/statement')).status).toBe(404);
    const plan = await service.call('POST', '/payplans', {
      name: 'Daily, for ever',
      deposit: 0,
      instalmentAmount: 1,
      instalmentCount: 10_000,
      frequency: 'daily',
    });
    const long = await newAccount(service, { payplanId: plan.body.data.id });
    const all = await service.call('GET', `/accounts/${long.id}/statement?to=2060-01-01`);
    expect(wrongFields(all)).toEqual(['from', 'to']);
    const most = await statementOf(service, long.id, { to: '2040-01-01' });
    expect(most.rows).toHaveLength(1 + most.totals.due);
    expect((await quoteOf(long.id, { amount: 9_999.5 })).payment).toMatchObject({
      itemsCovered: 9_999,
      remainder: 0.5,
    });
  });
});

describe('as CSV', () => {
  it('has the same rows and sums, with formulas escaped', async () => {
    setToday(service, '2026-11-20');
    const { id, accountNumber } = await newAccount(service, { activationDate: '2026-11-02' });
    await pay(service, id, 2_400.5, { transactionRef: '=1+1' });
    await pay(service, id, 10, { transactionRef: '00123' });
    const json = await expectToAgree(service, id);
    const answer = await service.call('GET', `/accounts/${id}/statement?format=csv`);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="statement_${accountNumber}_2026-11-02_2026-11-20.csv"`,
    );
    expect(answer.text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    const records: Record<string, string>[] = parse(answer.text, { columns: true, record_delimiter: '\r\n' });
    const [opening, ...rest] = records;
    const closing = rest.pop();
    expect(opening).toMatchObject({ type: 'opening', dueSoFar: '0.00', owedInTotal: '0.00' });
    expect(closing).toMatchObject({
      type: 'closing',
      due: json.totals.due.toFixed(2),
      paid: '2410.50',
      owedInTotal: Number(json.closing.owedInTotal).toFixed(2),
    });
    expect(rest).toHaveLength(json.rows.length);
    for (const [index, row] of json.rows.entries())
      expect(rest[index]).toMatchObject({
        date: row.date,
        type: row.type,
        due: row.due.toFixed(2),
        charged: row.charged.toFixed(2),
        paid: row.paid.toFixed(2),
        dueSoFar: row.dueSoFar.toFixed(2),
        accountNumber,
        currency: 'KES',
        ledgerEventId: String(row.ledgerEventId ?? ''),
      });
    expect(rest.slice(-2).map(({ transactionRef }) => transactionRef)).toEqual(["'=1+1", "'00123"]);
  });

  it('escapes a text like the database', async () => {
    const hard = [
      '=a',
      ' =a',
      '\u00a0+a',
      '-',
      '@',
      '\ta',
      'a\r\nb',
      '＝a',
      '007',
      '1'.repeat(16),
      '12',
      'a=b',
      '',
      ' 0',
      '0',
      '\ufeff=1',
      ...fc.sample(cellArb, { numRuns: 2_000, seed: 20_261_102 }),
    ];
    const { rows } = await sql<{ text: string; cell: string }>`
      select text, csv_text(text) as cell from unnest(${hard}::text[]) as text`.execute(service.context.db);
    expect(rows).toHaveLength(hard.length);
    expect(rows.map(({ text }) => csvText(text))).toEqual(rows.map(({ cell }) => cell));
  });

  it('escapes a text for every separator that a spreadsheet may use, with and without quotes', () => {
    fc.assert(
      fc.property(fc.array(cellArb, { minLength: 1, maxLength: 3 }), (texts) => {
        const line = csvLine([unquoted(1), ...texts]).trimEnd();
        const cells = [',', ';', '\t', '|'].flatMap((separator) =>
          (separator === ',' ? [true] : [true, false]).flatMap((quote) => cellsOf(line, separator, quote)),
        );
        expect(cells.filter((cell) => /^[\s\ufeff]*[=+@＝＋－＠-]/.test(cell))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('begins with a byte order mark', async () => {
    const { id } = await newAccount(service);
    for (const path of [`/accounts/${id}/statement?format=csv`, '/reports/payments?format=csv']) {
      const response = await fetch(`${service.origin}/api${path}`, {
        headers: { authorization: `Bearer ${service.adminToken}` },
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(bytes.subarray(0, 3).toString('hex'), path).toBe('efbbbf');
      expect(bytes.indexOf('\ufeff', 3), path).toBe(-1);
    }
  });
});

const hasReader = spawnSync('pdftotext', ['-v']).error === undefined;

describe('as PDF', () => {
  it('that begins later is made from one snapshot', async () => {
    setToday(service, '2027-06-30');
    const { id } = await sellDaily(service, '2024-07-02', 1_094);
    await payInBulk(service, id, 250, (at) => ({
      amount: 240,
      paymentDate: addDays('2024-07-03' as PlainDate, 4 * at),
    }));
    const connect = vi.spyOn(service.parts.pool, 'connect');
    onTestFinished(() => connect.mockRestore());
    expect((await makeShortStatement(service.context, id, {})).isCut).toBe(true);
    expect(connect).toHaveBeenCalledTimes(1);
  });
});

describe('the texts of a statement', () => {
  const FORMATS = ['json', 'csv', 'pdf'] as const;

  /** The statement as text, without line breaks. */
  async function textOf(id: number, format: (typeof FORMATS)[number], query = '') {
    const response = await fetch(`${service.origin}/api/accounts/${id}/statement?format=${format}${query}`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
    });
    expect(response.status).toBe(200);
    const bytes = Buffer.from(await response.arrayBuffer());
    const text =
      format === 'pdf'
        ? execFileSync('pdftotext', ['-layout', '-', '-'], { input: bytes, encoding: 'utf8' })
        : bytes.toString();
    return text.replace(/\s+/g, ' ');
  }

  it('contain none of the reasons that staff entered', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    const other = await newAccount(service);
    const REASON = 'thinks the customer lies';
    const reversed = await pay(service, id, 500);
    await service.call('POST', `/payments/${reversed.id}/reverse`, { reason: REASON });
    await pay(service, id, 22_900);
    const credit = { amount: 50, reason: REASON };
    await service.call('POST', `/accounts/${id}/credit/transfer`, { ...credit, toAccountId: other.id });
    await service.call('POST', `/accounts/${id}/credit/refund`, { ...credit, paymentMethodId: 2 });
    await service.call('PUT', `/accounts/${other.id}`, { status: 'cancelled', reason: REASON });
    for (const format of FORMATS.slice(0, hasReader ? 3 : 2))
      for (const account of [id, other.id]) {
        const text = await textOf(account, format);
        expect(text).toContain(account === id ? 'Reversal of the payment of 500.00' : 'Account cancelled');
        expect(text).not.toContain(REASON);
      }
  });

  it('are in Swahili on request, with the same figures', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    await pay(service, id, 2_000);
    setToday(service, '2026-12-20');
    const english = JSON.parse(await textOf(id, 'json'));
    const swahili = JSON.parse(await textOf(id, 'json', '&lang=sw'));
    const withoutTexts = ({ rows, ...rest }: { rows: { description: string }[] }) => ({
      ...rest,
      rows: rows.map((row) => ({ ...row, description: '' })),
    });
    expect(withoutTexts(swahili.data)).toEqual(withoutTexts(english.data));
    expect(swahili.data.rows[3].description).toBe('Awamu ya 1 kati ya 52');
    expect(await textOf(id, 'csv', '&lang=sw')).toContain('"malipo ya awali"');
    expect((await service.call('GET', `/accounts/${id}/statement?lang=fr`)).status).toBe(400);
    if (!hasReader) return;
    const paper = await textOf(id, 'pdf', '&lang=sw');
    expect(paper).toContain('2 Novemba 2026 hadi 20 Desemba 2026');
    expect(paper).toContain('awamu 52 za KES 400.00 kila wiki, ya mwisho tarehe 1 Novemba 2027. Jumla KES');
    expect(paper).toContain('Jinsi ya kulipa');
    expect(paper).not.toMatch(/Statement|Page|Owed|Due|Paid by|November|December|weekly|Instalment/);
  });

  it.skipIf(!hasReader).each<[string, object, english: string, swahili: string]>([
    [
      'of two amounts',
      { price: 1_100, instalmentCount: 4, roundingUnit: 300, frequency: 'weekly' },
      '4 instalments (3 of KES 300.00, 1 of KES 100.00), weekly, the last on 30 November 2026. In total KES 1,100.00.',
      'awamu 4 (3 za KES 300.00, 1 ya KES 100.00), kila wiki, ya mwisho tarehe 30 Novemba 2026.',
    ],
    [
      'of one amount, with gaps',
      { instalmentAmount: 300, instalmentCount: 3, monthsWithoutDues: [12], frequency: 'monthly' },
      '3 instalments of KES 300.00, monthly, the last on 2 March 2027.',
      'awamu 3 za KES 300.00, kila mwezi, ya mwisho tarehe 2 Machi 2027.',
    ],
    [
      'every three weeks',
      { instalmentAmount: 300, instalmentCount: 3, frequency: 'weekly', every: 3 },
      '3 instalments of KES 300.00, every 3 weeks, the last on 4 January 2027.',
      'awamu 3 za KES 300.00, kila wiki 3, ya mwisho tarehe 4 Januari 2027.',
    ],
    [
      'after two harvests a year',
      {
        price: 1_100,
        harvest: {
          entries: [3, 9].map((month) => ({ month, day: 15, shareBasisPoints: 5_000 })),
          ...{ cycles: 2, leadDays: 0 },
        },
      },
      '4 instalments of KES 250.00, each year on 15 Mar, 15 Sep, the last on 15 September 2028.',
      'awamu 4 za KES 250.00, kila mwaka tarehe 15 Mac, 15 Sep, ya mwisho tarehe 15 Septemba 2028.',
    ],
    [
      'of more than three amounts',
      {
        price: 1_100,
        harvest: {
          entries: [1, 2, 3, 4].map((n) => ({ month: 2 * n, day: 1, shareBasisPoints: 1_000 * n })),
          ...{ cycles: 1, leadDays: 0 },
        },
      },
      '4 instalments, the last on 1 August 2027.',
      'awamu 4, ya mwisho tarehe 1 Agosti 2027.',
    ],
  ])('state the amounts of a plan with instalments %s', async (name, terms, english, swahili) => {
    setToday(service, '2026-11-02');
    const plan = await dataOf(
      service.call('POST', '/payplans', { name: `Instalments ${name}`, deposit: 100, ...terms }),
      201,
    );
    const { id } = await newAccount(service, { payplanId: plan.id });
    expect(await textOf(id, 'pdf')).toContain(english);
    expect(await textOf(id, 'pdf', '&lang=sw')).toContain(swahili);
  });
});

describe('GET /accounts/:id/payment-instructions', () => {
  it('says how to pay, in the language of the customer or of the query', async () => {
    const { id: customerId } = await newCustomer(service, { language: 'sw' });
    const { id, accountNumber } = await newAccount(service, { customerId });
    const path = `/accounts/${id}/payment-instructions`;
    const swahili = await dataOf(service.call('GET', path));
    expect(swahili).toMatchObject({ accountNumber, paybillNumber: '600638', language: 'sw' });
    expect(swahili.text).toContain(`Namba ya akaunti: ${accountNumber}\nNamba ya paybill: 600638\n`);
    const english = await dataOf(service.call('GET', `${path}?lang=en`));
    expect(english.text.split('\n').slice(0, 3)).toEqual([
      'Jua Nguvu Solar',
      `Account number: ${accountNumber}`,
      'Paybill number: 600638',
    ]);
    expect((await service.call('GET', '/accounts/987654/payment-instructions')).status).toBe(404);
  });

  it.each(STATUSES)(
    'exist for the status %s if payments are expected, as the overview says',
    async (status) => {
      const { id } = await newAccountThatIs(service, status);
      const isOpen = ['pending', 'active', 'suspended', 'defaulted'].includes(status);
      const answer = await service.call('GET', `/accounts/${id}/payment-instructions`);
      expect(answer.status).toBe(isOpen ? 200 : 400);
      if (!isOpen) expect(wrongFields(answer)).toEqual(['id']);
      expect((await dataOf(service.call('GET', `/accounts/${id}/overview`))).expectsPayments).toBe(isOpen);
    },
  );
});

describe('GET /accounts/:id/quote', () => {
  it('uses the present terms and all money for a past day, of which the statement has the earlier terms', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service, { activationDate: '2026-10-05' });
    await pay(service, id, 2_000, { paymentDate: '2026-10-05' });
    const then = { date: '2026-10-20' };
    expect(await quoteOf(id, then)).toMatchObject({ amountDue: 800, daysPastDue: 8, paymentState: 'late' });
    await pay(service, id, 100);
    expect(await quoteOf(id, then)).toMatchObject({ amountDue: 700, explanation: { paid: 2_100 } });
    const deferral = { kind: 'deferral', from: '2026-11-09', periods: 1, arrears: 'behind', reason: 'Ill' };
    const confirm = { version: 0, paid: 2_100 };
    await dataOf(service.call('POST', `/accounts/${id}/plan-changes`, { ...deferral, confirm }), 201);
    expect(await quoteOf(id, then)).toMatchObject({
      amountDue: 0,
      daysPastDue: 0,
      paymentState: 'current',
    });
    expect((await statementOf(service, id, { to: '2026-10-20' })).closing).toMatchObject({
      dueSoFar: 800,
      arrears: 800,
    });
  });

  it('explains the debt by one sentence and its figures, in the language of the customer', async () => {
    setToday(service, '2026-11-22');
    const account = await newAccount(service, { activationDate: '2026-11-02' });
    await pay(service, account.id, 2_100);
    const english = (await quoteOf(account.id)).explanation;
    expect(english).toMatchObject({
      language: 'en',
      state: 'late',
      deposit: 2_000,
      instalmentCount: 2,
      instalmentAmount: 400,
      charged: 2_800,
      paid: 2_100,
      late: 700,
      dueOnDate: 0,
      ahead: 0,
      credit: 0,
      remaining: 0,
    });
    expect(english.sentence).toMatch(
      /^Deposit 2,000 \+ 2 instalments of 400 due until today = 2,800; paid 2,100; 700 late since 9 Nov 2026\.$/,
    );
    const path = `/customers/${account.customerId}`;
    expect((await dataOf(service.call('PUT', path, { language: 'sw' }))).language).toBe('sw');
    expect((await quoteOf(account.id)).explanation.sentence).toMatch(
      /^Malipo ya awali 2,000 \+ awamu 2 za 400/,
    );
    expect((await quoteOf(account.id, { lang: 'en' })).explanation).toEqual(english);
    const overview = await dataOf(service.call('GET', `/accounts/${account.id}/overview`));
    expect(overview.quote.explanation.language).toBe('sw');
    const statement = await dataOf(service.call('GET', `/accounts/${account.id}/statement`));
    expect(statement.rows.map(({ description }: { description: string }) => description)).toContain(
      'Malipo ya awali',
    );
    await service.call('PUT', path, { language: null });
    expect((await quoteOf(account.id)).explanation.language).toBe('en');
  });

  it('returns the amount due, the payoff amount and the effect of a payment', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    await pay(service, id, 2_000);
    expect(await quoteOf(id)).toMatchObject({
      date: '2026-11-02',
      amountDue: 0,
      settlement: 20_800,
      payment: null,
    });
    expect(await quoteOf(id, { date: '2026-11-16', amount: 1000 })).toMatchObject({
      overdue: 400,
      dueOnDate: 400,
      amountDue: 800,
      daysPastDue: 7,
      payment: {
        itemsCovered: 2,
        remainder: 200,
        paidUntil: '2026-11-22',
        nextDueAmount: 200,
        arrears: 0,
        balance: 19_800,
      },
    });
  });

  it('completes a pending account only from its activation date on, as the payment itself does', async () => {
    setToday(service, '2026-11-02');
    const { id, total } = await newAccount(service, { activationDate: '2026-11-09' });
    const completes = async (date: string, amount: number) =>
      (await quoteOf(id, { date, amount })).payment.completes;
    expect(await completes('2026-11-08', total)).toBe(false);
    expect(await completes('2026-11-09', total)).toBe(true);
    expect(await completes('2026-11-20', total)).toBe(true);
    expect(await completes('2026-11-09', total - 0.01)).toBe(false);

    await pay(service, id, total);
    expect((await accountNow(service, id)).status).toBe('pending');
    setToday(service, '2026-11-09');
    await activateDueAccounts(service.context, new AbortController().signal);
    expect((await accountNow(service, id)).status).toBe('completed');
  });

  it('of a past day, for a payment that is recorded later, has what had fallen due by then', async () => {
    setToday(service, '2026-11-25');
    const { id } = await newAccount(service, { activationDate: '2026-11-02' });
    await pay(service, id, 2_100);
    expect(await quoteOf(id)).toMatchObject({ amountDue: 1_100, nextDueDate: '2026-11-09' });
    expect(await quoteOf(id, { date: '2026-11-16' })).toMatchObject({
      ...{ date: '2026-11-16', overdue: 300, dueOnDate: 400, amountDue: 700, settlement: 20_700 },
    });
    const early = await quoteOf(id, { date: '2026-11-08' });
    expect(early).toMatchObject({ amountDue: 0, nextDueDate: '2026-11-09', nextDueAmount: 300 });
    expect(early.explanation.sentence).toMatch(/due until 8 Nov 2026 = 2,000; .* 100 paid ahead/);
    expect(await quoteOf(id, { date: '2026-10-01' })).toMatchObject({ amountDue: 0, settlement: 20_700 });
  });

  it('refuses invalid days and amounts', async () => {
    setToday(service, '2026-11-02');
    const { id } = await newAccount(service);
    const ask = (query: string) => service.call('GET', `/accounts/${id}/quote?${query}`);
    expect(wrongFields(await ask('date=2026-11-31'))).toEqual(['date']);
    for (const amount of ['0', '-1', '1e3', '0.001', 'x', '', '01', '1000000000000000'])
      expect(wrongFields(await ask(`amount=${amount}`)), amount).toEqual(['amount']);
    expect((await service.call('GET', '/accounts/999999/quote')).status).toBe(404);
  });
});
