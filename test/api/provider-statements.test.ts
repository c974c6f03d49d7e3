import { connect } from 'node:net';
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { XLSX_TYPE } from '../../src/core/values/xlsx-records.ts';
import { workOnStatement } from '../../src/mobile-money/provider-statements/work-on-statement.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  letAgentsRecordMobileMoney,
  newAccount,
  newCustomer,
  notify,
  pay,
  reverse,
  runJobs,
  setToday,
  startInstanceForTest,
  startTestService,
  type TestService,
  useJobs,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { eventually, until, untilPasses } from '../support/waiting.ts';
import { type Cell, cell, workbook } from '../support/xlsx.ts';

const service = useService({ AGENT_BACKDATING_DAYS: '365' });
beforeAll(() => letAgentsRecordMobileMoney(service));
useJobs(service);

beforeAll(() => setToday(service, '2026-11-30'));

const COLUMNS = [
  'Receipt No.',
  'Completion Time',
  'Initiation Time',
  'Details',
  'Transaction Status',
  'Paid In',
  'Withdrawn',
  'Balance',
  'Balance Confirmed',
  'Reason Type',
  'Other Party Info',
  'Linked Transaction ID',
  'A/C No.',
];

type Line = Record<string, string>;

let receipts = 0;
const newReceipt = () => `SKB${String(++receipts).padStart(7, '0')}`;

/** A completed payment of the file; the columns can be overwritten. */
function line(receipt: string, amount: string, fields: Line = {}): Line {
  return {
    'Receipt No.': receipt,
    'Completion Time': '02-11-2026 10:15:30',
    'Initiation Time': '02-11-2026 10:15:28',
    Details: 'Pay Bill from 254712345678, WANJIRU KAMAU',
    'Transaction Status': 'Completed',
    'Paid In': amount,
    Balance: '12,345.00',
    'Balance Confirmed': 'true',
    'Reason Type': 'Pay Utility',
    'Other Party Info': '254712345678 - WANJIRU KAMAU',
    ...fields,
  };
}

const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

interface FileOptions {
  columns?: string[];
  preamble?: string[];
  eol?: string;
}

let files = 0;

/** A file as the portal exports it. Each has another organisation. */
function file(lines: Line[], { columns = COLUMNS, preamble, eol = '\r\n' }: FileOptions = {}): string {
  files += 1;
  const above = preamble ?? [
    `Organization:,"Sunlight Solar, Ltd ${files}"`,
    'Short Code:,600638',
    'Time Period:,From 02-11-2026 00:00:00 To 02-11-2026 23:59:59',
    '',
    '',
  ];
  const rows = lines.map((one) => columns.map((name) => quoted(one[name] ?? '')).join(','));
  return `\ufeff${[...above, columns.map(quoted).join(','), ...rows].join(eol)}${eol}`;
}

function upload(body: string, headers: Record<string, string> = {}) {
  return service.call('POST', '/reconciliations/statements', body, {
    headers: { 'content-type': 'text/csv', ...headers },
  });
}

async function ended(id: number) {
  return untilPasses(async () => {
    const { body } = await service.call('GET', `/reconciliations/statements/${id}`);
    if (body.data.status === 'done' || body.data.status === 'failed') return body.data;
    throw new Error(`Statement ${id} is still ${body.data.status}.`);
  });
}

async function uploaded(body: string) {
  return ended((await dataOf(upload(body), 201)).id);
}

async function started(id: number, stage: string, body?: object) {
  await dataOf(service.call('POST', `/reconciliations/statements/${id}/${stage}`, body));
  return ended(id);
}

async function linesOf(id: number, query = '') {
  const path = `/reconciliations/statements/${id}/lines?sort=lineNumber:asc&limit=100${query}`;
  return dataOf(service.call('GET', path));
}

/** Lines and total of each result that has lines. */
function figures(statement: { results: Record<string, { lines: number; total: number }> }) {
  return Object.fromEntries(
    Object.entries(statement.results)
      .filter(([, { lines }]) => lines > 0)
      .map(([result, { lines, total }]) => [result, [lines, total]]),
  );
}

function notified(to: Pick<TestService, 'call'>, fields: Record<string, unknown>) {
  return dataOf(notify(to, { TransTime: '20261102101530', ...fields }));
}

async function paymentsOf(transId: string) {
  const answer = await service.call('GET', `/payments?filter[transactionRef]=${transId}`);
  return answer.body.data;
}

/** Sends the head of a request. */
async function open(
  path: string,
  type: string,
  length: number,
  { origin }: Pick<TestService, 'origin'> = service,
) {
  const { port } = new URL(origin);
  const socket = connect(Number(port), '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString();
  });
  socket.on('error', () => {}); // The service may close the connection with a reset.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(
    `POST /api${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nAuthorization: Bearer ${service.adminToken}\r\nContent-Length: ${length}\r\n\r\n`,
  );
  return { socket, closed, text: () => text };
}

