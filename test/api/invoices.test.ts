import { execFileSync, spawnSync } from 'node:child_process';
import { inflateSync } from 'node:zlib';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { dataOf, newAccount, newCustomer, setToday, useService, wrongFields } from '../support/harness.ts';

const service = useService({
  COMPANY_NAME: 'Jua Nguvu Solar',
  COMPANY_ADDRESS: 'Ngong Road 117 | Nairobi',
  PAYBILL_NUMBERS: '600638, 600639',
});

const item = { description: 'Solar pump SP-150', quantity: 1, unitPrice: 45_000 };

let accountId: number;
beforeAll(async () => {
  accountId = (await newAccount(service)).id;
});

function issue(items: Record<string, unknown>[] = [item], id = accountId) {
  return dataOf(service.call('POST', '/invoices', { accountId: id, items }), 201);
}

describe('POST /invoices', () => {
  it('returns the request with number, totals and status', async () => {
    const body = {
      accountId,
      items: [
        { description: 'Cable, per metre', quantity: 12.125, unitPrice: 99.99 },
        { description: 'Instruction', quantity: 0.5, unitPrice: 0.01 },
        { description: 'Delivery', quantity: 3, unitPrice: 0 },
      ],
    };
    const { status, body: answer } = await service.call('POST', '/invoices', body);
    expect(status).toBe(201);
    expect(answer.data).toMatchObject(body);
    expect(answer.data).toMatchObject({
      status: 'issued',
      currency: 'KES',
      total: 1_212.39,
      voidedAt: null,
      voidReason: null,
    });
    expect(answer.data.items.map((line: { lineTotal: number }) => line.lineTotal)).toEqual([
      1_212.38, 0.01, 0,
    ]);
    expect(answer.data.number).toMatch(/^INV-\d{4}-\d{6}$/);
    expect(answer.data.number.slice(4, 8)).toBe(answer.data.issuedOn.slice(0, 4));
    const read = await service.call('GET', `/invoices/${answer.data.id}`);
    expect(read.body.data).toEqual(answer.data);
  });

  it('refuses a due date before the day of issue, and keeps a valid one', async () => {
    setToday(service, '2026-11-02');
    const due = (dueDate: string) => service.call('POST', '/invoices', { accountId, items: [item], dueDate });
    expect(wrongFields(await due('2026-11-01'))).toEqual(['dueDate']);
    const { status, body } = await due('2026-11-02');
    expect(status).toBe(201);
    const list = await service.call('GET', '/invoices?filter[dueDate]=2026-11-02');
    expect(list.body.data).toMatchObject([{ id: body.data.id, dueDate: '2026-11-02' }]);
    await expect(
      sql`update invoices set due_on = '2026-12-24' where id = ${body.data.id}`.execute(service.context.db),
    ).rejects.toThrow('is frozen');
  });

  it('names every wrong field', async () => {
    const items = [
      { description: ' ', quantity: 0, unitPrice: -1 },
      { description: 'x', quantity: 1.0005, unitPrice: 0.001 },
      { description: 'x', quantity: '1', unitPrice: 1, price: 1 },
    ];
    const { status, body } = await service.call('POST', '/invoices', { accountId, items });
    expect(status).toBe(400);
    expect(body.error.details.fields.map((field: { path: string }) => field.path).sort()).toEqual([
      'items[0].description',
      'items[0].quantity',
      'items[0].unitPrice',
      'items[1].quantity',
      'items[1].unitPrice',
      'items[2].price',
      'items[2].quantity',
    ]);
    expect(body.error.details.fields).toContainEqual({
      path: 'items[1].quantity',
      message: 'must have no more than 3 decimals',
    });
  });

  it('accepts 1 to 200 items', async () => {
    for (const [count, expected] of [
      [0, 400],
      [200, 201],
      [201, 400],
    ] as const) {
      const { status } = await service.call('POST', '/invoices', {
        accountId,
        items: Array(count).fill(item),
      });
      expect(status, `${count} items`).toBe(expected);
    }
  });

  it('refuses a total above the largest amount', async () => {
    const most = { description: 'x', quantity: 1, unitPrice: 999_999_999_999.99 };
    expect((await issue([most])).total).toBe(999_999_999_999.99);
    const cent = { description: 'x', quantity: 0.5, unitPrice: 0.01 };
    const { status, body } = await service.call('POST', '/invoices', { accountId, items: [most, cent] });
    expect(status).toBe(400);
    expect(body.error.details.fields).toEqual([
      { path: 'items', message: 'must add up to at most 999999999999.99' },
    ]);
  });

  it('answers 404 for an unknown account', async () => {
    const { status, body } = await service.call('POST', '/invoices', { accountId: 999_999, items: [item] });
    expect(status).toBe(404);
    expect(body.error.details).toEqual({ resource: 'account', field: 'accountId', id: 999_999 });
  });

  it('writes an audit row and no ledger entry', async () => {
    const { db } = service.context;
    const entries = () =>
      db.selectFrom('ledger_entries').select(sql<number>`count(*)`.as('n')).executeTakeFirst();
    const before = await entries();
    const { id, number } = await issue();
    expect(await entries()).toEqual(before);
    const row = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('resource', '=', 'invoice')
      .where('resource_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({
      action: 'invoice.issue',
      actor: 'admin@example.com',
      after: { number, accountId, totalMinor: 4_500_000 },
    });
  });
});

