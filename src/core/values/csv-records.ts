import { pipeline, Readable } from 'node:stream';
import { type Info, parse } from 'csv-parse';

/** A record of a CSV file, with the number of its first line. */
export interface CsvRecord {
  line: number;
  record: string[];
}

/**
 * Reads the records of a CSV file (RFC 4180) while its text arrives in chunks. Records can have different numbers of cells.
 * @throws CsvError for a quote that is not closed, and for a record of more than `maxRecordBytes`.
 */
export async function* readRecords(
  texts: AsyncIterable<string>,
  delimiter: string,
  maxRecordBytes: number,
): AsyncGenerator<CsvRecord> {
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n'],
    max_record_size: maxRecordBytes,
  });
  const lineNumber = createLineCounter();
  // The callback ignores errors, because the loop throws them.
  for await (const { info, record } of pipeline(Readable.from(texts), parser, () => {}))
    yield { line: lineNumber(info, record), record };
}

/** Finds the first line of each record. The parser reports its last line, and counts a CRLF within quotes as two lines. */
function createLineCounter() {
  let countedTwice = 0;
  return ({ lines }: Info, record: readonly string[]): number => {
    let breaks = 0;
    for (const cell of record) {
      if (!cell.includes('\n')) continue;
      breaks += cell.split('\n').length - 1;
      countedTwice += cell.split('\r\n').length - 1;
    }
    return lines - countedTwice - breaks;
  };
}