describe('an uploaded statement', () => {
  it('has a result for every line, and a line for every payment that it lacks', async () => {
    const account = await newAccount(service);
    const [same, differs, missing, undone, byHand, lacking] = Array.from(
      { length: 6 },
      newReceipt,
    ) as string[];
    await notified(service, { TransID: same, TransAmount: '1500.00', BillRefNumber: account.accountNumber });
    await notified(service, { TransID: differs, TransAmount: '300' });
    const gone = await notified(service, { TransID: undone, TransAmount: '70' });
    await reverse(service, gone.paymentId);
    await pay(service, account.id, 42, {
      paymentMethodId: 1,
      transactionRef: byHand?.toLowerCase().replace('skb', 'skb '),
      paymentDate: '2026-11-03',
    });
    const lost = await notified(service, { TransID: lacking, TransAmount: '800' });
    await pay(service, account.id, 9, { paymentDate: '2026-11-02' }); // in cash: not the provider's

    const statement = await uploaded(
      file([
        line(same ?? '', '1,500.00', { 'A/C No.': account.accountNumber }),
        line(differs ?? '', '301.00'),
        line(missing ?? '', '2,400', { 'Other Party Info': '2547****149 - A "B", C' }),
        line(undone ?? '', '70.00'),
        line(byHand ?? '', '42'),
        line(newReceipt(), '', { Withdrawn: '-5,000.00', Details: 'Business to bank' }),
        line(newReceipt(), '99.00', { 'Transaction Status': 'Failed' }),
      ]),
    );

    expect(statement).toMatchObject({
      status: 'done',
      failure: null,
      organisation: `Sunlight Solar, Ltd ${files}`,
      shortCode: '600638',
      firstCompletedAt: '2026-11-02T07:15:30.000Z',
      lastCompletedAt: '2026-11-02T07:15:30.000Z',
      periodStart: '2026-11-02',
      periodEnd: '2026-11-02',
      progress: { lines: 7, payments: 5, compared: 5, imported: 0, reconciled: 0 },
    });
    expect(figures(statement)).toEqual({
      matched: [2, 1542],
      amount_differs: [1, 301],
      missing_in_books: [1, 2400],
      reversed_in_books: [1, 70],
      missing_at_provider: [1, 800],
      other: [2, -4901],
    });
    const lines = await linesOf(statement.id);
    expect(lines.map((row: { lineNumber: number }) => row.lineNumber)).toEqual([
      7,
      8,
      9,
      10,
      11,
      12,
      13,
      null,
    ]);
    expect(lines[0]).toMatchObject({
      result: 'matched',
      receipt: same,
      paymentAmount: 1500,
      dayDiffers: false,
    });
    expect(lines[1]).toMatchObject({ result: 'amount_differs', amount: 301, paymentAmount: 300 });
    expect(lines[2]).toMatchObject({ payer: '2547****149', payerName: 'A "B", C', paymentId: null });
    expect(lines[3]).toMatchObject({ result: 'reversed_in_books', paymentId: gone.paymentId });
    expect(lines[4]).toMatchObject({ result: 'matched', dayDiffers: true, paymentDate: '2026-11-03' });
    expect(lines[7]).toMatchObject({
      result: 'missing_at_provider',
      receipt: lacking,
      paymentId: lost.paymentId,
      amount: 800,
    });
    const [only, ...others] = await linesOf(statement.id, '&filter[result]=missing_in_books');
    expect([only.receipt, others]).toEqual([missing, []]);
    const list = await service.call('GET', '/reconciliations/statements?filter[shortCode]=600638');
    expect(list.body.data[0]).toEqual(statement);
  });

  it('may have columns in any order, and times and amounts in each format', async () => {
    const columns = ['A/C No.', 'Paid In', 'EXTRA', 'receipt no', 'TRANSACTION STATUS', 'Completion  Time'];
    const times = [
      ['02-11-2026 10:15:30', '2026-11-02T07:15:30.000Z'],
      ['02/11/2026 10:15', '2026-11-02T07:15:00.000Z'],
      ['02/11/2026', '2026-11-01T21:00:00.000Z'],
      ['2026-11-02 10:15:30', '2026-11-02T07:15:30.000Z'],
      ['2026-11-02T10:15:30', '2026-11-02T07:15:30.000Z'],
      ['2026-11-02T10:15:30Z', '2026-11-02T10:15:30.000Z'],
    ];
    const amounts = ['1,234,567.80', '1234567.8', '0.01', '1', '10.00', '999'];
    const lines = times.map(([time = ''], index) => ({
      'receipt no': ` skb x${index}-${files} `,
      'TRANSACTION STATUS': 'COMPLETED',
      'Completion  Time': time,
      'Paid In': amounts[index] ?? '',
      'A/C No.': 'two\r\nlines, and \\N',
      EXTRA: '"',
    }));
    const body = file(lines, { columns, preamble: [], eol: '\n' });
    const statement = await uploaded(body);
    const stored = await linesOf(statement.id, '&filter[result]=missing_in_books');
    expect(stored.map((row: { completedAt: string }) => row.completedAt)).toEqual(
      times.map(([, utc]) => utc),
    );
    expect(stored.map((row: { amount: number }) => row.amount)).toEqual([
      1234567.8, 1234567.8, 0.01, 1, 10, 999,
    ]);
    expect(stored[0]).toMatchObject({
      receipt: `SKBX0-${files - 1}`,
      reference: 'two lines, and \\N',
      lineNumber: 2,
    });
    expect(stored[1].lineNumber).toBe(4);
    expect(statement).toMatchObject({ organisation: null, shortCode: null });
  });

  it('may have lines that end with CR', async () => {
    const receipt = newReceipt();
    const statement = await uploaded(file([line(receipt, '10'), line(newReceipt(), '20')], { eol: '\r' }));
    expect(statement).toMatchObject({ shortCode: '600638', progress: { lines: 2, payments: 2 } });
    expect(figures(statement)).toMatchObject({ missing_in_books: [2, 30] });
  });

  it('has unreadable payments if its times have AM or PM', async () => {
    const times = ['02-11-2026 02:15:30 PM', '02/11/2026 2:15 pm'];
    const lines = times.map((time) => line(newReceipt(), '10', { 'Completion Time': time }));
    const statement = await uploaded(file(lines));
    expect(figures(statement)).toMatchObject({ unreadable: [2, 0] });
    const [first] = await linesOf(statement.id);
    expect(first.problem).toMatch(/has AM or PM/);
  });

  describe('with dates whose day and month can be swapped', () => {
    const dated = (times: string[], preamble: string[] = []) =>
      file(
        times.map((time) => line(newReceipt(), '10', { 'Completion Time': time })),
        { preamble },
      );
    const PERIOD = 'Time Period:,From 02-11-2026 00:00:00 To 02-11-2026 23:59:59';
    async function problemOf(body: string) {
      const answer = await upload(body);
      expect(answer.status, answer.text).toBe(400);
      return answer.body.error.details.fields[0];
    }
    const timesOf = async (id: number) =>
      (await linesOf(id, '&filter[lineNumber][isnull]=false')).map((row: { completedAt: string }) =>
        row.completedAt.slice(0, 10),
      );

    it.each([
      ['the day of another date', ['05/10/2026 10:15:30', '14/10/2026 10:15:30'], []],
      ['the period', ['02/11/2026 10:15:30'], [PERIOD]],
    ])('is read with the day first if %s shows this', async (_what, times, preamble) => {
      const { id } = await uploaded(dated(times, preamble));
      expect(await timesOf(id)).toEqual(
        times.map((time) => time.slice(0, 10).split(/[-/]/).reverse().join('-')),
      );
    });

    it('is refused until somebody declares the order', async () => {
      const body = dated(['02/10/2026 10:15:30']);
      expect(await problemOf(body)).toEqual({
        path: 'dateOrder',
        message: expect.stringMatching(/02\/10\/2026 10:15:30 on line 2 can have the day or the month first/),
      });
      const declare = (text: string, order: string) =>
        service.call('POST', `/reconciliations/statements?dateOrder=${order}`, text, {
          headers: { 'content-type': 'text/csv' },
        });
      const { id } = await dataOf(declare(body, 'month_first'), 201);
      expect(await timesOf(id)).toEqual(['2026-02-10']);
      const other = await dataOf(declare(dated(['02/10/2026 10:15:30']), 'day_first'), 201);
      expect(await timesOf(other.id)).toEqual(['2026-10-02']);
    });
  });

  it('keeps an unreadable line with its number and the reason', async () => {
    const unreadable: [Line, RegExp][] = [
      [line('', '10'), /Receipt No\./],
      [line(newReceipt(), 'ten'), /Paid In is not an amount/],
      [line(newReceipt(), '1,50.00'), /Paid In is not an amount/],
      [line(newReceipt(), '10.005'), /Paid In is not an amount/],
      [line(newReceipt(), '-10'), /below 0/],
      [line(newReceipt(), ''), /neither/],
      [line(newReceipt(), '10', { Withdrawn: '10' }), /both/],
      [line(newReceipt(), '10', { 'Completion Time': '31-02-2026 10:00:00' }), /is not a time/],
      [line(newReceipt(), '10', { 'Completion Time': '01-12-2026 10:00:00' }), /later than today/],
      [line(newReceipt(), '10', { 'Transaction Status': '' }), /Transaction Status/],
      [{ 'Receipt No.': 'Total: 10' }, /Transaction Status/],
    ];
    const good = newReceipt();
    const statement = await uploaded(file([...unreadable.map(([row]) => row), line(good, '10')]));
    expect(figures(statement)).toMatchObject({ unreadable: [11, 0], missing_in_books: [1, 10] });
    const kept = await linesOf(statement.id, '&filter[result]=unreadable');
    for (const [index, [, reason]] of unreadable.entries()) {
      expect(kept[index]).toMatchObject({ lineNumber: 7 + index, problem: expect.stringMatching(reason) });
    }
    expect(kept[10].details).toContain('Total: 10');
  });

  it('counts a receipt once, and marks repeated and contradictory lines', async () => {
    const [one, two] = [newReceipt(), newReceipt()];
    const statement = await uploaded(
      file([
        line(one, '10'),
        line(two, '20'),
        line(one, '10.00'),
        line(two, '21'),
        line(one, '', { Withdrawn: '1.00', Details: 'Pay Utility Charge' }),
      ]),
    );
    expect(figures(statement)).toMatchObject({
      missing_in_books: [2, 30],
      repeated: [1, 10],
      contradictory: [1, 21],
      other: [1, -1],
    });
    const [flagged] = await linesOf(statement.id, '&filter[result]=contradictory');
    expect(flagged.problem).toBe('differs from line 8 with the same Receipt No.');
  });

  it('does not list payments to another short code, or in another statement, as missing', async () => {
    const [ours, theirs] = [newReceipt(), newReceipt()];
    const day = { TransTime: '20260910080000', TransAmount: '5' };
    await notified(service, { ...day, TransID: ours });
    await notified(service, { ...day, TransID: theirs, BusinessShortCode: '111222' });
    const september = { 'Completion Time': '10-09-2026 12:00:00' };
    const first = await uploaded(file([line(newReceipt(), '1', september)]));
    expect(figures(first)).toMatchObject({ missing_at_provider: [1, 5] });
    const second = await uploaded(file([line(ours, '5', { 'Completion Time': '10-09-2026 08:00:00' })]));
    expect(figures(second)).toEqual({ matched: [1, 5] });
    expect(figures(await started(first.id, 'match'))).toEqual({ missing_in_books: [1, 1] });
  });

  it('without payments lists as many missing payments as it counts', async () => {
    await notified(service, { TransID: newReceipt(), TransTime: '20260315080000', TransAmount: '6' });
    const march = { 'Completion Time': '15-03-2026 12:00:00', Withdrawn: '-5.00' };
    const statement = await uploaded(file([line(newReceipt(), '', march)]));
    for (const state of [statement, await started(statement.id, 'match')]) {
      expect(figures(state)).toEqual({ other: [1, -5], missing_at_provider: [1, 6] });
      expect(await linesOf(state.id, '&filter[result]=missing_at_provider')).toMatchObject([{ amount: 6 }]);
    }
  });

  it('is matched again when the books have changed', async () => {
    const receipt = newReceipt();
    const { id: accountId } = await newAccount(service);
    const wrong = await pay(service, accountId, 12, { transactionRef: receipt, paymentDate: '2026-08-01' });
    const august = { 'Completion Time': '01-08-2026 12:00:00' };
    const statement = await uploaded(file([line(receipt, '21', august)]));
    expect(figures(statement)).toEqual({ conflict: [1, 21] });
    await reverse(service, wrong.id);
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [1, 21] });
  });

  it('is refused a second time with the id of the first', async () => {
    const body = file([line(newReceipt(), '1')]);
    const first = await uploaded(body);
    const again = await upload(body);
    expect(again.status).toBe(409);
    expect(again.body.error).toMatchObject({
      code: 'DUPLICATE_ENTRY',
      details: { resource: 'provider_statement', field: 'body', id: first.id },
    });
    const twice = file([line(newReceipt(), '1')]);
    const statuses = await Promise.all([upload(twice), upload(twice)]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([201, 409]);
  });
});

describe('a line that cannot be read for certain', () => {
  const january = { 'Completion Time': '05-01-2026 12:00:00', Balance: '' };
  /** A file whose lines are not quoted, as some programs save it. */
  const unquoted = (...rows: string[]) => `${file([])}${rows.join('\r\n')}\r\n`;

  it('is unreadable if an unquoted comma makes more cells than the header has columns', async () => {
    const receipts = [newReceipt(), newReceipt(), newReceipt()];
    const cells = (receipt: string, amount: string, reference: string) =>
      `${receipt},05-01-2026 12:00:00,,Pay Bill,Completed,${amount},,,true,Pay Utility,254712345678 - JANE,,${reference}`;
    const statement = await uploaded(
      unquoted(
        cells(receipts[0] ?? '', '1,500.00', 'ACC1'),
        cells(receipts[1] ?? '', '500.00', 'HOUSE 5, NYERI'),
        `${cells(receipts[2] ?? '', '7.00', 'SOLAR')},,  ,`,
      ),
    );
    expect(figures(statement)).toMatchObject({ unreadable: [2, 0], missing_in_books: [1, 7] });
    const unreadable = await linesOf(statement.id, '&filter[result]=unreadable');
    expect(unreadable[0]).toMatchObject({
      receipt: receipts[0],
      problem: expect.stringContaining('more cells than the header'),
      details: expect.stringContaining('1, 500.00'),
    });
    expect(unreadable[1].details).toContain('HOUSE 5, NYERI');
  });

  it('is unreadable if a spreadsheet has changed a receipt to a number', async () => {
    const changed = ['7.1E8', '1.23457E+11', '12345678.0'];
    const kept = ['12E4567890', newReceipt()];
    const linked = line(newReceipt(), '500', { ...january, 'Linked Transaction ID': '7.1E8' });
    const statement = await uploaded(
      file([...[...changed, ...kept].map((receipt) => line(receipt, '500', january)), linked]),
    );
    expect(figures(statement)).toMatchObject({ missing_in_books: [2, 1000] });
    const unreadable = await linesOf(statement.id, '&filter[result]=unreadable');
    expect(unreadable.map(({ problem }: { problem: string }) => problem)).toEqual([
      ...changed.map(() => expect.stringContaining('Receipt No. is a number that a spreadsheet has changed')),
      expect.stringContaining('Linked Transaction ID is a number that a spreadsheet has changed'),
    ]);
  });

  it('is unreadable if a comma splits an amount of whole thousands, also without a balance', async () => {
    const row = `${newReceipt()},05-01-2026 12:00:00,,Pay Bill,Completed,1,000.00,,,true,Pay Utility,,`;
    const statement = await uploaded(unquoted(row));
    expect(figures(statement)).toMatchObject({ unreadable: [1, 0] });
  });

  it('is unreadable with an unknown status only if money may have moved', async () => {
    const status = (word: string) => ({ ...january, 'Transaction Status': word });
    const linked = { 'Linked Transaction ID': newReceipt() };
    const paid: [string, Line][] = [
      ['Imekamilika', line(newReceipt(), '500', status('Imekamilika'))],
      ['Reversed', line(newReceipt(), '500', status('Reversed'))],
      ['Settled', line(newReceipt(), 'five', status('Settled'))],
      ['1,500.00', line(newReceipt(), '', status('1,500.00'))],
      ['Done', line(newReceipt(), '', { ...status('Done'), ...linked, Withdrawn: '5', Details: 'Reversal' })],
    ];
    const known = ['Failed', 'CANCELLED', 'Expired', 'Pending', 'Declined', ' pending  authorization. '];
    const statement = await uploaded(
      file([
        ...paid.map(([, row]) => row),
        ...known.map((word) => line(newReceipt(), '10', status(word))),
        line(newReceipt(), '', { ...status('Imekamilika'), Withdrawn: '20' }),
        line(newReceipt(), '3', status('completed')),
      ]),
    );
    expect(figures(statement)).toMatchObject({
      unreadable: [5, 0],
      other: [7, 40],
      missing_in_books: [1, 3],
    });
    const unreadable = await linesOf(statement.id, '&filter[result]=unreadable');
    for (const [index, [word]] of paid.entries())
      expect(unreadable[index].problem).toBe(`Transaction Status "${word}" is unknown`);
    expect(unreadable[0].details).toContain('Imekamilika, 500');
  });

  it('is unreadable if the running balance contradicts it, and is never imported', async () => {
    const [shifted, good] = [newReceipt(), newReceipt()];
    const rows: [string, string, string][] = [
      [newReceipt(), '1,000.00', '1,000.00'],
      [newReceipt(), '500.00', '1,500.00'],
      [shifted, '2', '700.00'],
      [newReceipt(), '300.00', '3,800.00'],
      [good, '200.00', '4,000.00'],
    ];
    const lines = rows.map(([receipt, amount, balance]) =>
      line(receipt, amount, { ...january, Balance: balance }),
    );
    for (const body of [file(lines), file(lines.toReversed())]) {
      const statement = await uploaded(body);
      expect(figures(statement)).toMatchObject({ unreadable: [1, 0], missing_in_books: [4, 2000] });
      const [unreadable] = await linesOf(statement.id, '&filter[result]=unreadable');
      expect(unreadable).toMatchObject({
        receipt: shifted,
        problem: expect.stringContaining('Balance does not fit'),
        details: expect.stringContaining(`${shifted}, 05-01-2026 12:00:00`),
      });
    }
  });
});