describe('the numbers of a year', () => {
  it('have no gap, whatever fails concurrently', async () => {
    const { db } = service.context;
    const year = (await issue()).issuedOn.slice(0, 4);
    // Fails after the number was taken, at the last write of an issue.
    await sql`
      create function refuse_unlucky() returns trigger language plpgsql as $$
      begin raise exception 'unlucky'; end $$`.execute(db);
    await sql`
      create trigger unlucky before insert on audit_entries for each row
      when (new.after ->> 'totalMinor' = '1300') execute function refuse_unlucky()`.execute(db);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        service.call('POST', '/invoices', {
          accountId,
          items: [{ description: 'Race', quantity: 1, unitPrice: index % 5 === 0 ? 13 : 7 }],
        }),
      ),
    );
    await sql`drop trigger unlucky on audit_entries`.execute(db);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(40);
    expect(answers.filter(({ status }) => status === 500)).toHaveLength(10);
    await issue();
    const { rows } = await sql<{ year_number: number }>`
      select year_number from invoices where year = ${Number(year)} order by year_number`.execute(db);
    expect(rows.map((row) => row.year_number)).toEqual(rows.map((_row, index) => index + 1));
  });

  it('restart with the year of the business time zone', async () => {
    // 21:30 UTC on New Year's Eve is half past midnight in Nairobi.
    await service.clock.set(new Date('2031-12-31T20:30:00Z'));
    expect(await issue()).toMatchObject({ number: 'INV-2031-000001', issuedOn: '2031-12-31' });
    await service.clock.set(new Date('2031-12-31T21:30:00Z'));
    expect(await issue()).toMatchObject({ number: 'INV-2032-000001', issuedOn: '2032-01-01' });
    expect(await issue()).toMatchObject({ number: 'INV-2032-000002' });
    await service.clock.set(null);
  });
});

describe('GET /invoices', () => {
  it('lists invoices without their lines, filtered and sorted', async () => {
    const own = (await newAccount(service)).id;
    const { items: _one, ...small } = await issue([{ ...item, unitPrice: 10 }], own);
    const { items: _two, ...large } = await issue([item, { ...item, description: 'Second' }], own);
    const list = async (query: string) => {
      const { body } = await service.call('GET', `/invoices?filter[accountId]=${own}&${query}`);
      return body.data;
    };
    expect(await list('sort=total:desc')).toEqual([large, small]);
    expect(await list('filter[total][lte]=10')).toEqual([small]);
    expect(await list(`filter[number]=${large.number}`)).toEqual([large]);
    expect(await list('filter[status]=void')).toEqual([]);
  });
});

