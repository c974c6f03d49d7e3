import { isUtf8 } from 'node:buffer';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError } from 'csv-parse';
import { type CsvRecord, readRecords } from '../../core/values/csv-records.ts';
import {
  collectWorkbook,
  isWorkbook,
  readSheet,
  type SheetRow,
  XlsxError,
} from '../../core/values/xlsx-records.ts';
import { type Column, type FileName, FORMAT, VERSION_COLUMN } from '../format-rules.ts';
import { type FormatVersion, unguarded } from '../spreadsheet-guard-rules.ts';
import {
  allowedIn,
  type CellSettings,
  type DateOrder,
  type DateSample,
  dateOrderOf,
  ISO_DATES,
  readCell,
  SAMPLED_ROWS,
} from './cell-rules.ts';
import type { CellsByLine, Findings } from './findings-rules.ts';
import { rowAsText } from './staging-rules.ts';

const MAX_LINE_BYTES = 64 * 1024;
const CHUNK_CHARACTERS = 64 * 1024;
const DELIMITERS = [',', ';', '\t'] as const;
const OTHER_FILES = [{ start: Buffer.from('%PDF'), name: 'a PDF' }];
/** The header must be the first row of a sheet that has text. */
const HEADER_WITHIN = 1;
const UNORDERED_DATE = /^\s*\d{1,2}[/-]/;
const SAVE_AS_UTF8 =
  'a CSV file in UTF-8: save it from Excel as "CSV UTF-8", or from LibreOffice as "Text CSV" with the character set "Unicode (UTF-8)"';

/** The file cannot be read to its end. */
class UnreadableFile extends Error {
  readonly allowed: string;
  readonly line: number | null;

  constructor(message: string, allowed: string, line: number | null = null) {
    super(message);
    this.allowed = allowed;
    this.line = line;
  }
}

type FileRecord = CsvRecord & Partial<SheetRow>;

/**
 * Reads a CSV file or an XLSX workbook, and writes its rows in the text format of COPY. Few rows are in memory at a time. An unreadable cell becomes
 * null. Its row is still written, because rows of other files can refer to the row.
 * @returns the number of rows, and whether the file was read to its end.
 */
export async function readFile(
  file: FileName,
  bytes: AsyncIterable<Buffer>,
  rows: Writable,
  settings: Omit<CellSettings, 'allowsDecimalComma' | 'version'>,
  findings: Findings,
): Promise<{ count: number; isComplete: boolean }> {
  let count = 0;
  let isComplete = true;
  await pipeline(async function* () {
    try {
      const { records, delimiter } = await recordsOf(file, bytes);
      const cellSettings = { ...settings, allowsDecimalComma: delimiter !== ',' };
      for await (const row of rowsOf(file, records, cellSettings, findings)) {
        count += row.count;
        yield row.text;
      }
    } catch (error) {
      const { message, allowed, line } = asUnreadable(error);
      isComplete = false;
      findings.addProblem({
        ...{ severity: 'error', file, line, column: null, value: null },
        ...{ problem: message, allowed },
      });
    }
  }, rows);
  return { count, isComplete };
}

/** Reads the cells of some lines, as they are in the file. The file must be readable to its end. */
export async function readCells(
  file: FileName,
  bytes: AsyncIterable<Buffer>,
  lines: ReadonlySet<number>,
): Promise<CellsByLine> {
  const { records } = await recordsOf(file, bytes);
  const cells = new Map<number, ReadonlyMap<string, string>>();
  let names: string[] | undefined;
  for await (const { line, record } of records) {
    if (record.every((cell) => cell.trim() === '')) continue;
    if (names && lines.has(line)) cells.set(line, new Map(names.map((name, at) => [name, record[at] ?? ''])));
    names ??= record.map(headerName);
  }
  return cells;
}

async function recordsOf(
  file: FileName,
  bytes: AsyncIterable<Buffer>,
): Promise<{ records: AsyncIterable<FileRecord>; delimiter: string }> {
  const chunks = bytes[Symbol.asyncIterator]();
  const first = await chunks.next();
  async function* all() {
    for (let next = first; !next.done; next = await chunks.next()) yield next.value;
  }
  if (!first.done && isWorkbook(first.value)) {
    const { columns } = FORMAT[file];
    const isHeader = [
      (cells: readonly string[]) =>
        columns.every(({ name, required }) => !required || cells.map(headerName).includes(name)),
      (cells: readonly string[]) => columns.some(({ name }) => cells.map(headerName).includes(name)),
    ];
    const workbook = await collectWorkbook(all());
    return { records: readSheet(workbook, { isHeader, within: HEADER_WITHIN }), delimiter: ',' };
  }
  const { texts, delimiter } = await readStart(file, textsOf(all()));
  return { records: readRecords(texts, delimiter, MAX_LINE_BYTES), delimiter };
}

