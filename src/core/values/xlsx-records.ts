import type { Readable } from 'node:stream';
import sax from 'sax';
import yauzl from 'yauzl';
import type { CsvRecord } from './csv-records.ts';

/**
 * Reads XLSX workbooks. A workbook is a ZIP archive of XML files. Everything in it is untrusted: all sizes are bounded, and a
 * document type, which could define entities, is refused.
 */

export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** The largest workbook that is read. Its text can be much larger. */
const MAX_WORKBOOK_BYTES = 32 * 1024 * 1024;
const LIMITS = {
  entries: 1_000,
  inflatedBytes: 256 * 1024 * 1024,
  /** Also the largest number of shared texts. */
  cells: 4_000_000,
  /** Of all shared texts, which are in memory together. */
  sharedCharacters: 32 * 1024 * 1024,
};
type Limits = typeof LIMITS;

const MAX_COLUMNS = 200;
/** More than spreadsheet programs write. */
const MAX_STYLES = 65_536;
const MAX_PARTS = 1_000;
const MAX_ATTRIBUTES = 100;
/** The limit of spreadsheet programs. */
const MAX_FORMAT_LENGTH = 255;
const MAX_NUMBER_LENGTH = 64;
const MAX_DEPTH = 50;
/** The limit of spreadsheet programs. */
const MAX_CELL_LENGTH = 32_767;

const MAX_ROW = 1_048_576;
const ZIP = Buffer.from('PK\x03\x04', 'latin1');
/** XLS workbooks, and workbooks with a password. */
const COMPOUND_FILE = Buffer.from('d0cf11e0', 'hex');
const PASSWORD = Buffer.from('EncryptedPackage', 'utf16le');

/** The workbook cannot be read. The message is a part of a sentence about the file, such as `is encrypted`. */
export class XlsxError extends Error {}

/** A row of a sheet, as text. Dates are YYYY-MM-DD or YYYY-MM-DD HH:mm:ss. */
export interface SheetRow extends CsvRecord {
  /** Why cells cannot be read, by their index. */
  problems: ReadonlyMap<number, string>;
}

interface HeaderSearch {
  /** Whether a row is the header. Of several functions, the first counts that finds a sheet. */
  isHeader: readonly ((cells: readonly string[]) => boolean)[];
  /** The number of rows with text among which the header must be. */
  within: number;
}

/** Whether a file that starts with these bytes may be a workbook. */
export function isWorkbook(start: Buffer): boolean {
  return [ZIP, COMPOUND_FILE].some((mark) => start.subarray(0, mark.length).equals(mark));
}

/**
 * Collects the bytes of a workbook.
 * @throws XlsxError above MAX_WORKBOOK_BYTES.
 */
