import { createHash } from 'node:crypto';
import { pipeline as connect, Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError, type Info, parse } from 'csv-parse';
import { AppError } from '../core/http/errors.ts';
import type { Minor } from '../core/values/money.ts';
import { decodeText } from '../core/values/text-encoding.ts';
import {
  type Delimiter,
  findDelimiter,
  type Head,
  type LineRules,
  NEEDED_COLUMNS,
  readHead,
  readLine,
  readPreamble,
  type StatementLine,
} from './rules.ts';

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_LINES = 1_000_000;
const MAX_PREAMBLE_LINES = 100;
/** The most text that is buffered before the head of a file is found. */
const MAX_PREAMBLE_CHARACTERS = 1024 * 1024;
/** Of one line, whatever stands in it. */
const MAX_LINE_BYTES = 16 * 1024;
/** How long a sender may send nothing. */
const STALL_MS = 20_000;
const CHUNK_CHARACTERS = 64 * 1024;
/** Sums of amounts stay below it, so that each can stand in an answer as a JSON number. */
const MAX_TOTAL_MINOR = 10n ** 15n;

/** What a file says as a whole. */
export interface StatementFile {
  sha256: Buffer;
  organisation: string | null;
  shortCode: string | null;
  lineCount: number;
  firstCompletedAt: Date | null;
  lastCompletedAt: Date | null;
}

/** In the order of the values that `writeLine` writes. */
export const LINE_COLUMNS =
  'statement_id, line_number, is_payment, is_reversal, result, problem, receipt, completed_at, amount_minor, reference, payer, payer_name, provider_status, details, linked_receipt';

/**
 * Reads a statement while it comes in and writes its lines as rows of COPY; no more than a few of them are in
 * memory at a time.
 *
 * @param charset the encoding that the sender named; default: see decodeText.
 * @throws AppError VALIDATION_ERROR for what is no statement, 413 beyond 64 MiB, 408 when nothing comes in.
 */
export async function readProviderStatement(
  file: Readable,
  rows: Writable,
  statementId: number,
  rules: Omit<LineRules, 'delimiter'>,
  charset?: string,
): Promise<StatementFile> {
  const meter = metered();
  const statement: Omit<StatementFile, 'sha256'> = {
    organisation: null,
    shortCode: null,
    lineCount: 0,
    firstCompletedAt: null,
    lastCompletedAt: null,
  };
  try {
    await pipeline(
      file,
      meter.stream,
      async function* (bytes: AsyncIterable<Buffer>) {
        const { texts, delimiter } = await readStart(decodeText(refuseSpreadsheets(bytes), charset));
        const records = recordsOf(texts, delimiter);
        yield* rowsOf(records, statement, statementId, { ...rules, delimiter });
      },
      rows,
    );
  } catch (error) {
    throw asRefusal(error);
  }
  return { ...statement, sha256: meter.digest() };
}

/** The first bytes of files that people send instead of CSV. */
const OTHER_FILES: { start: Buffer; message: string }[] = [
  ...[Buffer.from('PK\x03\x04'), Buffer.from('d0cf11e0', 'hex')].map((start) => ({
    start,
    message:
      'This is a spreadsheet (XLSX, XLS, ODS) or an archive. Open it in a spreadsheet program, save it as "CSV UTF-8", and ' +
      'upload that file.',
  })),
  { start: Buffer.from('%PDF'), message: 'This is a PDF. Export the statement from the portal as CSV.' },
];
const LONGEST_START = Math.max(...OTHER_FILES.map(({ start }) => start.length));

/** @throws AppError that says how to make a CSV file of a spreadsheet. */
async function* refuseSpreadsheets(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (begun.length < LONGEST_START) {
      begun = Buffer.concat([begun, chunk.subarray(0, LONGEST_START)]);
      const other = OTHER_FILES.find(({ start }) => begun.subarray(0, start.length).equals(start));
      if (other) throw refused(other.message);
    }
    yield chunk;
  }
}

/** Detects the delimiter by the head of the file. Returns all texts, including those read to detect it. */
async function readStart(
  texts: AsyncGenerator<string>,
): Promise<{ texts: AsyncIterable<string>; delimiter: Delimiter }> {
  const start: string[] = [];
  let characters = 0;
  let lines = 0;
  let line = '';
  let delimiter: Delimiter | undefined;
  while (!delimiter && lines <= MAX_PREAMBLE_LINES && characters <= MAX_PREAMBLE_CHARACTERS) {
    const { value: text, done } = await texts.next();
    if (done) break;
    start.push(text);
    characters += text.length;
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) {
        delimiter ??= findDelimiter(line);
        if (line.trim() !== '') lines += 1;
        line = '';
      }
      line += part;
    }
  }
  async function* all() {
    yield* start;
    yield* texts;
  }
  return { texts: all(), delimiter: delimiter ?? ',' };
}

interface CsvRecord {
  info: Info;
  record: string[];
}

function recordsOf(texts: AsyncIterable<string>, delimiter: Delimiter): AsyncIterable<CsvRecord> {
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n'],
    max_record_size: MAX_LINE_BYTES,
  });
  // Errors are thrown to the consumer of the records.
  return connect(Readable.from(texts), parser, () => {});
}

