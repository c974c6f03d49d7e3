import { createHash } from 'node:crypto';
import { type Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError } from 'csv-parse';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, type Currency, today } from '../../core/context.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import { violatedUnique } from '../../core/database/postgres-errors.ts';
import { AppError } from '../../core/http/errors.ts';
import { type CsvRecord, readRecords } from '../../core/values/csv-records.ts';
import type { Minor } from '../../core/values/money.ts';
import { decodeText } from '../../core/values/text-encoding.ts';
import {
  collectWorkbook,
  isWorkbook,
  readSheet,
  type SheetRow,
  XlsxError,
} from '../../core/values/xlsx-records.ts';
import type { DateOrder, Delimiter, Head, LineRules, StatementLine } from '../providers/provider.ts';
import { STATEMENT_PROVIDER } from '../providers/registry.ts';
import { type BalanceLine, findContradictions, followBalances } from './balance-rules.ts';
import { followDateOrder } from './date-order-rules.ts';
import {
  COPY_LINES,
  completeStatement,
  findIdOfFile,
  insertStatement,
  type StatementFile,
  setContradictoryPairs,
  setRepeatedReceipts,
  toCopyRow,
} from './store.ts';
import { queueStatement } from './work-on-statement.ts';

const { statement: reader } = STATEMENT_PROVIDER;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_LINES = 1_000_000;
const MAX_PREAMBLE_LINES = 100;
/** The maximum number of characters that are buffered to find the header. */
const MAX_PREAMBLE_CHARACTERS = 1024 * 1024;
const MAX_LINE_BYTES = 16 * 1024;
const CHUNK_CHARACTERS = 64 * 1024;
/** Balances are compared among this many lines, of which the lines at the ends only help to judge the others. */
const COMPARED_BALANCES = 2_000;
const BALANCE_CONTEXT = 250;
/** Sums below this are exact as JSON numbers. */
const MAX_TOTAL_MINOR = 10n ** 15n;

/**
 * Stores a statement with all its lines in one database transaction while the file is being uploaded. Queues it for matching.
 * @throws AppError DUPLICATE_ENTRY for a file that was uploaded before.
 */
export async function receiveStatement(
  context: Context,
  copies: CopyPool,
  { actor, caller }: { actor: Actor; caller: string },
  {
    file,
    charset,
    dateOrder,
  }: { file: Readable; charset?: string | undefined; dateOrder?: DateOrder | undefined },
): Promise<number> {
  const timeZone = context.config.BUSINESS_TIMEZONE;
  const stallMs = context.config.limits.uploadStallMs;
  const { paybillNumbers } = context.config;
  const rules = {
    currency: context.currency,
    timeZone,
    providerTimeZone: STATEMENT_PROVIDER.timeZone?.(context.config),
    today: today(context),
    paybillNumbers,
    dateOrder,
    stallMs,
  };
  let sha256: Buffer | undefined;
  try {
    return await copies.load(caller, async (tx, copyIn) => {
      const id = await insertStatement(tx, actor.userId);
      const statement = await readStatement(file, copyIn(COPY_LINES), id, rules, charset);
      sha256 = statement.sha256;
      await setRepeatedReceipts(tx, id);
      await setContradictoryPairs(tx, id);
      await completeStatement(tx, id, statement, timeZone);
      await audit(tx, actor, {
        action: 'provider_statement.receive',
        resource: 'provider_statement',
        resourceId: id,
        after: { sha256: sha256.toString('hex'), lines: statement.lineCount },
        event: event('statement.received', { lineCount: statement.lineCount }),
      });
      await queueStatement(tx, id);
      return id;
    });
  } catch (error) {
    const isKnown = violatedUnique(error) === 'provider_statements_content_unique';
    const first = isKnown && sha256 ? await findIdOfFile(context.db, sha256) : undefined;
    throw first === undefined ? error : sameFile(first);
  }
}

function sameFile(first: number): AppError {
  return new AppError('DUPLICATE_ENTRY', `This file was uploaded before, as provider statement ${first}.`, {
    details: { resource: 'provider_statement', field: 'body', id: first },
  });
}

type FileRules = Pick<LineRules, 'currency' | 'timeZone' | 'providerTimeZone' | 'today'> & {
  paybillNumbers: readonly string[];
  /** The order that the user declares. Without it, a file is refused if its dates can be read in two ways. */
  dateOrder?: DateOrder | undefined;
};

/**
 * Writes the lines of a file as rows of COPY while the file is being uploaded. Only a few lines are in memory at a time.
 *
 * @param charset - the charset of the Content-Type; default: see `decodeText`.
 * @throws AppError VALIDATION_ERROR for a file that is not a statement. The status is 413 above 64 MiB, and 408 if the upload
 *   stops.
 */