export async function collectWorkbook(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > MAX_WORKBOOK_BYTES)
      throw new XlsxError(`is a workbook of more than ${MAX_WORKBOOK_BYTES / 2 ** 20} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads the rows of the one sheet that has a header. Formulas have the result that the spreadsheet program has stored.
 * @param limits - lower limits, for tests.
 * @throws XlsxError for a file that is not a workbook, is encrypted, is too large, or has no such sheet or several.
 */
export async function* readSheet(
  workbook: Buffer,
  search: HeaderSearch,
  limits: Partial<Limits> = {},
): AsyncGenerator<SheetRow> {
  const archive = await openArchive(workbook, { ...LIMITS, ...limits });
  try {
    const book = await readBook(archive);
    const sheet = await findSheet(archive, book, search);
    yield* rowsOf(archive, book, sheet);
  } finally {
    archive.close();
  }
}

interface Archive {
  limits: Limits;
  has(name: string): boolean;
  /** The text of a file of the archive, in chunks. */
  texts(name: string): AsyncGenerator<string>;
  close(): void;
}

async function openArchive(workbook: Buffer, limits: Limits): Promise<Archive> {
  if (!workbook.subarray(0, ZIP.length).equals(ZIP)) {
    throw new XlsxError(
      workbook.includes(PASSWORD)
        ? 'is a workbook with a password'
        : 'is an XLS workbook, or not a workbook at all',
    );
  }
  const zip = await yauzl.fromBufferPromise(workbook, { lazyEntries: true }).catch(damaged);
  if (zip.entryCount > limits.entries)
    throw new XlsxError(`is an archive of more than ${limits.entries} files`);
  const entries = new Map<string, yauzl.Entry>();
  try {
    for await (const entry of zip.eachEntry()) {
      if (entries.has(entry.fileName)) throw new XlsxError(`has two files with the name ${entry.fileName}`);
      if (entry.isEncrypted()) throw new XlsxError('is encrypted');
      entries.set(entry.fileName, entry);
    }
  } catch (error) {
    damaged(error);
  }
  let inflatedBytes = 0;
  async function* texts(name: string): AsyncGenerator<string> {
    const entry = entries.get(name);
    if (!entry) throw new XlsxError(`has no part ${name}`);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const stream: Readable = await zip.openReadStreamPromise(entry).catch(damaged);
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        inflatedBytes += chunk.length;
        if (inflatedBytes > limits.inflatedBytes)
          throw new XlsxError(`has more than ${limits.inflatedBytes / 2 ** 20} MiB of text`);
        yield decoder.decode(chunk, { stream: true });
      }
      yield decoder.decode();
    } catch (error) {
      damaged(error);
    } finally {
      stream.destroy();
    }
  }
  return { limits, has: (name) => entries.has(name), texts, close: () => zip.close() };
}

function damaged(error: unknown): never {
  if (error instanceof XlsxError) throw error;
  const message = error instanceof Error ? error.message.split('\n')[0] : String(error);
  throw new XlsxError(`is a spreadsheet or an archive that cannot be read (${message})`);
}

type Attributes = Record<string, string>;

interface Listener {
  open?(name: string, attributes: Attributes, parents: readonly string[]): void;
  text?(text: string, path: readonly string[]): void;
  close?(name: string): void;
}

/** Parses a part of the workbook. Names have no namespace prefix. Yields after each chunk. */
async function* parse(archive: Archive, part: string, listener: Listener): AsyncGenerator<void> {
  const path: string[] = [];
  const parser = sax.parser(true);
  parser.onerror = (error) => damaged(error);
  parser.ondoctype = () => damaged(new Error(`${part} has a document type`));
  const text = (value: string) => listener.text?.(value, path);
  parser.ontext = text;
  parser.oncdata = text;
  parser.onopentag = (tag) => {
    const name = localName(tag.name);
    if (path.length >= MAX_DEPTH) damaged(new Error(`${part} is nested too deeply`));
    if (Object.keys(tag.attributes).length > MAX_ATTRIBUTES)
      damaged(new Error(`${part} has too many attributes`));
    const attributes = Object.entries(tag.attributes).map(([key, value]) => [localName(key), String(value)]);
    listener.open?.(name, Object.fromEntries(attributes) as Attributes, path);
    path.push(name);
  };
  parser.onclosetag = () => {
    const name = path.pop() ?? '';
    listener.close?.(name);
  };
  for await (const chunk of archive.texts(part)) {
    parser.write(chunk);
    yield;
  }
  parser.close();
  yield;
}

async function parseAll(archive: Archive, part: string, listener: Listener): Promise<void> {
  for await (const _ of parse(archive, part, listener));
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

interface Sheet {
  name: string;
  part: string;
}

interface Book {
  sheets: Sheet[];
  /** Whether days are counted from 1904, as in old workbooks of a Mac. */
  isFrom1904: boolean;
  strings: string[];
  /** How numbers of each cell style are shown. */
  styles: NumberStyle[];
}

async function readBook(archive: Archive): Promise<Book> {
  const [main] = [...(await readRelations(archive, '_rels/.rels', '')).values()].filter(({ type }) =>
    type.endsWith('/officeDocument'),
  );
  const isSheets = main?.part.endsWith('.xml') && archive.has(main.part);
  if (!main || !isSheets) throw new XlsxError('is an archive, but not an XLSX workbook');
  const folder = main.part.slice(0, main.part.lastIndexOf('/') + 1);
  const relations = await readRelations(
    archive,
    `${folder}_rels/${main.part.slice(folder.length)}.rels`,
    folder,
  );
  const book: Book = { sheets: [], isFrom1904: false, strings: [], styles: [] };
  await parseAll(archive, main.part, {
    open(name, { name: sheetName = '', id = '', date1904 }) {
      if (name === 'workbookPr') book.isFrom1904 = date1904 === '1' || date1904 === 'true';
      const relation = name === 'sheet' ? relations.get(id) : undefined;
      if (book.sheets.length >= MAX_PARTS) damaged(new Error(`${main.part} has too many sheets`));
      if (relation?.type.endsWith('/worksheet')) book.sheets.push({ name: sheetName, part: relation.part });
    },
  });
  for (const { type, part } of relations.values()) {
    if (type.endsWith('/sharedStrings')) book.strings = await readStrings(archive, part);
    if (type.endsWith('/styles')) book.styles = await readStyles(archive, part);
  }
  return book;
}

async function readRelations(archive: Archive, part: string, folder: string) {
  const relations = new Map<string, { type: string; part: string }>();
  if (!archive.has(part)) return relations;
  await parseAll(archive, part, {
    open(name, { Id = '', Type = '', Target = '' }) {
      if (relations.size >= MAX_PARTS) damaged(new Error(`${part} has too many relationships`));
      if (name === 'Relationship') relations.set(Id, { type: Type, part: resolve(folder, Target) });
    },
  });
  return relations;
}

function resolve(folder: string, target: string): string {
  const base = `file:///${folder}`;
  if (!URL.canParse(target, base)) damaged(new Error(`${target} is not a path`));
  return new URL(target, base).pathname.slice(1);
}