describe('the figures of a statement', () => {
  const stated = (opening: string, closing: string, paidIn: string, withdrawn: string) => [
    `Organization:,"Sunlight Solar, Ltd ${files}"`,
    'Short Code:,700700',
    `Opening Balance:,"${opening}",Closing Balance:,"${closing}",Available Balance:,,Total Paid In:,"${paidIn}",Total Withdrawn: ,"${withdrawn}"`,
  ];
  const day = (date: string) => ({ 'Completion Time': `${date} 12:00:00` });
  const checksOf = (statement: { checks: { check: string; expected: number; found: number }[] }) =>
    Object.fromEntries(statement.checks.map(({ check, expected, found }) => [check, [expected, found]]));

  it('are compared with what the file states, with its lines, and with the statement before it', async () => {
    const first = await uploaded(
      file(
        [
          line(newReceipt(), '1,000.00', { ...day('10-01-2026'), Balance: '1,100.00' }),
          line(newReceipt(), '', { ...day('10-01-2026'), Withdrawn: '-300', Balance: '800.00' }),
        ],
        { preamble: stated('100.00', '800.00', '1,000.00', '-300.00') },
      ),
    );
    expect(checksOf(first)).toEqual({
      paid_in: [1000, 1000],
      withdrawn: [300, 300],
      opening_balance: [100, 100],
      closing_balance: [800, 800],
      lines: [800, 800],
    });
    expect(first.checks.every(({ isEqual }: { isEqual: boolean }) => isEqual)).toBe(true);

    const second = await uploaded(
      file([line(newReceipt(), '50.00', { ...day('12-01-2026'), Balance: '950.00' })], {
        preamble: stated('900.00', '1,000.00', '100.00', '0.00'),
      }),
    );
    expect(checksOf(second)).toEqual({
      paid_in: [100, 50],
      withdrawn: [0, 0],
      opening_balance: [900, 900],
      closing_balance: [1000, 950],
      lines: [950, 950],
      previous_statement: [800, 900],
    });
    expect(second.checks.at(-1)).toMatchObject({ isEqual: false, statementId: first.id });
    const listed = await service.call('GET', '/reconciliations/statements?filter[shortCode]=700700');
    expect(listed.body.data).toEqual([second, first]);
  });
});

describe('the newer layout, with units in the header and without columns for the payer and the account', () => {
  const NEWER = [
    ...['Receipt No', 'Completion Time', 'Details', 'Transaction Status'],
    ...['Paid In (KSHs)', 'Withdrawn (KSHs)', 'Balance (KSHs)'],
  ];
  const day = { 'Completion Time': '14/10/2026 16:11:41', 'Transaction Status': 'Completed' };
  const row = (receipt: string, details: string, amount: string, fields: Line = {}): Line => ({
    ...day,
    'Receipt No': receipt,
    Details: details,
    ...(amount.startsWith('-') ? { 'Withdrawn (KSHs)': amount } : { 'Paid In (KSHs)': amount }),
    ...fields,
  });
  const newer = (...lines: Line[]) =>
    file(lines, { columns: NEWER, preamble: [], eol: `${' '.repeat(files + 1)}\r\n` });

  it('has the payer, the name and the reference in its details', async () => {
    const account = await newAccount(service);
    const number = account.accountNumber;
    const cases: [details: string, payer: string | null, name: string | null, reference: string | null][] = [
      [`Pay Bill from 2547****777 - GRACE DOE Acc. ${number}`, '2547****777', 'GRACE DOE', number],
      ['Pay Bill Online from 07****222 - Bob Acc. bob Acc. two', '07****222', 'Bob', 'bob Acc. two'],
      ['Pay Bill from 2547****777 - GRACE DOE Acc.', '2547****777', 'GRACE DOE', null],
      ['FSI to Pay Bill by 999002 - A BANK - TILL Acc. F via WEB', '999002', 'A BANK - TILL', 'F via WEB'],
      ['Pay Bill from 254712345678 - GRACE DOE Account 5', null, null, null],
      ['Something else', null, null, null],
    ];
    const statement = await uploaded(
      newer(
        ...cases.map(([details]) => row(newReceipt(), details, '1,500.00', { 'Withdrawn (KSHs)': '0.00' })),
      ),
    );
    expect(figures(statement)).toMatchObject({ missing_in_books: [cases.length, cases.length * 1500] });
    const stored = await linesOf(statement.id, '&filter[result]=missing_in_books');
    for (const [index, [details, payer, payerName, reference]] of cases.entries())
      expect(stored[index]).toMatchObject({ details, payer, payerName, reference });
    await started(statement.id, 'import');
    expect(await accountNow(service, account.id)).toMatchObject({ paid: 1500 });
    await expectBooksToBalance(service.context);
  });

  it('takes nothing from the details where the file has the column, or where money goes out', async () => {
    const details = 'Pay Bill from 254712345678 - GRACE Acc. ACC1';
    const columns = [...NEWER, 'A/C No.'];
    const lines = [row(newReceipt(), details, '3'), row(newReceipt(), details, '-4')];
    const statement = await uploaded(file(lines, { columns, preamble: [`x ${files}`] }));
    expect(await linesOf(statement.id, '&filter[result][in]=missing_in_books,other')).toMatchObject([
      { amount: 3, payer: '254712345678', reference: null },
      { amount: -4, payer: null, reference: null },
    ]);
  });

  it('is refused if its amounts are in another currency or unit', async () => {
    for (const unit of ['USD', 'TSHs', "'000"]) {
      const columns = NEWER.map((name) => name.replace('KSHs', unit));
      const answer = await upload(file([{ ...day }], { columns, preamble: [] }));
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain(`The column Paid In (${unit}) must be in KES.`);
    }
  });

  it('takes back an earlier payment that the details of a withdrawal name, if the amounts are equal', async () => {
    const [undone, partly, later, kept] = [newReceipt(), newReceipt(), newReceipt(), newReceipt()];
    const morning = { 'Completion Time': '13/10/2026 08:00:00' };
    const statement = await uploaded(
      newer(
        row(undone, 'Pay Bill from 2547****777 - A Acc. 1', '70', morning),
        row(partly, 'Pay Bill from 2547****777 - A Acc. 1', '80', morning),
        row(later, 'Pay Bill from 2547****777 - A Acc. 1', '90', {
          'Completion Time': '15/10/2026 08:00:00',
        }),
        row(kept, 'Pay Bill from 2547****777 - A Acc. 1', '60', morning),
        row(newReceipt(), `Reversal of transaction ${undone.toLowerCase()}`, '-70'),
        row(newReceipt(), `Reversal of ${partly}`, '-79'),
        row(newReceipt(), `Original receipt: ${later}`, '-90'),
        row(newReceipt(), `Pay Bill Charge, original ${kept}`, '-60'),
        row(newReceipt(), `Reversal of ${newReceipt()}`, '-60'),
      ),
    );
    expect(figures(statement)).toMatchObject({ reversed_at_provider: [1, 70], missing_in_books: [3, 230] });
    const [taken] = await linesOf(statement.id, '&filter[result]=reversed_at_provider');
    expect(taken.receipt).toBe(undone);
  });

  it('takes back a payment although the payer has typed, or is called, a word for a fee', async () => {
    const payments = [
      'Pay Bill from 2547****777 - GRACE DOE Acc. SCHOOL FEES',
      'Pay Bill from 2547****777 - GRACE LEVY Acc. 1',
      'FSI to Pay Bill by 999002 - DUTY FREE LTD Acc. F via WEB',
    ];
    const pairs = payments.flatMap((details) => {
      const receipt = newReceipt();
      return [row(receipt, details, '70'), row(receipt, details, '-70')];
    });
    const paid = newReceipt();
    const statement = await uploaded(
      newer(
        ...pairs,
        row(paid, 'Pay Bill from 2547****777 - A Acc. 1', '2'),
        row(paid, 'Pay Bill Charge from 2547****777 - A Acc. 1', '-2'),
      ),
    );
    expect(figures(statement)).toMatchObject({ reversed_at_provider: [3, 210], missing_in_books: [1, 2] });
  });
});

