import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../core/package-root.ts';
import { fontCharacters, replaceUnprintable } from './font-characters.ts';
import { FONTS, regularFonts } from './printer.ts';

const FILES = readdirSync(FONTS).filter((file) => file.endsWith('.ttf'));
const charactersOf = (file: string) => fontCharacters([join(FONTS, file)])[0]?.() ?? new Set();
const fonts = fontCharacters(regularFonts());

function check(text: string) {
  const { document, unprintable } = replaceUnprintable(fonts, { text });
  return { printed: document.text, ...unprintable, codePoints: [...unprintable.codePoints] };
}

describe('the characters of the fonts', () => {
  it('are the same in the bold font', () => {
    for (const bold of FILES.filter((file) => file.includes('-Bold')))
      expect(charactersOf(bold), bold).toEqual(charactersOf(bold.replace('-Bold', '-Regular')));
  });

  const hasFontconfig = spawnSync('fc-query', ['--version']).error === undefined;
  it.skipIf(!hasFontconfig).each(FILES)('are those that fontconfig finds in %s', (file) => {
    const { stdout } = spawnSync('fc-query', ['--format', '%{charset}', join(FONTS, file)], {
      encoding: 'utf8',
    });
    const found = stdout.split(' ').flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map((end) => Number.parseInt(end, 16));
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
    const visible = [...charactersOf(file)].filter((codePoint) => codePoint >= 0x20); // Fontconfig skips controls.
    expect(visible.sort((a, b) => a - b)).toEqual(found);
  });

  it('are used by the templates, with all families', () => {
    const template = readFileSync(join(PACKAGE_ROOT, 'templates', 'common.typ'), 'utf8');
    const listed = /#let fonts = \(([^)]*)\)/.exec(template)?.[1] ?? '';
    const families = [...listed.matchAll(/"(\w*)"/g)].map(([, script]) => `NotoSans${script}-Regular.ttf`);
    expect(families.sort()).toEqual(FILES.filter((file) => file.endsWith('-Regular.ttf')).sort());
  });
});

describe('a text', () => {
  it.each([
    ...[
      'Zoë Łucja',
      'Ольга',
      'السيد محمد',
      'עִבְרִית',
      'नमस्ते क्षत्रिय',
      'ሰላም',
      'Nguyễn',
      'ẹ́ṣọ̀',
      'සිංහල ශ්‍රී',
      '𞤀𞤣𞤤𞤢𞤥',
    ],
    ...['½″ · – €', 'e\u0323\u0301', 'A\u030A', 'ẽ\u0331'],
    ...[
      'a\u200Db',
      'fa\u00ADde',
      'x\uFE0F',
      'x\u{E0100}',
      'x\u{E0067}',
      '\u2066z\u2069',
      '\u3164',
      'a\u3000b',
      '\u2003',
    ],
  ])('of letters that a font has, and invisible characters, is printed as it is: %j', (text) => {
    expect(check(text)).toMatchObject({ printed: text, count: 0, codePoints: [] });
  });

  it.each([
    ['漢 Ltd', '\uFFFD Ltd', 1, [0x6f22]],
    ['👨\u200D👩\u200D👧', '\uFFFD', 1, [0x1f468, 0x1f469, 0x1f467]],
    ['1\uFE0F\u20E3', '\uFFFD', 1, [0x20e3]],
    ['한국', '\uFFFD\uFFFD', 2, [0xd55c, 0xad6d]],
    ['\u1680', '\uFFFD', 1, [0x1680]],
    ['\u{10FFFD}', '\uFFFD', 1, [0x10fffd]],
  ])('%j is printed as %j', (text, printed, count, codePoints) => {
    expect(check(text)).toMatchObject({ printed, count, codePoints });
  });

  it('names all characters of a grapheme that needs several fonts', () => {
    expect(check('a\u093C').codePoints).toEqual([0x61, 0x93c]);
  });

  it('is named by its field, in lists without its position', () => {
    const document = { company: { address: ['Nairobi', '漢', '字'] }, total: '1', paybill: null, count: 3 };
    const { document: printed, unprintable } = replaceUnprintable(fonts, document);
    expect(printed).toEqual({ ...document, company: { address: ['Nairobi', '\uFFFD', '\uFFFD'] } });
    expect(unprintable).toEqual({
      count: 2,
      codePoints: new Set([0x6f22, 0x5b57]),
      fields: new Set(['company.address']),
    });
  });
});
