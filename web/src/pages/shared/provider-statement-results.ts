import type { Schemas } from '../../api/paths.ts';
import type { Tone } from '../../ui/badge.tsx';

export type Statement = Schemas['ProviderStatement'];
export type Result = Schemas['ProviderStatementLineResult'];

export const STATEMENT_TONES: Record<Statement['status'], Tone> = {
  received: 'info',
  matching: 'info',
  importing: 'info',
  reconciling: 'info',
  done: 'good',
  failed: 'bad',
};

/** The results that need work, in the order in which finance does it. */
export const DIFFERENCES = [
  'missing_in_books',
  'conflict',
  'amount_differs',
  'reversed_in_books',
  'reversed_at_provider',
  'missing_at_provider',
  'contradictory',
  'unreadable',
] as const satisfies Result[];

export const RESULTS = [...DIFFERENCES, 'matched', 'other', 'repeated'] as const satisfies Result[];

export function linesOf({ results }: Statement, result: Result): { lines: number; total: number } {
  return results[result] ?? { lines: 0, total: 0 };
}

export function differencesOf(statement: Statement): number {
  return DIFFERENCES.reduce((sum, result) => sum + linesOf(statement, result).lines, 0);
}

export function hasRunningJob({ status }: Statement): boolean {
  return STATEMENT_TONES[status] === 'info';
}
