import { sql } from 'kysely';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Context, today } from '../../core/context.ts';
import type { CopyIn } from '../../core/database/copy-in.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import type { Attempt } from '../../platform/jobs/queue.ts';
import { CHECKS, runChecks } from '../../reports/proof/checks-store.ts';
import type { Finding } from '../../reports/proof/store.ts';
import { actorOfJob } from '../../staff/users/view.ts';
import { FILE_NAMES, type FileName } from '../format-rules.ts';
import { findBroken, importChecks } from './check-store.ts';
import { failWork } from './commands.ts';
import { computeBooks } from './compute-books.ts';
import { collectFindings, type Findings } from './findings-rules.ts';
import {
  analyzeTables,
  createResultTables,
  writeAccounts,
  writeCatalogue,
  writeEntries,
  writeMoney,
  writePaymentMethods,
} from './live-rows-store.ts';
import { readCells, readFile } from './read-file.ts';
import { hasRunningJob } from './rules.ts';
import { copyToStaging } from './staging-rules.ts';
import { createHistory, createStagingTables, deriveRows, type StagingSettings } from './staging-store.ts';
import {
  completeImport,
  deleteFiles,
  findImport,
  findImportFiles,
  type ImportRow,
  lockImport,
  readChunks,
  setImportStatus,
  setProgress,
  storeFindings,
  tryLockWork,
} from './store.ts';
import {
  deleteImportedRows,
  findObstacles,
  lockImportedRows,
  type Obstacle,
  UNDO_INDEX,
} from './undo-store.ts';

// The work on an import. A check reads the files and does not change the books. A run checks the files again and writes all rows.
// An undo deletes all rows.
//
// A check uses these modules, in this order: read-file.ts, staging-store.ts, check-store.ts, compute-books.ts.
// A run also uses live-rows-store.ts at the end. An undo uses undo-store.ts.

export interface ImportParts {
  context: Context;
  copies: CopyPool;
  log: Log;
}

/** The files have errors, so nothing is written. */
class FilesWithErrors extends Error {}

/** Ends the work without a change. The message is the reason. The work is not tried again: the result would be the same. */
class RefusedWork extends Error {}

const LONGEST_LOCK_WAIT = '60s';

/** Does the work that a user has requested. Does nothing if another process does this work or has ended it. */
export async function workOnImport(
  parts: ImportParts,
  id: number,
  { isLast }: Pick<Attempt, 'isLast'>,
): Promise<void> {
  const { context, log } = parts;
  const row = await findImport(context.db, id);
  if (!row || !hasRunningJob(row.status)) return;
  try {
    if (row.status === 'checking') await check(parts, row);
    if (row.status === 'running') await runImport(parts, row);
    if (row.status === 'undoing') await undo(parts, row);
  } catch (error) {
    if (error instanceof RefusedWork) return failWork(context, id, error.message);
    log.error({ err: error, import: id }, 'the work on a portfolio import failed');
    if (isLast) await failWork(context, id, 'The work failed. The reason is in the log.');
    throw error;
  }
}

interface Prepared {
  findings: Findings;
  rowCounts: Partial<Record<FileName, number>>;
}

async function check(parts: ImportParts, row: ImportRow): Promise<void> {
  const { id } = row;
  const prepared = await inWork(parts, row, (tx, copyIn) =>
    prepare(parts, tx, copyIn, id, { writesRows: false, report: progressOf(parts, id, 0, 100) }),
  );
  if (prepared) await storeChecked(parts.context, id, 'checking', prepared);
}

/** Stores the results of a check. Does nothing if another process has ended the work. */
async function storeChecked(
  context: Context,
  id: number,
  work: 'checking' | 'running',
  { findings, rowCounts }: Prepared,
): Promise<void> {
  await inTransaction(context.db, async (tx) => {
    const row = await lockImport(tx, id);
    if (row?.status !== work) return;
    await storeFindings(tx, id, findings, rowCounts);
    await setImportStatus(tx, id, 'checked');
    const { errors, warnings, differences } = findings.counts;
    await audit(tx, await actorOfJob(tx, row.requested_by), {
      action: 'import.check',
      resource: 'import',
      resourceId: id,
      before: { status: work },
      after: { status: 'checked', errors, warnings, differences },
      event: event('import.checked', {
        errorCount: errors,
        warningCount: warnings,
        differenceCount: differences,
      }),
    });
  });
}

