import { BYTE_ORDER_MARK, csvLine, unquoted } from '../../core/values/csv.ts';
import type { FileName } from '../format-rules.ts';
import type { Problem } from './findings-rules.ts';
import type { DifferenceRow, ImportFileRow, ImportRow, ProblemRow } from './store.ts';

/**
 * An element of the column `proof` of an import. Do not rename its fields: stored rows have these names, and an older version of
 * the service can still run during an upgrade.
 */
type StoredCheck = {
  check: string;
  /** The number of checked rows. */
  lookedAt: number;
  violationCount: number;
};

/** @param files - the files of this import. Files of other imports are ignored. */
export function toImport(row: ImportRow, files: readonly ImportFileRow[]) {
  return {
    id: row.id,
    status: row.status,
    progress: row.progress,
    failure: row.failure,
    files: files
      .filter(({ import_id }) => import_id === row.id)
      .map(({ file, size_bytes: sizeBytes, sha256 }) => ({
        file: file as FileName,
        sizeBytes,
        sha256: sha256.toString('hex'),
      })),
    rows: (row.row_counts ?? {}) as Partial<Record<FileName, number>>,
    errors: row.error_count,
    warnings: row.warning_count,
    differences: row.difference_count,
    checks: ((row.proof ?? []) as StoredCheck[]).map(({ lookedAt, ...check }) => ({
      ...check,
      checkedRowCount: lookedAt,
    })),
    doneAt: row.done_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function toImportProblem(row: ProblemRow) {
  const { id, line, value, problem, allowed } = row;
  return {
    id,
    severity: row.severity as Problem['severity'],
    file: row.file as FileName,
    line,
    column: row.column_name,
    value,
    problem,
    allowed,
  };
}

export function toImportDifference(row: DifferenceRow) {
  const { id, line, account, figure } = row;
  return { id, line, account, figure, source: row.source_value, computed: row.computed_value };
}

/** The problems as a CSV file. Staff open it beside the file that they correct. */
export function problemsCsv(rows: readonly ProblemRow[]): string {
  const header = ['file', 'line', 'column', 'value', 'severity', 'problem', 'allowed'];
  const lines = rows.map((row) =>
    csvLine([
      unquoted(`${row.file}.csv`),
      row.line === null ? null : unquoted(row.line),
      row.column_name,
      row.value,
      unquoted(row.severity),
      row.problem,
      row.allowed,
    ]),
  );
  return `${BYTE_ORDER_MARK}${csvLine(header.map((name) => unquoted(name)))}${lines.join('')}`;
}
