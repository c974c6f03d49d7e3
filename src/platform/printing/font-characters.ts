import { readFileSync } from 'node:fs';

/** The code points of each font. A font is read when a text needs it: most texts are in the first font. */
export type FontCharacters = (() => ReadonlySet<number>)[];

/** What a document cannot show, because no font has it. */
export interface Unprintable {
  /** How many substitutes the document shows. */
  count: number;
  /** Without duplicates, in the order of the document. */
  codePoints: ReadonlySet<number>;
  /** Names of fields without the positions of lists, such as `items.description`. */
  fields: ReadonlySet<string>;
}

/** The replacement character of Unicode: a diamond with a question mark. */
const SUBSTITUTE = '\uFFFD';
/** The compiler prints nothing for the first kind, and the ideographic space as a wide space. */
const NEEDS_NO_FONT = /[\p{Default_Ignorable_Code_Point}\u3000]/gu;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function fontCharacters(files: string[]): FontCharacters {
  return files.map((file) => {
    let codePoints: ReadonlySet<number> | undefined;
    return () => {
      codePoints ??= codePointsOf(readFileSync(file));
      return codePoints;
    };
  });
}

/** Replaces what no font can print in the texts of a document, and names it. */
export function replaceUnprintable<Document>(
  fonts: FontCharacters,
  document: Document,
): { document: Document; unprintable: Unprintable } {
  const codePoints = new Set<number>();
  const fields = new Set<string>();
  let count = 0;

  function replaceIn(value: unknown, field: string): unknown {
    if (typeof value === 'string') return replaceInText(value, field);
    if (Array.isArray(value)) return value.map((item) => replaceIn(item, field));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([name, inner]) => [name, replaceIn(inner, field === '' ? name : `${field}.${name}`)]),
    );
  }

  function replaceInText(text: string, field: string): string {
    if (isIn(fonts, text)) return text;
    return Array.from(graphemes.segment(text), ({ segment }) => {
      const missing = missingIn(segment, fonts);
      if (missing.length === 0) return segment;
      count += 1;
      fields.add(field);
      for (const codePoint of missing) codePoints.add(codePoint);
      return SUBSTITUTE;
    }).join('');
  }

  return { document: replaceIn(document, '') as Document, unprintable: { count, codePoints, fields } };
}

/**
 * The code points of a grapheme that prevent its printing. The compiler takes a grapheme from one font, composed or decomposed. If
 * only several fonts together have its code points, all are returned.
 */
function missingIn(grapheme: string, fonts: FontCharacters): number[] {
  const visible = grapheme.replace(NEEDS_NO_FONT, '');
  if ([visible, visible.normalize('NFC'), visible.normalize('NFD')].some((form) => isIn(fonts, form)))
    return [];
  const given = toCodePoints(visible);
  const nowhere = given.filter((codePoint) => !fonts.some((font) => font().has(codePoint)));
  return nowhere.length > 0 ? nowhere : given;
}

/** Whether one font has all of the text. */
function isIn(fonts: FontCharacters, text: string): boolean {
  const codePoints = toCodePoints(text);
  return fonts.some((font) => codePoints.every((codePoint) => font().has(codePoint)));
}

const toCodePoints = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0);

const WINDOWS = 3;
const ALL_OF_UNICODE = 10;
const BASIC_PLANE = 1;

/**
 * The code points that have a glyph in a font.
 * Format: https://learn.microsoft.com/en-us/typography/opentype/spec/cmap
 */
function codePointsOf(font: Buffer): Set<number> {
  const cmap = tableOf(font, 'cmap');
  const subtables = Array.from({ length: cmap.readUInt16BE(2) }, (_, index) => {
    const record = 4 + 8 * index;
    return {
      platform: cmap.readUInt16BE(record),
      encoding: cmap.readUInt16BE(record + 2),
      table: cmap.subarray(cmap.readUInt32BE(record + 4)),
    };
  }).filter(({ platform }) => platform === WINDOWS);
  const best =
    subtables.find(({ encoding }) => encoding === ALL_OF_UNICODE) ??
    subtables.find(({ encoding }) => encoding === BASIC_PLANE);
  const format = best?.table.readUInt16BE(0);
  if (best && format === 4) return readSegments(best.table);
  if (best && format === 12) return readGroups(best.table);
  throw new Error(`The font has no table of characters that can be read (cmap format ${format}).`);
}

function tableOf(font: Buffer, tag: string): Buffer {
  for (let index = 0; index < font.readUInt16BE(4); index++) {
    const record = 12 + 16 * index;
    if (font.toString('latin1', record, record + 4) !== tag) continue;
    const start = font.readUInt32BE(record + 8);
    return font.subarray(start, start + font.readUInt32BE(record + 12));
  }
  throw new Error(`The font has no table ${tag}.`);
}

/** Format 4. A segment gives its glyphs as a distance from the code point, or as a list. */
function readSegments(table: Buffer): Set<number> {
  const bytes = table.readUInt16BE(6); // of each of the four lists: end, start, distance, offset of the list
  const found = new Set<number>();
  for (let segment = 0; segment < bytes; segment += 2) {
    const end = table.readUInt16BE(14 + segment);
    const start = table.readUInt16BE(16 + bytes + segment);
    const distance = table.readUInt16BE(16 + 2 * bytes + segment);
    const offsetAt = 16 + 3 * bytes + segment;
    const offset = table.readUInt16BE(offsetAt);
    for (let codePoint = start; codePoint <= end && codePoint < 0xffff; codePoint++) {
      const listed =
        offset === 0 ? codePoint : table.readUInt16BE(offsetAt + offset + 2 * (codePoint - start));
      const glyph = offset !== 0 && listed === 0 ? 0 : (listed + distance) & 0xffff;
      if (glyph !== 0) found.add(codePoint);
    }
  }
  return found;
}

/** Format 12. */
function readGroups(table: Buffer): Set<number> {
  const found = new Set<number>();
  for (let group = 0; group < table.readUInt32BE(12); group++) {
    const record = 16 + 12 * group;
    const start = table.readUInt32BE(record);
    const firstGlyph = table.readUInt32BE(record + 8);
    for (let codePoint = start; codePoint <= table.readUInt32BE(record + 4); codePoint++)
      if (firstGlyph + codePoint - start !== 0) found.add(codePoint);
  }
  return found;
}