describe('POST /invoices/:id/void', () => {
  it('keeps the invoice with a reason, once', async () => {
    const issued = await issue();
    const first = await service.call('POST', `/invoices/${issued.id}/void`, { reason: 'Wrong customer' });
    expect(first.status).toBe(200);
    expect(first.body.data).toEqual({
      ...issued,
      status: 'void',
      voidReason: 'Wrong customer',
      voidedAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const second = await service.call('POST', `/invoices/${issued.id}/void`, { reason: 'Again' });
    expect(second.status).toBe(400);
    expect(second.body.error.details).toEqual({ from: 'void', to: 'void', allowed: [] });
    expect((await service.call('POST', '/invoices/999999/void', { reason: 'x' })).status).toBe(404);
    expect((await service.call('POST', `/invoices/${issued.id}/void`, {})).status).toBe(400);
  });

  it('is the only possible change of an invoice, even in the database', async () => {
    const { id } = await issue();
    await service.call('POST', `/invoices/${id}/void`, { reason: 'Wrong customer' });
    const other = (await issue()).id;
    for (const statement of [
      `update invoices set total_minor = 1 where id = ${other}`,
      `update invoices set issued_on = issued_on - 1 where id = ${other}`,
      `update invoices set status = 'issued', voided_at = null, void_reason = null where id = ${id}`,
      `delete from invoices where id = ${other}`,
      `update invoice_items set unit_price_minor = 0, line_total_minor = 0 where invoice_id = ${other}`,
      `delete from invoice_items where invoice_id = ${other}`,
      `insert into invoice_items values (${other}, 2, 'x', 1000, 1, 1)`,
      'delete from invoice_numbers',
    ]) {
      await expect(sql.raw(statement).execute(service.context.db), statement).rejects.toThrow(
        /frozen|never edited|sum of its lines/,
      );
    }
  });
});

describe('GET /invoices/:id/pdf', () => {
  async function getPdf(id: number, headers: Record<string, string> = {}) {
    const response = await fetch(`${service.origin}/api/invoices/${id}/pdf`, {
      headers: { authorization: `Bearer ${service.adminToken}`, ...headers },
    });
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  }

  it('returns a document named after the invoice', async () => {
    const { id, number } = await issue();
    const pdf = await getPdf(id);
    expect(pdf.status).toBe(200);
    expect(pdf.headers.get('content-type')).toBe('application/pdf');
    expect(pdf.headers.get('content-disposition')).toBe(`inline; filename="${number}.pdf"`);
    expect(pdf.headers.get('cache-control')).toBe('no-store');
    expect(pdf.bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect((await getPdf(999_999)).status).toBe(404);
  });

  it('returns the same bytes again, and 304 to a caller who has them', async () => {
    const { id } = await issue();
    const first = await getPdf(id);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect((await getPdf(id)).bytes.equals(first.bytes)).toBe(true);
    const again = await getPdf(id, { 'if-none-match': `"other", ${etag}` });
    expect(again).toMatchObject({ status: 304 });
    expect(again.bytes).toHaveLength(0);
    expect(again.headers.get('etag')).toBe(etag);
    expect(again.headers.get('cache-control')).toBe('no-store');

    await service.call('POST', `/invoices/${id}/void`, { reason: 'Wrong customer' });
    const void_ = await getPdf(id, { 'if-none-match': etag });
    expect(void_.status).toBe(200);
    expect(void_.headers.get('etag')).not.toBe(etag);
  });

  it('prints 20 concurrently', async () => {
    const { id } = await issue();
    const answers = await Promise.all(Array.from({ length: 20 }, () => getPdf(id)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  });

  const reader = spawnSync('pdftotext', ['-v']).error === undefined;
  const textOf = (bytes: Buffer) =>
    execFileSync('pdftotext', ['-layout', '-', '-'], { input: bytes, encoding: 'utf8' });

  /** A PDF's text with its compressed streams readable. */
  function unpacked(bytes: Buffer): string {
    const parts = bytes.toString('latin1').split(/\bstream\r?\n/);
    const streams = parts.slice(1).map((part) => {
      const end = part.search(/\r?\nendstream/);
      try {
        return inflateSync(Buffer.from(part.slice(0, end), 'latin1')).toString('latin1');
      } catch {
        return part.slice(0, end); // Not compressed.
      }
    });
    return [...parts, ...streams].join('\n');
  }

  it.skipIf(!reader)('holds every name and figure, in four scripts over several pages', async () => {
    const customer = await newCustomer(service, { firstName: 'Zoë Łucja', lastName: 'Ольга ወልደ' });
    const account = await newAccount(service, { customerId: customer.id });
    const names = ['Câble électrique ½″', 'Солнечный насос', 'የፀሐይ ኃይል ፓምፕ', 'مضخة شمسية'];
    const items = Array.from({ length: 60 }, (_, index) => ({
      description: `${names[index % 4]}`,
      quantity: index + 0.125,
      unitPrice: 1_234.5,
    })).map((line, index) => (index === 0 ? { ...line, quantity: 1 } : line));
    const invoice = await issue(items, account.id);
    const text = textOf((await getPdf(invoice.id)).bytes);
    for (const name of [...names, 'Zoë Łucja Ольга ወልደ']) expect(text).toContain(name);
    for (const line of invoice.items)
      expect(text).toContain(line.lineTotal.toLocaleString('en', { minimumFractionDigits: 2 }));
    expect(text).toContain(`KES ${invoice.total.toLocaleString('en', { minimumFractionDigits: 2 })}`);
    for (const word of ['Jua Nguvu Solar', 'Ngong Road 117', invoice.number, invoice.accountNumber, '600638'])
      expect(text).toContain(word);
    const pages = text.split('\f').slice(0, -1);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages[0]).toContain(`KES ${invoice.total.toLocaleString('en', { minimumFractionDigits: 2 })}`);
    for (const [index, page] of pages.entries())
      expect(page).toContain(`Page ${index + 1} of ${pages.length}`);
    for (const page of pages) expect(page).toContain('Description');
  });

  it.skipIf(!reader)('shows its due date if it has one, and no payment', async () => {
    setToday(service, '2026-11-02');
    const dueDate = '2026-11-30';
    const body = { accountId, items: [item], dueDate };
    const { body: issued } = await service.call('POST', '/invoices', body);
    expect(issued.data).toMatchObject({ dueDate, issuedOn: '2026-11-02' });
    await service.call('POST', '/payments', { accountId, amount: 45_000, paymentMethodId: 2 });
    const plain = async (id: number) => textOf((await getPdf(id)).bytes).replace(/\s+/g, ' ');
    const text = await plain(issued.data.id);
    expect(text).toContain('INVOICE TOTAL DUE DATE KES 45,000.00 30 November 2026');
    expect(text).toContain('This invoice shows no payments.');
    const without = await issue();
    expect(without.dueDate).toBeNull();
    expect(await plain(without.id)).not.toContain('DUE DATE');
  });

  it.skipIf(!reader)('prints text that looks like markup unchanged', async () => {
    const hostile = '#panic() $x$ \\ *b* _e_ @ref <script>x</script> `r` [c] // /* %PDF endobj';
    const customer = await newCustomer(service, { firstName: '#set page(width: 1pt)', lastName: '</b>' });
    const account = await newAccount(service, { customerId: customer.id });
    const { id } = await issue([{ ...item, description: hostile }], account.id);
    const { bytes } = await getPdf(id);
    const text = textOf(bytes).replace(/\s+/g, ' ');
    for (const part of ['#set page(width: 1pt) </b>', ...hostile.split(' ')]) expect(text).toContain(part);
    expect(unpacked(bytes)).not.toMatch(/\/(JavaScript|JS|OpenAction|AA|Launch|URI|EmbeddedFile)\b/);
  });

  it.skipIf(!reader)('prints the scripts of Africa and South Asia, and names no character', async () => {
    const names = [
      'منى الطاهر',
      'משה כהן',
      'नमस्ते क्षत्रिय',
      'አበበ ቢቂላ',
      'Nguyễn Thị Hằng',
      'ẹ́ṣọ̀ Adébáyọ̀',
      'বাংলাদেশ',
      'தமிழ்',
    ];
    const latin = ['E\u0323\u0301 q\u0303', 'Zero\u200Dwidth\uFE0F\u2060'];
    const items = [...names, ...latin].map((description) => ({ ...item, description }));
    const { id } = await issue(items);
    const { bytes, headers } = await getPdf(id);
    expect(headers.get('unprintable-characters')).toBeNull();
    const text = textOf(bytes);
    for (const name of names.filter((name) => !/\p{Script=Hebrew}/u.test(name))) expect(text).toContain(name);
    expect(text).toContain('כהן');
    expect(text).not.toContain('\uFFFD');
  });

  it.skipIf(!reader)('shows � for each character that no font has, and names them', async () => {
    const customer = await newCustomer(service, { firstName: '漢字', lastName: 'O’Brien' });
    const account = await newAccount(service, { customerId: customer.id });
    const family = '👨\u200D👩\u200D👧';
    const { id } = await issue([{ ...item, description: `Pump ❤\uFE0F ${family} 漢` }, item], account.id);
    const { bytes, headers } = await getPdf(id);
    expect(headers.get('unprintable-characters')).toBe(
      'count=5, characters=(U+6F22 U+5B57 U+2764 U+1F468 U+1F469 U+1F467), fields=(customer.name items.description)',
    );
    const text = textOf(bytes);
    expect(text).toContain('\uFFFD\uFFFD O’Brien');
    expect(text).toContain('Pump \uFFFD \uFFFD \uFFFD');
    const again = await getPdf(id, { 'if-none-match': headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    expect(again.headers.get('unprintable-characters')).toBe(headers.get('unprintable-characters'));
  });

  it('names at most 20 characters', async () => {
    const many = String.fromCodePoint(...Array.from({ length: 60 }, (_, index) => 0x4e00 + index));
    const { headers } = await getPdf((await issue([{ ...item, description: many }])).id);
    const header = headers.get('unprintable-characters');
    expect(header).toMatch(
      /^count=60, characters=\(U\+4E00( U\+4E[0-9A-F]{2}){19}\), fields=\(items\.description\)$/,
    );
  });

  it.skipIf(!reader)('marks void invoices', async () => {
    const { id } = await issue();
    await service.call('POST', `/invoices/${id}/void`, { reason: 'Wrong customer' });
    const text = textOf((await getPdf(id)).bytes);
    expect(text).toContain('VOID since');
    expect(text).not.toContain('How to pay');
  });
});

describe('COMPANY_LOGO', () => {
  it('is read at the start, or refused by the name of the setting', () => {
    const read = (path: string) => () => readConfig({ NODE_ENV: 'test', COMPANY_LOGO: path });
    expect(read('/nowhere/logo.png')).toThrow('COMPANY_LOGO cannot be read (ENOENT)');
    expect(read(import.meta.filename)).toThrow('COMPANY_LOGO must be a PNG, JPEG or SVG file');
  });
});
