import { expect, it } from 'vitest';
import type { Column, Kind } from '../format-rules.ts';
import { readCell } from './cell-rules.ts';

const COLUMN: Column = {
  ...{ kind: 'date', name: 'reconciled_on', meaning: 'A day.', example: '' },
  ...{ required: false, unique: false },
};
const SETTINGS = {
  decimals: 2,
  phoneRegion: 'KE',
  timeZone: 'Africa/Nairobi',
  allowsDecimalComma: false,
  version: 1 as const,
};

it.each([
  ['04/04/2026', '2026-04-04'],
  ['31/12/2026', '2026-12-31'],
])('reads %s without the order of day and month, because the date has only one meaning', (text, value) => {
  expect(readCell(COLUMN, text, SETTINGS, undefined)).toEqual({ value });
});

it('refuses a date with two meanings if the order of day and month is unknown', () => {
  expect(readCell(COLUMN, '03/04/2026', SETTINGS, undefined)).toMatchObject({
    problem: expect.stringContaining('is ambiguous'),
  });
  expect(readCell(COLUMN, '03/04/2026', SETTINGS, 'day_first')).toEqual({ value: '2026-04-03' });
  expect(readCell(COLUMN, '03/04/2026', SETTINGS, 'month_first')).toEqual({ value: '2026-03-04' });
});

const column = (kind: Kind): Column => ({ ...COLUMN, ...kind });

it.each([
  [column({ kind: 'amount', allowsZero: false }), '="1250.00"', '125000'],
  [column({ kind: 'amount', allowsZero: false }), '’1250', '125000'],
  [column({ kind: 'count', min: 1, max: 99 }), "'12", '12'],
  [COLUMN, '="2026-04-04"', '2026-04-04'],
  [column({ kind: 'phone' }), '’0712345678', '+254712345678'],
  [column({ kind: 'phone' }), '="0712345678"', '+254712345678'],
  [column({ kind: 'account_number' }), '="ACC10000012"', '1'],
  [column({ kind: 'flag' }), '"yes"', 'true'],
])('reads the value of %o from %s, without the quotes of a spreadsheet', (of, text, value) => {
  expect(readCell(of, text, SETTINGS, undefined)).toEqual({ value });
});

it('keeps the quotes of a text', () => {
  const text = column({ kind: 'text', maxLength: 100 });
  expect(readCell(text, '="QAA0000001"', SETTINGS, undefined)).toEqual({ value: '="QAA0000001"' });
});

it.each([
  column({ kind: 'external_id' }),
  column({ kind: 'national_id' }),
  column({ kind: 'reference', file: 'customers' }),
  column({ kind: 'text', maxLength: 100 }),
  column({ kind: 'phone' }),
])('refuses a number with decimals or an exponent in %o, unless an export has guarded it', (of) => {
  for (const text of ['254712345005.0', '25471234,00', '7.1E8', '2.54712E+11'])
    expect(readCell(of, text, SETTINGS, undefined), text).toMatchObject({ problem: expect.any(String) });
});

it('keeps a stored phone number of an export, even if it is not valid, and checks the numbers of other files', () => {
  const phone = column({ kind: 'phone' });
  const exported = { ...SETTINGS, version: 2 as const };
  for (const stored of ['+25471234567', '+2540712345678']) {
    for (const text of [stored, `'${stored}`])
      expect(readCell(phone, text, exported, undefined), text).toEqual({ value: stored });
  }
  expect(readCell(phone, '+25471234567', SETTINGS, undefined)).toMatchObject({
    problem: 'is not a phone number',
  });
  expect(readCell(phone, '+2540712345678', SETTINGS, undefined)).toEqual({ value: '+254712345678' });
});

it('refuses also short ids and account numbers with decimals, but no short text', () => {
  const kinds = [
    { kind: 'external_id' },
    { kind: 'national_id' },
    { kind: 'reference', file: 'accounts' },
  ] as const;
  for (const kind of kinds) {
    expect(readCell(column(kind), '12.0', SETTINGS, undefined)).toMatchObject({
      problem: expect.any(String),
    });
    expect(readCell(column(kind), "'12.0", SETTINGS, undefined)).toMatchObject({
      problem: expect.any(String),
    });
  }
  // With the decimals as a digit, the check digit would be right.
  expect(readCell(column({ kind: 'account_number' }), '10000012.0', SETTINGS, undefined)).toMatchObject({
    problem: 'has decimals that a spreadsheet or a program has added to a number',
  });
  expect(readCell(column({ kind: 'name', maxLength: 100 }), '2.0', SETTINGS, undefined)).toEqual({
    value: '2.0',
  });
});

it('reads an id with decimals that an export has guarded', () => {
  const id = column({ kind: 'external_id' });
  expect(readCell(id, "'254712345005.0", { ...SETTINGS, version: 2 }, undefined)).toEqual({
    value: '254712345005.0',
  });
});
