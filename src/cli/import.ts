import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, SYSTEM } from '../core/context.ts';
import { type CopyPool, openCopyPool } from '../core/database/copy-pool.ts';
import { AppError } from '../core/http/errors.ts';
import { createLog } from '../core/log.ts';
import { FILE_NAMES, type FileName } from '../portfolio/format-rules.ts';
import { createImport, startWork, storeFile } from '../portfolio/import/commands.ts';
import type { ImportWork } from '../portfolio/import/rules.ts';
import {
  findAllProblems,
  findImport,
  type ImportRow,
  listFirstDifferences,
} from '../portfolio/import/store.ts';
import { workOnImport } from '../portfolio/import/work-on-import.ts';
import { readArguments, reportLostConnection, runCommand, UsageError, withDatabase } from './connect.ts';

const USAGE =
  'Usage: npm run import -- <folder> [--run]\n' +
  '       npm run import -- --undo <number of the import>\n' +
  'Checks the CSV or XLSX files of a portfolio in a folder and prints the first errors with file and line. With --run,\n' +
  'imports the files if there are no errors. The names of the files are ' +
  `${FILE_NAMES.map((file) => `${file}.csv`).join(', ')}, or the same with .xlsx.`;
const ENDINGS = ['.csv', '.xlsx'];
const SHOWN_PROBLEMS = 100;
const PROGRESS_PAUSE_MS = 500;
const BAR_WIDTH = 30;

interface Parts {
  context: Context;
  copies: CopyPool;
}

await runCommand(async (config) => {
  const { folder, run, undo } = readCommandLine();
  await withDatabase(config, async (context, connection) => {
    const copies = openCopyPool({
      connection,
      limits: config.limits,
      onConnectionLost: reportLostConnection,
    });
    try {
      const parts = { context, copies };
      if (undo !== undefined) await undoImport(parts, undo);
      else await importFolder(parts, folder, run);
    } catch (error) {
      throw error instanceof AppError ? new UsageError(error.message, { cause: error }) : error;
    } finally {
      await copies.close();
    }
  });
});

function readCommandLine(): { folder: string; run: boolean; undo: number | undefined } {
  const { values, positionals } = readArguments(USAGE, {
    allowPositionals: true,
    options: { run: { type: 'boolean', default: false }, undo: { type: 'string' } },
  });
  const [folder = '', ...rest] = positionals;
  const undo = values.undo === undefined ? undefined : Number(values.undo);
  const isImport = undo === undefined && folder !== '';
  const isUndo = Number.isSafeInteger(undo) && undo !== 0 && folder === '' && !values.run;
  if (rest.length > 0 || !(isImport || isUndo)) throw new UsageError(USAGE);
  return { folder, run: values.run, undo };
}

async function importFolder(parts: Parts, folder: string, isRun: boolean): Promise<void> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new UsageError(`The folder ${folder} cannot be read.`, { cause });
  });
  const known = FILE_NAMES.flatMap((file) => ENDINGS.map((ending) => ({ file, name: `${file}${ending}` })));
  const files = known.filter(({ name }) => names.includes(name));
  const unknown = names.filter(
    (name) => ENDINGS.some((ending) => name.endsWith(ending)) && !files.some((one) => one.name === name),
  );
  const twice = files.find(({ file }, at) => files[at + 1]?.file === file);
  if (twice)
    throw new UsageError(`The folder has ${twice.file} as CSV and as XLSX. Keep one of the two files.`);
  if (unknown.length > 0)
    throw new UsageError(`An import has no file named ${unknown.join(' or ')}.\n${USAGE}`);
  if (files.length === 0) throw new UsageError(`The folder ${folder} has no CSV or XLSX files.\n${USAGE}`);
  const { id } = await createImport(parts.context, SYSTEM);
  console.log(`Import ${id}`);
  for (const { file, name } of files) await upload(parts, id, file, join(folder, name));
  // A run also checks the files, so it needs no separate check.
  const row = isRun ? await work(parts, id, 'running', 'Import') : await work(parts, id, 'checking', 'Check');
  await printResults(parts, row);
  if (row.status === 'done') {
    const checks = (row.proof ?? []) as { check: string }[];
    console.log(
      `Imported. All ${checks.length} checks of the books pass. To undo: npm run import -- --undo ${id}`,
    );
  } else if (row.status !== 'checked' || row.error_count > 0) {
    process.exitCode = 1;
  } else {
    console.log('Nothing was written to the books. Add --run to import the files.');
  }
}