export async function readStatement(
  file: Readable,
  rows: Writable,
  statementId: number,
  { stallMs, ...rules }: FileRules & { stallMs: number },
  charset?: string,
): Promise<StatementFile> {
  const meter = metered(stallMs);
  const statement: Omit<StatementFile, 'sha256'> = {
    stated: {},
    lineCount: 0,
    firstCompletedAt: null,
    lastCompletedAt: null,
    ends: null,
    paidInMinor: 0n,
    withdrawnMinor: 0n,
  };
  try {
    await pipeline(
      file,
      meter.stream,
      async function* (bytes: AsyncIterable<Buffer>) {
        const { records, delimiter } = await readRecordsOf(bytes, rules.currency, charset);
        yield* rowsOf(records, statement, statementId, { ...rules, delimiter });
      },
      rows,
    );
  } catch (error) {
    throw asRefusal(error);
  }
  return { ...statement, sha256: meter.digest() };
}

/** The records of a CSV file or of a workbook, whatever the Content-Type says. */
async function readRecordsOf(
  bytes: AsyncIterable<Buffer>,
  currency: Currency,
  charset: string | undefined,
): Promise<{ records: AsyncIterable<CsvRecord & Partial<SheetRow>>; delimiter: Delimiter }> {
  const { start, all } = await readFirstBytes(bytes);
  if (start.subarray(0, PDF.length).equals(PDF))
    throw refused('This is a PDF. Export the statement from the portal as CSV.');
  if (isWorkbook(start)) {
    const isHeader = [(cells: readonly string[]) => reader.readHead(cells, currency) !== undefined];
    const search = { isHeader, within: MAX_PREAMBLE_LINES + 1 };
    return { records: readSheet(await collectWorkbook(all), search), delimiter: ',' };
  }
  const { texts, delimiter } = await readStart(decodeText(all, charset), currency);
  return { records: readRecords(texts, delimiter, MAX_LINE_BYTES), delimiter };
}

const PDF = Buffer.from('%PDF');

async function readFirstBytes(
  bytes: AsyncIterable<Buffer>,
): Promise<{ start: Buffer; all: AsyncGenerator<Buffer> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  let isDone = false;
  while (!isDone && start.length < PDF.length) {
    const next = await chunks.next();
    isDone = next.done === true;
    if (!next.done) start = Buffer.concat([start, next.value]);
  }
  async function* all() {
    yield start;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  }
  return { start, all: all() };
}

