import { describe, expect, it } from 'vitest';
import { foldCase, foldVisible, hasVisible, withoutInvisible } from './case-folding.ts';

/**
 * All code points of the planes that have characters. The other planes contain only unassigned and private-use code points, which
 * the code treats alike, so some of them are enough.
 */
const CODE_POINTS = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .filter((code) => code < 0x40000 || (code >= 0xe0000 && code < 0xe1000) || code % 257 === 0)
  .map((code) => String.fromCodePoint(code));

/** The different results of folding all code points. */
const FOLDED = [...new Set(CODE_POINTS.map(foldCase))];

describe('foldCase', () => {
  it.each([
    ['straße', 'STRASSE'],
    ['STRAẞE', 'STRASSE'],
    ['ſ', 'S'],
    ['ｒｋｔ１', 'RKT1'],
    ['ﬁ', 'FI'],
    ['ὈΔΥΣΣΕΎΣ', 'ὀδυσσεύς'],
  ])('folds %s and %s to one text', (one, other) => {
    expect(foldCase(one)).toBe(foldCase(other));
  });

  it.each([
    ['a soft hyphen', '\u00ad'],
    ['a combining grapheme joiner', '\u034f'],
    ['a Hangul filler', '\u3164'],
    ['a half-width Hangul filler', '\uffa0'],
    ['a Hangul initial filler', '\u115f'],
    ['a variation selector', '\ufe0f'],
    ['a zero-width space', '\u200b'],
    ['a tag character', '\u{e0041}'],
    ['an interlinear annotation', '\ufff9'],
    ['a noncharacter', '\uffff'],
    ['an unassigned code point', '\u0378'],
    ['a private-use character', '\ue000'],
    ['a lone surrogate', '\ud800'],
    ['a line break', '\n'],
  ])('drops %s', (_name, invisible) => {
    expect(foldCase(`RKT${invisible}QDM`)).toBe('RKTQDM');
  });

  it('folds the upper and the lower case of each character to one text', () => {
    const different = CODE_POINTS.filter(
      (char) =>
        (char.toUpperCase() !== char || char.toLowerCase() !== char) &&
        (foldCase(char.toUpperCase()) !== foldCase(char) || foldCase(char.toLowerCase()) !== foldCase(char)),
    );
    expect(different).toEqual([]);
  });

  it('does not change folded text', () => {
    expect(FOLDED.filter((folded) => foldCase(folded) !== folded)).toEqual([]);
  });

  it('leaves no invisible character', () => {
    expect(FOLDED.filter((folded) => withoutInvisible(folded) !== folded)).toEqual([]);
  });
});

describe('foldVisible', () => {
  it('gives the same result for texts that differ only in invisible characters', () => {
    const invisible = CODE_POINTS.filter((char) => !hasVisible(char));
    const expected = foldVisible('É1');
    expect(invisible.filter((char) => foldVisible(`e${char}\u0301 1`) !== expected)).toEqual([]);
    expect(invisible.length).toBeGreaterThan(50_000);
  });

  it('leaves at least one character of each text that has a visible character', () => {
    expect(CODE_POINTS.filter((char) => hasVisible(char) && foldVisible(char) === '')).toEqual([]);
  });

  it('does not change folded text', () => {
    const texts = CODE_POINTS.flatMap((char) => [char, `e${char}`, `${char}\u0301`]);
    const distinct = [...new Set(texts.map(foldVisible))];
    expect(distinct.filter((folded) => foldVisible(folded) !== folded)).toEqual([]);
  });
});
