import { once } from 'node:events';
import { finished, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { Currency } from '../../core/context.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import type { Snapshot } from '../../core/database/replica.ts';
import { BYTE_ORDER_MARK } from '../../core/values/csv.ts';
import { type FileName, FORMAT } from '../format-rules.ts';
import { guarded } from '../spreadsheet-guard-rules.ts';
import { exportQueries } from './store.ts';

export interface ExportedFile {
  name: FileName;
  bytes: Readable;
  /** The number of rows. Call it after the last byte was read. */
  rowCount(): number;
}

/**
 * Passes the files of an export to `write`, one after the other. All files come from one snapshot of the database.
 * @param write - must read all bytes of the file.
 */
export function writePortfolio(
  copies: CopyPool,
  caller: string,
  currency: Currency,
  write: (file: Snapshot<ExportedFile>) => Promise<void>,
): Promise<void> {
  return copies.openSnapshot(caller, async ({ value: copyOut, takenAtMs }) => {
    for (const { name, query, quoted } of exportQueries(currency)) {
      const rows = copyOut(query, quoted);
      const file = { name, bytes: Readable.from(withMark(rows)), rowCount: () => rows.rowCount };
      await write({ value: file, takenAtMs });
    }
  });
}

/** Yields the byte order mark when the query has returned its first bytes. If the query fails earlier, nothing is sent. */
async function* withMark(rows: Readable): AsyncGenerator<Buffer> {
  let hasStarted = false;
  for await (const bytes of rows) {
    if (!hasStarted) yield Buffer.from(BYTE_ORDER_MARK);
    hasStarted = true;
    yield bytes;
  }
}

/**
 * An export as one ZIP file.
 * @returns the bytes of the ZIP file, as soon as the first CSV file can be read. If an error occurs earlier, the promise rejects,
 *   and the caller can still send an error response.
 */
export function archivePortfolio(
  copies: CopyPool,
  caller: string,
  currency: Currency,
): Promise<Snapshot<Readable>> {
  const archive = new ZipFile();
  const bytes = archive.outputStream as Readable;
  const archiveFailed = new Promise<void>((_, reject) => finished(bytes, (error) => error && reject(error)));
  archiveFailed.catch(() => {}); // Before the first file, nothing else handles the rejection.
  return new Promise((resolve, reject) => {
    writePortfolio(copies, caller, currency, async ({ value: file, takenAtMs }) => {
      await once(file.bytes, 'readable');
      resolve({ value: bytes, takenAtMs });
      const fileEnded = new Promise<void>((done, fail) =>
        finished(file.bytes, (error) => (error ? fail(error) : done())),
      );
      archive.addReadStream(file.bytes, `${file.name}.csv`);
      await Promise.race([fileEnded, archiveFailed]);
    }).then(
      () => archive.end(),
      (error: Error) => {
        reject(error);
        bytes.destroy(error);
      },
    );
  });
}

/** A CSV file with the header, and with an example row if the format has examples. */
export function templateOf(file: FileName): string {
  const { columns } = FORMAT[file];
  const header = columns.map(({ name }) => name);
  const example = columns.map((column) => guarded(column.example, 1));
  const lines = example.some((cell) => cell !== '') ? [header, example] : [header];
  return BYTE_ORDER_MARK + lines.map((cells) => `${cells.map(quotedIfNeeded).join(',')}\r\n`).join('');
}

function quotedIfNeeded(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
