import { describe, expect, it } from 'vitest';
import { cell, workbook, zipOf } from '../../../test/support/xlsx.ts';
import { isWorkbook, readSheet } from './xlsx-records.ts';

const SEARCH = { isHeader: [(cells: readonly string[]) => cells[0] === 'id'], within: 3 };

async function read(bytes: Buffer, limits = {}) {
  const rows: { line: number; record: string[]; problems: Record<number, string> }[] = [];
  for await (const { line, record, problems } of readSheet(bytes, SEARCH, limits))
    rows.push({ line, record, problems: Object.fromEntries(problems) });
  return rows;
}

async function failure(bytes: Buffer | Promise<Buffer>, limits = {}): Promise<string> {
  return read(await bytes, limits).then(
    () => 'no failure',
    (error: Error) => error.message,
  );
}

const one = (row: Parameters<typeof workbook>[0]['sheets'][string][number], options = {}) =>
  workbook({ sheets: { Sheet1: [['id'], row] }, ...options });

/** The text of a cell, or its problem. */
async function textOf(inside: string, attributes = '', options = {}): Promise<string | undefined> {
  const [, row] = await read(await one(['x', cell(inside, attributes)], options));
  return row?.problems[1] ?? row?.record[1] ?? '';
}

describe('a workbook', () => {
  it('has rows with their numbers, and texts with all their letters', async () => {
    const bytes = await workbook({
      sheets: { A: [['id', 'text'], [], ['1', '', 'Müller & <b>'], ['', 'x']] },
    });
    expect(isWorkbook(bytes)).toBe(true);
    expect(await read(bytes)).toEqual([
      { line: 1, record: ['id', 'text'], problems: {} },
      { line: 3, record: ['1', '', 'Müller & <b>'], problems: {} },
      { line: 4, record: ['', 'x'], problems: {} },
    ]);
  });

  it.each([
    ['a number', '<v>1500</v>', '', '1500'],
    ['a number with decimals', '<v>1500.5</v>', '', '1500.5'],
    ['a binary fraction', '<v>0.30000000000000004</v>', '', '0.3'],
    ['a number with an exponent', '<v>2.54712345678E11</v>', '', '254712345678'],
    ['a negative number', '<v>-12</v>', 't="n"', '-12'],
    ['15 digits', '<v>123456789012345</v>', '', '123456789012345'],
    ['16 digits', '<v>1234567890123456</v>', '', 'cell B2 is a number of more than 15 digits'],
    ['16 digits with an exponent', '<v>1.234567890123E+18</v>', '', 'cell B2 is a number of more than 15'],
    ['not a number', '<v>0x10</v>', '', 'cell B2 is not a number'],
    ['a number without a zero before the point', '<v>.5</v>', '', '0.5'],
    ['a number of very many digits', `<v>${'1'.repeat(30_000)}</v>`, '', 'cell B2 is not a number'],
    ['the result of a formula', '<f>A1&amp;"x"</f><v>text</v>', 't="str"', 'text'],
    ['an empty result of a formula', '<f>""</f><v></v>', 't="str"', ''],
    ['a number from a formula', '<f>1+1</f><v>2</v>', '', '2'],
    ['a formula without a result', '<f>1+1</f>', '', 'cell B2 has a formula without a stored result'],
    ['a formula with an empty result', '<f>1+1</f><v/>', '', 'cell B2 has a formula without a stored result'],
    ['an error', '<v>#N/A</v>', 't="e"', 'cell B2 has the error #N/A'],
    ['a flag', '<v>1</v>', 't="b"', 'true'],
    ['a date as text', '<v>2026-11-02T10:15:30</v>', 't="d"', '2026-11-02 10:15:30'],
    ['text in parts', '<is><r><t>A</t></r><r><t> B</t></r><rPh><t>no</t></rPh></is>', 't="inlineStr"', 'A B'],
    ['an escaped character', '<is><t>a_x000A_b</t></is>', 't="inlineStr"', 'a\nb'],
    ['a NUL', '<is><t>a_x0000_b</t></is>', 't="inlineStr"', 'a\ufffdb'],
    ['a missing text', '<v>99</v>', 't="s"', 'cell B2 refers to a missing text'],
    ['nothing', '', 's="0"', ''],
  ])('reads %s', async (_what, inside, attributes, expected) => {
    expect(await textOf(inside, attributes)).toContain(expected);
    if (expected === '') expect(await textOf(inside, attributes)).toBe('');
  });

  it.each([
    ['dd/mm/yyyy hh:mm', 46328.42743055556, '2026-11-02 10:15:30', '2030-11-03 10:15:30'],
    ['[$-409]yyyy-mm-dd;@', 46328, '2026-11-02', '2030-11-03'],
    ['"day" #,##0', 46328, '46328', '46328'],
    ['[$KSh-441] #,##0.00', 46328, '46328', '46328'],
    ['0000000', 46328, '0046328', '0046328'],
    ['0.00%', 0.5, 'cell B2 is a percentage', 'cell B2 is a percentage'],
    ['h:mm', 0.5, 'cell B2 is not a date', 'cell B2 is not a date'],
  ])('shows numbers in the format %s in both date systems', async (format, value, from1900, from1904) => {
    for (const [isFrom1904, expected] of [
      [false, from1900],
      [true, from1904],
    ] as const)
      expect(await textOf(`<v>${value}</v>`, 's="1"', { formats: [format], isFrom1904 })).toBe(expected);
  });

  it.each([
    ['styles', { 'xl/styles.xml': `<styleSheet><cellXfs>${'<xf/>'.repeat(70_000)}</cellXfs></styleSheet>` }],
    [
      'number formats',
      {
        'xl/styles.xml': `<styleSheet><numFmts>${Array.from({ length: 70_000 }, (_, at) => `<numFmt numFmtId="${at}"/>`).join('')}</numFmts></styleSheet>`,
      },
    ],
    [
      'relationships',
      {
        'xl/_rels/workbook.xml.rels': `<Relationships>${Array.from({ length: 2_000 }, (_, at) => `<Relationship Id="r${at}" Target="x"/>`).join('')}</Relationships>`,
      },
    ],
    [
      'attributes',
      { 'xl/styles.xml': `<styleSheet ${Array.from({ length: 200 }, (_, at) => `a${at}=""`).join(' ')}/>` },
    ],
  ])('with too many %s is refused', async (what, parts) => {
    const bytes = await workbook({ sheets: { A: [['id'], ['1']] }, parts });
    expect(await failure(bytes)).toContain(`has too many ${what}`);
  });

  it('whose part has an address that is no path is refused', async () => {
    const parts = {
      'xl/_rels/workbook.xml.rels': '<Relationships><Relationship Id="r" Target="http://["/></Relationships>',
    };
    expect(await failure(await workbook({ sheets: { A: [['id']] }, parts }))).toContain('is not a path');
  });

  it('is read from the one sheet that has the header', async () => {
    const sheets = {
      Notes: [['a'], ['id']].slice(0, 1),
      Data: [['id'], ['1']],
      Late: [[''], ['x'], ['y'], ['z'], ['id']],
    };
    expect((await read(await workbook({ sheets }))).map(({ record }) => record[0])).toEqual(['id', '1']);
    expect(await failure(workbook({ sheets: { ...sheets, Copy: [['id']] } }))).toBe(
      'has 2 sheets with the header ("Data", "Copy"): keep one of them',
    );
    expect(await failure(workbook({ sheets: { Notes: [['a']] } }))).toBe('has no sheet with the header');
  });

  it('is refused if it is another file, has a password, is encrypted or is damaged', async () => {
    expect(await failure(Buffer.from('PK\x03\x04\x14\x00\x06\x00', 'latin1'))).toMatch(/cannot be read/);
    expect(await failure(zipOf({ 'content.xml': '<a/>' }))).toBe('is an archive, but not an XLSX workbook');
    expect(await failure(Buffer.from('d0cf11e0a1b11ae1', 'hex'))).toMatch(/^is an XLS workbook/);
    const encrypted = Buffer.concat([
      Buffer.from('d0cf11e0', 'hex'),
      Buffer.from('EncryptedPackage', 'utf16le'),
    ]);
    expect(await failure(encrypted)).toBe('is a workbook with a password');
    const bytes = await one(['1']);
    const directory = bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
    bytes.writeUInt16LE(bytes.readUInt16LE(directory + 8) | 1, directory + 8);
    expect(await failure(bytes)).toBe('is encrypted');
    expect(await failure((await one(['1'])).subarray(0, 900))).toMatch(/cannot be read/);
  });

  it('is refused with a document type, unordered rows, or more than it may have', async () => {
    const sheet = 'xl/worksheets/sheet1.xml';
    const withSheet = (xml: string) => workbook({ sheets: { S: [['id']] }, parts: { [sheet]: xml } });
    expect(await failure(withSheet('<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>'))).toMatch(/document type/);
    expect(await failure(withSheet('<worksheet><row r="2"/><row r="1"/></worksheet>'))).toMatch(
      /not in order/,
    );
    expect(await failure(withSheet(`${'<a>'.repeat(60)}${'</a>'.repeat(60)}`))).toMatch(/nested too deeply/);
    expect(await failure(withSheet('<worksheet><row><c r="ZZ1"><v>1</v></c></row></worksheet>'))).toMatch(
      /more than 200 columns/,
    );
    expect(await failure(one(['x'.repeat(40_000)]))).toMatch(/a cell of more than 32767 characters/);
    const book = await workbook({ sheets: { S: [['id'], ['1', 'text']] } });
    expect(await failure(book, { entries: 3 })).toBe('is an archive of more than 3 files');
    expect(await failure(book, { inflatedBytes: 1024 })).toMatch(/MiB of text/);
    expect(await failure(book, { cells: 2 })).toMatch(/too many different texts/);
    expect(await failure(book, { sharedCharacters: 3 })).toMatch(/too many different texts/);
    expect(await failure(one([1, 2, 3]), { cells: 3 })).toMatch(/more than 3 cells/);
    const bomb = withSheet(`<worksheet>${' '.repeat(2 ** 20)}</worksheet>`);
    expect((await bomb).length).toBeLessThan(4096);
    expect(await failure(bomb, { inflatedBytes: 2 ** 19 })).toMatch(/more than 0.5 MiB of text/);
  });
});