async function undoImport(parts: Parts, id: number): Promise<void> {
  const undone = await work(parts, id, 'undoing', 'Undo');
  if (undone.status === 'undone') console.log(`Import ${id} was undone.`);
  else {
    console.error(undone.failure ?? `Import ${id} is ${undone.status}.`);
    process.exitCode = 1;
  }
}

async function upload({ copies }: Parts, id: number, file: FileName, path: string): Promise<void> {
  await storeFile(copies, 'npm run import', { id, file, content: createReadStream(path) });
  console.log(`${basename(path)} is stored`);
}

/** Does the work in this process, and shows the progress. */
async function work(parts: Parts, id: number, what: ImportWork, label: string): Promise<ImportRow> {
  const { context } = parts;
  await startWork(context, SYSTEM, id, what, { isQueued: false, needsCheck: false });
  const ended = new AbortController();
  const shown = showProgress(context, id, label, ended.signal);
  shown.catch(() => {}); // If the progress cannot be read, the work continues. `await shown` then reports the error.
  try {
    await workOnImport({ ...parts, log: createLog(context.config) }, id, { isLast: true });
  } finally {
    ended.abort();
    await shown;
  }
  return readImport(context, id);
}

async function readImport({ db }: Context, id: number): Promise<ImportRow> {
  const row = await findImport(db, id);
  if (!row) throw new UsageError(`There is no import ${id}.`);
  return row;
}

/** On a terminal, shows a bar. Otherwise prints a line for every tenth of the work. */
async function showProgress(context: Context, id: number, label: string, signal: AbortSignal): Promise<void> {
  let lastTenth = -1;
  const isTerminal = process.stdout.isTTY;
  while (!signal.aborted) {
    const { progress } = await readImport(context, id);
    if (isTerminal) {
      const full = Math.round((BAR_WIDTH * progress) / 100);
      process.stdout.write(`\r${label} [${'#'.repeat(full).padEnd(BAR_WIDTH, '.')}] ${progress} %`);
    } else if (Math.floor(progress / 10) > lastTenth) {
      lastTenth = Math.floor(progress / 10);
      console.log(`${label}: ${progress} %`);
    }
    await sleep(PROGRESS_PAUSE_MS, undefined, { signal }).catch(() => {}); // Ends early when the work ends.
  }
  if (isTerminal) process.stdout.write(`\r${' '.repeat(label.length + BAR_WIDTH + 10)}\r`);
}

async function printResults({ context }: Parts, row: ImportRow): Promise<void> {
  const { id, error_count: errors, warning_count: warnings, difference_count: differences } = row;
  if (row.failure !== null) console.error(row.failure);
  const problems = await findAllProblems(context.db, id);
  for (const problem of problems.slice(0, SHOWN_PROBLEMS)) {
    const { severity, file, line, column_name: column, value } = problem;
    const place = [
      `${file}.csv`,
      line === null ? '' : ` line ${line}`,
      column === null ? '' : `, ${column}`,
    ].join('');
    const shown = value === null ? '' : ` "${value}"`;
    const label = severity === 'error' ? 'Allowed' : 'Expected';
    const allowed = problem.allowed === null ? '' : ` ${label}: ${problem.allowed}.`;
    console.log(`${severity} ${place}:${shown} ${problem.problem}.${allowed}`);
  }
  const rest = errors + warnings - Math.min(problems.length, SHOWN_PROBLEMS);
  if (rest > 0) console.log(`… and ${rest} more: GET /api/imports/${id}/problems`);
  for (const {
    line,
    account,
    figure,
    source_value: source,
    computed_value: computed,
  } of await listFirstDifferences(context.db, id, SHOWN_PROBLEMS))
    console.log(
      `difference accounts.csv line ${line}, ${account}: ${figure} is ${source} in the file, but the import computes ${computed}`,
    );
  if (differences > SHOWN_PROBLEMS) console.log(`… and ${differences - SHOWN_PROBLEMS} more differences`);
  const rows = (row.row_counts ?? {}) as Partial<Record<FileName, number>>;
  for (const file of FILE_NAMES) if (rows[file] !== undefined) console.log(`${file}.csv: ${rows[file]} rows`);
  const counts = [
    countOf(errors, 'error'),
    countOf(warnings, 'warning'),
    `${countOf(differences, 'difference')} from the source system`,
  ];
  console.log(counts.join(', '));
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