async function* textsOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true }); // drops a byte order mark
  let line = 1;
  let isFirst = true;
  for await (const chunk of bytes) {
    if (isFirst) refuseOtherFiles(chunk);
    isFirst = false;
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch {
      throw notUtf8(line + linesBeforeOtherEncoding(chunk));
    }
    line += text.split(/\n|\r(?!\n)/).length - 1;
    yield text;
  }
  try {
    yield decoder.decode();
  } catch {
    throw notUtf8(line);
  }
}

/** The number of lines of a chunk before the first line that is not UTF-8. */
function linesBeforeOtherEncoding(chunk: Buffer): number {
  let lines = 0;
  for (let start = 0; start < chunk.length; lines += 1) {
    const end = chunk.indexOf('\n', start);
    if (!isUtf8(chunk.subarray(start, end === -1 ? chunk.length : end))) return lines;
    if (end === -1) return lines;
    start = end + 1;
  }
  return lines;
}

function refuseOtherFiles(start: Buffer): void {
  const other = OTHER_FILES.find((one) => start.subarray(0, one.start.length).equals(one.start));
  if (other) throw new UnreadableFile(`is ${other.name}`, SAVE_AS_UTF8);
  if (start.subarray(0, 512).includes(0))
    throw new UnreadableFile('is a binary file or in UTF-16', SAVE_AS_UTF8);
}

function notUtf8(line: number): UnreadableFile {
  return new UnreadableFile(
    'has letters that are not UTF-8, for example because the file was saved as Windows-1252 (ANSI)',
    SAVE_AS_UTF8,
    line,
  );
}

/** Finds the delimiter by the header. The returned texts include those that were already read to find the header. */
async function readStart(file: FileName, texts: AsyncGenerator<string>) {
  let start = '';
  while (!/[\r\n]/.test(start) && start.length < MAX_LINE_BYTES) {
    const { value, done } = await texts.next();
    if (done) break;
    start += value;
  }
  const names = new Set(FORMAT[file].columns.map(({ name }) => name));
  const header = start.split(/[\r\n]/, 1)[0] ?? '';
  const known = DELIMITERS.map((delimiter) => ({
    delimiter,
    columns: header.split(delimiter).filter((cell) => names.has(headerName(cell))).length,
  }));
  known.sort((a, b) => b.columns - a.columns);
  async function* all() {
    yield start;
    yield* texts;
  }
  return { texts: all(), delimiter: known[0]?.delimiter ?? ',' };
}

function headerName(cell: string): string {
  return cell
    .replace(/^\ufeff/, '')
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase()
    .replace(/[\s-]+/g, '_');
}

/** A column of the format, with its place in the file and the order of day and month of its dates. */
interface PlacedColumn {
  column: Column;
  /** Undefined if the file does not have the column. */
  at: number | undefined;
  order: DateOrder;
  /** Whether dates such as 12/11/2026 cannot be read. The column then gets one problem, not one for each date. */
  hasNoOrder: boolean;
}

async function* rowsOf(
  file: FileName,
  records: AsyncIterable<FileRecord>,
  fileSettings: Omit<CellSettings, 'version'>,
  findings: Findings,
): AsyncGenerator<{ text: string; count: number }> {
  let settings: CellSettings = { ...fileSettings, version: 1 };
  let columns: PlacedColumn[] | undefined;
  let sampled: FileRecord[] | undefined = [];
  let width = 0;
  let position = 0;
  let text = '';
  let count = 0;
  const add = ({ line, record, problems }: FileRecord, placed: readonly PlacedColumn[]) => {
    position += 1;
    count += 1;
    if (position === 1 && isExample(record, placed, settings.version)) {
      findings.addProblem({
        ...{ severity: 'warning', file, line, column: null, value: null },
        problem: 'is the example row of the template, and is imported like any other row',
        allowed:
          'only rows of your own. Delete this example row, or leave out the file if you have no rows for it',
      });
    }
    text += rowAsText(
      file,
      position,
      line,
      valuesOf(file, { line, record, problems }, placed, settings, findings),
    );
    if (record.length > width && record.slice(width).some((cell) => cell.trim() !== '')) {
      findings.addProblem({
        ...{ severity: 'error', file, line, column: null, value: record.slice(width).join(' ') },
        problem: `is after the last column; the line has ${record.length} cells`,
        allowed: `${width} cells, as in the header; a cell with the delimiter in it needs quotes`,
      });
    }
  };
  for await (const record of records) {
    if (record.record.every((cell) => cell.trim() === '')) continue;
    if (!columns) {
      columns = placeColumns(file, record, findings);
      if (record.record.map(headerName).includes(VERSION_COLUMN)) settings = { ...settings, version: 2 };
      width = record.record.length;
      continue;
    }
    if (sampled && sampled.length < SAMPLED_ROWS) {
      sampled.push(record);
      continue;
    }
    if (sampled) {
      setDateOrders(file, columns, sampled, findings);
      for (const one of sampled) add(one, columns);
      sampled = undefined;
    }
    add(record, columns);
    if (text.length < CHUNK_CHARACTERS) continue;
    yield { text, count };
    text = '';
    count = 0;
  }
  if (!columns) throw new UnreadableFile('is empty', `a header with the columns of ${file}.csv`);
  if (sampled) {
    setDateOrders(file, columns, sampled, findings);
    for (const one of sampled) add(one, columns);
  }
  if (text !== '') yield { text, count };
}