async function readStrings(archive: Archive, part: string): Promise<string[]> {
  const { limits } = archive;
  const strings: string[] = [];
  let characters = 0;
  let current = '';
  await parseAll(archive, part, {
    open(name) {
      if (name === 'si') current = '';
    },
    text(text, path) {
      if (isShownText(path)) current = withText(current, text);
    },
    close(name) {
      if (name !== 'si') return;
      characters += current.length;
      if (characters > limits.sharedCharacters || strings.length >= limits.cells)
        throw new XlsxError('has too many different texts');
      strings.push(unescaped(current));
    },
  });
  return strings;
}

/** Whether text is in a `t` that is shown. A `t` in `rPh` says how to pronounce the text. */
function isShownText(path: readonly string[]): boolean {
  return path.at(-1) === 't' && !path.includes('rPh');
}

function withText(current: string, text: string): string {
  if (current.length + text.length > MAX_CELL_LENGTH)
    throw new XlsxError(`has a cell of more than ${MAX_CELL_LENGTH} characters`);
  return current + text.replaceAll('\0', REPLACEMENT);
}

/** PostgreSQL cannot store a NUL. */
const REPLACEMENT = '\ufffd';

/** Characters that XML does not allow are written as `_x000D_`. */
function unescaped(text: string): string {
  return text.replace(/_x([0-9a-fA-F]{4})_/g, (_, code: string) =>
    code === '0000' ? REPLACEMENT : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** `zeros`: padded to this number of digits. */
type NumberStyle = { kind: 'number' | 'date' | 'percent' } | { kind: 'zeros'; digits: number };

/** The built-in formats of dates and times. */
const BUILT_IN_DATES = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
] as const;
const BUILT_IN_PERCENTS = [9, 10];

async function readStyles(archive: Archive, part: string): Promise<NumberStyle[]> {
  const formats = new Map<number, string>();
  const styles: NumberStyle[] = [];
  await parseAll(archive, part, {
    open(name, { numFmtId = '0', formatCode = '' }, parents) {
      if (name === 'numFmt') {
        if (formats.size >= MAX_STYLES) damaged(new Error(`${part} has too many number formats`));
        formats.set(Number(numFmtId), formatCode.slice(0, MAX_FORMAT_LENGTH));
      }
      if (name !== 'xf' || parents.at(-1) !== 'cellXfs') return;
      if (styles.length >= MAX_STYLES) damaged(new Error(`${part} has too many styles`));
      styles.push(styleOf(Number(numFmtId), formats.get(Number(numFmtId))));
    },
  });
  return styles;
}

function styleOf(id: number, format: string | undefined): NumberStyle {
  if (format === undefined) {
    if (BUILT_IN_PERCENTS.includes(id)) return { kind: 'percent' };
    return { kind: BUILT_IN_DATES.some(([from, to]) => id >= from && id <= to) ? 'date' : 'number' };
  }
  // Texts in quotes, escaped characters, colours, conditions and currencies say nothing about the kind of number.
  const plain = format.replace(/"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]/gi, '');
  if (/^0{2,}$/.test(plain)) return { kind: 'zeros', digits: plain.length };
  if (/general/i.test(plain)) return { kind: 'number' };
  if (/[ymdhs]/i.test(plain)) return { kind: 'date' };
  return { kind: plain.includes('%') ? 'percent' : 'number' };
}

async function findSheet(archive: Archive, book: Book, search: HeaderSearch): Promise<Sheet> {
  for (const isHeader of search.isHeader) {
    const found: Sheet[] = [];
    for (const sheet of book.sheets) {
      let rows = 0;
      for await (const { record } of rowsOf(archive, book, sheet)) {
        rows += 1;
        if (isHeader(record)) found.push(sheet);
        if (isHeader(record) || rows >= search.within) break;
      }
    }
    const [first] = found;
    if (found.length > 1) {
      const names = found.map(({ name }) => `"${name}"`).join(', ');
      throw new XlsxError(`has ${found.length} sheets with the header (${names}): keep one of them`);
    }
    if (first) return first;
  }
  throw new XlsxError('has no sheet with the header');
}

interface OpenCell {
  index: number;
  type: string;
  style: NumberStyle;
  hasFormula: boolean;
  /** Undefined without a stored value. */
  value: string | undefined;
}

/** The rows of a sheet that have text or a problem. */
async function* rowsOf(archive: Archive, book: Book, sheet: Sheet): AsyncGenerator<SheetRow> {
  let rows: SheetRow[] = [];
  let line = 0;
  let cells = 0;
  let record: string[] = [];
  let problems = new Map<number, string>();
  let index = -1;
  let cell: OpenCell | undefined;
  const listener: Listener = {
    open(name, attributes) {
      if (name === 'row') {
        const number = attributes.r === undefined ? line + 1 : Number(attributes.r);
        if (!(number > line && number <= MAX_ROW)) damaged(new Error('the rows are not in order'));
        line = number;
        [record, problems, index] = [[], new Map(), -1];
      } else if (name === 'c') {
        const at = attributes.r === undefined ? index + 1 : columnOf(attributes.r);
        if (!(at > index)) damaged(new Error(`the cells of row ${line} are not in order`));
        index = at;
        cells += 1;
        if (cells > archive.limits.cells) throw new XlsxError(`has more than ${archive.limits.cells} cells`);
        const style = book.styles[Number(attributes.s ?? 0)] ?? { kind: 'number' };
        cell = { index, type: attributes.t ?? 'n', style, hasFormula: false, value: undefined };
      } else if (cell && name === 'f') cell.hasFormula = true;
      else if (cell && (name === 'v' || name === 'is')) cell.value = '';
    },
    text(text, path) {
      if (cell?.value === undefined) return;
      if (path.at(-1) === 'v' || (path.includes('is') && isShownText(path)))
        cell.value = withText(cell.value, text);
    },
    close(name) {
      if (name === 'c' && cell) {
        const read = readCell(cell, book);
        if (read.text !== '' || read.problem !== undefined) {
          if (cell.index >= MAX_COLUMNS) throw new XlsxError(`has more than ${MAX_COLUMNS} columns`);
          while (record.length < cell.index) record.push('');
          record.push(read.text);
          if (read.problem !== undefined)
            problems.set(cell.index, `cell ${columnName(cell.index)}${line} ${read.problem}`);
        }
        cell = undefined;
      } else if (name === 'row' && record.length > 0) rows.push({ line, record, problems });
    },
  };
  for await (const _ of parse(archive, sheet.part, listener)) {
    yield* rows;
    rows = [];
  }
}

function columnOf(reference: string): number {
  const letters = /^([A-Z]{1,3})[0-9]+$/.exec(reference)?.[1] ?? damaged(new Error(`the cell ${reference}`));
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function columnName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last;
}

interface ReadCell {
  text: string;
  problem?: string;
}

const UNCACHED =
  'has a formula without a stored result: open the workbook in a spreadsheet program, and save it';
const ROUNDED =
  'is a number of more than 15 digits, so the spreadsheet has changed its last digits: format the column as text, and enter the value again';

function readCell({ type, style, hasFormula, value }: OpenCell, { strings, isFrom1904 }: Book): ReadCell {
  if (value === undefined || (value === '' && type !== 'str' && hasFormula))
    return hasFormula ? { text: '', problem: UNCACHED } : { text: '' };
  switch (type) {
    case 's': {
      const text = strings[Number(value)];
      return text === undefined ? { text: value, problem: 'refers to a missing text' } : { text };
    }
    case 'str':
    case 'inlineStr':
      return { text: unescaped(value) };
    case 'b':
      return { text: value === '1' ? 'true' : 'false' };
    case 'e':
      return { text: value, problem: `has the error ${value}` };
    case 'd':
      return { text: value.replace('T', ' ') };
    case 'n':
      return readNumber(value, style, isFrom1904);
    default:
      return { text: value, problem: `has the unknown type ${type}` };
  }
}

function readNumber(value: string, style: NumberStyle, isFrom1904: boolean): ReadCell {
  if (value.trim() === '') return { text: '' };
  const isNumber =
    value.length <= MAX_NUMBER_LENGTH && /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(value.trim());
  const number = isNumber ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) return { text: value, problem: 'is not a number' };
  if (style.kind === 'date') return readDate(number, isFrom1904);
  if (Math.abs(number) >= 1e15) return { text: value, problem: ROUNDED };
  // Spreadsheet programs show 15 digits. The rest comes from binary fractions, as in 0.30000000000000004.
  const text = String(Number(number.toPrecision(15)));
  if (style.kind === 'percent') return { text, problem: 'is a percentage' };
  return { text: style.kind === 'zeros' && /^\d+$/.test(text) ? text.padStart(style.digits, '0') : text };
}

const DAY_SECONDS = 86_400;
/** Days before this count 29 February 1900, which did not exist. */
const FIRST_RIGHT_DAY = 61;
const LAST_DAY = 2_958_465; // 9999-12-31

function readDate(days: number, isFrom1904: boolean): ReadCell {
  if (days < (isFrom1904 ? 1 : FIRST_RIGHT_DAY) || days > LAST_DAY)
    return { text: String(days), problem: 'is not a date' };
  const origin = isFrom1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30);
  const iso = new Date(origin + Math.round(days * DAY_SECONDS) * 1000).toISOString();
  return { text: Number.isInteger(days) ? iso.slice(0, 10) : iso.slice(0, 19).replace('T', ' ') };
}