async function runImport(parts: ImportParts, row: ImportRow): Promise<void> {
  const { id } = row;
  let refused: Prepared | undefined;
  try {
    await inWork(parts, row, async (tx, copyIn, locked) => {
      const report = progressOf(parts, id, 0, 35);
      const prepared = await prepare(parts, tx, copyIn, id, { writesRows: true, report });
      if (prepared.findings.counts.errors > 0) {
        refused = prepared;
        throw new FilesWithErrors();
      }
      await write(parts, tx, locked, prepared);
    });
  } catch (error) {
    if (!(error instanceof FilesWithErrors) || !refused) throw error;
    await storeChecked(parts.context, id, 'running', refused);
  }
}

async function undo(parts: ImportParts, row: ImportRow): Promise<void> {
  const { id } = row;
  const { copies, log } = parts;
  await copies.runAlone(UNDO_INDEX.drop); // An earlier, interrupted undo may have left the index.
  try {
    await copies.runAlone(UNDO_INDEX.create);
    await inWork(parts, row, async (tx, _copyIn, { requested_by }) => {
      const report = progressOf(parts, id, 0, 100);
      await lockImportedRows(tx, id);
      const obstacles = await findObstacles(tx, id);
      if (obstacles.length > 0) throw new RefusedWork(describeObstacles(obstacles));
      await report(0.1);
      await deleteImportedRows(tx, id);
      await prove(tx, log, 'The import was not undone', (share) => report(0.7 + 0.3 * share));
      await setImportStatus(tx, id, 'undone');
      await audit(tx, await actorOfJob(tx, requested_by), {
        action: 'import.undo',
        resource: 'import',
        resourceId: id,
        after: { status: 'undone' },
        event: event('import.undone', {}),
      });
    });
  } finally {
    await copies.runAlone(UNDO_INDEX.drop);
  }
}

/** Text for staff. Names rows by the numbers and keys that staff know, not by database ids. */
function describeObstacles(obstacles: readonly Obstacle[]): string {
  const list = obstacles.map(({ what, count, first }) => `${what} (${count}, the first for ${first})`);
  return `The import was not undone, because its rows have changed since the import, or other rows refer to them: ${list.join(', ')}.`;
}

/** Runs the work in a transaction on a separate connection. @returns undefined if another process does the work or has ended it. */
async function inWork<T>(
  { copies }: ImportParts,
  { id, status }: ImportRow,
  work: (tx: Tx, copyIn: CopyIn, row: ImportRow) => Promise<T>,
): Promise<T | undefined> {
  return copies.load(`import ${id}`, async (tx, copyIn) => {
    await sql`select set_config('lock_timeout', ${LONGEST_LOCK_WAIT}, true)`.execute(tx);
    if (!(await tryLockWork(tx, id))) return undefined;
    const row = await findImport(tx, id);
    return row?.status === status ? work(tx, copyIn, row) : undefined;
  });
}

/** Reads the files into staging tables, checks their rows, and computes the books of their accounts. */
async function prepare(
  { context }: ImportParts,
  tx: Tx,
  copyIn: CopyIn,
  id: number,
  { writesRows, report }: { writesRows: boolean; report: (share: number) => Promise<void> },
): Promise<Prepared> {
  const { config, currency, db } = context;
  const day = today(context);
  const settings: StagingSettings = { today: day, timeZone: config.BUSINESS_TIMEZONE, writesRows };
  const cellSettings = {
    decimals: currency.decimals,
    phoneRegion: config.PHONE_REGION,
    timeZone: config.BUSINESS_TIMEZONE,
  };
  const findings = collectFindings();
  const rowCounts: Prepared['rowCounts'] = {};
  const unreadable = new Set<FileName>();
  await createStagingTables(tx, settings);
  await createResultTables(tx);
  const stored = await findImportFiles(db, [id]);
  const totalBytes = stored.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  let readBytes = 0;
  for (const file of FILE_NAMES) {
    if (!stored.some((one) => one.file === file)) continue;
    async function* bytes() {
      for await (const chunk of readChunks(db, id, file)) {
        yield chunk;
        readBytes += chunk.length;
        await report((0.4 * readBytes) / totalBytes);
      }
    }
    const read = await readFile(file, bytes(), copyIn(copyToStaging(file)), cellSettings, findings);
    rowCounts[file] = read.count;
    if (!read.isComplete) unreadable.add(file);
  }
  await deriveRows(tx, settings);
  const checks = importChecks({ ...settings, decimals: currency.decimals });
  for (const [at, check] of checks.entries()) {
    const { severity = 'error', refersTo, pairedWith } = check;
    // If the file that the column refers to could not be read, that problem is already reported.
    if (refersTo !== undefined && unreadable.has(refersTo)) continue;
    const { total, rows } = await findBroken(tx, check);
    for (const { line, value, detail } of rows) {
      if (pairedWith !== undefined && findings.hasError(check.file, line, [check.column, pairedWith]))
        continue;
      findings.addProblem({
        ...{ severity, file: check.file, line, column: check.column, value },
        ...{ problem: check.problem(detail ?? ''), allowed: check.allowed },
      });
    }
    findings.addUnlisted(severity, total - rows.length);
    await report(0.4 + (0.2 * at) / checks.length);
  }
  const methods: ReadonlyMap<string, number> =
    writesRows && findings.counts.errors === 0 ? await writePaymentMethods(tx, id) : new Map();
  const items = await createHistory(tx, settings);
  await computeBooks(tx, copyIn, {
    ...{ items, writesRows, methods, findings, today: day },
    decimals: currency.decimals,
    report: (share) => report(0.6 + 0.4 * share),
  });
  for (const file of FILE_NAMES) {
    const lines = findings.linesOf(file);
    if (lines.size > 0 && !unreadable.has(file) && stored.some((one) => one.file === file))
      findings.showCells(file, await readCells(file, readChunks(db, id, file), lines));
  }
  return { findings, rowCounts };
}