describe('money that leaves again', () => {
  // Each test has a month of its own, because a statement is compared with all payments of its days.
  let month = 0;
  beforeEach(() => {
    month += 1;
  });
  const on = (day: string) => `${day}-0${month}-2024 09:00:00`;
  const later = () => ({ 'Completion Time': on('05'), 'Other Party Info': '', Balance: '' });

  async function paidAndListed(amount: string, count: number) {
    const account = await newAccount(service);
    const receipts = Array.from({ length: count }, newReceipt);
    for (const TransID of receipts)
      await notified(service, {
        TransID,
        TransAmount: amount,
        TransTime: `20240${month}04090000`,
        BillRefNumber: account.accountNumber,
      });
    const statement = await uploaded(
      file(receipts.map((one) => line(one, amount, { 'Completion Time': on('04'), Balance: '' }))),
    );
    return { account, receipts: receipts as [string, ...string[]], statement };
  }

  it('is a fee and takes back no payment, although it is linked to one', async () => {
    const fees: Line[] = [
      { Details: 'Transaction fee' },
      { Details: 'Commission for the transaction' },
      { Details: 'Excise Duty' },
      { Details: 'Merchant levy' },
      { Details: 'Pay Bill', 'Reason Type': 'Business Tariff' },
    ];
    const { receipts, statement } = await paidAndListed('100', fees.length);
    const charged = fees.map((fee, at) =>
      line(newReceipt(), '', {
        ...later(),
        ...fee,
        Withdrawn: '-2',
        'Linked Transaction ID': receipts[at] ?? '',
      }),
    );
    expect(figures(await uploaded(file(charged)))).toEqual({ other: [5, -10] });
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [5, 500] });
    expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(5);
  });

  it('is a part of a reconciled payment, and what is left of it can be recorded', async () => {
    const { account, receipts, statement } = await paidAndListed('1000', 1);
    await started(statement.id, 'reconcile');
    const [receipt] = receipts;
    const taken = { ...later(), Details: `Reversal of ${receipt}`, 'Linked Transaction ID': receipt };
    const withdrawal = newReceipt();
    await uploaded(file([line(withdrawal, '', { ...taken, Withdrawn: '(400.00)' })]));

    const [row] = await linesOf(statement.id);
    expect(row).toMatchObject({
      result: 'reversed_at_provider',
      problem: expect.stringContaining('took back 400 of 1000 KES'),
    });
    await reverse(service, row.paymentId);
    await pay(service, account.id, 600, {
      paymentMethodId: 1,
      transactionRef: withdrawal,
      paymentDate: `2024-0${month}-04`,
    });
    expect(figures(await started(statement.id, 'match'))).toEqual({ reversed_at_provider: [1, 1000] });
    expect((await accountNow(service, account.id)).paid).toBe(600);
    await expectBooksToBalance(service.context);
  });

  it('is shown if only its details name a larger payment, until this payment is reversed', async () => {
    const { receipts, statement } = await paidAndListed('1000', 1);
    const [receipt] = receipts;
    const withdrawn = await uploaded(
      file([line(newReceipt(), '', { ...later(), Details: `Reversal of ${receipt}`, Withdrawn: '400.00-' })]),
    );
    const [found] = await linesOf(withdrawn.id);
    const [payment] = await paymentsOf(receipt);
    expect(found).toMatchObject({
      result: 'contradictory',
      amount: -400,
      paymentId: payment.id,
      problem: expect.stringContaining(`the receipt of payment ${payment.id}`),
    });
    expect(figures(withdrawn)).toEqual({ contradictory: [1, -400] });
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [1, 1000] });
    await reverse(service, payment.id);
    expect(figures(await started(withdrawn.id, 'match'))).toEqual({ other: [1, -400] });
  });

  it('is shown if it comes back after the payment was reversed in the books', async () => {
    const { receipts } = await paidAndListed('1000', 1);
    const [receipt] = receipts;
    const [taken, returned] = [newReceipt(), newReceipt()];
    const reversal = {
      ...later(),
      Details: 'Reversal',
      Withdrawn: '-1000',
      'Linked Transaction ID': receipt,
    };
    const back = { ...later(), Details: 'Reversal', 'Linked Transaction ID': taken };
    const lines = [line(taken, '', reversal), line(returned, '1000', back)];
    const statement = await uploaded(file(lines));
    expect(figures(statement)).toEqual({ other: [2, 0] });

    const [payment] = await paymentsOf(receipt);
    await reverse(service, payment.id);
    expect(figures(await started(statement.id, 'match'))).toEqual({
      other: [1, -1000],
      contradictory: [1, 1000],
    });
    await pay(service, payment.accountId, 1000, {
      paymentMethodId: 1,
      transactionRef: receipt,
      paymentDate: `2024-0${month}-04`,
    });
    expect(figures(await started(statement.id, 'match'))).toEqual({ other: [2, 0] });
  });

  it('has a minus sign before or behind its amount, or brackets around it', async () => {
    const written = ['-1,000.00', '1,000.00-', '(1,000.00)', '1000', 'KES 1,000.00', 'Ksh. (1000.00)'];
    const lines = written.map((Withdrawn) => line(newReceipt(), '', { ...later(), Withdrawn }));
    const statement = await uploaded(
      file([
        ...lines,
        line(newReceipt(), '', { ...later(), Withdrawn: 'USD 5' }),
        line(newReceipt(), '(5)', later()),
      ]),
    );
    expect(figures(statement)).toEqual({ other: [6, -6000], unreadable: [2, 0] });
  });
});

describe('money that the organisation moves itself', () => {
  const time = { 'Completion Time': '06-01-2026 12:00:00', 'Other Party Info': '', Balance: '' };
  const moved = (receipt: string, amount: string, fields: Line = {}) => [
    line(receipt, amount, { ...time, ...fields }),
    line(receipt, '', { ...time, ...fields, Withdrawn: `-${amount}` }),
  ];
  const SWEEP = { Details: 'Utility Account to Organization Settlement Account', 'Reason Type': '' };

  it('is no payment, if it has no payer, and its type or its other party shows what it is', async () => {
    const statement = await uploaded(
      file([
        ...moved(newReceipt(), '900', SWEEP),
        ...moved(newReceipt(), '800', { Details: 'Transfer', 'Reason Type': 'Organisation Settlement' }),
        line(newReceipt(), '700', { ...time, 'Other Party Info': '600638 - SUNLIGHT SOLAR' }),
        line(newReceipt(), '600', {
          ...time,
          ...SWEEP,
          'Other Party Info': `Sunlight Solar, Ltd ${files + 1}`,
        }),
        line(newReceipt(), '5', { ...time, 'Other Party Info': '600639 - ANOTHER SHOP' }),
        // The type alone does not say that both businesses are this one.
        line(newReceipt(), '7', { ...time, Details: '', 'Reason Type': 'Business to Business Transfer' }),
      ]),
    );
    expect(figures(statement)).toMatchObject({ missing_in_books: [2, 12], other: [6, 1300] });
    expect(statement.progress.payments).toBe(2);
    expect((await started(statement.id, 'import')).progress.imported).toBe(2);
  });

  it('has the short codes of PAYBILL_NUMBERS, also in a file without a short code', async () => {
    const instance = await startInstanceForTest(service, { PAYBILL_NUMBERS: '600638,600700' });
    const body = file([line(newReceipt(), '700', { ...time, 'Other Party Info': '600700 - SHOP' })], {
      preamble: [],
    });
    const sent = await instance.call('POST', '/reconciliations/statements', body, {
      headers: { 'content-type': 'text/csv' },
      token: service.adminToken,
    });
    expect(figures(await ended((await dataOf(Promise.resolve(sent), 201)).id))).toMatchObject({
      other: [1, 700],
    });
  });

  it('is contradictory if the books have a payment with its receipt, and is compared again', async () => {
    const receipt = newReceipt();
    const statement = await uploaded(file(moved(receipt, '900', SWEEP)));
    expect(figures(statement)).toMatchObject({ other: [2, 0] });
    const { paymentId } = await notified(service, {
      TransID: receipt,
      TransAmount: '900',
      TransTime: '20260106120000',
    });
    const compared = await started(statement.id, 'match');
    expect(figures(compared)).toMatchObject({ contradictory: [1, 900], other: [1, -900] });
    expect(compared.results.missing_at_provider.lines).toBe(0);
    expect(await linesOf(statement.id, '&filter[result]=contradictory')).toMatchObject([
      { receipt, paymentId, problem: expect.stringContaining(`payment ${paymentId} has its receipt`) },
    ]);
    await reverse(service, paymentId);
    expect(figures(await started(statement.id, 'match'))).toMatchObject({ other: [2, 0] });
  });

  it('is neither a payment that was reversed in place nor a contradictory line', async () => {
    const [undone, unclear, charged] = [newReceipt(), newReceipt(), newReceipt()];
    const payer = { 'Other Party Info': '254712345678 - WANJIRU KAMAU' };
    const statement = await uploaded(
      file([
        ...moved(undone, '70', payer),
        ...moved(unclear, '80', { Details: 'Something' }),
        line(charged, '1', { ...time, ...payer }),
        line(charged, '', { ...time, ...payer, Withdrawn: '-1', Details: 'Pay Bill Charge' }),
      ]),
    );
    expect(figures(statement)).toMatchObject({
      reversed_at_provider: [1, 70],
      contradictory: [1, 80],
      missing_in_books: [1, 1],
      other: [3, -151],
    });
    const [pair] = await linesOf(statement.id, '&filter[result]=contradictory');
    expect(pair.problem).toContain('names no payer');
    expect((await linesOf(statement.id, `&filter[receipt]=${undone}`))[1].linkedReceipt).toBeNull();
  });
});

