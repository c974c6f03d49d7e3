import { describe, expect, it } from 'vitest';
import { foldForSearch, nationalIdKey, searchKey, searchWords } from './rules.ts';
import { searchText } from './search-text-rules.ts';

describe('foldForSearch', () => {
  it.each([
    ['ÉMILE', 'emile'],
    ['Ñandú', 'nandu'],
    ['ＡＢＣ１２', 'abc12'],
    ['Ольга Й', 'ольга и'],
    ['ወልደ', 'ወልደ'],
    ['ﬁne', 'fine'],
  ])('folds %s to %s', (text, folded) => {
    expect(foldForSearch(text)).toBe(folded);
  });

  it('does not change folded text', () => {
    for (const text of ['Émile Ñ', 'İstanbul', 'ΣΊΣΥΦΟΣ', '한국어']) {
      expect(foldForSearch(foldForSearch(text))).toBe(foldForSearch(text));
    }
  });
});

describe('searchText', () => {
  const customer = {
    firstName: 'Émile',
    lastName: 'Otieno',
    language: 'en' as const,
    email: 'E.Otieno@Example.com',
    phone: '+254712345678',
    secondPhone: '+254733111222',
    nationalId: 'AB-12',
  };

  it('has the names, the e-mail, the national id and both forms of the phones', () => {
    const text = searchText(customer);
    for (const part of [
      'emile',
      'otieno',
      'e.otieno@example.com',
      '+254712345678',
      '0712345678',
      '0733111222',
      'ab-12',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('omits missing fields', () => {
    expect(searchText({ ...customer, email: null, secondPhone: null, nationalId: null })).toBe(
      'emile otieno +254712345678 0712345678',
    );
  });
});

describe('searchWords', () => {
  it('splits at white space and folds each word', () => {
    expect(searchWords('  ÉMILE\u00a0otieno ')).toEqual(['emile', 'otieno']);
    expect(searchWords(' ')).toEqual([]);
  });

  it.each([
    ['Ng’ang’a', ['nganga']],
    ['Ng´ang´a', ['nganga']],
    ['Müller, José', ['muller', 'jose']],
    ['Đặng', ['dang']],
    ['Łukasz Øystein', ['lukasz', 'oystein']],
    ['Ɓala Ŋoŋo', ['bala', 'nono']],
    ['J.P. Anne-Marie', ['j', 'p', 'anne', 'marie']],
    ['e.otieno@example.com', ['eotieno@examplecom']],
    ['12.345-678', ['12345678']],
    ['AB-12', ['ab', '12']],
    ['+254 (0)712 345-678', ['+254712345678']],
    ['0712/345', ['0712345']],
    ["'", ["'"]],
    ['...', ['...']],
  ])('reads %s as the words %j', (search, words) => {
    expect(searchWords(search)).toEqual(words);
  });
});

describe('searchKey', () => {
  it('does not change its result', () => {
    for (const text of ["ng'ang'a o’brien", 'æther þor', 'a.b-c,d']) {
      expect(searchKey(searchKey(text))).toBe(searchKey(text));
    }
  });
});

describe('nationalIdKey', () => {
  it.each([
    ['ab 12-34/5', 'AB12345'],
    ['ＡＢ１２', 'AB12'],
    ['№', 'NO'],
    ['--', ''],
  ])('gives %s the key %s', (written, key) => {
    expect(nationalIdKey(written)).toBe(key);
  });
});
