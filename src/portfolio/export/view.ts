import { once } from 'node:events';
import { finished, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { Currency } from '../../core/context.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import type { Snapshot } from '../../core/database/replica.ts';
import { BYTE_ORDER_MARK } from '../../core/values/csv.ts';
import type { FileName } from '../format-rules.ts';
import { exportQueries } from './store.ts';

export interface ExportedFile {
  name: FileName;
  /** The CSV file. */
  bytes: Readable;
  /** The number of rows, correct after the last byte was read. */
  rowCount(): number;
}

/**
 * Writes the files of an export one after the other, from one snapshot of the database.
 * @param write - called with each file. It must read all bytes of the file.
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

/** Sends the byte order mark with the first bytes of the query, so that nothing is sent if the query fails. */
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
 * @returns the bytes of the ZIP file, as soon as the first CSV file can be read. An earlier error rejects the promise, so that
 *   the caller can still send an error response.
 */
export function archivePortfolio(
  copies: CopyPool,
  caller: string,
  currency: Currency,
): Promise<Snapshot<Readable>> {
  const archive = new ZipFile();
  const bytes = archive.outputStream as Readable;
  const archiveFailed = new Promise<void>((_, reject) => finished(bytes, (error) => error && reject(error)));
  archiveFailed.catch(() => {}); // While no file is being sent, nothing else handles the error.
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
