import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { rowsAsJson } from '../../core/database/rows.ts';
import type {
  ImportDifferences,
  ImportFiles,
  ImportProblems,
  ImportStatus,
  Imports,
} from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { FileName } from '../format-rules.ts';
import type { Findings } from './findings-rules.ts';
import { STATUSES_WITH_JOB } from './rules.ts';

export type ImportRow = Selectable<Imports>;
export type ImportFileRow = Selectable<ImportFiles>;
export type ProblemRow = Selectable<ImportProblems>;
export type DifferenceRow = Selectable<ImportDifferences>;

export function insertImport(tx: Tx, createdBy: number | null): Promise<ImportRow> {
  return tx.insertInto('imports').values({ created_by: createdBy }).returningAll().executeTakeFirstOrThrow();
}

export function findImport(db: Db, id: number): Promise<ImportRow | undefined> {
  return db.selectFrom('imports').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockImport(tx: Tx, id: number): Promise<ImportRow | undefined> {
  return tx.selectFrom('imports').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function listImports(db: Db, plan: ListPlan) {
  return fetchPage<ImportRow>(db, plan, {
    select: sql`select i.* from imports i`,
    from: sql`from imports i`,
  });
}

export function listProblems(db: Db, id: number, plan: ListPlan) {
  return fetchPage<ProblemRow>(db, plan, {
    select: sql`select p.*, i.created_at from import_problems p join imports i on i.id = p.import_id`,
    from: sql`from import_problems p join imports i on i.id = p.import_id`,
    where: [sql<boolean>`p.import_id = ${id}`],
  });
}

/** The stored problems of an import, at most 10,000. */
export function findAllProblems(db: Db, id: number): Promise<ProblemRow[]> {
  return db.selectFrom('import_problems').selectAll().where('import_id', '=', id).orderBy('id').execute();
}

export function listDifferences(db: Db, id: number, plan: ListPlan) {
  return fetchPage<DifferenceRow>(db, plan, {
    select: sql`select d.*, i.created_at from import_differences d join imports i on i.id = d.import_id`,
    from: sql`from import_differences d join imports i on i.id = d.import_id`,
    where: [sql<boolean>`d.import_id = ${id}`],
  });
}

export function listFirstDifferences(db: Db, id: number, limit: number): Promise<DifferenceRow[]> {
  return db
    .selectFrom('import_differences')
    .selectAll()
    .where('import_id', '=', id)
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function findImportFiles(db: Db, ids: readonly number[]): Promise<ImportFileRow[]> {
  const { rows } = await sql<ImportFileRow>`
    select * from import_files where import_id = any(${[...ids]}::bigint[]) order by import_id, file`.execute(
    db,
  );
  return rows;
}

export async function findIdsAtWork(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('imports')
    .select('id')
    .where('status', 'in', STATUSES_WITH_JOB)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

export async function deleteFile(tx: Tx, id: number, file: FileName): Promise<void> {
  await tx.deleteFrom('import_files').where('import_id', '=', id).where('file', '=', file).execute();
}

export async function deleteFiles(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('import_files').where('import_id', '=', id).execute();
}

/** Inserts a file. `completeFile` stores its size and hash after its last chunk. */
export async function insertFile(tx: Tx, id: number, file: FileName): Promise<void> {
  await tx
    .insertInto('import_files')
    .values({ import_id: id, file, size_bytes: 0, sha256: Buffer.alloc(32) })
    .execute();
}

export async function insertChunk(
  tx: Tx,
  { id, file, number, content }: { id: number; file: FileName; number: number; content: Buffer },
): Promise<void> {
  await tx.insertInto('import_chunks').values({ import_id: id, file, number, content }).execute();
}

export async function completeFile(
  tx: Tx,
  { id, file, sizeBytes, sha256 }: { id: number; file: FileName; sizeBytes: number; sha256: Buffer },
): Promise<void> {
  await tx
    .updateTable('import_files')
    .set({ size_bytes: sizeBytes, sha256 })
    .where('import_id', '=', id)
    .where('file', '=', file)
    .execute();
}

/** Reads a stored file. One chunk is in memory at a time. */
export async function* readChunks(db: Db, id: number, file: FileName): AsyncGenerator<Buffer> {
  for (let number = 0; ; number += 1) {
    const chunk = await db
      .selectFrom('import_chunks')
      .select('content')
      .where('import_id', '=', id)
      .where('file', '=', file)
      .where('number', '=', number)
      .executeTakeFirst();
    if (!chunk) return;
    yield chunk.content;
  }
}

export async function setImportStatus(
  db: Db,
  id: number,
  status: ImportStatus,
  columns: Partial<Pick<ImportRow, 'failure' | 'requested_by'>> = {},
): Promise<void> {
  await db
    .updateTable('imports')
    .set({ status, progress: 0, failure: null, ...columns, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

/** Sets an import back to its state before the first upload. */
export async function emptyImport(tx: Tx, id: number): Promise<void> {
  await deleteFiles(tx, id);
  await deleteFindings(tx, id);
  const counts = { error_count: 0, warning_count: 0, difference_count: 0, row_counts: null };
  await tx.updateTable('imports').set(counts).where('id', '=', id).execute();
  await setImportStatus(tx, id, 'uploading');
}

/** @param db - not the transaction of the work, so that users see the progress before the work commits. */
export async function setProgress(db: Db, id: number, progress: number): Promise<void> {
  await sql`update imports set progress = ${progress} where id = ${id} and status = any(${STATUSES_WITH_JOB}::import_status[])`.execute(
    db,
  );
}

/** The ids of imports that have files, and that nobody has worked on since the given time. */
export async function findAbandoned(db: Db, since: Date): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from imports i
    where status in ('uploading', 'checked', 'failed') and updated_at < ${since}
      and exists (select from import_files f where f.import_id = i.id)
    order by id`.execute(db);
  return rows.map(({ id }) => id);
}

/** Deletes the problems and differences that the last check found. */
export async function deleteFindings(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('import_problems').where('import_id', '=', id).execute();
  await tx.deleteFrom('import_differences').where('import_id', '=', id).execute();
}

/** Replaces the results of the last check. */
export async function storeFindings(
  tx: Tx,
  id: number,
  { problems, differences, counts }: Findings,
  rowCounts: Readonly<Partial<Record<FileName, number>>>,
): Promise<void> {
  await deleteFindings(tx, id);
  await sql`
    insert into import_problems (import_id, severity, file, line, column_name, value, problem, allowed)
    select ${id}, severity, file, line, "column", value, problem, allowed
    from json_to_recordset(${rowsAsJson(problems)}::json) as p (severity text, file text, line integer, "column" text, value text,
      problem text, allowed text)`.execute(tx);
  await sql`
    insert into import_differences (import_id, line, account, figure, source_value, computed_value)
    select ${id}, line, account, figure, source, computed
    from json_to_recordset(${rowsAsJson(differences)}::json) as d (line integer, account text, figure text, source text,
      computed text)`.execute(tx);
  await tx
    .updateTable('imports')
    .set({
      error_count: counts.errors,
      warning_count: counts.warnings,
      difference_count: counts.differences,
      row_counts: JSON.stringify(rowCounts),
    })
    .where('id', '=', id)
    .execute();
}

/** Reserves an import for this transaction, until the transaction ends. @returns false if another process works on the import. */
export async function tryLockWork(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql<{ isFree: boolean }>`
    select pg_try_advisory_xact_lock(${IMPORT_LOCK}, ${id}::integer) as "isFree"`.execute(tx);
  return rows[0]?.isFree === true;
}

/** A random number, so that no other program uses the same lock in this database. */
const IMPORT_LOCK = 1_203_557_318;

export async function completeImport(tx: Tx, id: number, proof: unknown): Promise<void> {
  await sql`
    update imports set status = 'done', progress = 100, failure = null, proof = ${JSON.stringify(proof)}::jsonb,
      done_at = business_now(), updated_at = business_now()
    where id = ${id}`.execute(tx);
}
