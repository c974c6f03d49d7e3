import { pipeline, Readable } from 'node:stream';
import { type Info, parse } from 'csv-parse';

/** A record of a CSV file, with the number of its first line. */
export interface CsvRecord {
  line: number;
  record: string[];
}

const LINE_ENDS = ['\r\n', '\n'];

/**
 * Reads the records of a CSV file (RFC 4180) while its text arrives in chunks. Records can have different numbers of cells. Lines
 * can end with CR alone if the first line does, as in files of old spreadsheet programs for the Mac.
 * @throws CsvError for a quote that is not closed, and for a record of more than `maxRecordBytes`.
 */
export async function* readRecords(
  texts: AsyncIterable<string>,
  delimiter: string,
  maxRecordBytes: number,
): AsyncGenerator<CsvRecord> {
  const { all, endsWithCr } = await readFirstLine(texts[Symbol.asyncIterator](), maxRecordBytes);
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    record_delimiter: endsWithCr ? [...LINE_ENDS, '\r'] : LINE_ENDS,
    max_record_size: maxRecordBytes,
  });
  const lineNumber = createLineCounter(endsWithCr ? /\r\n|\n|\r/g : /\r\n|\n/g);
  // The callback ignores errors, because the loop throws them.
  for await (const { info, record } of pipeline(Readable.from(all), parser, () => {}))
    yield { line: lineNumber(info, record), record };
}

/** Returns all texts, including those that were already read to find the end of the first line. */
async function readFirstLine(
  texts: AsyncIterator<string>,
  maxBytes: number,
): Promise<{ all: AsyncGenerator<string>; endsWithCr: boolean }> {
  let start = '';
  let isDone = false;
  // A CR at the end can be the first half of a CRLF.
  while (!isDone && !/\n|\r./s.test(start) && start.length <= maxBytes) {
    const next = await texts.next();
    isDone = next.done === true;
    if (!next.done) start += next.value;
  }
  async function* all() {
    yield start;
    for (let next = await texts.next(); !next.done; next = await texts.next()) yield next.value;
  }
  return { all: all(), endsWithCr: /^[^\r\n]*\r(?!\n)/.test(start) };
}

/**
 * Finds the first line of each record. The parser reports its last line, and counts a CRLF within quotes as two lines.
 * @param lineEnd - matches one end of a line.
 */
function createLineCounter(lineEnd: RegExp) {
  let countedTwice = 0;
  return ({ lines }: Info, record: readonly string[]): number => {
    let breaks = 0;
    for (const cell of record) {
      for (const [end] of cell.matchAll(lineEnd)) {
        breaks += 1;
        if (end === '\r\n') countedTwice += 1;
      }
    }
    return lines - countedTwice - breaks;
  };
}
