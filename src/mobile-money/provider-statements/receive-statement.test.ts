import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import { readStatement } from './receive-statement.ts';

const RULES = {
  currency: { code: 'KES', decimals: 2 },
  timeZone: 'Africa/Nairobi',
  today: '2026-11-30' as PlainDate,
  paybillNumbers: [],
  stallMs: 60_000,
};
const HEAD = 'Receipt No.,Completion Time,Transaction Status,Paid In\n';

async function read(chunks: Buffer[], rules: typeof RULES & { providerTimeZone?: string } = RULES) {
  const rows = new PassThrough();
  const texts: string[] = [];
  rows.on('data', (bytes) => texts.push(String(bytes)));
  const statement = await readStatement(Readable.from(chunks), rows, 7, rules);
  return { statement, rows: texts.join('') };
}

describe('a statement file', () => {
  it.each([
    [undefined, '2026-11-02T07:00:00.000Z'],
    ['Africa/Nairobi', '2026-11-02T07:00:00.000Z'],
    ['Africa/Lagos', '2026-11-02T09:00:00.000Z'],
  ])('has times in the zone of its provider: %s', async (providerTimeZone, time) => {
    const file = Buffer.from(`${HEAD}A1,02-11-2026 10:00:00,Completed,1.00\n`);
    const { rows } = await read([file], { ...RULES, ...(providerTimeZone && { providerTimeZone }) });
    expect(rows.split('\t')[9]).toBe(time);
  });

  it('gives the same rows in chunks of any size', async () => {
    const text = `\ufeffShort Code:,600638\r\n\r\n${HEAD}A1,"02-11-2026\r\n10:00:00",Completed,1.00\nB2,02-11-2026,Completed,"é,\\"\r\n`;
    const bytes = Buffer.from(text);
    const whole = await read([bytes]);
    for (const size of [1, 2, 3, 7, 64]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      expect(await read(pieces)).toEqual(whole);
    }
    expect(whole.statement).toMatchObject({ stated: { shortCode: '600638' }, lineCount: 2 });
    const [first = '', second = ''] = whole.rows.split('\n');
    expect(first.split('\t').slice(0, 11)).toEqual([
      '7',
      '4',
      'true',
      'false',
      'false',
      'false',
      '\\N',
      '\\N',
      'A1',
      '2026-11-02T07:00:00.000Z',
      '100',
    ]);
    expect(second.split('\t').slice(0, 8)).toEqual([
      '7',
      '6',
      'false',
      'false',
      'false',
      'false',
      'unreadable',
      'Paid In is not an amount',
    ]);
    expect(second).toContain('é,\\\\');
  });

  it('has an unreadable line if the comma in an amount could mean thousands or decimals', async () => {
    const text = 'Receipt No.;Completion Time;Transaction Status;Paid In\nA1;02-11-2026;Completed;1,500\n';
    const dinars = { ...RULES, currency: { code: 'TND', decimals: 3 } };
    expect((await read([Buffer.from(text)], dinars)).rows).toContain('Paid In is not an amount');
  });

  it('has its balances compared across the parts of a long file', async () => {
    const rows = Array.from({ length: 7_000 }, (_, index) => {
      const balance = index === 1_750 || index === 5_001 ? '0.50' : `${index + 1}.00`;
      return `A${index},02-11-2026,Completed,1.00,${balance}`;
    });
    const text = `${HEAD.trim()},Balance\n${rows.join('\n')}\n`;
    const { statement, rows: copied } = await read([Buffer.from(text)]);
    const unreadable = copied.split('\n').filter((row) => row.includes('unreadable'));
    expect(unreadable.map((row) => row.split('\t')[8])).toEqual(['A1750', 'A5001']);
    expect(statement).toMatchObject({ lineCount: 7_000, ends: { openingMinor: 0n, closingMinor: 700_000n } });
  });

  it('is refused above 64 MiB, even without a Content-Length', async () => {
    const large = Buffer.alloc(64 * 1024 * 1024 + 1, 'x');
    await expect(read([Buffer.from(HEAD), large])).rejects.toMatchObject({ status: 413 });
  });
});