async function* rowsOf(
  records: AsyncIterable<CsvRecord>,
  statement: Omit<StatementFile, 'sha256'>,
  statementId: number,
  rules: LineRules,
): AsyncGenerator<string> {
  const lineNumber = createLineCounter();
  let head: Head | undefined;
  let preambleLines = 0;
  let totalMinor: Minor = 0n;
  let chunk = '';
  for await (const { info, record } of records) {
    const number = lineNumber(info, record);
    if (record.every((cell) => cell.trim() === '')) continue;
    if (!head) {
      head = readHead(record);
      if (head) continue;
      Object.assign(statement, readPreamble(record));
      preambleLines += 1;
      if (preambleLines > MAX_PREAMBLE_LINES) throw noHead();
      continue;
    }
    statement.lineCount += 1;
    if (statement.lineCount > MAX_LINES) throw refused(`A statement has at most ${MAX_LINES} lines.`);
    const line = readLine(head, record, rules);
    extendPeriod(statement, line);
    totalMinor +=
      line.amountMinor === null || line.amountMinor < 0n ? -(line.amountMinor ?? 0n) : line.amountMinor;
    if (totalMinor >= MAX_TOTAL_MINOR)
      throw refused('The amounts of the file add up to more than can be shown.');
    chunk += rowOf(statementId, number, line);
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  if (!head) throw noHead();
  if (statement.lineCount === 0) throw refused('The statement has a head but no lines.');
  yield chunk;
}

/**
 * The line of the file on which a record begins. The parser tells the line on which it ends, and counts a
 * CRLF within quotes as two.
 */
function createLineCounter() {
  let counted = 0;
  return ({ lines }: Info, record: readonly string[]): number => {
    let breaks = 0;
    for (const cell of record) {
      if (!cell.includes('\n')) continue;
      breaks += cell.split('\n').length - 1;
      counted += cell.split('\r\n').length - 1;
    }
    return lines - counted - breaks;
  };
}

function extendPeriod(
  statement: Omit<StatementFile, 'sha256'>,
  { completedAt, result }: StatementLine,
): void {
  if (completedAt === null || result === 'unreadable') return;
  const { firstCompletedAt: first, lastCompletedAt: last } = statement;
  if (first === null || completedAt < first) statement.firstCompletedAt = completedAt;
  if (last === null || completedAt > last) statement.lastCompletedAt = completedAt;
}

/** In COPY's text format; control characters were dropped when the cells were read. */
function rowOf(statementId: number, lineNumber: number, line: StatementLine): string {
  const values = [
    statementId,
    lineNumber,
    line.isPayment,
    line.isReversal,
    line.result,
    line.problem,
    line.receipt,
    line.completedAt?.toISOString() ?? null,
    line.amountMinor,
    line.reference,
    line.payer,
    line.payerName,
    line.status,
    line.details,
    line.linkedReceipt,
  ];
  return `${values.map((value) => (value === null ? '\\N' : String(value).replaceAll('\\', '\\\\'))).join('\t')}\n`;
}

/** Counts and hashes the bytes as they pass, and breaks off what is too large or does not go on. */
function metered() {
  const hash = createHash('sha256');
  let bytes = 0;
  let stall: NodeJS.Timeout | undefined;
  const stream = new Transform({
    construct(done) {
      stall = setTimeout(() => this.destroy(stalled()), STALL_MS);
      done();
    },
    transform(chunk: Buffer, _encoding, done) {
      stall?.refresh();
      bytes += chunk.length;
      hash.update(chunk);
      done(bytes > MAX_BYTES ? tooLarge() : null, chunk);
    },
    flush(done) {
      clearTimeout(stall);
      done();
    },
    destroy(error, done) {
      clearTimeout(stall);
      done(error);
    },
  });
  return { stream, digest: () => hash.digest() };
}

function asRefusal(error: unknown): unknown {
  if (error instanceof CsvError) {
    const { lines } = error as CsvError & { lines?: number };
    if (error.code === 'CSV_QUOTE_NOT_CLOSED')
      return refused(`A quote is never closed: the file ends within it, on line ${lines}.`);
    if (error.code === 'CSV_MAX_RECORD_SIZE') {
      return refused(
        `What begins before line ${lines} is longer than ${MAX_LINE_BYTES} bytes; a quote may not be closed.`,
      );
    }
    return refused(`The file cannot be read as CSV: ${error.message}.`);
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return refused('The upload was broken off.');
  return error;
}

function noHead(): AppError {
  return refused(
    `No line of the first ${MAX_PREAMBLE_LINES} is the head of a statement. It needs the columns ${NEEDED_COLUMNS.join(', ')}.`,
  );
}

function refused(message: string): AppError {
  return new AppError('VALIDATION_ERROR', message, { details: { fields: [{ path: 'body', message }] } });
}

/** @throws AppError 413 for a size that its sender names, before any of it is read. */
export function checkSize(bytes: number): void {
  if (bytes > MAX_BYTES) throw tooLarge();
}

function tooLarge(): AppError {
  return new AppError('VALIDATION_ERROR', `A statement has at most ${MAX_BYTES / 2 ** 20} MiB.`, {
    status: 413,
  });
}

function stalled(): AppError {
  return new AppError('VALIDATION_ERROR', `Nothing came in for ${STALL_MS / 1000} seconds.`, { status: 408 });
}