describe('a payment that the provider reversed', () => {
  const time = { 'Completion Time': '03-04-2026 12:00:00' };
  const takenBack = (of: string, amount: string) =>
    line(newReceipt(), '', { ...time, Withdrawn: amount, Details: 'Reversal', 'Linked Transaction ID': of });

  it('stays reversed if the file leaves out a line, so that the balance of the reversal does not fit', async () => {
    const undone = newReceipt();
    const balanced = (amount: string, balance: string) =>
      line(newReceipt(), amount, { ...time, Balance: balance });
    const statement = await uploaded(
      file([
        balanced('1000', '1000'),
        line(undone, '500', { ...time, Balance: '1500' }),
        balanced('200', '1700'),
        // A charge of 30 is missing here.
        { ...takenBack(undone, '-500'), Balance: '1170' },
        balanced('100', '1270'),
        balanced('100', '1370'),
      ]),
    );
    expect(figures(statement)).toMatchObject({ reversed_at_provider: [1, 500], missing_in_books: [4, 1400] });
  });

  it('is neither reconciled nor imported, and stays reversed_at_provider', async () => {
    const [undone, lost, charged, topUp] = [newReceipt(), newReceipt(), newReceipt(), newReceipt()];
    const april = { TransTime: '20260403120000', TransAmount: '100' };
    const payment = await notified(service, { ...april, TransID: undone });
    await notified(service, { ...april, TransID: charged });
    const fee = { ...time, Withdrawn: '-1.00', Details: 'Pay Utility Charge' };
    const statement = await uploaded(
      file([
        line(undone, '100.00', time),
        line(lost, '70.00', time),
        line(charged, '100.00', time),
        takenBack(undone.toLowerCase(), '-100.00'),
        takenBack(lost, '70.00'),
        line(newReceipt(), '', { ...fee, 'Linked Transaction ID': charged }),
        line(topUp, '5,000.00', { ...time, 'Linked Transaction ID': newReceipt() }),
        line(newReceipt(), '3.00', { ...time, 'Linked Transaction ID': '-' }),
      ]),
    );
    expect(statement.progress).toMatchObject({ lines: 8, payments: 4, compared: 4 });
    const expected = { matched: [1, 100], reversed_at_provider: [2, 170], other: [4, 4829] };
    expect(figures(statement)).toEqual({ ...expected, missing_in_books: [1, 3] });
    const [first, second] = await linesOf(statement.id, '&filter[result]=reversed_at_provider');
    expect(first).toMatchObject({
      receipt: undone,
      paymentId: payment.paymentId,
      paymentStatus: 'unmatched',
      reconciliationId: null,
    });
    expect(second).toMatchObject({ receipt: lost, paymentId: null, paymentStatus: null });

    const after = await started(statement.id, 'import');
    expect(after.progress.imported).toBe(1);
    expect([await paymentsOf(lost), await paymentsOf(topUp)]).toEqual([[], []]);
    expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(2);
    expect((await paymentsOf(undone))[0].reconciliationId).toBeNull();
    expect((await paymentsOf(charged))[0].reconciliationId).not.toBeNull();

    await reverse(service, payment.paymentId);
    expect(figures(await started(statement.id, 'match'))).toMatchObject({ ...expected, matched: [2, 103] });
    const [reversed] = await linesOf(statement.id, `&filter[receipt]=${undone}`);
    expect(reversed).toMatchObject({ result: 'reversed_at_provider', paymentStatus: 'reversed' });
  });

  it('is marked in an earlier statement when the withdrawal is in a later one', async () => {
    const [undone, kept, lost] = [newReceipt(), newReceipt(), newReceipt()];
    const april = { TransTime: '20260404120000', TransAmount: '60' };
    await notified(service, { ...april, TransID: undone });
    await notified(service, { ...april, TransID: kept });
    const fourth = { 'Completion Time': '04-04-2026 12:00:00' };
    const first = await uploaded(
      file([line(undone, '60', fourth), line(kept, '60', fourth), line(lost, '8', fourth)]),
    );
    expect(figures(first)).toEqual({ matched: [2, 120], missing_in_books: [1, 8] });

    const fifth = { 'Completion Time': '05-04-2026 09:00:00' };
    const later = await uploaded(
      file([
        { ...takenBack(undone, '-60'), ...fifth },
        { ...takenBack(undone, '-60'), ...fifth },
        { ...takenBack(lost, '-8'), ...fifth },
      ]),
    );
    expect(figures(later)).toEqual({ other: [3, -128] });
    const compared = await ended(first.id);
    expect(figures(compared)).toEqual({ matched: [1, 60], reversed_at_provider: [2, 68] });
    expect(figures(await started(first.id, 'match'))).toEqual(figures(compared));

    // The state of the lines after the later statement was stored, and before it is compared.
    await sql`update provider_statement_lines set result = (
        case when payment_id is null then 'missing_in_books' else 'matched' end)::provider_line_result
      where statement_id = ${first.id}`.execute(service.context.db);
    expect((await started(first.id, 'reconcile')).progress.reconciled).toBe(1);
    expect((await paymentsOf(undone))[0].reconciliationId).toBeNull();
    expect((await started(first.id, 'import')).progress.imported).toBe(0);
    expect(await paymentsOf(lost)).toEqual([]);
  });
});

describe('a file saved by a spreadsheet program', () => {
  async function uploadBytes(bytes: Buffer, contentType = 'text/csv') {
    const response = await fetch(`${service.origin}/api/reconciliations/statements`, {
      method: 'POST',
      headers: { 'content-type': contentType, authorization: `Bearer ${service.adminToken}` },
      body: new Uint8Array(bytes),
    });
    return { status: response.status, body: JSON.parse(await response.text()) };
  }
  const march = { 'Completion Time': '02-03-2026 10:15:30' };

  it('is read as a workbook, and keeps cells that cannot be read with the reason', async () => {
    const head = [
      'Receipt No',
      'Completion Time',
      'Details',
      'Transaction Status',
      'Paid In (KSHs)',
      'Notes',
    ];
    const receipts = Array.from({ length: 6 }, newReceipt) as [string, ...string[]];
    const row = (at: number, time: Cell, amount: Cell, notes: Cell = '') =>
      [
        receipts[at] ?? '',
        time,
        'Pay Bill from 2547****777 - A Acc. SOLAR',
        'Completed',
        amount,
        notes,
      ] as Cell[];
    const date = cell('<v>46083.42743055556</v>', 's="1"'); // 2026-03-02 10:15:30
    const bytes = await workbook({
      formats: ['dd/mm/yyyy hh:mm:ss'],
      sheets: {
        Notes: [['Not a statement']],
        Statement: [
          ['Organization:', `Sunlight ${++files}`],
          [],
          head,
          row(0, '02-03-2026 10:15:30', '1,500.00'),
          row(1, date, 2400.5),
          row(2, date, cell('<f>SUM(A1:A2)</f>')),
          row(3, date, cell('<v>#VALUE!</v>', 't="e"')),
          row(4, 46083.5, 7),
          row(5, date, 8, cell('<v>#N/A</v>', 't="e"')),
          [1234567890123456, date, '', 'Completed', 9],
        ],
      },
    });
    const { status, body } = await uploadBytes(bytes, XLSX_TYPE);
    expect(status, JSON.stringify(body)).toBe(201);
    const statement = await ended(body.data.id);
    expect(statement).toMatchObject({ organisation: `Sunlight ${files}`, progress: { lines: 7 } });
    expect(figures(statement)).toMatchObject({ missing_in_books: [3, 3908.5], unreadable: [4, 0] });
    expect(await linesOf(statement.id, '&filter[result]=missing_in_books')).toMatchObject([
      { lineNumber: 4, amount: 1500, completedAt: '2026-03-02T07:15:30.000Z', reference: 'SOLAR' },
      { lineNumber: 5, amount: 2400.5, completedAt: '2026-03-02T07:15:30.000Z' },
      { lineNumber: 9, amount: 8 },
    ]);
    const unreadable = await linesOf(statement.id, '&filter[result]=unreadable');
    expect(unreadable.map(({ problem }: { problem: string }) => problem)).toEqual([
      expect.stringContaining('cell E6 has a formula without a stored result'),
      'cell E7 has the error #VALUE!',
      'Completion Time is not a time',
      expect.stringContaining('cell A10 is a number of more than 15 digits'),
    ]);
    expect((await uploadBytes(bytes)).status).toBe(409);
  });

  it('is refused as a workbook without one sheet that has the header', async () => {
    const header = [['Receipt No.', 'Completion Time', 'Transaction Status', 'Paid In']];
    const two = await uploadBytes(await workbook({ sheets: { A: header, B: header } }), XLSX_TYPE);
    expect(two.status).toBe(400);
    expect(two.body.error.message).toContain('has 2 sheets with the header ("A", "B")');
    const none = await uploadBytes(await workbook({ sheets: { A: [['x']] } }), XLSX_TYPE);
    expect(none.body.error.message).toContain('has no sheet with the header');
  });
  const named = (name: string) =>
    file([line(newReceipt(), '5', { ...march, 'Other Party Info': `254712345678 - ${name}` })]);
  const nameOf = async ({ status, body }: Awaited<ReturnType<typeof uploadBytes>>) => {
    expect(status, JSON.stringify(body)).toBe(201);
    await ended(body.data.id);
    const [stored] = await linesOf(body.data.id, '&filter[result]=missing_in_books');
    return stored.payerName;
  };
  const withoutMark = (text: string) => text.slice(1);

  it('keeps every letter of a name in UTF-8, Latin-1, Windows-1252 and UTF-16', async () => {
    const name = 'ZOË NŒL MÜLLER';
    const latin1 = Buffer.from(withoutMark(named('ZOË MÜLLER')), 'latin1');
    expect(await nameOf(await uploadBytes(latin1))).toBe('ZOË MÜLLER');
    const marked = withoutMark(named('ZOË N\x8cL MÜLLER'));
    expect(await nameOf(await uploadBytes(Buffer.from(marked, 'latin1')))).toBe(name);
    expect(await nameOf(await uploadBytes(Buffer.from(withoutMark(named(name)))))).toBe(name);
    expect(await nameOf(await uploadBytes(Buffer.from(named(name), 'utf16le')))).toBe(name);
    expect(await nameOf(await uploadBytes(Buffer.from(named(name), 'utf16le').swap16()))).toBe(name);
  });

  it('is refused when its encoding is not clear, and accepted with a charset', async () => {
    const both = Buffer.from(withoutMark(named('ZO\xc3\x8b M\xdcLLER')), 'latin1');
    const refused = await uploadBytes(both);
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toContain('Content-Type: text/csv; charset=windows-1252');
    expect(refused.body.error.details.fields).toMatchObject([{ path: 'body' }]);
    expect(await nameOf(await uploadBytes(both, 'text/csv; charset="Windows-1252"'))).toBe('ZOÃ‹ MÜLLER');
    const contradicted = await uploadBytes(both, 'text/csv; charset=utf-8');
    expect(contradicted.body.error.message).toContain('declared as utf-8, but is not valid utf-8');
    const unknown = await uploadBytes(both, 'text/csv; charset=klingon');
    expect(unknown.body.error.message).toContain('Use one of utf-8');
  });

  it.each([
    ['semicolons', ';'],
    ['tabs', '\t'],
  ])('is read with %s, and with amounts that have a decimal comma', async (_name, delimiter) => {
    const amounts = ['2400,50', '2.400,5', '1 234 567,80', '1,500.00', '1,500', '12', '3.00'];
    const receipts = amounts.map(newReceipt);
    const head = ['Receipt No.', 'Completion Time', 'Transaction Status', 'Paid In', 'Details'];
    const rows = amounts.map((amount, index) =>
      [receipts[index], march['Completion Time'], 'Completed', amount, '"a, b; c"'].join(delimiter),
    );
    const preamble = ['sep=;', `Organization:${delimiter}Sunlight, Ltd ${++files}`, ''];
    const text = [...preamble, head.join(delimiter), ...rows].join('\r\n');
    const statement = await uploaded(text);
    expect(statement).toMatchObject({ organisation: `Sunlight, Ltd ${files}`, progress: { lines: 7 } });
    const stored = await linesOf(statement.id, '&filter[result]=missing_in_books');
    expect(stored.map(({ amount }: { amount: number }) => amount)).toEqual([
      2400.5, 2400.5, 1234567.8, 1500, 1500, 12, 3,
    ]);
    expect(stored[0]).toMatchObject({ details: 'a, b; c', lineNumber: 5 });
  });

  it('has no amount where a comma can mean thousands or decimals', async () => {
    const head = 'Receipt No.;Completion Time;Transaction Status;Paid In';
    const rows = ['1.500', '1,2345', '1.23,45', '12.34'].map((amount) =>
      [newReceipt(), march['Completion Time'], 'Completed', amount].join(';'),
    );
    const statement = await uploaded([head, ...rows].join('\n'));
    expect(figures(statement)).toMatchObject({ unreadable: [3, 0], missing_in_books: [1, 12.34] });
  });

  it.each<[string, Buffer, string]>([
    ['a damaged XLSX workbook', Buffer.from('PK\x03\x04\x14\x00\x06\x00'), 'save it as "CSV UTF-8"'],
    ['an XLS workbook', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'save it as "CSV UTF-8"'],
    ['a PDF', Buffer.from('%PDF-1.7\n'), 'as CSV'],
  ])('is refused as %s, with what to do instead', async (_what, bytes, advice) => {
    const answer = await uploadBytes(bytes);
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toContain(advice);
    expect((await uploadBytes(bytes, XLSX_TYPE)).status).toBe(400);
    const typed = await uploadBytes(bytes, 'application/vnd.ms-excel');
    expect(typed.status).toBe(415);
    expect(typed.body.error.message).toContain('Save a spreadsheet as XLSX or as "CSV UTF-8" first');
  });
});