async function write(
  parts: ImportParts,
  tx: Tx,
  { id, requested_by: actorId }: ImportRow,
  { findings, rowCounts }: Prepared,
): Promise<void> {
  const { context, log } = parts;
  const timeZone = context.config.BUSINESS_TIMEZONE;
  const report = progressOf(parts, id, 35, 100);
  const within = (from: number, to: number) => (share: number) => report(from + (to - from) * share);
  await writeCatalogue(tx, id, within(0, 0.1));
  await writeAccounts(tx, { importId: id, actorId }, within(0.1, 0.2));
  await writeMoney(tx, { importId: id, actorId, timeZone }, within(0.2, 0.5));
  await writeEntries(tx, within(0.5, 0.8));
  await analyzeTables(tx);
  const proof = await prove(tx, log, 'Nothing was imported', within(0.8, 1));
  await storeFindings(tx, id, findings, rowCounts);
  await deleteFiles(tx, id);
  await completeImport(tx, id, proof);
  const { customers = 0, accounts = 0, payments = 0 } = rowCounts;
  await audit(tx, await actorOfJob(tx, actorId), {
    action: 'import.complete',
    resource: 'import',
    resourceId: id,
    after: { status: 'done', rows: rowCounts },
    event: event('import.completed', {
      customerCount: customers,
      accountCount: accounts,
      paymentCount: payments,
    }),
  });
}

/**
 * Runs all checks of the books before the commit.
 * @param outcome - the beginning of the error message if a check fails.
 * @throws RefusedWork if a check fails.
 */
async function prove(tx: Tx, log: Log, outcome: string, report: (share: number) => Promise<void>) {
  let done = 0;
  const findings: Finding[] = await runChecks(tx, {
    onFinding: () => {
      done += 1;
      void report(done / CHECKS.length);
    },
  });
  const broken = findings.filter(({ violationCount }) => violationCount > 0);
  if (broken.length > 0) {
    log.error({ broken }, `${outcome}, because the books would not pass all checks`);
    const names = broken.map(({ check, violationCount }) => `${check} (${violationCount})`).join(', ');
    throw new RefusedWork(
      `${outcome}, because the books would fail these checks of npm run verify: ${names}. Run npm run verify to see whether they fail without this change, too.`,
    );
  }
  return findings.map(({ check, checkedRowCount: lookedAt }) => ({ check, lookedAt, violationCount: 0 }));
}

const PROGRESS_PAUSE_MS = 1_000;

/**
 * Returns a function that stores the progress, at most once a second. It takes the share of a step that is done, from 0 to 1.
 * The step covers `from` to `to` percent of the work. If the progress cannot be stored, the work continues.
 */
function progressOf({ context, log }: ImportParts, id: number, from: number, to: number) {
  let last = 0;
  return async (share: number): Promise<void> => {
    const now = performance.now();
    if (now - last < PROGRESS_PAUSE_MS) return;
    last = now;
    const progress = Math.floor(from + (to - from) * Math.min(share, 1));
    await setProgress(context.db, id, progress).catch((error: unknown) =>
      log.warn({ err: error, import: id }, 'the progress of a portfolio import was not stored'),
    );
  };
}
