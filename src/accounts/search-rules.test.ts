import { describe, expect, it } from 'vitest';
import { readAccountSearch } from './search-rules.ts';

const search = (text: string, searchesCustomers = true) =>
  readAccountSearch(text, { phoneRegion: 'KE', searchesCustomers });

describe('a search for accounts', () => {
  it('for blanks finds all accounts', () => {
    expect(search('')).toBeUndefined();
    expect(search('  ')).toBeUndefined();
  });

  it('for a whole account number finds this account first, and longer numbers that begin with it', () => {
    expect(search('ACC10000012', false)).toEqual({
      ranges: [
        [1, 1],
        [9_000_012, 9_000_012],
        [99_000_120, 99_000_129],
        [999_001_200, 999_001_299],
      ],
      customers: undefined,
    });
  });

  it('for a number with a wrong check digit finds only longer numbers', () => {
    expect(search('ACC10000013', false)?.ranges).not.toContainEqual([1, 1]);
    expect(search('ACC10000013', false)?.ranges).toContainEqual([9_000_013, 9_000_013]);
  });

  it('also searches the customers of accounts, if it is allowed to', () => {
    expect(search('Wanjiku Otieno')).toEqual({
      ranges: [],
      customers: { words: ['wanjiku', 'otieno'], phone: undefined },
    });
    expect(search('Wanjiku Otieno', false)).toEqual({ ranges: [], customers: undefined });
  });

  it('for a phone number finds the customers with it', () => {
    expect(search('0712 345 678')?.customers?.phone).toBe('+254712345678');
    // Its parts are short, but they are one word.
    expect(search('07/12/34/56/78')?.customers?.phone).toBe('+254712345678');
  });

  it('searches customers only with a word that is long enough for the index', () => {
    expect(search('an')?.customers).toBeUndefined();
    expect(search('ann')?.customers?.words).toEqual(['ann']);
    expect(search('a wanjiku')?.customers?.words).toEqual(['a', 'wanjiku']);
    expect(search('an wa')?.customers).toBeUndefined();
  });
});