/** Whether every cell of a row is the example of the template. Cells of optional columns can be empty. */
function isExample(
  record: readonly string[],
  placed: readonly PlacedColumn[],
  version: FormatVersion,
): boolean {
  return placed.every(({ column, at }) => {
    const cell = at === undefined ? '' : unguarded(record[at] ?? '', version).trim();
    return cell === (column.required ? column.example : cell && column.example);
  });
}

/** @throws UnreadableFile if the first line is not a header. */
function placeColumns(file: FileName, { line, record }: CsvRecord, findings: Findings): PlacedColumn[] {
  const { columns } = FORMAT[file];
  const names = record.map(headerName);
  const known = columns.map(({ name }) => name);
  if (!names.some((name) => known.includes(name))) {
    throw new UnreadableFile(
      'has no header in its first line',
      `a header with the columns ${known.join(', ')}`,
      line,
    );
  }
  const report = (column: string, problem: string, allowed: string) =>
    findings.addProblem({ severity: 'error', file, line, column, value: null, problem, allowed });
  names.forEach((name, at) => {
    if (name === '') return;
    if (names.indexOf(name) !== at) report(name, 'occurs twice in the header', 'each column once');
    else if (/^format_\d+$/.test(name) && name !== VERSION_COLUMN)
      report(name, 'is the format of another version of the service', `${VERSION_COLUMN}, or no such column`);
    else if (!known.includes(name) && name !== VERSION_COLUMN)
      report(name, `is not a column of ${file}.csv: delete or rename it`, known.join(', '));
  });
  for (const { name, required } of columns) {
    if (required && !names.includes(name)) report(name, 'is missing in the header', 'every required column');
  }
  return columns.map((column) => {
    const at = names.indexOf(column.name);
    return { column, at: at === -1 ? undefined : at, order: undefined, hasNoOrder: false };
  });
}

function setDateOrders(
  file: FileName,
  columns: readonly PlacedColumn[],
  sampled: readonly CsvRecord[],
  findings: Findings,
): void {
  for (const placed of columns) {
    const { column, at } = placed;
    if (at === undefined || (column.kind !== 'date' && column.kind !== 'timestamp')) continue;
    const samples = sampled.map(({ line, record }): DateSample => ({ line, text: record[at] ?? '' }));
    const found = dateOrderOf(samples);
    if ('order' in found) {
      placed.order = found.order;
      continue;
    }
    placed.hasNoOrder = true;
    findings.addProblem({
      ...{ severity: 'error', file, line: found.sample.line, column: column.name, value: found.sample.text },
      problem: found.problem,
      allowed: ISO_DATES,
    });
  }
}

function valuesOf(
  file: FileName,
  { line, record, problems }: FileRecord,
  columns: readonly PlacedColumn[],
  settings: CellSettings,
  findings: Findings,
): (string | null)[] {
  return columns.map(({ column, at, order, hasNoOrder }) => {
    if (at === undefined) return null;
    const raw = record[at] ?? '';
    const problem = problems?.get(at);
    if (problem !== undefined) {
      findings.addProblem({
        ...{
          severity: 'error',
          file,
          line,
          column: column.name,
          value: raw,
          problem: `is unreadable: ${problem}`,
        },
        allowed: allowedIn(column),
      });
      return null;
    }
    if (raw === '' && !column.required) return null;
    if (hasNoOrder && UNORDERED_DATE.test(raw)) return null;
    const cell = readCell(column, raw, settings, order);
    const place = { file, line, column: column.name, value: raw };
    if ('problem' in cell) {
      findings.addProblem({ severity: 'error', ...place, ...cell });
      return null;
    }
    if (cell.warning !== undefined) {
      findings.addProblem({
        ...{ severity: 'warning', ...place, problem: cell.warning },
        allowed: allowedIn(column),
      });
    }
    return cell.value;
  });
}

function asUnreadable(error: unknown): UnreadableFile {
  if (error instanceof UnreadableFile) return error;
  if (error instanceof XlsxError)
    return new UnreadableFile(error.message, `an XLSX workbook, or ${SAVE_AS_UTF8}`);
  if (!(error instanceof CsvError)) throw error;
  const { lines } = error as CsvError & { lines?: number };
  const line = lines ?? null;
  if (error.code === 'CSV_QUOTE_NOT_CLOSED')
    return new UnreadableFile(
      'has a quote that is opened but not closed',
      'a quote before the cell and a quote after it',
    );
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    return new UnreadableFile(
      `has a row of more than ${MAX_LINE_BYTES / 1024} KB`,
      'shorter rows; perhaps a quote is not closed',
      line,
    );
  }
  return new UnreadableFile(`cannot be read as CSV: ${error.message}`, 'a CSV file', line);
}
