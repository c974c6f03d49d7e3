import type { FileName } from '../format-rules.ts';

/** What is wrong with a file, a row or a cell. */
export interface Problem {
  severity: 'error' | 'warning';
  file: FileName;
  /** Null for a problem of the whole file. */
  line: number | null;
  column: string | null;
  value: string | null;
  /** The end of a sentence, such as `is not a date`. The subject is the value or, without a value, the column, line or file. */
  problem: string;
  allowed: string | null;
}

/** An account figure whose value in the source system differs from the value that the import computes. */
export interface Difference {
  line: number;
  /** The external id of the account. */
  account: string;
  figure: string;
  source: string;
  computed: string;
}

/** The cells of some lines of a file, by line and column. */
export type CellsByLine = ReadonlyMap<number, ReadonlyMap<string, string>>;

const MAX_KEPT = 10_000;
const MAX_VALUE_LENGTH = 200;

/** Counts the problems and differences of one check, and keeps the first 10,000 of each. Errors come before warnings. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly differences: readonly Difference[];
  readonly counts: { errors: number; warnings: number; differences: number };
  addProblem(problem: Problem): void;
  /** The lines of a file on which a cell has a kept problem. */
  linesOf(file: FileName): ReadonlySet<number>;
  /** Replaces the values of problems by the cells, because a check can report another form, such as 700.00 for the cell `700`. */
  showCells(file: FileName, cells: CellsByLine): void;
  /** Whether one of these cells has a kept error. */
  hasError(file: FileName, line: number | null, columns: readonly string[]): boolean;
  /** Counts further problems without keeping them. */
  addUnlisted(severity: Problem['severity'], count: number): void;
  addDifference(difference: Difference): void;
}

export function collectFindings(): Findings {
  const kept: Record<Problem['severity'], Problem[]> = { error: [], warning: [] };
  const differences: Difference[] = [];
  const counts = { errors: 0, warnings: 0, differences: 0 };
  const count = (severity: Problem['severity'], by: number) => {
    counts[severity === 'error' ? 'errors' : 'warnings'] += by;
  };
  const cellsOf = (file: FileName) =>
    [...kept.error, ...kept.warning].filter((one) => one.file === file && one.column !== null);
  return {
    counts,
    differences,
    get problems() {
      return [...kept.error, ...kept.warning].slice(0, MAX_KEPT);
    },
    addProblem(problem) {
      count(problem.severity, 1);
      const list = kept[problem.severity];
      if (list.length >= MAX_KEPT) return;
      list.push({ ...problem, value: problem.value?.slice(0, MAX_VALUE_LENGTH) ?? null });
    },
    linesOf: (file) => new Set(cellsOf(file).flatMap(({ line }) => line ?? [])),
    showCells(file, cells) {
      for (const problem of cellsOf(file)) {
        const row = cells.get(problem.line ?? 0);
        const cell = row?.get(problem.column ?? '') ?? '';
        if (row && cell !== (problem.value ?? '')) problem.value = cell.slice(0, MAX_VALUE_LENGTH) || null;
      }
    },
    hasError: (file, line, columns) =>
      kept.error.some(
        (error) => error.file === file && error.line === line && columns.includes(error.column ?? ''),
      ),
    addUnlisted: count,
    addDifference(difference) {
      counts.differences += 1;
      if (differences.length < MAX_KEPT) differences.push(difference);
    },
  };
}
