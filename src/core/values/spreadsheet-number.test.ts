import { expect, it } from 'vitest';
import { spreadsheetNumber } from './spreadsheet-number.ts';

it.each([
  ['12.0', 'decimals'],
  ['12345678.0', 'decimals'],
  [' 12345678.00 ', 'decimals'],
  ['12345678,0', 'decimals'],
  ["'12345678.0", 'decimals'],
  ['="12345678.0"', 'decimals'],
  ['１２３.0', 'decimals'],
  ['+254712345005.0', 'decimals'],
  ['7.1E8', 'shortened'],
  ['7,1e8', 'shortened'],
  ['2.54712E+11', 'shortened'],
  ['7E+08', 'shortened'],
  ['12345678', undefined],
  ['12E45', undefined],
  ['7E8', undefined],
  ['12.5', undefined],
  ['1.000', undefined],
  ['A12.0', undefined],
  ['ACC10000012.0', undefined],
  ['12.34.0', undefined],
  ['.0', undefined],
  ['', undefined],
])('spreadsheetNumber says of %j: %s', (text, kind) => {
  expect(spreadsheetNumber(text)).toBe(kind);
});