describe('a file that is not a statement', () => {
  const count = async () => (await service.call('GET', '/reconciliations/statements')).body.pagination.total;

  it.each([
    ['has no head', 'a,b\r\n1,2\r\n', /Receipt No\., Completion Time, Transaction Status, Paid In/],
    ['is empty', '\r\n', /Receipt No\./],
    ['lacks a required column', 'Receipt No.,Completion Time,Paid In\r\nA,B,1\r\n', /Transaction Status/],
    ['has no head among many lines', 'x,y\r\n'.repeat(200), /first 100/],
    ['has a head but no lines', file([]), /no lines/],
    ['has a quote that is not closed', `${file([])}SKB1,"open\r\nSKB2,x\r\n`, /A quote is never closed\.$/],
    ['has an endless line', `${file([])}SKB1,"${'x'.repeat(20_000)}"\r\n`, /longer than 16384 bytes/],
    [
      'has a sum that JSON cannot hold',
      file(Array.from({ length: 11 }, () => line(newReceipt(), '999,999,999,999.99'))),
      /add up/,
    ],
  ])('is refused as a whole when it %s', async (_why, body, reason) => {
    const before = await count();
    const answer = await upload(body);
    expect(wrongFields(answer)).toEqual(['body']);
    expect(answer.body.error.message).toMatch(reason);
    expect(await count()).toBe(before);
    const { rows } = await sql`
      select from provider_statement_lines l where not exists (
        select from provider_statements s where s.id = l.statement_id)`.execute(service.context.db);
    expect(rows).toEqual([]);
  });

  it('is refused with 415 as JSON or without a type, and with 413 above 64 MiB', async () => {
    expect((await upload('{}', { 'content-type': 'application/json' })).status).toBe(415);
    const nothing = await service.call('POST', '/reconciliations/statements');
    expect(nothing.status).toBe(415);
    const large = await open('/reconciliations/statements', 'text/csv', 64 * 1024 * 1024 + 1);
    await eventually(large.text).toMatch(/^HTTP\/1\.1 413 [\s\S]*at most 64 MiB/);
    await large.closed;
  });

  it('leaves nothing when its sender disconnects', async () => {
    const before = await count();
    const { socket } = await open('/reconciliations/statements', 'text/csv', 100_000);
    socket.write(file([line(newReceipt(), '1')]));
    const atWork = async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from pg_stat_activity where datname = current_database() and query like 'copy provider%'
          and state = 'active'`.execute(service.context.db);
      return rows[0]?.n;
    };
    await eventually(atWork).toBe(1);
    socket.destroy();
    await eventually(atWork).toBe(0);
    expect(await count()).toBe(before);
  });
});

describe('a payment that is missing in the books', () => {
  it('earns the early payoff of its account, and ends it when it is reversed', async () => {
    const plan = await dataOf(
      service.call('POST', '/payplans', {
        ...{
          name: 'Early payoff',
          deposit: 0,
          instalmentAmount: 100,
          instalmentCount: 10,
          frequency: 'weekly',
        },
        earlyPayoff: { discountBasisPoints: 1_000 },
      }),
      201,
    );
    const account = await newAccount(service, { payplanId: plan.id, activationDate: '2026-11-02' });
    const receipt = newReceipt();
    const paidOff = line(receipt, '900.00', { 'A/C No.': account.accountNumber });
    await started((await uploaded(file([paidOff]))).id, 'import');
    expect(await accountNow(service, account.id)).toMatchObject({
      ...{ status: 'completed', total: 900, paid: 900, credit: 0 },
    });
    const changes = () => dataOf(service.call('GET', `/accounts/${account.id}/plan-changes?sort=id:asc`));
    expect(await changes()).toMatchObject([{ kind: 'payoff', effectiveOn: '2026-11-02' }]);
    const [payment] = await paymentsOf(receipt);
    await reverse(service, payment.id);
    expect(await accountNow(service, account.id)).toMatchObject({ status: 'active', total: 1_000, paid: 0 });
    expect(await changes()).toMatchObject([{ kind: 'payoff' }, { kind: 'undo', effectiveOn: '2026-11-02' }]);
    await expectBooksToBalance(service.context);
  });

  it('is imported like a notification, and then its line is matched', async () => {
    const account = await newAccount(service);
    const [known, stranger] = [newReceipt(), newReceipt()];
    const july = { 'Completion Time': '01-07-2026 23:30:00' };
    const statement = await uploaded(
      file([
        line(known, '2,000.00', { ...july, 'A/C No.': account.accountNumber }),
        line(stranger, '7', { ...july, 'A/C No.': 'SOLAR', 'Other Party Info': '254799999999 - OTIENO' }),
      ]),
    );
    const after = await started(statement.id, 'import');
    expect(after.progress).toMatchObject({ compared: 2, imported: 2 });
    expect(figures(after)).toEqual({ matched: [2, 2007] });
    expect(await accountNow(service, account.id)).toMatchObject({ paid: 2000 });
    const [payment] = await paymentsOf(known);
    expect(payment).toMatchObject({
      accountId: account.id,
      source: 'import',
      status: 'matched',
      matchMethod: 'account_number',
      paymentDate: '2026-07-01',
    });
    const unmatched = await service.call('GET', `/payments/unmatched?filter[transactionRef]=${stranger}`);
    expect(unmatched.body.data[0]).toMatchObject({
      reference: 'SOLAR',
      payer: '254799999999',
      source: 'import',
    });
    const notes = await service.call('GET', `/notifications?filter[transactionRef]=${stranger}`);
    expect(JSON.parse(notes.body.data[0].rawBody)).toMatchObject({
      payerName: 'OTIENO',
      statementId: statement.id,
    });

    // A second import has nothing to do.
    const again = await started(statement.id, 'import');
    expect(again.progress.imported).toBe(2);
    expect(await paymentsOf(known)).toHaveLength(1);
    await expectBooksToBalance(service.context);
  });

  it('is credited once, without a conflict, when the notification arrives later', async () => {
    const receipt = newReceipt();
    const statement = await uploaded(file([line(receipt, '15')]));
    await started(statement.id, 'import');
    const late = await notified(service, { TransID: receipt, TransAmount: '15.00', MSISDN: '2547****678' });
    const [payment, ...others] = await paymentsOf(receipt);
    expect(late).toEqual({ outcome: 'repeated', paymentId: payment.id });
    expect(others).toEqual([]);
    const other = await notified(service, { TransID: receipt, TransAmount: '16' });
    expect(other).toEqual({ outcome: 'differs', paymentId: payment.id });
    await expectBooksToBalance(service.context);
  });

  it('is one payment when its notification arrives at the same moment', async () => {
    const accounts: { id: number; accountNumber: string }[] = [];
    for (let i = 0; i < 8; i++) accounts.push(await newAccount(service));
    const many = Array.from({ length: 40 }, (_, index) => ({
      receipt: newReceipt(),
      account: accounts[index % 8]?.accountNumber ?? '',
    }));
    const statement = await uploaded(
      file(many.map(({ receipt, account }) => line(receipt, '10', { 'A/C No.': account }))),
    );
    expect(figures(statement)).toMatchObject({ missing_in_books: [40, 400] });
    const [answers] = await Promise.all([
      Promise.all(
        many.toReversed().map(({ receipt, account }) =>
          notified(service, {
            TransID: receipt,
            TransAmount: '10',
            BillRefNumber: account,
            MSISDN: '2547****678',
          }),
        ),
      ),
      started(statement.id, 'import'),
    ]);
    // A busy machine may leave some to the minute job.
    const outcomes = new Set(answers.map(({ outcome }) => outcome));
    expect(['matched', 'repeated', 'pending']).toEqual(expect.arrayContaining([...outcomes]));
    await runJobs(service);
    for (const { id } of accounts) expect((await accountNow(service, id)).paid).toBe(50);
    expect(figures(await started(statement.id, 'match'))).toMatchObject({ matched: [40, 400] });
    await expectBooksToBalance(service.context);
  });

  it('is linked to a manual payment that was recorded during the upload', async () => {
    const receipt = newReceipt();
    const { id: accountId } = await newAccount(service);
    const statement = await uploaded(file([line(receipt, '33')]));
    const entry = await recordedBesideUpload({ accountId, amount: 33 }, receipt);
    const after = await started(statement.id, 'import');
    expect(figures(after)).toMatchObject({ matched: [1, 33] });
    expect(await paymentsOf(receipt)).toMatchObject([{ id: entry.id, matchMethod: 'manual_entry' }]);
    await expectBooksToBalance(service.context);
  });
});

/** Records a payment like a request that searched for statement lines before the line with the receipt was stored. */
async function recordedBesideUpload(
  body: { accountId: number; amount: number },
  receipt: string,
  token = service.adminToken,
) {
  const rename = (from: string, to: string) =>
    sql`update provider_statement_lines set receipt = ${to} where receipt = ${from}`.execute(
      service.context.db,
    );
  await rename(receipt, `${receipt}-LATER`);
  const fields = { paymentMethodId: 2, transactionRef: receipt, paymentDate: '2026-11-02' };
  const answer = await service.call('POST', '/payments', { ...body, ...fields }, { token });
  expect(answer.status, answer.text).toBe(201);
  await rename(`${receipt}-LATER`, receipt);
  return answer.body.data;
}

describe('a manual payment whose transaction a statement reports', () => {
  const [MOBILE_MONEY, CASH] = [1, 2];
  let days = 0;

  /** A transaction of 400 that the payer meant for one account and an agent recorded on another. */
  async function diverted() {
    const [meant, other] = [await newAccount(service), await newAccount(service)];
    const receipt = newReceipt();
    days += 1;
    const day = `2026-02-${String(days).padStart(2, '0')}`;
    const agent = await service.tokenOf('agent');
    const record = (fields: object = {}, token = agent) =>
      service.call(
        'POST',
        '/payments',
        {
          accountId: other.id,
          amount: 400,
          paymentMethodId: MOBILE_MONEY,
          transactionRef: receipt,
          paymentDate: day,
          ...fields,
        },
        { token },
      );
    const fields = { 'Completion Time': `${day} 12:00:00`, 'A/C No.': meant.accountNumber };
    return { meant, other, receipt, record, fields, agent, body: file([line(receipt, '400.00', fields)]) };
  }

  async function conflictsOf(receipt: string) {
    const path = `/notifications?filter[outcome]=conflict&filter[transactionRef]=${receipt}`;
    return (await service.call('GET', path)).body.data;
  }

  async function resolve(receipt: string, paymentId: number | null) {
    const [conflict] = await conflictsOf(receipt);
    const path = `/notifications/${conflict.id}/resolve`;
    return dataOf(service.call('POST', path, { paymentId, reason: 'asked the customer' }));
  }

  const paidOn = async (...accounts: { id: number }[]) =>
    Promise.all(accounts.map(async ({ id }) => (await accountNow(service, id)).paid));

  it('is a conflict, and neither matched, imported nor reconciled, until finance resolves it', async () => {
    const { meant, other, receipt, record, body } = await diverted();
    const manual = (await record()).body.data;
    const statement = await uploaded(body);
    const inConflict = { conflict: [1, 400] };
    expect(figures(statement)).toEqual(inConflict);
    const [disputed] = await linesOf(statement.id, '&filter[result]=conflict');
    expect(disputed).toMatchObject({ receipt, paymentId: manual.id, paymentStatus: 'matched' });
    expect(disputed.problem).toContain(`filter[outcome]=conflict&filter[transactionRef]=${receipt}`);
    const waiting = await conflictsOf(receipt);
    expect(waiting).toMatchObject([{ flags: ['other_account'], conflictingPaymentId: manual.id }]);

    for (const stage of ['match', 'import', 'reconcile'])
      expect(figures(await started(statement.id, stage))).toEqual(inConflict);
    const { progress } = await ended(statement.id);
    expect(progress).toMatchObject({ imported: 0, reconciled: 0 });
    expect(await conflictsOf(receipt)).toEqual(waiting);
    expect(await paidOn(meant, other)).toEqual([0, 400]);
    await expectBooksToBalance(service.context);

    expect(await resolve(receipt, null)).toMatchObject({ outcome: 'matched' });
    expect(await paidOn(meant, other)).toEqual([400, 0]);
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [1, 400] });
    expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(1);
    await expectBooksToBalance(service.context);
  });

  it('stays on its account and matches when finance says that it is the transaction', async () => {
    const { other, receipt, record, body } = await diverted();
    const manual = (await record()).body.data;
    const statement = await uploaded(body);
    expect(await resolve(receipt, manual.id)).toMatchObject({ outcome: 'linked', paymentId: manual.id });
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [1, 400] });
    expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(1);
    expect(await paidOn(other)).toEqual([400]);
    await expectBooksToBalance(service.context);
  });

  it('is linked and matches when it is on the account that the payer named', async () => {
    const { meant, receipt, record, body } = await diverted();
    const manual = (await record({ accountId: meant.id })).body.data;
    expect(figures(await uploaded(body))).toEqual({ matched: [1, 400] });
    expect(await paymentsOf(receipt)).toMatchObject([{ id: manual.id, matchMethod: 'manual_entry' }]);
    expect(await conflictsOf(receipt)).toEqual([]);
    await expectBooksToBalance(service.context);
  });

  it('is a conflict when the reference is unreadable and another customer’s phone paid', async () => {
    const { receipt, record, fields } = await diverted();
    const payer = await newCustomer(service);
    await newAccount(service, { customerId: payer.id });
    expect((await record()).status).toBe(201);
    const sent = { 'A/C No.': 'MY PUMP', 'Other Party Info': `${payer.phone.slice(1)} - A B` };
    expect(figures(await uploaded(file([line(receipt, '400', { ...fields, ...sent })])))).toEqual({
      conflict: [1, 400],
    });
  });

  it('does not match while a notification of its transaction is in conflict', async () => {
    const { meant, receipt, record, body } = await diverted();
    const manual = (await record()).body.data;
    await notified(service, { TransID: receipt, TransAmount: '400', BillRefNumber: meant.accountNumber });
    const statement = await uploaded(body);
    expect(figures(statement)).toEqual({ conflict: [1, 400] });
    expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(0);
    const all = await service.call('GET', `/notifications?filter[transactionRef]=${receipt}`);
    expect(all.body.data).toMatchObject([{ outcome: 'conflict' }]);
    await resolve(receipt, manual.id);
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [1, 400] });
  });

  it('is refused after the upload, for every method and role', async () => {
    const { meant, other, receipt, record, agent, body } = await diverted();
    const statement = await uploaded(body);
    const finance = await service.tokenOf('finance');
    const spelling = { transactionRef: ` ${receipt.toLowerCase().replace('skb', 'skb ')}` };
    for (const fields of [{}, { paymentMethodId: CASH }, spelling]) {
      for (const [token, id] of [
        [agent, undefined],
        [finance, statement.id],
      ]) {
        const refused = await record(fields, token);
        expect(refused.status, refused.text).toBe(409);
        const details = { resource: 'provider_statement', field: 'transactionRef' };
        expect(refused.body.error.details).toEqual(id === undefined ? details : { ...details, id });
      }
    }
    expect(figures(await started(statement.id, 'import'))).toEqual({ matched: [1, 400] });
    expect(await paidOn(meant, other)).toEqual([400, 0]);
    const [posted] = await paymentsOf(receipt);
    expect((await record()).body.error.details).toMatchObject({ resource: 'payment', id: posted.id });
  });

  it('is refused by the database after the upload', async () => {
    const { other, receipt, body } = await diverted();
    await uploaded(body);
    const insert = sql`
      insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date,
        status, source)
      values (${other.id}, 40000, ${CASH}, ${receipt}, ${receipt}, '2026-11-02', 'matched', 'manual')`;
    await expect(insert.execute(service.context.db)).rejects.toMatchObject({
      constraint: 'payments_transaction_known',
    });
  });

  it('is a conflict when another one has another method', async () => {
    const { meant, other, receipt, record, body } = await diverted();
    for (const paymentMethodId of [MOBILE_MONEY, CASH]) {
      const recorded = await record({ paymentMethodId, accountId: meant.id });
      expect(recorded.status, recorded.text).toBe(201);
    }
    const statement = await uploaded(body);
    expect(figures(statement)).toMatchObject({ conflict: [1, 400] });
    await resolve(receipt, null);
    expect(figures(await started(statement.id, 'match'))).toEqual({ matched: [1, 400] });
    expect(await paidOn(meant, other)).toEqual([400, 0]);
    await expectBooksToBalance(service.context);
  });

  it('is found by importing before matching, and by matching again', async () => {
    for (const stage of ['import', 'match']) {
      const { other, receipt, agent, body } = await diverted();
      const statement = await uploaded(body);
      expect(figures(statement)).toEqual({ missing_in_books: [1, 400] });
      await recordedBesideUpload({ accountId: other.id, amount: 400 }, receipt, agent);
      expect(figures(await started(statement.id, stage))).toEqual({ conflict: [1, 400] });
      expect(await conflictsOf(receipt)).toHaveLength(1);
      expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(0);
    }
  });

  it('is not reconciled when an earlier version matched it by its reference alone', async () => {
    const { receipt, record, body } = await diverted();
    await record();
    const statement = await uploaded(body);
    await sql`update provider_statement_lines set result = 'matched' where receipt = ${receipt}`.execute(
      service.context.db,
    );
    expect((await started(statement.id, 'reconcile')).progress.reconciled).toBe(0);
    expect(figures(await started(statement.id, 'match'))).toEqual({ conflict: [1, 400] });
  });

  it('is left to staff when the provider reversed the transaction', async () => {
    const { receipt, record, fields } = await diverted();
    const manual = (await record()).body.data;
    const back = { ...fields, Withdrawn: '-400', Details: 'Reversal', 'Linked Transaction ID': receipt };
    const statement = await uploaded(file([line(receipt, '400', fields), line(newReceipt(), '', back)]));
    expect(figures(statement)).toMatchObject({ reversed_at_provider: [1, 400] });
    expect(await conflictsOf(receipt)).toEqual([]);
    await reverse(service, manual.id);
    expect(await paymentsOf(receipt)).toMatchObject([{ status: 'reversed' }]);
    await expectBooksToBalance(service.context);
  });
});

describe('the number of imported payments', () => {
  it('excludes payments that the books had already and lines that wait for staff', async () => {
    const [fresh, reported, entered, disputed] = [newReceipt(), newReceipt(), newReceipt(), newReceipt()];
    const { id: accountId } = await newAccount(service);
    const statement = await uploaded(
      file([line(fresh, '1'), line(reported, '2'), line(entered, '3'), line(disputed, '4')]),
    );
    expect(figures(statement)).toMatchObject({ missing_in_books: [4, 10] });
    await notified(service, { TransID: reported, TransAmount: '2' });
    await recordedBesideUpload({ accountId, amount: 3 }, entered);
    await recordedBesideUpload({ accountId, amount: 5 }, disputed);
    const after = await started(statement.id, 'import');
    expect(after.progress.imported).toBe(1);
    expect(figures(after)).toMatchObject({ matched: [3, 6], conflict: [1, 4] });
    expect((await started(statement.id, 'import')).progress.imported).toBe(1);
  });
});

describe('the number of imported payments of overlapping statements', () => {
  it('counts each payment at the statement that imported it, and at no other', async () => {
    const [one, two, three] = [newReceipt(), newReceipt(), newReceipt()];
    const august = { 'Completion Time': '03-08-2026 12:00:00' };
    const first = await uploaded(file([line(one, '11', august), line(two, '22', august)]));
    const second = await uploaded(file([line(two, '22', august), line(three, '33', august)]));
    expect(figures(second)).toEqual({ missing_in_books: [2, 55] });
    expect((await started(first.id, 'import')).progress.imported).toBe(2);
    const after = await started(second.id, 'import');
    expect(after.progress.imported).toBe(1);
    expect(figures(after)).toEqual({ matched: [2, 55] });
    for (const receipt of [one, two, three]) expect(await paymentsOf(receipt)).toHaveLength(1);
  });
});

describe('a matched payment', () => {
  it('is reconciled once, in a batch of its statement', async () => {
    const [first, second, undone] = [newReceipt(), newReceipt(), newReceipt()];
    const june = { TransTime: '20260601120000' };
    const one = await notified(service, { ...june, TransID: first, TransAmount: '11' });
    await notified(service, { ...june, TransID: second, TransAmount: '12' });
    const gone = await notified(service, { ...june, TransID: undone, TransAmount: '13' });
    await service.call('POST', '/payments/reconcile', { paymentIds: [one.paymentId] });
    const time = { 'Completion Time': '01-06-2026 12:00:00' };
    const statement = await uploaded(
      file([
        line(first, '11', time),
        line(second, '12', time),
        line(undone, '13', time),
        line(newReceipt(), '1', time),
      ]),
    );
    await reverse(service, gone.paymentId); // after the comparison
    const after = await started(statement.id, 'reconcile', { reconciliationDate: '2026-06-30' });
    expect(after.progress.reconciled).toBe(1);
    const batches = await service.call('GET', `/reconciliations?filter[providerStatementId]=${statement.id}`);
    expect(batches.body.data).toMatchObject([
      { paymentCount: 1, total: 12, reconciliationDate: '2026-06-30', providerStatementId: statement.id },
    ]);
    expect(await paymentsOf(second)).toMatchObject([{ reconciliationDate: '2026-06-30' }]);
    expect((await paymentsOf(undone))[0].reconciliationId).toBeNull();

    const again = await started(statement.id, 'reconcile');
    expect(again.progress.reconciled).toBe(1);
    const same = await service.call('GET', `/reconciliations?filter[providerStatementId]=${statement.id}`);
    expect(same.body.pagination.total).toBe(1);
    const audit = await service.call('GET', '/audit?filter[action]=payments.reconcile&limit=1');
    expect(audit.body.data[0]).toMatchObject({ actor: 'admin@example.com' });
  });
});

describe('the reconciliation date of a statement', () => {
  it('must not be before its last day', async () => {
    const receipt = newReceipt();
    const april = { 'Completion Time': '20-04-2026 10:15:30' };
    const statement = await uploaded(file([line(receipt, '5', april)]));
    await started(statement.id, 'import');
    const reconcile = (reconciliationDate: string) =>
      service.call('POST', `/reconciliations/statements/${statement.id}/reconcile`, { reconciliationDate });
    const early = await reconcile('2026-04-19');
    expect(wrongFields(early)).toEqual(['reconciliationDate']);
    expect(early.body.error.message).toContain('must not be before 2026-04-20');
    expect(
      (await started(statement.id, 'reconcile', { reconciliationDate: '2026-04-20' })).progress,
    ).toMatchObject({ reconciled: 1 });
    expect((await paymentsOf(receipt))[0]).toMatchObject({ reconciliationDate: '2026-04-20' });
  });
});

describe('work on a statement', () => {
  it('imports every line once, also if it takes more than one step', async () => {
    const time = { 'Completion Time': '01-05-2026 12:00:00' };
    const receipts = Array.from({ length: 255 }, newReceipt);
    const statement = await uploaded(file(receipts.map((receipt) => line(receipt, '1', time))));
    const after = await started(statement.id, 'import');
    expect([figures(after), after.progress.imported]).toEqual([{ matched: [255, 255] }, 255]);
  });

  /** Sets the state of a statement between two steps, without a job. */
  async function leave(id: number, fields: string) {
    await sql`update provider_statements set ${sql.raw(fields)} where id = ${id}`.execute(service.context.db);
  }

  /** Runs the job of a statement once. */
  function attempt(id: number, isLast = false) {
    const { context, parts } = service;
    return workOnStatement(context, parts.log, id, { isLast, signal: new AbortController().signal });
  }

  it('is queued again by the minute job when its job is lost, and continues at its position', async () => {
    const [one, two, three] = [newReceipt(), newReceipt(), newReceipt()];
    const time = { 'Completion Time': '01-05-2026 12:00:00' };
    const statement = await uploaded(
      file([line(one, '1', time), line(two, '2', time), line(three, '3', time)]),
    );

    await leave(statement.id, `status = 'received'`);
    await runJobs(service);
    expect(await ended(statement.id)).toEqual({ ...statement, updatedAt: expect.any(String) });

    // The first line was imported, but the position was not stored.
    await started(statement.id, 'import');
    expect(await paymentsOf(one)).toHaveLength(1);
    await leave(statement.id, `status = 'importing', imported_to_line = 0, imported_count = 0`);
    await sql`update provider_statement_lines set result = 'missing_in_books', payment_id = null
      where statement_id = ${statement.id}`.execute(service.context.db);
    await runJobs(service);
    const after = await ended(statement.id);
    expect([figures(after), after.progress.imported]).toEqual([{ matched: [3, 6] }, 3]);
    for (const receipt of [one, two, three]) expect(await paymentsOf(receipt)).toHaveLength(1);

    await leave(
      statement.id,
      `status = 'reconciling', reconciling_date = '2026-05-31', reconciled_to_line = 7`,
    );
    await runJobs(service);
    expect((await ended(statement.id)).progress.reconciled).toBe(2);
    await expectBooksToBalance(service.context);
  });

  it('is done when a user asks again for the stage that is running', async () => {
    const statement = await uploaded(file([line(newReceipt(), '1')]));
    await leave(statement.id, `status = 'matching'`);
    expect((await started(statement.id, 'match')).status).toBe('done');
  });

  it('waits for all lines of a step of which one failed', async () => {
    const receipts = Array.from({ length: 5 }, newReceipt);
    const { db } = service.context;
    const statement = await uploaded(file(receipts.map((receipt) => line(receipt, '1'))));
    await sql`create function refuse_one() returns trigger language plpgsql as ${sql.lit(`begin
      if new.trans_id = '${receipts[0]}' then raise exception 'broken on purpose'; end if;
      perform pg_sleep(0.1); return new; end`)}`.execute(db);
    await sql`create trigger refuse_one before insert on notifications
      for each row execute function refuse_one()`.execute(db);
    await leave(statement.id, `status = 'importing'`);
    await expect(attempt(statement.id)).rejects.toThrow('broken on purpose');
    const { rows } = await sql`select from notifications where trans_id = any(${receipts})`.execute(db);
    expect(rows).toHaveLength(4);
    await sql`drop trigger refuse_one on notifications`.execute(db);
    const after = await started(statement.id, 'import');
    expect(figures(after)).toMatchObject({ matched: [5, 5] });
    expect(after.progress.imported).toBe(5);
  });

  it('fails after the last attempt, shows the reason to operators only, and can be started again', async () => {
    const { context } = service;
    const statement = await uploaded(file([line(newReceipt(), '1')]));
    await sql`create function refuse_compare() returns trigger language plpgsql as
      'begin raise exception ''broken on purpose''; end'`.execute(context.db);
    await sql`create trigger refuse before update on provider_statement_lines
      for each row execute function refuse_compare()`.execute(context.db);
    await leave(statement.id, `status = 'matching', compared_to_line = 0`);
    const path = `/reconciliations/statements/${statement.id}`;
    await expect(attempt(statement.id, false)).rejects.toThrow('broken on purpose');
    expect((await service.call('GET', path)).body.data).toMatchObject({ status: 'matching', failure: null });
    await expect(attempt(statement.id, true)).rejects.toThrow('broken on purpose');
    expect((await service.call('GET', path)).body.data).toMatchObject({
      status: 'failed',
      failure: expect.stringContaining('The reason is in the log'),
    });
    const { rows } = await sql`select failure from provider_statements where id = ${statement.id}`.execute(
      context.db,
    );
    expect(rows).toEqual([{ failure: 'broken on purpose' }]);
    const refused = await service.call('POST', `${path}/import`);
    expect(refused.status).toBe(400);
    expect(refused.body.error.details).toEqual({ from: 'failed', to: 'importing', allowed: ['matching'] });
    await sql`drop trigger refuse on provider_statement_lines`.execute(context.db);
    expect((await started(statement.id, 'match')).status).toBe('done');
  });
});

describe('the time limit of a body', () => {
  it('is longer for a statement than for other requests', async () => {
    const instance = await startInstanceForTest(service, {}, { bodyMs: 50 });
    const body = file([line(newReceipt(), '1')]).padEnd(5000, '\n');
    const upload = await open('/reconciliations/statements', 'text/csv', Buffer.byteLength(body), instance);
    upload.socket.write(body.slice(0, 20));
    const slow = await open('/payments', 'application/json', 5000, instance);
    slow.socket.write(' ');
    await slow.closed;
    expect(slow.text()).toMatch(/^HTTP\/1\.1 408 /);
    upload.socket.write(body.slice(20));
    await eventually(upload.text).toMatch(/^HTTP\/1\.1 201 /);
    upload.socket.destroy();
  });
});

describe('a service that stops', () => {
  it('interrupts an upload that is being stored', async () => {
    const { service: other, close } = await startTestService();
    let closed: Promise<void> | undefined;
    try {
      await sql`create function never_store() returns trigger language plpgsql as
        'begin perform pg_sleep(3600); return new; end'`.execute(other.context.db);
      await sql`create trigger never before update on provider_statements
        for each row execute function never_store()`.execute(other.context.db);
      const answer = other.call('POST', '/reconciliations/statements', file([line(newReceipt(), '1')]), {
        headers: { 'content-type': 'text/csv' },
      });
      await until('the upload to be stored', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event = 'PgSleep'`.execute(other.context.db);
        return rows.length === 1;
      });
      closed = close();
      expect((await answer).status).toBe(503);
      await closed;
    } finally {
      await (closed ?? close());
    }
  });
});

it('the harness’s notification is one of the short code of these files', () => {
  expect(notification().BusinessShortCode).toBe('600638');
});
