import { expect, it } from 'vitest';
import { classifySpreadsheetChange } from './spreadsheet-change.ts';

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
])('classifies the change of %j as "%s"', (text, change) => {
  expect(classifySpreadsheetChange(text)).toBe(change);
});

it.each(['12345678', '12E45', '7E8', '12.5', '1.000', 'A12.0', 'ACC10000012.0', '12.34.0', '.0', ''])(
  'finds no change by a spreadsheet in %j',
  (text) => {
    expect(classifySpreadsheetChange(text)).toBeUndefined();
  },
);