/** Finds the delimiter in the header of the file. Returns all texts, including the texts that were already read for this. */
async function readStart(
  texts: AsyncGenerator<string>,
  currency: Currency,
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
    for (const [index, part] of text.split(/[\r\n]/).entries()) {
      if (index > 0) {
        delimiter ??= reader.findDelimiter(line, currency);
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

async function* rowsOf(
  records: AsyncIterable<CsvRecord & Partial<SheetRow>>,
  statement: Omit<StatementFile, 'sha256'>,
  statementId: number,
  rules: FileRules & Pick<LineRules, 'delimiter'>,
): AsyncGenerator<string> {
  let totalMinor: Minor = 0n;
  let chunk = '';
  const balances = followBalances();
  for await (const lines of checkedLines(linesOf(records, statement, rules))) {
    for (const { number, line } of lines) {
      extendPeriod(statement, line);
      extendTotals(statement, line);
      const moved = toBalanceLine(line);
      if (moved) balances.add(moved);
      const amountMinor = line.amountMinor ?? 0n;
      totalMinor += amountMinor < 0n ? -amountMinor : amountMinor;
      if (totalMinor >= MAX_TOTAL_MINOR)
        throw refused(`The amounts of a file must add up to less than ${MAX_TOTAL_MINOR} minor units.`);
      chunk += toCopyRow(statementId, number, line);
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield chunk;
        chunk = '';
      }
    }
  }
  statement.ends = balances.ends();
  yield chunk;
}

interface ReadLine {
  number: number;
  line: StatementLine;
  cells: readonly string[];
}

async function* linesOf(
  records: AsyncIterable<CsvRecord & Partial<SheetRow>>,
  statement: Omit<StatementFile, 'sha256'>,
  { paybillNumbers, dateOrder: declared, ...fileRules }: FileRules & Pick<LineRules, 'delimiter'>,
): AsyncGenerator<ReadLine> {
  let head: Head | undefined;
  let preambleLines = 0;
  const dates = followDateOrder({ today: fileRules.today, declared });
  const dateOrder = declared ?? 'day_first';
  let rules: LineRules = { ...fileRules, dateOrder, organisation: null, ownShortCodes: paybillNumbers };
  for await (const { line: number, record, problems } of records) {
    if (record.every((cell) => cell.trim() === '')) continue;
    if (!head) {
      const found = reader.readHead(record, rules.currency);
      if (found && 'problem' in found) throw refused(found.problem);
      head = found;
      if (head) {
        const { organisation = null, shortCode } = statement.stated;
        rules = {
          ...rules,
          organisation,
          ownShortCodes: [...paybillNumbers, ...(shortCode ? [shortCode] : [])],
        };
        continue;
      }
      Object.assign(statement.stated, reader.readPreamble(record, rules));
      preambleLines += 1;
      if (preambleLines > MAX_PREAMBLE_LINES) throw noHead();
      continue;
    }
    statement.lineCount += 1;
    if (statement.lineCount > MAX_LINES) throw refused(`A statement has at most ${MAX_LINES} lines.`);
    const line = reader.readLine(head, record, rules);
    dates.add(number, reader.timeCell(head, record), statement.stated.period);
    const problem = Object.values(head.columns).flatMap((at = -1) => problems?.get(at) ?? [])[0];
    yield {
      number,
      line: problem === undefined ? line : reader.asUnreadable(line, record, problem),
      cells: record,
    };
  }
  if (!head) throw noHead();
  if (statement.lineCount === 0) throw refused('The statement has no lines after its header.');
  const problem = dates.problem();
  if (problem) throw refused(problem.message, problem.path);
}

/** Makes the lines unreadable whose balance contradicts the lines beside them. */
async function* checkedLines(lines: AsyncIterable<ReadLine>): AsyncGenerator<ReadLine[]> {
  let buffer: ReadLine[] = [];
  let done = 0;
  const check = (end: number) => {
    const compared = buffer.filter(({ line }) => line.result === 'unreadable' || toBalanceLine(line));
    const contradicted = findContradictions(compared.map(({ line }) => toBalanceLine(line) ?? null));
    const wrong = new Set([...contradicted].map((index) => compared[index]));
    return buffer.slice(done, end).map((read) =>
      // Without its link, a reversal would leave the reversed payment as received.
      wrong.has(read) && !read.line.isReversal
        ? { ...read, line: reader.asUnreadable(read.line, read.cells, WRONG_BALANCE) }
        : read,
    );
  };
  for await (const line of lines) {
    buffer.push(line);
    if (buffer.length < COMPARED_BALANCES) continue;
    const end = buffer.length - BALANCE_CONTEXT;
    yield check(end);
    buffer = buffer.slice(end - BALANCE_CONTEXT);
    done = BALANCE_CONTEXT;
  }
  yield check(buffer.length);
}

const WRONG_BALANCE =
  'Balance does not fit the lines beside this line: perhaps a text with a comma is not in quotes, or the file leaves out lines';

function toBalanceLine({ isCompleted, amountMinor, balanceMinor }: StatementLine): BalanceLine | undefined {
  return isCompleted && amountMinor ? { amountMinor, balanceMinor } : undefined;
}

function extendTotals(statement: Omit<StatementFile, 'sha256'>, { isCompleted, amountMinor }: StatementLine) {
  if (!isCompleted || amountMinor === null) return;
  if (amountMinor > 0n) statement.paidInMinor += amountMinor;
  else statement.withdrawnMinor -= amountMinor;
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

/** Counts and hashes the bytes. Fails if the file is too large or the upload stops. */
function metered(stallMs: number) {
  const hash = createHash('sha256');
  let bytes = 0;
  let stall: NodeJS.Timeout | undefined;
  const stream = new Transform({
    construct(done) {
      stall = setTimeout(() => this.destroy(stalled(stallMs)), stallMs);
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
  if (error instanceof XlsxError)
    return refused(
      `The file ${error.message}. Save it as XLSX, or save it as "CSV UTF-8", and upload that file.`,
    );
  if (error instanceof CsvError) {
    const { lines } = error as CsvError & { lines?: number };
    if (error.code === 'CSV_QUOTE_NOT_CLOSED') return refused('A quote is never closed.');
    if (error.code === 'CSV_MAX_RECORD_SIZE') {
      return refused(
        `Line ${lines} or a line before it is longer than ${MAX_LINE_BYTES} bytes. Perhaps a quote is not closed.`,
      );
    }
    return refused(`The file cannot be read as CSV: ${error.message}.`);
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return refused('The upload was interrupted.');
  return error;
}

function noHead(): AppError {
  return refused(
    `None of the first ${MAX_PREAMBLE_LINES} lines is the header of a statement. The header must have the columns ${reader.requiredColumns.join(', ')}.`,
  );
}

function refused(message: string, path = 'body'): AppError {
  return new AppError('VALIDATION_ERROR', message, { details: { fields: [{ path, message }] } });
}

/** @throws AppError with status 413 for a Content-Length above 64 MiB. */
export function checkSize(bytes: number): void {
  if (bytes > MAX_BYTES) throw tooLarge();
}

function tooLarge(): AppError {
  return new AppError('VALIDATION_ERROR', `A statement has at most ${MAX_BYTES / 2 ** 20} MiB.`, {
    status: 413,
  });
}

function stalled(stallMs: number): AppError {
  return new AppError('VALIDATION_ERROR', `The upload sent nothing for ${stallMs / 1000} seconds.`, {
    status: 408,
  });
}
