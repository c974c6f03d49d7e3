import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM } from '../../core/context.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, notFound } from '../../core/http/errors.ts';
import { addJob, jobOf, queueUnfinished } from '../../platform/jobs/queue.ts';
import type { FileName } from '../format-rules.ts';
import { checkImportMove, hasRunningJob, type ImportWork } from './rules.ts';
import {
  completeFile,
  deleteFile,
  emptyImport,
  findAbandoned,
  findIdsAtWork,
  findImportFiles,
  type ImportRow,
  insertChunk,
  insertFile,
  insertImport,
  lockImport,
  setImportStatus,
} from './store.ts';

// A user uploads the files of an import, and asks for a check, a run or an undo. A job does this work in one transaction. If the
// process stops, PostgreSQL rolls back the transaction, and the job starts again.

export const IMPORT_TASK = 'portfolio-import';

const MAX_BYTES = 1024 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** This number is also in docs/portfolio-import.md, and in the descriptions of the API and of the event `import.files_deleted`. */
const ABANDONED_AFTER_DAYS = 30;

export function createImport(context: Context, actor: Actor): Promise<ImportRow> {
  return inTransaction(context.db, (tx) => insertImport(tx, actor.userId));
}

/**
 * Stores a file, or replaces the file of the same name. The files are read when the import is checked.
 * @throws AppError NOT_FOUND; VALIDATION_ERROR if a job works on the import, or if the import is done or undone;
 *   VALIDATION_ERROR with HTTP status 413 if the file is larger than 1 GiB.
 */
export async function storeFile(
  copies: CopyPool,
  caller: string,
  { id, file, content }: { id: number; file: FileName; content: Readable },
): Promise<void> {
  await copies.load(caller, async (tx) => {
    const row = await lockImport(tx, id);
    if (!row) throw notFound('import', id);
    if (row.status !== 'uploading') checkImportMove(row, 'uploading');
    await setImportStatus(tx, id, 'uploading');
    await deleteFile(tx, id, file);
    await insertFile(tx, id, file);
    const hash = createHash('sha256');
    let sizeBytes = 0;
    let number = 0;
    for await (const chunk of chunksOf(content)) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > MAX_BYTES) throw tooLarge();
      await insertChunk(tx, { id, file, number, content: chunk });
      number += 1;
    }
    await completeFile(tx, { id, file, sizeBytes, sha256: hash.digest() });
  });
}

async function* chunksOf(content: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const part of content as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length < CHUNK_BYTES) continue;
    yield Buffer.concat(parts);
    parts = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(parts);
}

/** @throws AppError with status 413 for a Content-Length above 1 GiB. */
export function checkSize(bytes: number): void {
  if (bytes > MAX_BYTES) throw tooLarge();
}

function tooLarge(): AppError {
  return new AppError('VALIDATION_ERROR', `A file of an import has at most ${MAX_BYTES / 2 ** 20} MiB.`, {
    status: 413,
  });
}

/**
 * Starts work on an import. If the same work has already started, only queues its job again.
 * @param isQueued - false if the caller itself does the work.
 * @param needsCheck - false if a run can start although its files were not checked before. The run itself always checks them.
 * @throws AppError VALIDATION_ERROR if the status of the import does not allow the work.
 */
export async function startWork(
  context: Context,
  actor: Actor,
  id: number,
  work: ImportWork,
  { isQueued = true, needsCheck = true } = {},
): Promise<void> {
  await inTransaction(context.db, async (tx) => {
    const row = await lockImport(tx, id);
    if (!row) throw notFound('import', id);
    if (row.status !== work) {
      const isUnchecked = work === 'running' && row.status === 'uploading';
      if (needsCheck || !isUnchecked) checkImportMove(row, work);
      const files = await findImportFiles(tx, [id]);
      if (work !== 'undoing' && files.length === 0)
        throw new AppError('VALIDATION_ERROR', 'The import has no files. Upload at least one.');
      await setImportStatus(tx, id, work, { requested_by: actor.userId });
      const hashes = files.map(({ file, sha256 }) => [file, sha256.toString('hex')]);
      await audit(tx, actor, {
        action: `import.${work}`,
        resource: 'import',
        resourceId: id,
        before: { status: row.status },
        after: { status: work, ...(work !== 'undoing' && { sha256: Object.fromEntries(hashes) }) },
        event: event(`import.${work}_started`, { previousStatus: row.status }),
      });
    }
    if (isQueued) await addJob(tx, jobOf(IMPORT_TASK, id));
  });
}

/**
 * Queues unfinished imports that have no job, for example because the process of `npm run import` has stopped.
 * @returns the number of queued imports.
 */
export async function queueUnfinishedImports({ db }: Pick<Context, 'db'>): Promise<number> {
  return queueUnfinished(db, IMPORT_TASK, await findIdsAtWork(db), (id) =>
    failWork({ db }, id, 'The work on the import ended several times without a result.'),
  );
}

/** Sets an import to `failed`, or back to `done` if an undo failed. Does nothing if the work has ended in the meantime. */
export async function failWork({ db }: Pick<Context, 'db'>, id: number, failure: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    const row = await lockImport(tx, id);
    if (!row || !hasRunningJob(row.status)) return;
    const status = row.status === 'undoing' ? 'done' : 'failed';
    await setImportStatus(tx, id, status, { failure });
    await audit(tx, SYSTEM, {
      action: 'import.fail',
      resource: 'import',
      resourceId: id,
      before: { status: row.status },
      after: { status, failure },
      event: event('import.failed', { previousStatus: row.status }),
    });
  });
}

/**
 * Deletes the files of imports that nobody has worked on for 30 days, because the files contain personal data. Users can upload
 * them again.
 * @returns the number of these imports.
 */
export async function deleteAbandonedFiles(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<number> {
  const since = new Date(clock.now().getTime() - ABANDONED_AFTER_DAYS * 86_400_000);
  let deleted = 0;
  for (const id of await findAbandoned(db, since)) {
    if (signal.aborted) break;
    await inTransaction(db, async (tx) => {
      const row = await lockImport(tx, id);
      if (!row || new Date(row.updated_at) >= since) return;
      await emptyImport(tx, id);
      await audit(tx, SYSTEM, {
        action: 'import.delete_files',
        resource: 'import',
        resourceId: id,
        before: { status: row.status },
        after: { status: 'uploading' },
        event: event('import.files_deleted', {}),
      });
      deleted += 1;
    });
  }
  return deleted;
}
